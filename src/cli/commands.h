/* commands.h - the list of commands: X(name, what it does). Each is cmd_NAME() in cmd_NAME.c. */
X(check, "test an environment, built in or your own, against its contract")
X(doctor, "what this build and this machine can do, and what to install for the rest")
X(graph, "the causal graph that a model learned: text, Graphviz, JSON, a drawing")
X(list, "what there is to choose from")
X(model, "fit the model of what changes to a task, and judge it")
X(rollout, "play a task with zero or random actions: returns, CSV, a film")

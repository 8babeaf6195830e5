/* commands.h - the list of commands: X(name, what it does). Each is cmd_NAME() in cmd_NAME.c. */
X(check, "test an environment, built in or your own, against its contract")
X(doctor, "what this build and this machine can do, and what to install for the rest")
X(eval, "play new lifetimes with a trained agent that no longer learns")
X(list, "what there is to choose from")
X(play, "film a trained agent")
X(rollout, "play a task with zero or random actions: returns, CSV, a film")
X(runs, "a table of the runs below a folder")
X(train, "train an algorithm on a task; on an existing folder, go on")

/* commands.h - the list of commands: X(name, arguments, what it does). */
X(doctor, "[--json F]", "what this build and this machine can do, and what to install for the rest")
X(list, "ops|options [--json F]", "what there is to choose from")

/* completion.h - scripts by which shells complete command lines, from the tables of all commands.
 */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

/* For "bash", "zsh" or "fish". */
int completion_print(const char *shell);

#endif

/* manual.h - fans(1), from the tables of all commands. */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

int manual_print(void);

#endif

/* oracle.h - the options of the oracle. */
#ifndef ALGO_ORACLE_H
#define ALGO_ORACLE_H

#include "base/options.h"

#define ORACLE_OPTIONS(X) \
    X(INT, delay, 0, 0, 1000000, "steps of a segment in which it still sees the last one's factors")
OPTIONS_STRUCT(oracle_options, ORACLE_OPTIONS)
const option_group *oracle_option_group(void);

#endif

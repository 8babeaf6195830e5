/* wrong_env.c - libraries that must be refused: WRONG_ABI, WRONG_PART, or neither symbol. */
#include "fans/env.h"

#if defined(WRONG_ABI)
FANS_API const fans_env_def fans_env = {.abi = FANS_ENV_ABI + 1, .name = "wrong"};
#elif defined(WRONG_PART)
FANS_API const fans_env_def fans_env = {.abi = FANS_ENV_ABI, .name = "wrong", .help = ""};
#else
FANS_API const int some_other_symbol = 1;
#endif

/* list.h - the built-in environments, in alphabetical order: X(name) is a
 * `const fans_env_def env_NAME` in src/env/NAME.c. */
X(fnmdp)
X(half_cheetah)
X(minitaur)
X(pendulum)
X(sawyer_peg)
X(sawyer_reach)

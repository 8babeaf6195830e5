/* list.h - the algorithms: X(name). Each is algo_NAME in algo/NAME.c. */
X(fansrl)
X(sac)
X(oracle)
X(stack)
X(null)
X(random)

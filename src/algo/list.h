/* list.h - the algorithms: X(name). Each is algo_NAME in algo/NAME.c. */
X(fans)
X(sac)
X(oracle)
X(null)
X(random)

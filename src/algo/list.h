/* list.h - the algorithms: X(name). Each is one file, algo/NAME.c. */
X(fans)
X(sac)
X(oracle)
X(null)
X(random)

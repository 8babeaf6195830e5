/* gates.h - the constants of learned gates, shared by the gate and its probability of being open.
 */
#ifndef NN_GATES_H
#define NN_GATES_H

/* The hard-concrete gate is stretched to (LOW, HIGH) before it is cut to [0, 1] (Louizos et al.
 * 2018). */
#define GATE_LOW  (-0.1)
#define GATE_HIGH 1.1

/* AdaRL's raw masks count as present above this |erf|. */
#define GATE_ERF_PRESENT 0.1

#endif

/* noticed.h - when is a change noticed by an agent that nobody tells of it? The trainer counts it,
 * reports show it.
 *
 * At every step the agent gives P(n), the probability that something changed within the last n
 * steps. A change is **noticed after N steps** if that is when P(since the change) exceeds 1/2; it
 * may be placed some steps too early. It is **missed** if that takes longer than 50 steps. An alarm
 * is **false** if P(50) comes to exceed 1/2 when nothing has changed for 50 steps. */
#ifndef BASE_NOTICED_H
#define BASE_NOTICED_H

enum { NOTICED_WITHIN = 50, NOTICED_EARLY = 5, NOTICED_RECENT = 10 };

#endif

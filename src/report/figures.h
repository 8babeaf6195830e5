/* figures.h - the figures in a report's tables. */
#ifndef REPORT_FIGURES_H
#define REPORT_FIGURES_H

#include "report/contest.h"

int figures_of(contest *t);
int figures_standings(contests *c);

#endif

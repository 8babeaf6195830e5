/* drawing.h - a comparison as a figure for a paper: panels of learning curves, of final returns, of
 * final returns over what is varied, or of beliefs beside the truth. */
#ifndef REPORT_DRAWING_H
#define REPORT_DRAWING_H

#include "report/comparison.h"
#include "report/ink.h"

/* Draws your runs where there are any, otherwise ours. Returns 1, 0 where there is nothing to draw,
 * or an error. */
int drawing_of(const comparison *c, ink_form form, text *out);

#endif

/* comparison_sheets.h - a comparison as tables of words. */
#ifndef REPORT_COMPARISON_SHEETS_H
#define REPORT_COMPARISON_SHEETS_H

#include "report/comparison.h"
#include "report/sheet.h"

/* Tasks by methods, as the paper prints them: its own figures, ours, or yours. Methods without any
 * are left out. Returns false where nothing is left. */
typedef enum { SHEET_PAPER, SHEET_OURS, SHEET_YOURS, SHEETS } sheet_kind;
bool comparison_sheet(const comparison *c, sheet_kind kind, sheet *out);

/* "As printed", "Ours", "Yours" */
const char *comparison_title(sheet_kind kind);

/* Method by method: paper | ours | yours, scores, tests, differences. */
void comparison_long_sheet(const comparison *c, sheet *out);

#endif

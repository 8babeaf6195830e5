/* cmd_report.c - fans report: compares runs on one HTML page. */
#include <stdio.h>

#include "base/os.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "report/page.h"

int cmd_report(int argc, char **argv)
{
    const char *file = "report.html", *title = "Training runs", *json = NULL;
    arg_list folders = {0};
    const arg args[] = {
        ARG_TEXT("out", "F", &file, "the page to write (report.html)"),
        ARG_TEXT("title", "T", &title, "what stands on top of it"),
        ARG_JSON(&json),
        ARG_WORDS("DIR", &folders, "a run, or a folder with runs in it or below"),
    };
    contests c = {0};
    text page = {0};
    json_t *figures = NULL;
    int rc = args_parse("report", ARGS(args), argc, argv);
    if (rc) return rc;
    for (int i = 0; i < folders.count; i++) TRY(contests_add(&c, folders.items[i]));
    TRY(contests_settle(&c));
    TRY(page_write(&c, title, &page, &figures));
    if (json) TRY(json_write_file(json, figures));
    TRY(os_write_file(file, page.s, page.length));
    printf("%s: %zu run%s on %zu task%s, %zu KiB\n", file, c.record_count,
           c.record_count == 1 ? "" : "s", c.count, c.count == 1 ? "" : "s", page.length / 1024);
out:
    json_decref(figures);
    text_free(&page);
    contests_free(&c);
    return rc;
}

/* fuzz_run.c - the folder of a run, up to the page of a report. Its files are the pieces of the
 * input between lines of five equals signs. */
#define _GNU_SOURCE
#include "base/json.h"
#include "base/text.h"
#include "fuzz.h"
#include "report/contest.h"
#include "report/page.h"

static void put_files(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"config.ini",  "metrics.csv", "result.json",
                                        "beliefs.csv", "graph.json",  "command.txt"};
    static const char between[] = "=====\n";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const uint8_t *end = memmem(data, size, between, sizeof between - 1);
        size_t n = end ? (size_t)(end - data) : size;
        if (n)
            fuzz_put(names[i], data, n);
        else
            unlink(fuzz_file(names[i]));
        if (!end) end = data + size;
        size_t skip = n + (end < data + size ? sizeof between - 1 : 0);
        data += skip;
        size -= skip;
    }
}

/* Nothing that a browser would run. */
static void check_page(const text *page)
{
    fuzz_demand(!strcasestr(page->s, "<script") && !strcasestr(page->s, "=\"javascript:") &&
                    !strcasestr(page->s, "<img"),
                "markup has survived");
    fuzz_demand(strstr(page->s, "</html>") != NULL, "the page is not complete");
}

static void read_run(const uint8_t *data, size_t size)
{
    contests c = {0};
    text page = {0};
    json_t *figures = NULL;
    unsigned before = fans_error_count();
    put_files(data, size);
    int rc = contests_add(&c, fuzz_folder());
    if (rc == 0) rc = contests_settle(&c);
    if (rc == 0) rc = page_write(&c, "fuzz", &page, &figures);
    if (rc == 0) rc = json_check();
    if (fuzz_result(rc, before)) check_page(&page);
    json_decref(figures);
    text_free(&page);
    contests_free(&c);
}

FUZZ_TARGET(read_run);

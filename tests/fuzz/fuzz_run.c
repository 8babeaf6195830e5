/* fuzz_run.c - folders of runs, up to the page of a report. Their files are the pieces of the input
 * between lines of five equals signs, eight for each run; then the times of each. */
#include "base/json.h"
#include "base/text.h"
#include "fuzz.h"
#include "report/contest.h"
#include "report/page.h"

enum { MOST_RUNS = 3 };

static void put_files(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"config.ini", "metrics.csv", "result.json",  "beliefs.csv",
                                        "graph.json", "command.txt", "segments.csv", "system.json"};
    static const char *const folders[MOST_RUNS] = {"a", "b-sac/seed-1", "c"};
    for (size_t i = 0; i < MOST_RUNS; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            char path[64];
            snprintf(path, sizeof path, "%s/%s", folders[i], names[k]);
            size_t n = fuzz_put_piece(path, data, size);
            data += n;
            size -= n;
        }
    for (size_t i = 0; i < MOST_RUNS; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/times.csv", folders[i]);
        size_t n = fuzz_put_piece(path, data, size);
        data += n;
        size -= n;
    }
}

static void read_run(const uint8_t *data, size_t size)
{
    contests c = {0};
    text page = {0};
    json_t *figures = NULL;
    unsigned before = fuzz_begin();
    put_files(data, size);
    int rc = contests_add(&c, FUZZ_FOLDER);
    if (rc == 0) rc = contests_settle(&c);
    if (rc == 0) rc = page_write(&c, "fuzz", &page, &figures);
    if (rc == 0) rc = json_check();
    if (fuzz_result(rc, before)) fuzz_check_page(page.s);
    json_decref(figures);
    text_free(&page);
    contests_free(&c);
}

FUZZ_TARGET(read_run);

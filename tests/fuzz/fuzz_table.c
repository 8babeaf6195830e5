/* fuzz_table.c - a table to reproduce and the stored runs of its cells, up to all that is written
 * of them. The input is tables/NAME.ini, a line of five equals signs, and results/NAME.json, whose
 * runs are dealt to the cells. */
#include "fuzz.h"
#include "report/comparison.h"
#include "report/drawing.h"
#include "report/store.h"

static int add_runs(comparison *c, const store *s, int row, int column)
{
    size_t cells = (size_t)(c->m->row_count * c->m->column_count);
    for (size_t i = (size_t)(column * c->m->row_count + row); i < json_array_size(s->runs);
         i += cells) {
        record *one = mem_alloc(sizeof *one);
        if (!one) return FANS_ENOMEM;
        int rc = store_record(json_array_get(s->runs, i), one);
        if (rc < 0) mem_free(one);
        if (rc == 0) rc = comparison_add(c, SOURCE_OURS, row, column, one);
        if (rc < 0) return rc;
    }
    return 0;
}

/* Every word of settings is a string. */
static int read_settings(const manifest *m)
{
    text memory = {0};
    text_list settings;
    int rc = 0;
    for (int i = 0; rc == 0 && i < m->row_count; i++)
        for (int k = 0; rc == 0 && k < m->column_count; k++) {
            rc = manifest_settings(m, i, k, &memory, &settings);
            for (int n = 0; rc == 0 && n < settings.count; n++)
                fuzz_demand(strlen(settings.items[n]) < FANS_OPTION_TEXT, "a setting has no end");
        }
    text_free(&memory);
    return rc;
}

static int compare(comparison *c, const store *s, text *page)
{
    text other = {0};
    int rc = read_settings(c->m);
    for (int k = 0; k < c->m->column_count; k++)
        for (int i = 0; rc == 0 && i < c->m->row_count; i++) rc = add_runs(c, s, i, k);
    if (rc == 0) rc = comparison_settle(c);
    if (rc == 0) rc = comparison_page(c, page);
    if (rc == 0) {
        rc = drawing_of(c, INK_PDF, &other);
        comparison_latex(c, &other);
        comparison_markdown(c, &other);
        if (rc >= 0) rc = text_done(&other);
        json_t *figures = comparison_json(c);
        if (rc == 0) rc = json_check();
        json_decref(figures);
    }
    text_free(&other);
    return rc;
}

static void read_table(const uint8_t *data, size_t size)
{
    manifest *m = NULL;
    comparison c = {0};
    store s = {.runs = json_array()};
    text page = {0};
    unsigned before = fuzz_begin();
    size_t n = fuzz_put_piece("table.ini", data, size);
    fuzz_put("results.json", data + n, size - n);
    int rc = manifest_read(&m, FUZZ_FOLDER "/table.ini");
    if (rc == 0) rc = store_add(&s, FUZZ_FOLDER "/results.json");
    if (rc == 0) rc = comparison_new(&c, m);
    if (rc == 0) rc = compare(&c, &s, &page);
    if (fuzz_result(rc, before)) fuzz_check_page(page.s);
    text_free(&page);
    comparison_free(&c);
    store_free(&s);
    manifest_free(m);
}

FUZZ_TARGET(read_table);

/* fuzz_csv.c - a table of numbers. */
#include "base/csv.h"
#include "fuzz.h"

static void read_table(const uint8_t *data, size_t size)
{
    csv t = {0};
    double sum = 0;
    unsigned before = fuzz_begin();
    fuzz_put("metrics.csv", data, size);
    if (fuzz_result(csv_read(&t, FUZZ_FOLDER "/metrics.csv"), before))
        for (size_t i = 0; i < t.rows; i++)
            for (int k = 0; k < t.columns; k++)
                sum += csv_at(&t, i, k) + csv_column(&t, t.names[k]);
    fuzz_demand(sum != 0.1234567 && csv_column(&t, "no such") < 0, "never");
    csv_free(&t);
}

FUZZ_TARGET(read_table);

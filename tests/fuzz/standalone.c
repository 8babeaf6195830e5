/* standalone.c FOLDER SECONDS [SEED] - runs a fuzz target without libFuzzer: all inputs of a
 * corpus, then changed ones. After a crash /tmp/fuzz-PID has the last: eight bytes of size, then
 * the input. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/os.h"
#include "base/rng.h"
#include "fuzz.h"

enum { MOST_INPUTS = 4096, MOST_BYTES = 1 << 16, LONGEST = 10 }; /* seconds for one input */

typedef struct input {
    uint8_t *bytes;
    size_t size;
} input;

static input corpus[MOST_INPUTS];
static int corpus_count;

static void read_corpus(const char *folder)
{
    DIR *d = opendir(folder);
    fuzz_demand(d != NULL, "there is no corpus");
    for (struct dirent *e; d && (e = readdir(d)) && corpus_count < MOST_INPUTS;) {
        char path[4096];
        void *bytes;
        size_t n;
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        fuzz_demand(os_read_file(&bytes, &n, path) == 0, "cannot read the corpus");
        corpus[corpus_count++] = (input){bytes, n};
    }
    closedir(d);
    fuzz_demand(corpus_count > 0, "the corpus is empty");
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* One change: a byte, a bit, a number, a piece removed, repeated or taken from another input. */
static size_t change(uint8_t *x, size_t n, rng *r)
{
    static const char *const words[] = {"nan", "-1",       "1e999", "99999999999999999999",
                                        "[",   "]",        "\n",    "=",
                                        "\"",  "{}",       ",",     "0",
                                        "-",   "\xC2\x9B", ":"};
    size_t at = n ? rng_below(r, (uint32_t)n) : 0, count = 1 + rng_below(r, 16);
    const input *other = &corpus[rng_below(r, (uint32_t)corpus_count)];
    const char *word = words[rng_below(r, sizeof words / sizeof *words)];
    count = smaller(count, n - at);
    switch (rng_below(r, 6)) {
    case 0:
        if (n) x[at] = (uint8_t)rng_u32(r);
        return n;
    case 1:
        if (n) x[at] ^= (uint8_t)(1u << rng_below(r, 8));
        return n;
    case 2:
        memmove(x + at, x + at + count, n - at - count);
        return n - count;
    case 3:
        if (n + count > MOST_BYTES) return n;
        memmove(x + at + count, x + at, n - at);
        return n + count;
    case 4:
        count = smaller(strlen(word), MOST_BYTES - n);
        memmove(x + at + count, x + at, n - at);
        memcpy(x + at, word, count);
        return n + count;
    default:
        count = smaller(other->size, MOST_BYTES - at);
        memcpy(x + at, other->bytes + at % (other->size + 1),
               count = smaller(count, other->size - at % (other->size + 1)));
        return at + count > n ? at + count : n;
    }
}

/* An allocation fails, see fuzz.h. */
static size_t starve(uint8_t *x, size_t n, rng *r)
{
    if (n + 3 > MOST_BYTES) return n;
    memmove(x + 3, x, n);
    x[0] = 0xff;
    x[1] = (uint8_t)rng_u32(r);
    x[2] = (uint8_t)(rng_below(r, 4) ? 0 : rng_u32(r));
    return n + 3;
}

/* What is being tried; the file is found after a crash. */
typedef struct attempt {
    uint64_t size;
    uint8_t bytes[MOST_BYTES];
} attempt;

static attempt *map_attempt(char path[64])
{
    snprintf(path, 64, "/tmp/fuzz-%ld", (long)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    fuzz_demand(fd >= 0 && ftruncate(fd, sizeof(attempt)) == 0, "cannot make a file in /tmp");
    void *at = mmap(NULL, sizeof(attempt), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    fuzz_demand(at != MAP_FAILED, "cannot map a file");
    close(fd);
    return at;
}

static void try_changed(attempt *a, rng *r)
{
    const input *from = &corpus[rng_below(r, (uint32_t)corpus_count)];
    size_t n = smaller(from->size, MOST_BYTES);
    memcpy(a->bytes, from->bytes, n);
    for (uint32_t k = 1 + rng_below(r, 8); k > 0; k--) n = change(a->bytes, n, r);
    if (rng_below(r, 16) == 0) n = starve(a->bytes, n, r);
    a->size = n;
    alarm(LONGEST);
    LLVMFuzzerTestOneInput(a->bytes, n);
}

int main(int argc, char **argv)
{
    char path[64];
    long tried = 0;
    if (argc != 3 && argc != 4) return 2;
    read_corpus(argv[1]);
    for (int i = 0; i < corpus_count; i++) LLVMFuzzerTestOneInput(corpus[i].bytes, corpus[i].size);
    fuzz_demand(fuzz_accepted > 0, "all of the corpus is refused");
    attempt *a = map_attempt(path);
    rng r = rng_stream(argc == 4 ? strtoull(argv[3], NULL, 10) : 1, "fuzz", 0);
    for (double end = os_now() + atof(argv[2]); os_now() < end; tried++) try_changed(a, &r);
    for (int i = 0; i < corpus_count; i++) mem_free(corpus[i].bytes);
    printf("%ld inputs\n", tried);
    return munmap(a, sizeof *a) || unlink(path);
}

/* faults.h - one call of the tool fails: a file's (an error, half a write, a kill) or an
 * allocation's, the libraries' included (shim.c). Nothing is lost: a resumed run is bit-identical.
 * And exit status 0 is only for the right result.
 *
 * Every call is numbered, so a run is repeated with its 1st, 2nd, ... call failing. test_faults.c
 * tries a few numbers, slow_faults.c all of them; where RESULTS names a folder, it gets what was
 * tried. */
#include <sys/stat.h>
#include <sys/wait.h>

#include "same_run.h"

#define SHIM      PLUGIN_DIR "/fault_shim.so"
#define INTERFACE PLUGIN_DIR "/fault_interface"

enum { MOST_ARGS = 32, MOST_CALLS = 1 << 17, LONGEST = 60 }; /* seconds */

static const char TINY[] = "[env]\nname = pendulum\nhorizon = 10\n"
                           "[change.gravity]\nclock = step\nfunction = sine\nperiod = 3\n"
                           "offset = 10\namplitude = 2\n[train]\ncheckpoint_every = 25\n"
                           "[sac]\nwidth = 8\nbatch = 4\nrandom_steps = 10\n";
static const char TINY_FANS[] =
    "[fans]\ninitial = 40\n[fnvae]\nwindow = 5\nbatch = 2\nupdates = 2\n"
    "encode = 3\nencoder = 6\nlstm = 6\nprior = 4\nbank = 4\ndense = 6\n";
static const char TINY_LILAC[] =
    "[lilac]\nlatents = 3\nepisodes = 3\nsteps = 3\ninitial = 30\nupdates = 2\nrecall = 3\n"
    "history = 4\nrefresh = 10\n";
static const char TINY_ZEUS[] = "[zeus]\nsteps = 3\nlatents = 2\ncoder = 4\nwidth = 5\n";
static const char TINY_RSAC[] = "[rsac]\nunits = 4\nwindow = 6\nburn_in = 2\nwindows = 2\n";

static char last_case[128]; /* the one that a test failed at */

/* ---- the tool -------------------------------------------------------------------------------- */

/* Runs a program in the test's folder, for at most so many seconds, with its output in the files
 * out and err there. Returns its exit status, or 128 + the signal that ended it. */
static int start(const char *program, unsigned seconds, const char *fault, const char *const *args)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (chdir(test_folder) || !freopen("out", "w", stdout) || !freopen("err", "w", stderr))
            _exit(126);
        if (fault) setenv("FAULT", fault, 1);
        setenv("LD_PRELOAD", SHIM, 1);
        alarm(seconds); /* outlives exec */
        execv(program, (char *const *)args);
        _exit(127);
    }
    assert_true(child > 0);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int tool(const char *fault, const char *const *args)
{
    return start(TOOL, LONGEST, fault, args);
}

static int tool_at(const char *fault, long call, const char *const *args)
{
    char at[64];
    snprintf(at, sizeof at, "%s:%ld", fault, call);
    return tool(at, args);
}

static char *read_output(const char *name)
{
    size_t n;
    return rig_read(test_folder, name, &n);
}

static void succeeds(const char *const *args)
{
    int status = tool(NULL, args);
    if (status) fail_msg("%s %s: exit status %d: %s", args[1], args[2], status, read_output("err"));
}

/* libgomp adds an empty one. */
static void says_one_line(const char *what)
{
    char *err = read_output("err");
    int lines = 0;
    for (const char *c = err; *c; c++) lines += *c == '\n' && (c > err && c[-1] != '\n');
    if (lines != 1) fail_msg("%s: not one line: '%s'", what, err);
    mem_free(err);
}

static void write_text(const char *name, const char *a, const char *b)
{
    FILE *f = fopen(in_test_folder(name), "w");
    assert_non_null(f);
    fprintf(f, "%s%s", a, b);
    assert_int_equal(fclose(f), 0);
}

/* Makes `to` a copy of `from`, or nothing where that is NULL. */
static void put_folder(const char *to, const char *from)
{
    char command[256];
    snprintf(command, sizeof command, "cd %s && rm -rf %s%s%s%s%s", test_folder, to,
             from ? " && cp -r " : "", from ? from : "", from ? " " : "", from ? to : "");
    assert_int_equal(system(command), 0);
}

static void same_seed(const char *a, const char *b)
{
    char x[160], y[160];
    snprintf(x, sizeof x, "%s/%s/seed-0", test_folder, a);
    snprintf(y, sizeof y, "%s/%s/seed-0", test_folder, b);
    same_run(x, y);
}

/* ---- results --------------------------------------------------------------------------------- */

/* FAULTS_OF leaves only what begins so: a command, or an algorithm. */
static bool chosen(const char *name)
{
    const char *only = getenv("FAULTS_OF");
    return !only || !strncmp(name, only, strlen(only));
}

/* What came of the calls that failed. */
typedef struct tally {
    long calls, tried, unharmed, refused, killed;
} tally;

static void count_status(tally *t, int status)
{
    t->tried++;
    t->unharmed += status == 0;
    t->refused += status > 0 && status < 128;
    t->killed += status >= 128;
}

static void note(const char *table, const char *what, const tally *t)
{
    print_message("%s: %ld calls, %ld tried: %ld without harm, %ld refused, %ld killed\n", what,
                  t->calls, t->tried, t->unharmed, t->refused, t->killed);
    note_result(table, "what,calls,tried,unharmed,refused,killed", "%s,%ld,%ld,%ld,%ld,%ld\n", what,
                t->calls, t->tried, t->unharmed, t->refused, t->killed);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The arguments of a training of `algo` up to `steps`. */
static const char *const *train_args(const char *algo, const char *steps, const char *out)
{
    static const char *args[MOST_ARGS];
    static char ini[32];
    const char *list[] = {"fans",      "train", ini,       "--algo",   algo,
                          "--steps",   steps,   "--quiet", "--device", "cpu",
                          "--threads", "1",     "--out",   out,        NULL};
    snprintf(ini, sizeof ini, "tiny-%s.ini", algo);
    memcpy(args, list, sizeof list);
    return args;
}

/* A letter for each call on a file. */
static char *file_calls(const char *const *args)
{
    setenv("FAULT_FILES", in_test_folder("letters"), 1);
    succeeds(args);
    unsetenv("FAULT_FILES");
    return read_output("letters");
}

static bool applies(const char *fault, char letter)
{
    if (!strcmp(fault, "torn")) return letter == 'w';
    return strcmp(fault, "short") || letter != 'o';
}

static void no_leftovers(const char *what)
{
    char command[256];
    snprintf(command, sizeof command, "! find %s/again -name '*.tmp' | grep -q .", test_folder);
    if (system(command)) fail_msg("%s: leaves files of a killed writer", what);
}

/* Call `i` fails; what is there then is resumed. */
static void strike(tally *t, const char *algo, const char *from, const char *fault, long i)
{
    char *what = last_case;
    snprintf(what, sizeof last_case, "%s, %s, %s at call %ld", algo, from ? "resume" : "first run",
             fault, i);
    put_folder("again", from);
    int status = tool_at(fault, i, train_args(algo, "60", "again"));
    count_status(t, status);
    if (status != 0 && status != 128 + SIGKILL) says_one_line(what);
    if (status == 0) same_seed("whole", "again");
    int again = tool(NULL, train_args(algo, "60", "again"));
    if (again) fail_msg("%s: does not resume: %s", what, read_output("err"));
    same_seed("whole", "again");
    no_leftovers(what);
}

/* Every `stride`-th call of a training, first run or resume, under six faults. */
static void strike_files(const char *algo, const char *from, long stride)
{
    static const char *const faults[] = {"EIO", "ENOSPC", "ESTALE", "short", "kill", "torn"};
    put_folder("again", from);
    char *letters = file_calls(train_args(algo, "60", "again"));
    long n = (long)strlen(letters);
    assert_true(n > 50);
    for (size_t f = 0; f < COUNT(faults); f++) {
        char what[128];
        tally t = {.calls = 0};
        long met = 0;
        for (long i = 1; i <= n; i++) {
            if (!applies(faults[f], letters[i - 1])) continue;
            t.calls++;
            if (met++ % stride == 0) strike(&t, algo, from, faults[f], i);
        }
        snprintf(what, sizeof what, "%s; %s; %s", algo, from ? "resume" : "first run", faults[f]);
        note("files.csv", what, &t);
    }
    mem_free(letters);
}

static void faults_of_files(const char *algo, const char *more, long stride)
{
    char ini[32];
    if (!chosen(algo)) return;
    snprintf(ini, sizeof ini, "tiny-%s.ini", algo);
    write_text(ini, TINY, more);
    put_folder("whole", NULL);
    put_folder("half", NULL);
    succeeds(train_args(algo, "60", "whole"));
    succeeds(train_args(algo, "40", "half"));
    strike_files(algo, NULL, stride);
    strike_files(algo, "half", stride);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* A command, and the files that it makes. `train` is compared as a run. */
typedef struct memory_command {
    const char *name;
    const char *args[MOST_ARGS];
    const char *products[4];
} memory_command;

static const memory_command COMMANDS[] = {
    {"train",
     {"fans", "train", "tiny-sac.ini", "--algo", "sac", "--steps", "60", "--quiet", "--device",
      "cpu", "--threads", "1", "--out", "again"},
     {NULL}},
    {"report",
     {"fans", "report", "whole-fans", "--out", "page.html", "--json", "page.json"},
     {"page.html", "page.json", "out"}},
    {"runs", {"fans", "runs", "whole-fans", "--json", "page.json"}, {"page.json", "out"}},
    {"graph",
     {"fans", "graph", "whole-fans/seed-0", "--svg", "g.svg", "--dot", "g.dot", "--json",
      "page.json"},
     {"g.svg", "g.dot", "page.json", "out"}},
    {"export to C",
     {"fans", "export", "whole-fans/seed-0", "--to", "c", "--json", "page.json"},
     {"policy.c", "policy.h", "page.json", "out"}},
    {"export to ONNX",
     {"fans", "export", "whole-fans/seed-0", "--to", "onnx", "--json", "page.json"},
     {"policy.onnx", "page.json", "out"}},
};

static void keep_products(const memory_command *c)
{
    char command[256];
    if (!*c->products) put_folder("whole", "again");
    for (int i = 0; i < 4 && c->products[i]; i++) {
        snprintf(command, sizeof command, "cd %s && mkdir -p right && cp %s right/", test_folder,
                 c->products[i]);
        assert_int_equal(system(command), 0);
    }
}

static void same_products(const memory_command *c)
{
    if (!*c->products) same_seed("whole", "again");
    for (int i = 0; i < 4 && c->products[i]; i++)
        rig_same_file(in_test_folder("right"), test_folder, c->products[i]);
}

/* A number for each allocation: the same one for the same callers. */
static uint64_t *memory_calls(const memory_command *c, long *n)
{
    uint64_t *calls = calloc(MOST_CALLS, sizeof *calls);
    put_folder("again", NULL);
    setenv("FAULT_STACKS", in_test_folder("stacks"), 1);
    succeeds(c->args);
    unsetenv("FAULT_STACKS");
    FILE *f = fopen(in_test_folder("stacks"), "r");
    unsigned long long number;
    assert_true(calls && f);
    for (*n = 0; *n < MOST_CALLS && fscanf(f, "%llu", &number) == 1;) calls[(*n)++] = number;
    fclose(f);
    assert_true(*n > 50 && *n < MOST_CALLS);
    return calls;
}

static int occurs(const uint64_t *calls, long from, long to, uint64_t number)
{
    for (long i = from; i < to; i++)
        if (calls[i] == number) return 1;
    return 0;
}

static void strike_memory(tally *t, const memory_command *c, long i)
{
    snprintf(last_case, sizeof last_case, "%s, allocation %ld", c->name, i);
    if (!*c->products) put_folder("again", NULL);
    int status = tool_at("memory", i, c->args);
    count_status(t, status);
    if (status == 0)
        same_products(c);
    else
        says_one_line(last_case);
}

/* How much of the allocations is tried. */
typedef enum memory_share {
    SOME,   /* a few, evenly */
    STACKS, /* the first of each chain of callers, and every one of the commands with few */
    ALL,
} memory_share;

static void faults_of_memory(const memory_command *c, memory_share share)
{
    char what[128];
    long n, few = 8000;
    uint64_t *calls = memory_calls(c, &n);
    tally t = {.calls = n};
    keep_products(c);
    for (long i = 1; i <= n; i++) {
        bool first = !occurs(calls, 0, i - 1, calls[i - 1]);
        if (share == SOME ? i % (n / 4) == 2 : share == ALL || n <= few || first)
            strike_memory(&t, c, i);
    }
    snprintf(what, sizeof what, "%s; %s", c->name,
             t.tried == n    ? "every allocation"
             : share == SOME ? "some"
                             : "every chain of callers");
    note("memory.csv", what, &t);
    free(calls);
}

static void faults_of_memories(memory_share share)
{
    write_text("tiny-sac.ini", TINY, "");
    write_text("tiny-fans.ini", TINY, TINY_FANS);
    put_folder("whole-fans", NULL);
    succeeds(train_args("fans", "60", "whole-fans"));
    for (size_t i = 0; i < COUNT(COMMANDS); i++)
        if (chosen(COMMANDS[i].name)) faults_of_memory(&COMMANDS[i], share);
}

/* ---- the library ----------------------------------------------------------------------------- */

/* A program that acts and learns through the C interface; every `stride`-th of its allocations
 * fails, each in a child that goes on from there. */
static void faults_of_interface(const char *algo, int stride)
{
    char acting[64], what[128], faults[32];
    long wrong, first;
    tally t = {0};
    snprintf(acting, sizeof acting, "whole-%s/seed-0", algo);
    snprintf(faults, sizeof faults, "forks:%d", stride);
    snprintf(what, sizeof what, "C interface by %s; %s", algo,
             stride > 1 ? "some" : "every allocation");
    const char *args[] = {"interface", acting, NULL};
    int status = start(INTERFACE, LONGEST, NULL, args);
    if (status) fail_msg("%s: exit status %d: %s", what, status, read_output("err"));
    assert_int_equal(rename(in_test_folder("out"), in_test_folder("right-out")), 0);
    setenv("FAULT_RIGHT", in_test_folder("right-out"), 1);
    setenv("FAULT_TALLY", in_test_folder("tally"), 1);
    status = start(INTERFACE, 7200, faults, args);
    unsetenv("FAULT_TALLY");
    unsetenv("FAULT_RIGHT");
    assert_int_equal(status, 0);
    char *line = read_output("tally");
    assert_int_equal(sscanf(line, "%ld %ld %ld %ld %ld %ld %ld", &t.calls, &t.tried, &t.unharmed,
                            &t.refused, &t.killed, &wrong, &first),
                     7);
    mem_free(line);
    note("memory.csv", what, &t);
    if (wrong) fail_msg("%s: %ld are wrong, the first is allocation %ld", what, wrong, first);
}

static void faults_of_interfaces(int stride)
{
    static const char *const algos[] = {"sac", "fans"};
    write_text("tiny-sac.ini", TINY, "");
    write_text("tiny-fans.ini", TINY, TINY_FANS);
    for (size_t i = 0; i < COUNT(algos); i++) {
        char whole[32];
        if (!chosen(algos[i])) continue;
        snprintf(whole, sizeof whole, "whole-%s", algos[i]);
        put_folder(whole, NULL);
        succeeds(train_args(algos[i], "60", whole));
        faults_of_interface(algos[i], i ? 4 * stride : stride);
    }
}

/* ---- the program ----------------------------------------------------------------------------- */

/* Sanitizers have an allocator of their own. Folders are in memory where that is possible: an fsync
 * there takes no time. An argument chooses one of the tests. */
static int faults_main(const struct CMUnitTest *tests, size_t count, int argc, char **argv)
{
    if (system("ldd " TOOL " | grep -q 'lib[at]san'") == 0) {
        printf("skipped: a sanitizer has its own allocator\n");
        return 77;
    }
    if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 0);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    int failed =
        _cmocka_run_group_tests("faults", tests, count, make_test_folder, remove_test_folder);
    if (failed) printf("the last case: %s\n", last_case);
    return failed;
}

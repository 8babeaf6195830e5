/* faults.h - one call of the tool fails: a file's (an error, half a write, a kill) or an
 * allocation's, the libraries' included (shim.c). Nothing is lost: a resumed run is bit-identical.
 * And exit status 0 is only for the right result.
 *
 * Every call is numbered, so a run is repeated with its 1st, 2nd, ... call on a file failing; where
 * an allocation fails, a child goes on from there. test_faults.c tries a few numbers, slow_faults.c
 * all of them; where RESULTS names a folder, it gets what was tried. */
#include <glob.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "same_run.h"

#define SHIM      PLUGIN_DIR "/fault_shim.so"
#define INTERFACE PLUGIN_DIR "/fault_interface"

enum { MOST_ARGS = 32, LONGEST = 60, VERY_LONGEST = 7200 }; /* seconds */

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

/* Runs a program in a folder, for at most so many seconds, with its output in the files out and err
 * there. Returns its exit status, or 128 + the signal that ended it. */
static int start(const char *program, const char *folder, unsigned seconds, const char *fault,
                 const char *const *args)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (chdir(folder) || !freopen("out", "w", stdout) || !freopen("err", "w", stderr))
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
    return start(TOOL, test_folder, LONGEST, fault, args);
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
    char x[192], y[192];
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

/* A command, and the files that it makes; without any, a run in the folder again. The quick tests
 * try every `stride`-th allocation. */
typedef struct memory_command {
    const char *name, *program;
    const char *args[MOST_ARGS];
    const char *products[4];
    int stride;
} memory_command;

#define TRAIN(algo)                                                                       \
    {                                                                                     \
        "fans", "train", "tiny-" algo ".ini", "--algo", algo, "--steps", "60", "--quiet", \
            "--device", "cpu", "--threads", "1", "--out", "again"                         \
    }

/* The last ones act and learn through the C interface. */
static const memory_command COMMANDS[] = {
    {"train sac", TOOL, TRAIN("sac"), {NULL}, 15000},
    {"train fans", TOOL, TRAIN("fans"), {NULL}, 20000},
    {"report",
     TOOL,
     {"fans", "report", "whole-fans", "--out", "page.html", "--json", "page.json"},
     {"page.html", "page.json", "out"},
     300},
    {"runs", TOOL, {"fans", "runs", "whole-fans", "--json", "page.json"}, {"page.json", "out"}, 40},
    {"graph",
     TOOL,
     {"fans", "graph", "whole-fans/seed-0", "--svg", "g.svg", "--dot", "g.dot", "--json",
      "page.json"},
     {"g.svg", "g.dot", "page.json", "out"},
     200},
    {"export to C",
     TOOL,
     {"fans", "export", "whole-fans/seed-0", "--to", "c", "--json", "page.json"},
     {"policy.c", "policy.h", "page.json", "out"},
     12000},
    {"export to ONNX",
     TOOL,
     {"fans", "export", "whole-fans/seed-0", "--to", "onnx", "--json", "page.json"},
     {"policy.onnx", "page.json", "out"},
     12000},
    {"C interface by sac", INTERFACE, {"interface", "whole-sac/seed-0"}, {"out"}, 20000},
    {"C interface by fans", INTERFACE, {"interface", "whole-fans/seed-0"}, {"out"}, 30000},
};

static void same_products(const memory_command *c, const char *a, const char *b)
{
    char x[160], y[160];
    if (!*c->products) {
        snprintf(x, sizeof x, "%s/again", a);
        snprintf(y, sizeof y, "%s/again", b);
        same_seed(x, y);
    }
    snprintf(x, sizeof x, "%s/%s", test_folder, a);
    snprintf(y, sizeof y, "%s/%s", test_folder, b);
    for (int i = 0; i < 4 && c->products[i]; i++) rig_same_file(x, y, c->products[i]);
}

/* Runs a command in a new folder `name`. */
static void run_command(const memory_command *c, const char *name, const char *fault)
{
    put_folder(name, "begin");
    int status = start(c->program, in_test_folder(name), VERY_LONGEST, fault, c->args);
    if (status) fail_msg("%s: exit status %d", c->name, status);
}

/* What a child has left that ended with 0. */
static void check_children(const memory_command *c)
{
    glob_t found;
    if (glob(in_test_folder("work.*"), 0, NULL, &found)) return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *name = strrchr(found.gl_pathv[i], '/') + 1;
        snprintf(last_case, sizeof last_case, "%s, allocation %s", c->name, strchr(name, '.') + 1);
        same_products(c, "right", name);
        put_folder(name, NULL);
    }
    globfree(&found);
}

/* At the `from`-th, and every `stride`-th after it. */
static void faults_of_memory(const memory_command *c, int stride, int from)
{
    char what[128], fault[32];
    long killed, wrong, first;
    tally t = {0};
    run_command(c, "right", NULL);
    snprintf(fault, sizeof fault, "memory:%d:%d", stride, from);
    setenv("FAULT_TALLY", in_test_folder("tally"), 1);
    if (!strcmp(c->program, INTERFACE)) setenv("FAULT_SILENT", "", 1); /* no tool of ours */
    run_command(c, "work", fault);
    unsetenv("FAULT_TALLY");
    unsetenv("FAULT_SILENT");
    same_products(c, "right", "work");
    check_children(c);
    char *line = read_output("tally");
    assert_int_equal(sscanf(line, "%ld %ld %ld %ld %ld %ld %ld %ld", &t.calls, &t.tried,
                            &t.unharmed, &t.refused, &t.killed, &killed, &wrong, &first),
                     8);
    mem_free(line);
    assert_true(t.tried > 0);
    snprintf(what, sizeof what, "%s; one of %d from %d", c->name, stride, from);
    note("memory.csv", what, &t);
    if (t.killed) print_message("the first that was killed is allocation %ld\n", killed);
    if (wrong)
        fail_msg("%s: %ld say no single line, the first is allocation %ld", what, wrong, first);
}

/* Where commands begin: tasks, and a run of each of two methods. */
static void make_beginning(void)
{
    static const char *const algos[] = {"sac", "fans"};
    put_folder("begin", NULL);
    assert_int_equal(mkdir(in_test_folder("begin"), 0755), 0);
    write_text("begin/tiny-sac.ini", TINY, "");
    write_text("begin/tiny-fans.ini", TINY, TINY_FANS);
    for (size_t i = 0; i < COUNT(algos); i++) {
        char out[32];
        snprintf(out, sizeof out, "whole-%s", algos[i]);
        int status =
            start(TOOL, in_test_folder("begin"), LONGEST, NULL, train_args(algos[i], "60", out));
        assert_int_equal(status, 0);
    }
}

/* Every allocation, or the FAULTS_PART of them, such as 3/8; or, where `few`, some of each command.
 */
static void faults_of_memories(bool few)
{
    int from = 1, parts = 1;
    const char *part = getenv("FAULTS_PART");
    if (part) assert_int_equal(sscanf(part, "%d/%d", &from, &parts), 2);
    make_beginning();
    for (size_t i = 0; i < COUNT(COMMANDS); i++)
        if (chosen(COMMANDS[i].name))
            faults_of_memory(&COMMANDS[i], few ? COMMANDS[i].stride : parts, few ? 0 : from);
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

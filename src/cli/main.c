/* main.c - finds the command, runs it, reports its error. */
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/table.h"

typedef struct command {
    const char *name, *help;
    command_fn *run;
} command;

static const command commands[] = {
#define X(name, help) {#name, help, cmd_##name},
#include "cli/commands.h"
#undef X
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static int print_help(void)
{
    printf("fans - reinforcement learning in worlds that change\n\n"
           "usage: fans COMMAND [arguments]\n"
           "       fans help COMMAND\n\n");
    table lines = {.indent = 2};
    for (int i = 0; i < COMMANDS; i++) table_row(&lines, commands[i].name, commands[i].help);
    table_row(&lines, "help", "explain a command and its options");
    table_row(&lines, "--version", "print the version");
    int rc = table_print(&lines);
    table_free(&lines);
    return rc;
}

static int print_version(void)
{
    printf("fans %s\n", fans_version());
    return 0;
}

static const command *find_command(const char *name)
{
    nearest near = {.word = name};
    for (int i = 0; i < COMMANDS; i++) {
        if (!strcmp(name, commands[i].name)) return &commands[i];
        nearest_offer(&near, commands[i].name);
    }
    nearest_offer(&near, "help");
    const char *hint = nearest_hint(&near);
    fans_fail(CLI_USAGE, "unknown command '%s'%s", name, *hint ? hint : "; `fans help` lists them");
    return NULL;
}

static bool asks_for_help(const char *word)
{
    return !strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h");
}

/* `fans help model fit` is `fans model fit --help`. */
static int help(int argc, char **argv)
{
    char *words[] = {NULL, "--help"};
    if (argc == 0 || asks_for_help(argv[0])) return print_help();
    const command *c = find_command(argv[0]);
    if (!c) return CLI_USAGE;
    if (argc > 2) return fans_fail(CLI_USAGE, "help: '%s' is one argument too many", argv[2]);
    words[0] = argc > 1 ? argv[1] : words[1];
    return c->run(argc, words);
}

static int run(int argc, char **argv)
{
    if (argc < 2) return fans_fail(CLI_USAGE, "no command given; `fans help` lists them");
    if (asks_for_help(argv[1])) return help(argc - 2, argv + 2);
    if (!strcmp(argv[1], "--version")) return print_version();
    const command *c = find_command(argv[1]);
    return c ? c->run(argc - 2, argv + 2) : CLI_USAGE;
}

/* Output that could not be written (a full disk, a closed pipe) is an error like any other. */
static int finish_output(void)
{
    if (fflush(stdout) || ferror(stdout))
        return fans_fail(FANS_EIO, "cannot write to the standard output");
    return 0;
}

/* Is the command line wrong? Commands return CLI_USAGE then; the layers below begin their message
 * with the option: "--set sac.lr: ...". */
static bool is_usage(int rc)
{
    return rc == CLI_USAGE || (rc == FANS_EINVAL && !strncmp(fans_error(), "--", 2));
}

/* Warnings: a line like that of an error. */
static void warn(void *user, fans_log_level level, const char *line)
{
    (void)user;
    if (level == FANS_LOG_WARNING) fprintf(stderr, "fans: %s\n", line);
}

/* Where a standard descriptor is closed, the next file would get its number, and what is printed
 * would go there. What stands in for it refuses reads or writes as a closed one would. */
static void hold_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

/* Some libraries throw or crash where they find no memory. It is too late to go on, but not to say
 * so. */
static void say_last(void)
{
    static const char line[] = "fans: a library gave up, most likely because memory ran out; a "
                               "training resumes from its last checkpoint\n";
    ssize_t n = write(STDERR_FILENO, line, sizeof line - 1);
    (void)n;
}

static void give_up(void)
{
    say_last();
    _exit(1);
}

/* The signal strikes again, as if it had never been caught. */
static void crash(int signal_number)
{
    say_last();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* A sanitizer's own handler stays. */
static void catch_crash(int signal_number)
{
    struct sigaction now, then = {.sa_handler = crash, .sa_flags = SA_NODEFER};
    if (sigaction(signal_number, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        sigaction(signal_number, &then, NULL);
}

/* std::set_terminate, if a C++ runtime is loaded. */
typedef void terminate_fn(void);
__attribute__((weak)) extern terminate_fn *_ZSt13set_terminatePFvvE(terminate_fn *fn);

static void prepare_process(void)
{
    void *here;
    hold_descriptors();
    backtrace(&here, 1); /* loads what throwing needs while there is memory */
    if (_ZSt13set_terminatePFvvE) _ZSt13set_terminatePFvvE(give_up);
    catch_crash(SIGSEGV);
    catch_crash(SIGBUS);
    catch_crash(SIGABRT);
    signal(SIGXFSZ, SIG_IGN); /* writing fails instead, with a message */
    fans_log_to(warn, NULL);
}

int main(int argc, char **argv)
{
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        fprintf(stderr, "fans: this build needs a CPU with AVX2 and FMA (x86-64-v3)\n");
        return 1;
    }
#endif
    prepare_process();
    int rc = run(argc, argv);
    if (rc > CLI_SIGNAL) return rc;
    if (rc >= 0) rc = finish_output();
    if (rc < 0) fprintf(stderr, "fans: %s\n", fans_error());
    return rc >= 0 ? 0 : is_usage(rc) ? 2 : 1;
}

/* main.c - finds the command, runs it, reports its error. */
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "cli/cli.h"

static int print_version(void)
{
    printf("fans %s\n", fans_version());
    return 0;
}

/* `fans --help model fit` is `fans help model fit`. */
static bool asks_for_help(const char *word)
{
    return !strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h");
}

static int run(int argc, char **argv)
{
    if (argc < 2) return fans_fail(CLI_USAGE, "no command given; `fans help` lists them");
    if (asks_for_help(argv[1])) return cmd_help(argc - 2, argv + 2);
    if (!strcmp(argv[1], "--version")) return print_version();
    const cli_command *c = command_find(argv[1]);
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

static void prepare_process(void)
{
    void *here;
    hold_descriptors();
    backtrace(&here, 1); /* loads what throwing needs while there is memory */
    os_on_uncaught(give_up);
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
    if (rc == CLI_LEFT || rc > CLI_SIGNAL) return rc;
    if (rc >= 0) rc = finish_output();
    if (rc < 0) fprintf(stderr, "fans: %s\n", fans_error());
    return rc >= 0 ? 0 : is_usage(rc) ? 2 : 1;
}

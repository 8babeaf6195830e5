/* test_base_os.c - files: whole or not at all, whatever the disk says. */
#include "testing.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/os.h"

static void assert_content(const char *path, const char *expected)
{
    void *bytes;
    size_t n;
    assert_int_equal(os_read_file(&bytes, &n, path), 0);
    assert_int_equal(n, strlen(expected));
    assert_string_equal((char *)bytes, expected); /* a zero byte follows */
    mem_free(bytes);
}

/* No temporary file is left. */
static void assert_file_count(int expected)
{
    int n = 0;
    DIR *folder = opendir(test_folder);
    assert_non_null(folder);
    for (struct dirent *e; (e = readdir(folder));) n += e->d_name[0] != '.';
    closedir(folder);
    assert_int_equal(n, expected);
}

static void files_are_replaced(void **state)
{
    (void)state;
    const char *path = in_test_folder("file");
    assert_false(os_exists(path));
    assert_int_equal(os_write_file(path, "one", 3), 0);
    assert_content(path, "one");
    assert_int_equal(os_write_file(path, "", 0), 0);
    assert_content(path, "");
    char big[100000];
    memset(big, 'x', sizeof big);
    big[sizeof big - 1] = 0;
    assert_int_equal(os_write_file(path, big, sizeof big - 1), 0);
    assert_content(path, big);
    assert_true(os_exists(path));
    assert_file_count(1);
}

static void a_bare_name_is_a_file_here(void **state)
{
    (void)state;
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(test_folder), 0);
    assert_int_equal(os_write_file("bare", "x", 1), 0);
    assert_content("bare", "x");
    assert_int_equal(unlink("bare"), 0);
    assert_int_equal(chdir(before), 0);
}

static void links_are_followed(void **state)
{
    (void)state;
    const char *link = in_test_folder("link"), *target = in_test_folder("file");
    assert_int_equal(symlink("file", link), 0);
    assert_int_equal(os_write_file(link, "through", 7), 0);
    assert_content(target, "through");
    struct stat st;
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(unlink(link), 0);
}

static void devices_are_written_to_and_stay(void **state)
{
    (void)state;
    struct stat st;
    assert_int_equal(os_write_file("/dev/null", "x", 1), 0);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_fails(os_write_file("/dev/full", "x", 1), FANS_EIO,
                 "/dev/full: cannot write: No space left on device");
}

/* As /dev/stdout is, when what it leads to was deleted. */
static void a_link_to_a_file_without_a_name_stays(void **state)
{
    (void)state;
    char place[64], got[8] = "";
    const char *link = in_test_folder("link"), *file = in_test_folder("gone");
    struct stat st;
    int fd = open(file, O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    snprintf(place, sizeof place, "/proc/self/fd/%d", fd);
    assert_int_equal(symlink(place, link), 0);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(os_write_file(link, "text", 4), 0);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(pread(fd, got, 7, 0), 4);
    assert_string_equal(got, "text");
    close(fd);
    unlink(link);
}

static void bad_places_are_named(void **state)
{
    (void)state;
    assert_fails(os_write_file(in_test_folder("no/such/folder"), "x", 1), FANS_EIO,
                 "cannot write: No such file or directory");
    assert_fails(os_write_file(test_folder, "x", 1), FANS_EIO, "cannot write: Is a directory");
    assert_fails(os_write_file("", "x", 1), FANS_EIO, "cannot write");
    char endless[5000];
    memset(endless, 'a', sizeof endless);
    endless[sizeof endless - 1] = 0;
    assert_fails(os_write_file(endless, "x", 1), FANS_EIO, "too long");
    assert_fails(os_make_folders(endless), FANS_EIO, "too long");
    void *bytes;
    size_t n;
    assert_fails(os_read_file(&bytes, &n, in_test_folder("absent")), FANS_EIO,
                 "absent: cannot read");
    assert_fails(os_read_file(&bytes, &n, test_folder), FANS_EIO, "cannot read: Is a directory");
}

static void a_folder_without_permission_is_an_error(void **state)
{
    (void)state;
    if (geteuid() == 0) {
        /* root may write anywhere; /proc cannot be written by anyone */
        assert_fails(os_write_file("/proc/fans-test", "x", 1), FANS_EIO,
                     "/proc/fans-test: cannot write");
        return;
    }
    const char *folder = in_test_folder("locked"), *path = in_test_folder("locked/file");
    assert_int_equal(mkdir(folder, 0555), 0);
    assert_fails(os_write_file(path, "x", 1), FANS_EIO, "cannot write: Permission denied");
    assert_false(os_exists(path));
    assert_int_equal(rmdir(folder), 0);
}

/* In a child, whose files may not grow past 1000 bytes: stands for a full disk. */
static int write_with_a_limit(const char *path)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char big[5000] = {0};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000, 1000});
        int rc = os_write_file(path, big, sizeof big);
        _exit(rc == FANS_EIO && strstr(fans_error(), "cannot write: File too large") ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void a_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    const char *path = in_test_folder("file");
    assert_int_equal(os_write_file(path, "old", 3), 0);
    assert_int_equal(write_with_a_limit(path), 0);
    assert_content(path, "old");
    assert_file_count(1);
}

/* A writer killed at any moment: a reader sees the old content or the new one, never a part. */
static void a_killed_writer_leaves_a_whole_file(void **state)
{
    (void)state;
    enum { SIZE = 200000 };
    const char *path = in_test_folder("file");
    static char content[SIZE];
    memset(content, 'a', SIZE);
    assert_int_equal(os_write_file(path, content, SIZE), 0);
    for (int round = 0; round < 20; round++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            for (char c = 'a';; c = c == 'z' ? 'a' : (char)(c + 1)) {
                memset(content, c, SIZE);
                os_write_file(path, content, SIZE);
            }
        }
        usleep((unsigned)(500 + round * 700));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        void *bytes;
        size_t n;
        assert_int_equal(os_read_file(&bytes, &n, path), 0);
        assert_int_equal(n, SIZE);
        for (size_t i = 1; i < n; i++) assert_int_equal(((char *)bytes)[i], *(char *)bytes);
        mem_free(bytes);
    }
}

static void folders_are_made(void **state)
{
    (void)state;
    assert_int_equal(os_make_folders(in_test_folder("a/b//c/")), 0);
    assert_int_equal(os_make_folders(in_test_folder("a/b/c")), 0);
    assert_true(os_exists(in_test_folder("a/b/c")));
    assert_int_equal(os_make_folders("/"), 0);
    assert_fails(os_make_folders(""), FANS_EIO, "a folder needs a name");
    assert_int_equal(os_write_file(in_test_folder("a/file"), "", 0), 0);
    assert_fails(os_make_folders(in_test_folder("a/file")), FANS_EIO, "is not a folder");
    assert_fails(os_make_folders(in_test_folder("a/file/b")), FANS_EIO, "cannot make the folder");
}

static void the_machine_is_described(void **state)
{
    (void)state;
    char name[256], folder[4096], tiny[3];
    os_cpu_name(name, sizeof name);
    assert_true(strlen(name) > 0);
    assert_true(os_cores() >= 1);
    double before = os_now();
    usleep(2000);
    assert_true(os_now() - before >= 0.002);
    assert_int_equal(os_program_folder(folder, sizeof folder), 0);
    assert_true(os_exists(folder));
    assert_true(folder[0] == '/' && folder[strlen(folder) - 1] != '/');
    assert_fails(os_program_folder(tiny, sizeof tiny), FANS_EIO, "too long");
}

static int read_a_file(void)
{
    void *bytes;
    size_t n;
    int rc = os_read_file(&bytes, &n, SOURCE_DIR "/LICENSE");
    if (rc == 0) mem_free(bytes);
    return rc;
}

static void every_allocation_of_reading_may_fail(void **state)
{
    (void)state;
    fail_every_allocation(read_a_file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_replaced),
        cmocka_unit_test(a_bare_name_is_a_file_here),
        cmocka_unit_test(links_are_followed),
        cmocka_unit_test(devices_are_written_to_and_stay),
        cmocka_unit_test(a_link_to_a_file_without_a_name_stays),
        cmocka_unit_test(bad_places_are_named),
        cmocka_unit_test(a_folder_without_permission_is_an_error),
        cmocka_unit_test(a_full_disk_leaves_the_old_file),
        cmocka_unit_test(a_killed_writer_leaves_a_whole_file),
        cmocka_unit_test(folders_are_made),
        cmocka_unit_test(the_machine_is_described),
        cmocka_unit_test(every_allocation_of_reading_may_fail),
    };
    return cmocka_run_group_tests(tests, make_test_folder, remove_test_folder);
}

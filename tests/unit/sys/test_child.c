/* Tests of sys/child: starting, ends, output, signals, the ladder. Trees are test_guard.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "processes.h"

static struct wb_child_status await_exit(struct wb_child *child)
{
    struct wb_child_status status = {0};
    assert_true(wb_child_wait(child, wb_clock_deadline(LONG_MS), NULL, &status));
    assert_true(wb_child_ended(child));
    return status;
}

static char *write_script(const char *text)
{
    char *path = wb_strdup("/tmp/wb-script-XXXXXX");
    int fd = mkostemp(path, O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    fchmod(fd, 0755);
    close(fd);
    return path;
}

static void failed_starts_say_why(void **state)
{
    WB_AUTO(wb_free_p) char *script = write_script("#!/no/such/interpreter\n");
    const char *const missing_prefix[] = {"/no/prefix", NULL};
    const char *guard = getenv("WERKBANK_GUARD");

    const struct {
        const char *program, *cwd, *guard;
        const char *const *prefix;
        enum wb_error_code code;
        const char *says;
    } rows[] = {
        {"/no/such/program", NULL, guard, NULL, WB_ERROR_NOT_FOUND,
         "cannot start /no/such/program: No such file or directory"},
        {"no-such-program-on-path", NULL, guard, NULL, WB_ERROR_NOT_FOUND,
         "cannot start no-such-program-on-path: No such file"},
        {"/etc/passwd", NULL, guard, NULL, WB_ERROR_DENIED,
         "cannot start /etc/passwd: Permission denied"},
        {"/bin/true", "/no/such/folder", guard, NULL, WB_ERROR_NOT_FOUND,
         "cannot start /bin/true in /no/such/folder: No such file"},
        {"/bin/true", NULL, guard, missing_prefix, WB_ERROR_NOT_FOUND,
         "cannot start /no/prefix: No such file"},
        {script, NULL, guard, NULL, WB_ERROR_UNAVAILABLE, "the interpreter or loader"},
        {"/bin/true", NULL, "/no/such/guard", NULL, WB_ERROR_NOT_FOUND, "/no/such/guard"},
        {"/bin/true", NULL, "/bin/true", NULL, WB_ERROR_IO, "guard /bin/true ended at once"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        const char *const argv[] = {rows[i].program, NULL};
        struct wb_child_options options = {
            .argv = argv, .cwd = rows[i].cwd, .prefix = rows[i].prefix, .guard = rows[i].guard};
        struct wb_error err = {0};
        assert_null(wb_child_start(loop, &options, &err));
        if (strstr(err.message, rows[i].says) == NULL) {
            fail_msg("row %zu says: %s", i, err.message);
        }
        assert_int_equal(err.code, rows[i].code);
    }
    assert_int_equal(count_children(), 0);
    unlink(script);
}

static void ends_are_told(void **state)
{
    static const struct {
        const char *mode, *arg;
        bool exited;
        int exit_code, signal;
        const char *words;
    } rows[] = {
        {"exit", "0", true, 0, 0, "exited with status 0"},
        {"exit", "3", true, 3, 0, "exited with status 3"},
        {"exit", "255", true, 255, 0, "exited with status 255"},
        {"raise", "9", false, 0, 9, "was killed by signal 9 (SIGKILL)"},
        {"raise", "15", false, 0, 15, "was killed by signal 15 (SIGTERM)"},
        {"raise", "40", false, 0, 40, "was killed by signal 40"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        struct listener listener;
        WB_AUTO(wb_text_done) struct wb_text words = {0};
        listener_init(&listener);
        struct wb_child *child = start_mode(&listener, rows[i].mode, rows[i].arg, NULL);
        struct wb_child_status status = await_exit(child);
        wb_child_free(child);
        wb_child_describe(&status, &words);
        assert_int_equal(status.exited, rows[i].exited);
        assert_int_equal(status.exit_code, rows[i].exit_code);
        assert_int_equal(status.signal, rows[i].signal);
        assert_false(status.memory);
        assert_true(wb_str_starts(wb_text_cstr(&words), rows[i].words));
        assert_int_equal(listener.n_ends, 1);
        assert_int_equal(listener.n_exits, 1);
        assert_int_equal(listener.status.signal, rows[i].signal);
        listener_done(&listener);
    }
}

static void expect_output(const char *mode, const char *arg, const struct wb_child_options *extra,
                          const char *expected)
{
    struct listener listener;
    listener_init(&listener);
    struct wb_child *child = start_mode(&listener, mode, arg, extra);
    assert_true(await_exit(child).exited);
    wb_child_free(child);
    assert_string_equal(wb_text_cstr(&listener.out), expected);
    listener_done(&listener);
}

static void environment_folder_and_prefix(void **state)
{
    const char *const env[] = {"WB_TEST_A=new", "WB_TEST_C=added", "WB_TEST_E", NULL};
    const char *const prefix[] = {"env", "-u", "WB_TEST_C", "WB_TEST_D=from prefix", NULL};
    struct wb_child_options options = {.env = env};
    struct wb_child_options moved = {.cwd = "/usr"};
    struct wb_child_options prefixed = {.env = env, .prefix = prefix};
    (void)state;
    setenv("WB_TEST_A", "old", 1);
    setenv("WB_TEST_AB", "kept", 1);
    setenv("WB_TEST_E", "secret", 1);
    expect_output("environment", "WB_TEST_A", &options, "new\n");
    expect_output("environment", "WB_TEST_AB", &options, "kept\n");
    expect_output("environment", "WB_TEST_C", &options, "added\n");
    expect_output("environment", "WB_TEST_C", NULL, "(none)\n");
    expect_output("environment", "WB_TEST_E", NULL, "secret\n");
    expect_output("environment", "WB_TEST_E", &options, "(none)\n");
    expect_output("environment", "WB_TEST_D", &prefixed, "from prefix\n");
    expect_output("environment", "WB_TEST_C", &prefixed, "(none)\n");
    expect_output("cwd", NULL, &moved, "/usr\n");
    expect_output("session", NULL, NULL, "1\n");
}

/* The embedder's open files without close-on-exec, and its signals, are its own. */
static void children_start_clean(void **state)
{
    sigset_t set, before;
    (void)state;
    int leaky = open("/dev/null", O_RDONLY);
    int far = fcntl(leaky, F_DUPFD, 200);
    assert_true(far >= 200);
    expect_output("descriptors", NULL, NULL, "0 1 2 ");
    close(leaky);
    close(far);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    expect_output("signals", NULL, NULL, "SigBlk: 0\nSigIgn: 0\n");
    signal(SIGINT, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* A daemon's own 0-2 are closed: pipes land there. */
static void host_without_standard_descriptors(void **state)
{
    int saved[3];
    (void)state;
    fflush(NULL);
    for (int fd = 0; fd < 3; fd++) {
        saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 100);
        close(fd);
    }
    struct listener listener;
    listener_init(&listener);
    struct wb_child *child = start_mode(&listener, "cat", NULL, NULL);
    struct wb_span word = WB_SPAN("through");
    struct wb_error err;
    int written = wb_child_write(child, &word, 1, &err);
    wb_child_close_stdin(child);
    struct wb_child_status status;
    bool ended = wb_child_wait(child, wb_clock_deadline(LONG_MS), NULL, &status);
    wb_child_free(child);
    for (int fd = 0; fd < 3; fd++) {
        if (saved[fd] >= 0) {
            dup2(saved[fd], fd);
            close(saved[fd]);
        }
    }
    assert_int_equal(written, 0);
    assert_true(ended);
    assert_string_equal(wb_text_cstr(&listener.out), "through");
    listener_done(&listener);
}

/* All is written before anything is read: a host that blocked on the pipe would wait for ever. */
static void ten_megabytes_each_way(void **state)
{
    const size_t len = 10 * WB_MIB;
    WB_AUTO(wb_free_p) char *bytes = wb_alloc(len);
    struct listener listener;
    struct wb_error err;
    (void)state;
    for (size_t i = 0; i < len; i++) {
        bytes[i] = (char)(i * 2654435761u >> 13);
    }
    listener_init(&listener);
    struct wb_child *child = start_mode(&listener, "cat", NULL, NULL);
    for (size_t at = 0; at < len; at += WB_MIB) {
        struct wb_span part = {bytes + at, WB_MIB};
        assert_int_equal(wb_child_write(child, &part, 1, &err), 0);
    }
    wb_child_close_stdin(child);
    assert_int_equal(await_exit(child).exit_code, 0);
    wb_child_free(child);
    assert_int_equal(listener.out.len, len);
    assert_memory_equal(listener.out.ptr, bytes, len);
    listener_done(&listener);
}

static void expect_tail(const char *mode, const char *arg, bool merged, const char *first,
                        const char *last)
{
    WB_AUTO(wb_text_done) struct wb_text tail = {0};
    struct wb_child_options options = {.stderr_to_stdout = merged};
    struct listener listener;
    listener_init(&listener);
    struct wb_child *child = start_mode(&listener, mode, arg, &options);
    await_exit(child);
    wb_child_stderr_tail(child, &tail);
    wb_child_free(child);
    assert_true(tail.len <= WB_CHILD_STDERR_TAIL_BYTES);
    assert_true(wb_str_starts(wb_text_cstr(&tail), first));
    assert_true(wb_str_ends(wb_text_cstr(&tail), last));
    if (merged) {
        assert_true(wb_str_ends(wb_text_cstr(&listener.out), "err 2\n"));
    }
    listener_done(&listener);
}

static void stderr_tail_has_whole_lines(void **state)
{
    (void)state;
    expect_tail("err", "0", false, "", "");
    expect_tail("err", "3", false, "err 0\n", "err 2\n");
    expect_tail("err", "1500", false, "err ", "err 1499\n");
    expect_tail("err", "100000", false, "err ", "err 99999\n");
    expect_tail("err", "3", true, "", "");
}

static void stdout_may_go_nowhere(void **state)
{
    const char *const argv[] = {CHILD_PROGRAM, "out", "1000000", NULL};
    struct wb_child_options options = {.argv = argv, .guard = getenv("WERKBANK_GUARD")};
    struct wb_error err;
    (void)state;
    struct wb_child *child = wb_child_start(loop, &options, &err);
    assert_non_null(child);
    assert_int_equal(await_exit(child).exit_code, 0);
    wb_child_free(child);
}

static void ladder_ends_at_the_first_rung_that_works(void **state)
{
    static const struct {
        const char *mode;
        int64_t eof_ms, term_ms;
        bool exited;
        int signal;
    } rows[] = {
        {"cat", LONG_MS, LONG_MS, true, 0},   {"wait", 1, LONG_MS, false, SIGTERM},
        {"wait", 0, LONG_MS, false, SIGTERM}, {"stubborn", 1, 50, false, SIGKILL},
        {"stubborn", 0, 0, false, SIGKILL},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        struct listener listener;
        struct wb_child_status status;
        listener_init(&listener);
        struct wb_child *child = start_mode(&listener, rows[i].mode, NULL, NULL);
        assert_true(strcmp(rows[i].mode, "cat") == 0 || listener_await(&listener, "ready"));
        assert_true(wb_child_stop(child, rows[i].eof_ms, rows[i].term_ms));
        assert_true(wb_child_stop(child, 0, 0));
        assert_true(wb_child_wait(child, 0, NULL, &status));
        assert_int_equal(status.signal, rows[i].signal);
        assert_int_equal(status.exited, rows[i].exited);
        wb_child_free(child);
        assert_int_equal(listener.n_exits, 1);
        listener_done(&listener);
    }
}

static void signals_reach_the_process(void **state)
{
    struct listener listener;
    (void)state;
    listener_init(&listener);
    struct wb_child *child = start_mode(&listener, "wait", NULL, NULL);
    assert_true(listener_await(&listener, "ready"));
    wb_child_signal(child, SIGUSR1, false);
    assert_int_equal(await_exit(child).signal, SIGUSR1);
    wb_child_signal(child, SIGKILL, true);
    wb_child_free(child);
    listener_done(&listener);
}

/* An order that the guard did not live to read must not hide its last reports. */
static void signals_may_come_too_late(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct listener listener;
        listener_init(&listener);
        struct wb_child *child = start_mode(&listener, "exit", "5", NULL);
        while (!wb_child_ended(child)) {
            wb_child_signal(child, SIGCONT, false);
        }
        assert_int_equal(await_exit(child).exit_code, 5);
        wb_child_free(child);
        listener_done(&listener);
    }
}

static void writing_to_what_has_ended_is_refused(void **state)
{
    struct listener listener;
    struct wb_span word = WB_SPAN("word");
    struct wb_error err;
    (void)state;
    signal(SIGPIPE, SIG_DFL);
    listener_init(&listener);
    struct wb_child *child = start_mode(&listener, "close-stdin", NULL, NULL);
    assert_true(listener_await(&listener, "closed"));
    assert_int_equal(wb_child_write(child, &word, 1, &err), -1);
    assert_int_equal(err.code, WB_ERROR_CLOSED);
    wb_child_free(child);
    listener_done(&listener);
}

static void *fire_soon(void *ctx)
{
    usleep(20000);
    wb_cancel_fire(ctx);
    return NULL;
}

static void waits_end_by_deadline_and_cancel(void **state)
{
    struct listener listener;
    struct wb_cancel cancel;
    struct wb_child_status status;
    pthread_t thread;
    (void)state;
    listener_init(&listener);
    wb_cancel_init(&cancel);
    struct wb_child *child = start_mode(&listener, "wait", NULL, NULL);
    assert_false(wb_child_wait(child, wb_clock_deadline(10), NULL, &status));
    pthread_create(&thread, NULL, fire_soon, &cancel);
    assert_false(wb_child_wait(child, WB_NEVER, &cancel, &status));
    assert_false(wb_child_wait(child, WB_NEVER, &cancel, &status));
    pthread_join(thread, NULL);
    wb_child_free(child);
    wb_cancel_done(&cancel);
    listener_done(&listener);
}

#define STARTERS 4
#define STARTS 30

static void *start_many(void *ctx)
{
    (void)ctx;
    for (int i = 0; i < STARTS; i++) {
        struct listener listener;
        listener_init(&listener);
        struct wb_child *child = start_mode(&listener, "cat", NULL, NULL);
        struct wb_span word = WB_SPAN("echo");
        struct wb_error err;
        assert_int_equal(wb_child_write(child, &word, 1, &err), 0);
        if (i % 3 != 0) {
            wb_child_close_stdin(child);
            await_exit(child);
            assert_string_equal(wb_text_cstr(&listener.out), "echo");
        }
        wb_child_free(child);
        listener_done(&listener);
    }
    return NULL;
}

static void threads_start_at_once(void **state)
{
    pthread_t threads[STARTERS];
    (void)state;
    for (int i = 0; i < STARTERS; i++) {
        pthread_create(&threads[i], NULL, start_many, NULL);
    }
    for (int i = 0; i < STARTERS; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void many_starts_leak_nothing(void **state)
{
    const char *const bad[] = {"/no/such/program", NULL};
    struct wb_child_options failing = {.argv = bad, .guard = getenv("WERKBANK_GUARD")};
    (void)state;
    size_t before = count_descriptors();
    for (int i = 0; i < 500; i++) {
        struct listener listener;
        listener_init(&listener);
        struct wb_child *child = start_mode(&listener, "exit", "0", NULL);
        if (i % 2 == 0) {
            await_exit(child);
        }
        wb_child_free(child);
        listener_done(&listener);
        assert_null(i % 10 == 0 ? wb_child_start(loop, &failing, NULL) : NULL);
    }
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(count_children(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failed_starts_say_why),
        cmocka_unit_test(ends_are_told),
        cmocka_unit_test(environment_folder_and_prefix),
        cmocka_unit_test(children_start_clean),
        cmocka_unit_test(host_without_standard_descriptors),
        cmocka_unit_test(ten_megabytes_each_way),
        cmocka_unit_test(stderr_tail_has_whole_lines),
        cmocka_unit_test(stdout_may_go_nowhere),
        cmocka_unit_test(ladder_ends_at_the_first_rung_that_works),
        cmocka_unit_test(signals_reach_the_process),
        cmocka_unit_test(signals_may_come_too_late),
        cmocka_unit_test(writing_to_what_has_ended_is_refused),
        cmocka_unit_test(waits_end_by_deadline_and_cancel),
        cmocka_unit_test(threads_start_at_once),
        cmocka_unit_test(many_starts_leak_nothing),
    };
    return cmocka_run_group_tests_name("child", tests, loop_set_up, loop_tear_down);
}

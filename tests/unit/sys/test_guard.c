/* Tests of werkbank-guard: whatever dies, nothing of the tree stays alive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "processes.h"

#define HOST_DEATHS 20
#define HOST_DEAD_LIMIT_MS 3000 /* the promise; the guard itself needs 0.8 s */

struct marked {
    char *mark, *entry;
    const char *env[2];
    struct listener listener;
    struct wb_child *child;
};

static void start_marked(struct marked *marked, const char *mode, const char *arg,
                         int64_t memory_bytes)
{
    marked->mark = new_mark();
    marked->entry = wb_sprintf("WB_TEST_MARK=%s", marked->mark);
    marked->env[0] = marked->entry;
    marked->env[1] = NULL;
    listener_init(&marked->listener);
    struct wb_child_options options = {.env = marked->env, .memory_bytes = memory_bytes};
    marked->child = start_mode(&marked->listener, mode, arg, &options);
}

static void finish_marked(struct marked *marked)
{
    wb_child_free(marked->child);
    assert_int_equal(count_marked(marked->mark), 0);
    assert_int_equal(marked->listener.n_ends, 1);
    assert_int_equal(marked->listener.n_exits, 1);
    listener_done(&marked->listener);
    free(marked->mark);
    free(marked->entry);
}

/* The child has ended, its daemon holds stdout and ignores SIGTERM: the end comes all the same. */
static void daemon_goes_with_its_child(void **state)
{
    struct marked marked;
    struct wb_child_status status;
    (void)state;
    start_marked(&marked, "daemon-exit", NULL, 0);
    assert_true(wb_child_wait(marked.child, wb_clock_deadline(LONG_MS), NULL, &status));
    assert_int_equal(count_marked(marked.mark), 0);
    assert_true(status.exited);
    assert_int_equal(status.exit_code, 0);
    finish_marked(&marked);
}

static void trees_are_stopped_whole(void **state)
{
    static const struct {
        const char *mode, *says;
        int64_t eof_ms, term_ms;
    } rows[] = {
        {"daemon-cat", "daemon", LONG_MS, LONG_MS},
        {"daemon-cat", "daemon", 0, 50},
        {"daemon-cat", "daemon", 0, 0},
        {"thread", "ready", 0, 50},
        {"supervisor", "ready", 0, 50},
        {"rabbit", "running", 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        struct marked marked;
        start_marked(&marked, rows[i].mode, NULL, 0);
        assert_true(listener_await(&marked.listener, rows[i].says));
        assert_true(wb_child_stop(marked.child, rows[i].eof_ms, rows[i].term_ms));
        assert_int_equal(count_marked(marked.mark), 0);
        finish_marked(&marked);
    }
}

/* To the tree: the child of a thread hears it. To the process alone: the guard removes the rest. */
static void signals_reach_the_tree(void **state)
{
    struct marked marked;
    struct wb_child_status status;

    (void)state;
    start_marked(&marked, "thread", NULL, 0);
    assert_true(listener_await(&marked.listener, "ready"));
    wb_child_signal(marked.child, SIGUSR1, true);
    assert_true(listener_await(&marked.listener, "heard"));
    wb_child_signal(marked.child, SIGUSR2, false);
    assert_true(wb_child_wait(marked.child, wb_clock_deadline(LONG_MS), NULL, &status));
    assert_int_equal(status.signal, SIGUSR2);
    finish_marked(&marked);
}

/* The memory is a grandchild's; below the limit nothing happens. */
static void memory_limit_counts_the_tree(void **state)
{
    struct marked marked;
    struct wb_child_status status;
    WB_AUTO(wb_text_done) struct wb_text words = {0};
    (void)state;
    start_marked(&marked, "eat", "200", 64 * (int64_t)WB_MIB);
    assert_true(wb_child_wait(marked.child, wb_clock_deadline(LONG_MS), NULL, &status));
    assert_true(status.memory);
    assert_int_equal(status.signal, SIGKILL);
    wb_child_describe(&status, &words);
    assert_string_equal(wb_text_cstr(&words), "was killed: over its memory limit of 64 MB");
    finish_marked(&marked);
    start_marked(&marked, "eat", "32", 128 * (int64_t)WB_MIB);
    assert_true(listener_await(&marked.listener, "full"));
    assert_false(wb_child_wait(marked.child, wb_clock_deadline(300), NULL, &status));
    finish_marked(&marked);
}

static pid_t parent_of(pid_t pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    close(fd);
    return atoi(strrchr(text, ')') + 4);
}

/* Somebody kills the guard: the host ends the child itself, and says so. */
static void killed_guard_ends_the_child(void **state)
{
    struct marked marked;
    struct wb_child_status status;
    (void)state;
    start_marked(&marked, "stubborn", NULL, 0);
    assert_true(listener_await(&marked.listener, "ready"));
    kill(parent_of(wb_child_pid(marked.child)), SIGKILL);
    assert_true(wb_child_wait(marked.child, wb_clock_deadline(LONG_MS), NULL, &status));
    assert_int_equal(status.signal, SIGKILL);
    assert_true(await_none_marked(marked.mark, wb_clock_deadline(LONG_MS)));
    finish_marked(&marked);
}

/* Somebody stops the guard: an order to end reaches it all the same. */
static void stopped_guard_obeys(void **state)
{
    struct marked marked;
    (void)state;
    start_marked(&marked, "daemon-cat", NULL, 0);
    assert_true(listener_await(&marked.listener, "daemon"));
    kill(parent_of(wb_child_pid(marked.child)), SIGSTOP);
    assert_true(wb_child_stop(marked.child, 0, 50));
    finish_marked(&marked);
}

/* What a terminal sends to everybody does not end the guard. */
static void guard_ignores_signals(void **state)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1};
    struct marked marked;
    (void)state;
    start_marked(&marked, "wait", NULL, 0);
    assert_true(listener_await(&marked.listener, "ready"));
    pid_t guard = parent_of(wb_child_pid(marked.child));
    assert_int_equal(getsid(guard), guard);
    for (size_t i = 0; i < WB_COUNT(signals); i++) {
        kill(guard, signals[i]);
    }
    assert_false(wb_child_wait(marked.child, wb_clock_deadline(100), NULL, NULL));
    finish_marked(&marked);
}

/* Starts host_program as a stranger would, without a guard, and waits until its children run. */
static pid_t start_host(const char *mark, const char *mode)
{
    const char *const argv[] = {HOST_PROGRAM, mark, mode, NULL};
    posix_spawn_file_actions_t files;
    char said[16] = "";
    int fds[2];
    pid_t pid;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, fds[1], STDOUT_FILENO);
    assert_int_equal(posix_spawn(&pid, HOST_PROGRAM, &files, NULL, (char *const *)argv, environ),
                     0);
    posix_spawn_file_actions_destroy(&files);
    close(fds[1]);
    assert_int_equal(read(fds[0], said, 6), 6);
    assert_string_equal(said, "ready\n");
    close(fds[0]);
    return pid;
}

/* The guards, which the host's first thread has started. */
static void stop_guards_of(pid_t host)
{
    char path[64];
    int guard, n = 0;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)host, (int)host);
    FILE *children = fopen(path, "re");
    assert_non_null(children);
    while (fscanf(children, "%d", &guard) == 1) {
        assert_int_equal(kill(guard, SIGSTOP), 0);
        n++;
    }
    fclose(children);
    assert_true(n >= 7); /* that of daemon-exit may have gone */
}

static void kill_host(const char *mode, bool stop_guards, useconds_t after_us)
{
    WB_AUTO(wb_free_p) char *mark = new_mark();
    pid_t host = start_host(mark, mode);
    assert_true(count_marked(mark) >= 12);
    if (stop_guards) {
        stop_guards_of(host);
    }
    usleep(after_us);
    kill(host, SIGKILL);
    int64_t deadline_ms = wb_clock_deadline(HOST_DEAD_LIMIT_MS);
    waitpid(host, NULL, 0);
    assert_true(await_none_marked(mark, deadline_ms));
}

static void nothing_survives_a_killed_host(void **state)
{
    (void)state;
    for (int i = 0; i < HOST_DEATHS; i++) {
        kill_host(NULL, false, (useconds_t)(i * 7919 % 20000));
    }
}

static void nothing_survives_a_killed_host_whose_guards_are_stopped(void **state)
{
    (void)state;
    kill_host(NULL, true, 0);
}

/* A copy of the host holds every pipe and control socket open; only the pidfd tells. */
static void nothing_survives_a_killed_host_that_forked(void **state)
{
    (void)state;
    kill_host("fork", false, 0);
}

/* The same process, now another program: nobody holds the control sockets any more. */
static void nothing_survives_a_host_that_became_another_program(void **state)
{
    WB_AUTO(wb_free_p) char *mark = new_mark();
    (void)state;
    pid_t host = start_host(mark, "exec");
    assert_true(await_none_marked(mark, wb_clock_deadline(HOST_DEAD_LIMIT_MS)));
    assert_int_equal(kill(host, SIGKILL), 0);
    waitpid(host, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(daemon_goes_with_its_child),
        cmocka_unit_test(trees_are_stopped_whole),
        cmocka_unit_test(signals_reach_the_tree),
        cmocka_unit_test(memory_limit_counts_the_tree),
        cmocka_unit_test(killed_guard_ends_the_child),
        cmocka_unit_test(stopped_guard_obeys),
        cmocka_unit_test(guard_ignores_signals),
        cmocka_unit_test(nothing_survives_a_killed_host),
        cmocka_unit_test(nothing_survives_a_killed_host_whose_guards_are_stopped),
        cmocka_unit_test(nothing_survives_a_killed_host_that_forked),
        cmocka_unit_test(nothing_survives_a_host_that_became_another_program),
    };
    return cmocka_run_group_tests_name("guard", tests, loop_set_up, loop_tear_down);
}

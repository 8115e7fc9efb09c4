/* Tests of base/base. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

static void allocations_are_zeroed(void **state)
{
    WB_AUTO(wb_free_p) char *block = wb_alloc(100);
    WB_AUTO(wb_free_p) char *nothing = wb_alloc(0);
    WB_AUTO(wb_free_p) int *items = wb_alloc_array(10, sizeof(int));

    (void)state;
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(block[i], 0);
    }
    assert_non_null(nothing);
    assert_int_equal(items[9], 0);
    block = wb_realloc(block, 0);
    assert_non_null(block);
}

/* Runs the function in a child and returns what it wrote to stderr; the child must have aborted. */
static void assert_aborts(void (*run)(void), const char *message)
{
    char output[256] = "";
    int pipe_fds[2];
    int status;

    assert_int_equal(pipe(pipe_fds), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(pipe_fds[1], STDERR_FILENO);
        run();
        _exit(0);
    }
    close(pipe_fds[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(read(pipe_fds[0], output, sizeof(output) - 1) > 0);
    close(pipe_fds[0]);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_string_equal(output, message);
}

static void overflow_array(void)
{
    free(wb_alloc_array(SIZE_MAX / 2, 3));
}

static void overflowing_array_aborts_with_one_line(void **state)
{
    (void)state;
    assert_aborts(overflow_array, "werkbank: out of memory (18446744073709551615 bytes)\n");
}

static void strings_are_copied(void **state)
{
    WB_AUTO(wb_free_p) char *whole = wb_strdup("abc");
    WB_AUTO(wb_free_p) char *part = wb_strndup("abcdef", 2);
    WB_AUTO(wb_free_p) char *empty = wb_strndup(NULL, 0);
    WB_AUTO(wb_free_p) char *formatted = wb_sprintf("%s:%d", "f.c", 12);

    (void)state;
    assert_string_equal(whole, "abc");
    assert_string_equal(part, "ab");
    assert_string_equal(empty, "");
    assert_string_equal(formatted, "f.c:12");
}

static void grow_doubles_and_keeps(void **state)
{
    int *items = NULL;
    size_t capacity = 0;

    (void)state;
    for (size_t i = 0; i < 100; i++) {
        WB_GROW(items, capacity, i + 1);
        items[i] = (int)i;
    }
    assert_int_equal(capacity, 128);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(items[i], i);
    }
    WB_GROW(items, capacity, 1000);
    assert_int_equal(capacity, 1024);
    free(items);
}

static void steal_leaves_null(void **state)
{
    WB_AUTO(wb_free_p) char *owner = wb_strdup("x");
    WB_AUTO(wb_free_p) char *thief = WB_STEAL(owner);

    (void)state;
    assert_null(owner);
    assert_string_equal(thief, "x");
}

static void string_questions(void **state)
{
    (void)state;
    assert_true(wb_str_starts("abc", "ab"));
    assert_false(wb_str_starts("a", "ab"));
    assert_true(wb_str_ends("main.c", ".c"));
    assert_true(wb_str_ends("x", ""));
    assert_false(wb_str_ends("c", ".c"));
    assert_true(wb_span_is(WB_SPAN("abc"), "abc"));
    assert_false(wb_span_is(WB_SPAN("abc"), "ab"));
    assert_true(wb_span_equal((struct wb_span){NULL, 0}, WB_SPAN("")));
    assert_int_equal(wb_span(NULL).len, 0);
}

/* The values that the definition of FNV-1a publishes. */
static void hash_is_fnv_1a(void **state)
{
    (void)state;
    assert_true(wb_hash(WB_SPAN("")) == 0xcbf29ce484222325U);
    assert_true(wb_hash(WB_SPAN("a")) == 0xaf63dc4c8601ec8cU);
    assert_true(wb_hash(WB_SPAN("foobar")) == 0x85944171f73967e8U);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_zeroed),
        cmocka_unit_test(overflowing_array_aborts_with_one_line),
        cmocka_unit_test(strings_are_copied),
        cmocka_unit_test(grow_doubles_and_keeps),
        cmocka_unit_test(steal_leaves_null),
        cmocka_unit_test(string_questions),
        cmocka_unit_test(hash_is_fnv_1a),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

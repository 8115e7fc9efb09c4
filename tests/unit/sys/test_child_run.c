/* Tests of wb_child_run: output whole and cut, input, deadline, cancel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/limits.h"
#include "processes.h"

static int run_mode(const char *mode, const char *arg, struct wb_child_run run,
                    struct wb_child_output *ret, struct wb_error *err)
{
    const char *const argv[] = {CHILD_PROGRAM, mode, arg, NULL};
    struct wb_child_options options = {.argv = argv, .guard = getenv("WERKBANK_GUARD")};
    run.options = &options;
    if (run.deadline_ms == 0) {
        run.deadline_ms = wb_clock_deadline(LONG_MS);
    }
    return wb_child_run(loop, &run, ret, err);
}

static void small_output_is_whole(void **state)
{
    struct wb_child_output output;
    struct wb_error err;
    (void)state;
    struct wb_child_run run = {.output_bytes_max = 1000};
    assert_int_equal(run_mode("out", "3", run, &output, &err), 0);
    assert_true(output.status.exited);
    assert_string_equal(wb_text_cstr(&output.out), "out 0\nout 1\nout 2\n");
    assert_string_equal(wb_text_cstr(&output.err), "");
    assert_int_equal(output.out_cut_bytes, 0);
    wb_child_output_done(&output);
    assert_int_equal(run_mode("err", "2", run, &output, &err), 0);
    assert_string_equal(wb_text_cstr(&output.out), "");
    assert_string_equal(wb_text_cstr(&output.err), "err 0\nerr 1\n");
    wb_child_output_done(&output);
    assert_int_equal(run_mode("exit", "7", run, &output, &err), 0);
    assert_int_equal(output.status.exit_code, 7);
    wb_child_output_done(&output);
}

/* Kept and left out make up the whole. */
static void expect_cut(const struct wb_text *text, size_t cut_bytes, size_t total_bytes,
                       const char *first, const char *last)
{
    char note[64];
    snprintf(note, sizeof(note), "\n[... %zu bytes left out ...]\n", cut_bytes);
    const char *at = strstr(wb_text_cstr(text), note);
    assert_non_null(at);
    assert_true(wb_str_starts(wb_text_cstr(text), first));
    assert_true(wb_str_ends(wb_text_cstr(text), last));
    assert_true(wb_str_starts(at + strlen(note), "out "));
    assert_int_equal(text->len - strlen(note) + cut_bytes, total_bytes);
}

static void big_output_keeps_head_and_tail(void **state)
{
    static const struct {
        const char *lines, *last;
        size_t bytes;
    } rows[] = {
        {"1000", "out 999\n", 7890},
        {"1000000", "out 999999\n", 10888890},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        struct wb_child_output output;
        struct wb_error err;
        struct wb_child_run run = {.output_bytes_max = 4000};
        assert_int_equal(run_mode("out", rows[i].lines, run, &output, &err), 0);
        assert_true(output.out.len <= 4100);
        expect_cut(&output.out, output.out_cut_bytes, rows[i].bytes, "out 0\nout 1\n",
                   rows[i].last);
        wb_child_output_done(&output);
    }
}

/* Exactly the limit is not cut, one byte more is; a cut spares characters. */
static void cut_is_exact_and_between_characters(void **state)
{
    struct wb_child_output output;
    struct wb_error err;
    (void)state;
    struct wb_child_run run = {.output_bytes_max = 8, .input = WB_SPAN("abcdefgh")};
    assert_int_equal(run_mode("cat", NULL, run, &output, &err), 0);
    assert_string_equal(wb_text_cstr(&output.out), "abcdefgh");
    assert_int_equal(output.out_cut_bytes, 0);
    wb_child_output_done(&output);
    run.input = WB_SPAN("abcdefghi");
    assert_int_equal(run_mode("cat", NULL, run, &output, &err), 0);
    assert_string_equal(wb_text_cstr(&output.out), "abcd\n[... 1 bytes left out ...]\nfghi");
    wb_child_output_done(&output);
    /* The fourth byte from each end is half of a character. */
    run.input = WB_SPAN("abc\xC3\xA4xxxx\xC3\xA4"
                        "fgh");
    assert_int_equal(run_mode("cat", NULL, run, &output, &err), 0);
    assert_string_equal(wb_text_cstr(&output.out), "abc\n[... 8 bytes left out ...]\nfgh");
    assert_int_equal(output.out_cut_bytes, 8);
    wb_child_output_done(&output);
}

static void input_is_passed_on_and_may_be_ignored(void **state)
{
    WB_AUTO(wb_free_p) char *bytes = wb_alloc(3 * WB_MIB);
    struct wb_child_output output;
    struct wb_error err;
    (void)state;
    memset(bytes, 'i', 3 * WB_MIB);
    struct wb_child_run run = {.output_bytes_max = 4 * WB_MIB, .input = {bytes, 3 * WB_MIB}};
    assert_int_equal(run_mode("cat", NULL, run, &output, &err), 0);
    assert_int_equal(output.out.len, 3 * WB_MIB);
    wb_child_output_done(&output);
    assert_int_equal(run_mode("exit", "0", run, &output, &err), 0);
    assert_int_equal(output.status.exit_code, 0);
    wb_child_output_done(&output);
    run.input.len = WB_STREAM_QUEUE_BYTES_MAX + 1;
    assert_int_equal(run_mode("cat", NULL, run, &output, &err), -1);
    assert_int_equal(err.code, WB_ERROR_LIMIT);
}

static void deadline_stops_it(void **state)
{
    static const struct {
        const char *mode;
        int signal;
    } rows[] = {{"wait", SIGTERM}, {"stubborn", SIGKILL}};

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        struct wb_child_output output;
        struct wb_error err;
        struct wb_child_run run = {.output_bytes_max = 100, .deadline_ms = wb_clock_deadline(500)};
        assert_int_equal(run_mode(rows[i].mode, NULL, run, &output, &err), 0);
        assert_true(output.timed_out);
        assert_false(output.cancelled);
        assert_int_equal(output.status.signal, rows[i].signal);
        assert_string_equal(wb_text_cstr(&output.out), "ready\n");
        wb_child_output_done(&output);
    }
}

struct observer {
    struct wb_cancel cancel;
    atomic_int n_out, n_err;
};

static void cancel_on_output(void *ctx, bool is_stderr, const char *ptr, size_t len)
{
    struct observer *observer = ctx;
    (void)ptr;
    (void)len;
    atomic_fetch_add(is_stderr ? &observer->n_err : &observer->n_out, 1);
    wb_cancel_fire(&observer->cancel);
}

static void cancel_stops_it(void **state)
{
    struct observer observer = {0};
    struct wb_child_output output;
    struct wb_error err;
    (void)state;
    wb_cancel_init(&observer.cancel);
    struct wb_child_run run = {.output_bytes_max = 100,
                               .cancel = &observer.cancel,
                               .on_output = cancel_on_output,
                               .ctx = &observer};
    assert_int_equal(run_mode("wait", NULL, run, &output, &err), 0);
    assert_true(output.cancelled);
    assert_false(output.timed_out);
    assert_int_equal(output.status.signal, SIGTERM);
    assert_true(observer.n_out > 0);
    assert_int_equal(observer.n_err, 0);
    wb_child_output_done(&output);
    wb_cancel_done(&observer.cancel);
}

static void failed_start_is_an_error(void **state)
{
    const char *const argv[] = {"/no/such/program", NULL};
    struct wb_child_options options = {.argv = argv, .guard = getenv("WERKBANK_GUARD")};
    struct wb_child_run run = {.options = &options, .deadline_ms = WB_NEVER};
    struct wb_child_output output;
    struct wb_error err;
    (void)state;
    assert_int_equal(wb_child_run(loop, &run, &output, &err), -1);
    assert_int_equal(err.code, WB_ERROR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_output_is_whole),
        cmocka_unit_test(big_output_keeps_head_and_tail),
        cmocka_unit_test(cut_is_exact_and_between_characters),
        cmocka_unit_test(input_is_passed_on_and_may_be_ignored),
        cmocka_unit_test(deadline_stops_it),
        cmocka_unit_test(cancel_stops_it),
        cmocka_unit_test(failed_start_is_an_error),
    };
    return cmocka_run_group_tests_name("child_run", tests, loop_set_up, loop_tear_down);
}

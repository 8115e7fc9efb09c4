/* The debuggee's states, from events as real adapters send them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "debug/debuggee.h"

struct fixture {
    struct wb_arena arena;
    struct wb_debuggee debuggee;
};

static const char *exit_text[] = {"has exited with status ", " exited with code ",
                                  " exited normally", NULL};
static const char *hidden[] = {"[noise", NULL};

static int setup(void **state)
{
    static struct fixture f;
    wb_arena_init(&f.arena);
    wb_debuggee_init(&f.debuggee, exit_text, hidden);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    wb_debuggee_done(&f->debuggee);
    wb_arena_done(&f->arena);
    return 0;
}

static enum wb_debuggee_news event(struct fixture *f, const char *name, const char *body)
{
    const struct wb_json *json = wb_json_parse(&f->arena, wb_span(body), NULL);
    assert_non_null(json);
    return wb_debuggee_event(&f->debuggee, 0, name, json);
}

static void stop_at(struct fixture *f, const char *body)
{
    assert_int_equal(event(f, "stopped", body), WB_NEWS_STOPPED);
    assert_int_equal(f->debuggee.state, WB_DEBUGGEE_JUDGING);
    wb_debuggee_settle(&f->debuggee, f->debuggee.stop.epoch);
    assert_int_equal(f->debuggee.state, WB_DEBUGGEE_STOPPED);
}

static void a_stop_may_come_before_the_launch_is_answered(void **state)
{
    struct fixture *f = *state;
    stop_at(f, "{\"reason\":\"breakpoint\",\"threadId\":7,\"hitBreakpointIds\":[3,4]}");
    wb_debuggee_started(&f->debuggee);
    assert_int_equal(f->debuggee.state, WB_DEBUGGEE_STOPPED);
    assert_int_equal(f->debuggee.stop.thread_id, 7);
    assert_int_equal(f->debuggee.stop.n_hits, 2);
}

static void a_stop_may_come_before_the_move_is_refused(void **state)
{
    struct fixture *f = *state;
    wb_debuggee_started(&f->debuggee);
    stop_at(f, "{\"reason\":\"step\"}");
    uint64_t move = wb_debuggee_move(&f->debuggee);
    assert_int_equal(f->debuggee.state, WB_DEBUGGEE_RUNNING);
    wb_debuggee_unmove(&f->debuggee, move);
    assert_int_equal(f->debuggee.state, WB_DEBUGGEE_STOPPED);
    move = wb_debuggee_move(&f->debuggee);
    stop_at(f, "{\"reason\":\"step\"}");
    uint64_t second = wb_debuggee_move(&f->debuggee);
    wb_debuggee_unmove(&f->debuggee, move); /* of the move before */
    assert_int_equal(f->debuggee.state, WB_DEBUGGEE_RUNNING);
    wb_debuggee_unmove(&f->debuggee, second);
    assert_int_equal(f->debuggee.state, WB_DEBUGGEE_STOPPED);
}

static void continued_events_change_nothing(void **state)
{
    struct fixture *f = *state;
    wb_debuggee_started(&f->debuggee);
    stop_at(f, "{\"reason\":\"breakpoint\"}");
    assert_int_equal(event(f, "continued", "{\"threadId\":1}"), WB_NEWS_NONE);
    assert_int_equal(f->debuggee.state, WB_DEBUGGEE_STOPPED);
}

static void reasons_are_what_they_mean(void **state)
{
    static const struct {
        bool pausing, entering;
        const char *body, *reason;
    } cases[] = {
        {true, false, "{\"reason\":\"exception\",\"description\":\"signal SIGSTOP\"}", "pause"},
        {false, true, "{\"reason\":\"exception\",\"description\":\"signal SIGSTOP\"}", "entry"},
        {false, false, "{\"reason\":\"exception\",\"description\":\"signal SIGSTOP\"}",
         "exception"},
        {true, false, "{\"reason\":\"exception\",\"description\":\"signal SIGSEGV\"}", "exception"},
        {true, false, "{\"reason\":\"step\",\"description\":\"Paused\"}", "pause"},
        {true, false, "{\"reason\":\"SIGINT\"}", "pause"},
        {false, false, "{\"reason\":\"SIGSEGV\"}", "exception"},
        {false, false, "{}", "unknown"},
    };

    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        struct fixture *f = *state;
        wb_debuggee_done(&f->debuggee);
        wb_debuggee_init(&f->debuggee, NULL, NULL);
        wb_debuggee_started(&f->debuggee);
        f->debuggee.pausing = cases[i].pausing;
        f->debuggee.entering = cases[i].entering;
        stop_at(f, cases[i].body);
        assert_string_equal(f->debuggee.stop.reason, cases[i].reason);
    }
}

static void a_pause_beats_passing_over(void **state)
{
    struct fixture *f = *state;
    wb_debuggee_started(&f->debuggee);
    event(f, "stopped", "{\"reason\":\"breakpoint\"}");
    assert_true(wb_debuggee_pass_over(&f->debuggee, 1));
    assert_int_equal(f->debuggee.state, WB_DEBUGGEE_RUNNING);
    event(f, "stopped", "{\"reason\":\"breakpoint\"}");
    f->debuggee.pausing = true;
    assert_false(wb_debuggee_pass_over(&f->debuggee, 2));
    assert_int_equal(f->debuggee.state, WB_DEBUGGEE_STOPPED);
}

static void an_old_judgement_decides_nothing(void **state)
{
    struct fixture *f = *state;
    wb_debuggee_started(&f->debuggee);
    event(f, "stopped", "{\"reason\":\"breakpoint\"}");
    event(f, "stopped", "{\"reason\":\"exception\"}");
    assert_false(wb_debuggee_pass_over(&f->debuggee, 1));
    wb_debuggee_settle(&f->debuggee, 1);
    assert_int_equal(f->debuggee.state, WB_DEBUGGEE_JUDGING);
    wb_debuggee_settle(&f->debuggee, 2);
    assert_int_equal(f->debuggee.state, WB_DEBUGGEE_STOPPED);
}

static void the_end_stays(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(event(f, "exited", "{\"exitCode\":5}"), WB_NEWS_EXITED);
    assert_int_equal(event(f, "terminated", "{}"), WB_NEWS_TERMINATED);
    assert_int_equal(event(f, "terminated", "{}"), WB_NEWS_TERMINATED);
    wb_debuggee_end(&f->debuggee, "first");
    wb_debuggee_end(&f->debuggee, "second");
    assert_string_equal(f->debuggee.end_reason, "first");
    assert_int_equal(event(f, "stopped", "{\"reason\":\"step\"}"), WB_NEWS_NONE);
    wb_debuggee_move(&f->debuggee);
    wb_debuggee_started(&f->debuggee);
    assert_int_equal(f->debuggee.state, WB_DEBUGGEE_ENDED);
    assert_true(f->debuggee.has_exit_code);
    assert_int_equal(f->debuggee.exit_code, 5);
}

static void exit_codes_are_read_from_words(void **state)
{
    static const struct {
        const char *output;
        int64_t code;
    } cases[] = {
        {"Process 12 has exited with status 3\\n", 3},
        {"Process 12 has exited with status -9\\n", -9},
        {"[Inferior 1 (process 5) exited with code 010]\\n", 8},
        {"[Inferior 1 (process 5) exited normally]\\n", 0},
    };

    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        struct fixture *f = *state;
        event(f, "output",
              wb_arena_printf(&f->arena, "{\"category\":\"console\",\"output\":\"%s\"}",
                              cases[i].output));
        assert_true(f->debuggee.has_exit_code);
        assert_int_equal(f->debuggee.exit_code, cases[i].code);
    }
}

static void an_attached_program_s_code_is_a_number(void **state)
{
    struct fixture *f = *state;
    f->debuggee.is_attached = true;
    event(f, "output", "{\"output\":\"[Inferior 1 (process 5) exited normally]\"}");
    assert_false(f->debuggee.has_exit_code);
    event(f, "output", "{\"output\":\"Process 12 has exited with status 0\"}");
    assert_true(f->debuggee.has_exit_code);
}

static void noise_is_kept_out(void **state)
{
    struct fixture *f = *state;
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    event(f, "output", "{\"category\":\"stdout\",\"output\":\"one\\n[noise of it]\\ntwo\\n\"}");
    event(f, "output", "{\"category\":\"telemetry\",\"output\":\"secret\"}");
    event(f, "output", "{\"output\":\"console\\n\"}");
    event(f, "terminated", "{}");
    event(f, "output", "{\"category\":\"stderr\",\"output\":\"a crash of the adapter's own\"}");
    wb_debug_output_read(&f->debuggee.output, 0, 7, &text);
    assert_string_equal(wb_text_cstr(&text), "one\ntwo\nconsole\n");
}

static void a_stop_that_is_told_again_is_the_same(void **state)
{
    struct fixture *f = *state;
    const char *stop = "{\"reason\":\"breakpoint\",\"threadId\":1,\"hitBreakpointIds\":[2]}";
    stop_at(f, stop);
    assert_int_equal(event(f, "stopped", stop), WB_NEWS_NONE);
    assert_int_equal(f->debuggee.state, WB_DEBUGGEE_STOPPED);
    assert_int_equal(f->debuggee.stop.epoch, 1);
    wb_debuggee_move(&f->debuggee);
    stop_at(f, stop); /* a loop */
    assert_int_equal(f->debuggee.stop.epoch, 2);
    assert_int_equal(event(f, "stopped", "{\"reason\":\"breakpoint\",\"threadId\":2}"),
                     WB_NEWS_STOPPED);
}

static void a_stop_ends_with_its_child_session(void **state)
{
    struct fixture *f = *state;
    const struct wb_json *body = wb_json_parse(&f->arena, WB_SPAN("{\"reason\":\"step\"}"), NULL);
    assert_int_equal(wb_debuggee_event(&f->debuggee, 2, "stopped", body), WB_NEWS_STOPPED);
    wb_debuggee_lose_link(&f->debuggee, 1);
    assert_int_equal(f->debuggee.state, WB_DEBUGGEE_JUDGING);
    wb_debuggee_lose_link(&f->debuggee, 2);
    assert_int_equal(f->debuggee.state, WB_DEBUGGEE_RUNNING);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_stop_may_come_before_the_launch_is_answered),
        TEST(a_stop_may_come_before_the_move_is_refused),
        TEST(continued_events_change_nothing),
        TEST(reasons_are_what_they_mean),
        TEST(a_pause_beats_passing_over),
        TEST(an_old_judgement_decides_nothing),
        TEST(the_end_stays),
        TEST(exit_codes_are_read_from_words),
        TEST(an_attached_program_s_code_is_a_number),
        TEST(noise_is_kept_out),
        TEST(a_stop_that_is_told_again_is_the_same),
        TEST(a_stop_ends_with_its_child_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

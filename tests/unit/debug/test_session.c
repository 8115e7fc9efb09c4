/* A session's life on an adapter that is a thread of the test: how it starts, moves and ends, and that
 * threads do not get into each other's way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "adapter.h"

#define SECONDS(n) wb_clock_deadline(1000 * (n))

static int setup(void **state)
{
    static struct desk desk;
    desk_init(&desk);
    *state = &desk;
    return 0;
}

static int teardown(void **state)
{
    desk_done(*state);
    return 0;
}

static void assert_ends(struct desk *desk, const char *reason)
{
    struct wb_debug_view view;
    assert_true(wb_debug_session_wait(desk->session, SECONDS(30), NULL));
    desk_view(desk, &view);
    assert_int_equal(view.state, WB_DEBUGGEE_ENDED);
    assert_non_null(strstr(view.end_reason, reason));
}

static void it_starts_moves_and_ends(void **state)
{
    static const struct answer answers[] = {
        INITIALIZE,
        ATTACH,
        CONFIGURED,
        {.command = "next", .events = {STOPPED("step")}},
        {.command = "stepIn", .error = "not here"},
        {.command = "continue",
         .events = {"{\"type\":\"event\",\"event\":\"exited\",\"body\":{\"exitCode\":4}}",
                    "{\"type\":\"event\",\"event\":\"terminated\"}"}},
        {.command = NULL}};
    struct desk *desk = *state;
    struct wb_debug_view view;
    struct wb_error err;
    assert_int_equal(desk_start(desk, answers, &err), 0);
    assert_true(wb_debug_session_wait(desk->session, SECONDS(30), NULL));
    desk_view(desk, &view);
    assert_string_equal(view.stop.reason, "entry");
    assert_int_equal(wb_debug_session_move(desk->session, "next", NULL, SECONDS(30), NULL, &err),
                     0);
    assert_true(wb_debug_session_wait(desk->session, SECONDS(30), NULL));
    desk_view(desk, &view);
    assert_int_equal(view.stop.epoch, 2);
    assert_int_equal(wb_debug_session_move(desk->session, "stepIn", NULL, SECONDS(30), NULL, &err),
                     -1);
    assert_string_equal(err.message, "fake: not here");
    assert_true(wb_debug_session_wait(desk->session, SECONDS(30), NULL)); /* where it was */
    assert_int_equal(
        wb_debug_session_move(desk->session, "continue", NULL, SECONDS(30), NULL, &err), 0);
    assert_ends(desk, "the program ended");
    desk_view(desk, &view);
    assert_int_equal(view.exit_code, 4);
    assert_int_equal(wb_debug_session_move(desk->session, "next", NULL, SECONDS(30), NULL, &err),
                     -1);
    assert_int_equal(err.code, WB_ERROR_CLOSED);
}

static void a_refused_start_has_the_adapters_words(void **state)
{
    static const struct answer answers[] = {
        INITIALIZE, {.command = "attach", .error = "no such program"}, {.command = NULL}};
    struct wb_error err;
    assert_int_equal(desk_start(*state, answers, &err), -1);
    assert_string_equal(err.message, "fake refused the attach: no such program");
    assert_ends(*state, "no such program");
}

static void a_program_may_be_quicker_than_the_answer(void **state)
{
    static const struct answer answers[] = {
        INITIALIZE,
        {.command = "attach", .events = {INITIALIZED}, .is_silent = true},
        {.command = "configurationDone",
         .events = {"{\"type\":\"event\",\"event\":\"exited\",\"body\":{\"exitCode\":9}}"}},
        {.command = NULL}};
    struct desk *desk = *state;
    struct wb_debug_view view;
    struct wb_error err;
    assert_int_equal(desk_start(desk, answers, &err), 0);
    assert_ends(desk, "the program ended");
    desk_view(desk, &view);
    assert_int_equal(view.exit_code, 9);
}

static void nobody_listens(void **state)
{
    static const struct answer answers[] = {{.command = "initialize", .hangs_up = true},
                                            {.command = NULL}};
    struct wb_error err;
    assert_int_equal(desk_start(*state, answers, &err), -1);
    assert_non_null(strstr(err.message, "does not answer as fake"));
}

static void a_lost_connection_is_the_end(void **state)
{
    static const struct answer answers[] = {INITIALIZE,
                                            ATTACH,
                                            CONFIGURED,
                                            {.command = "threads", .hangs_up = true},
                                            {.command = NULL}};
    struct desk *desk = *state;
    struct wb_error err;
    const struct wb_json *body;
    assert_int_equal(desk_start(desk, answers, &err), 0);
    assert_true(wb_debug_session_wait(desk->session, SECONDS(30), NULL));
    assert_false(wb_debug_session_has_ended(desk->session));
    assert_int_equal(wb_debug_session_ask(desk->session, 0, "threads", WB_SPAN("{}"), SECONDS(30),
                                          NULL, &desk->run.scratch.arena, &body, &err),
                     -1);
    assert_int_equal(err.code, WB_ERROR_CLOSED);
    assert_true(wb_debug_session_has_ended(desk->session));
    assert_ends(desk, "closed the connection");
    assert_true(wb_debug_session_is_over(desk->session));
}

static void what_is_no_dap_is_the_end(void **state)
{
    static const struct answer answers[] = {INITIALIZE,
                                            ATTACH,
                                            CONFIGURED,
                                            {.command = "threads",
                                             .raw = "Content-Length: 99999999999999\r\n\r\n"},
                                            {.command = NULL}};
    struct desk *desk = *state;
    struct wb_error err;
    const struct wb_json *body;
    assert_int_equal(desk_start(desk, answers, &err), 0);
    assert_int_equal(wb_debug_session_ask(desk->session, 0, "threads", WB_SPAN("{}"), SECONDS(30),
                                          NULL, &desk->run.scratch.arena, &body, &err),
                     -1);
    assert_true(wb_debug_session_has_ended(desk->session));
    assert_ends(desk, "broke the protocol");
}

static void its_lifetime_ends_it(void **state)
{
    static const struct answer answers[] = {INITIALIZE, ATTACH, {.command = NULL}};
    struct desk *desk = *state;
    struct wb_error err;
    desk->lifetime_ms = 300;
    assert_int_equal(desk_start(desk, answers, &err), 0);
    assert_ends(desk, "its lifetime");
}

/* --- threads --- */

static const struct answer busy[] = {
    INITIALIZE,
    ATTACH,
    CONFIGURED,
    {.command = "threads", .body = "{\"threads\":[{\"id\":1,\"name\":\"main\"}]}"},
    {.command = "pause", .events = {STOPPED("pause")}},
    {.command = "next", .events = {STOPPED("step")}},
    {.command = "continue",
     .events = {"{\"type\":\"event\",\"event\":\"output\",\"body\":{\"output\":\"x\"}}"}},
    {.command = NULL}};

static void *use(void *ctx)
{
    struct desk *desk = ctx;
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    uint64_t dropped;
    while (!wb_debug_session_is_over(desk->session)) {
        WB_AUTO(wb_arena_done) struct wb_arena arena;
        struct wb_debug_view view;
        struct wb_error err;
        wb_arena_init(&arena);
        (void)!wb_debug_session_move(desk->session, "next", NULL, SECONDS(1), NULL, &err);
        (void)!wb_debug_session_move(desk->session, "continue", NULL, SECONDS(1), NULL, &err);
        (void)!wb_debug_session_pause(desk->session, NULL, SECONDS(1), NULL, &err);
        wb_debug_session_view(desk->session, &arena, &view);
        (void)wb_debug_session_wait(desk->session, wb_clock_deadline(5), NULL);
        wb_debug_session_read_output(desk->session, 0, ~0u, &text, &dropped);
        wb_text_clear(&text);
    }
    return NULL;
}

static void threads_share_it(void **state)
{
    struct desk *desk = *state;
    pthread_t threads[4];
    struct wb_error err;
    assert_int_equal(desk_start(desk, busy, &err), 0);
    for (size_t i = 0; i < WB_COUNT(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use, desk), 0);
    }
    poll(NULL, 0, 200);
    wb_debug_session_end(desk->session, "enough");
    for (size_t i = 0; i < WB_COUNT(threads); i++) {
        pthread_join(threads[i], NULL);
    }
    assert_ends(desk, "enough");
}

static void *end(void *ctx)
{
    struct desk *desk = ctx;
    poll(NULL, 0, 50);
    wb_debug_session_end(desk->session, "given up");
    return NULL;
}

static void a_start_is_given_up(void **state)
{
    static const struct answer silent[] = {{.command = "initialize", .is_silent = true},
                                           {.command = NULL}};
    struct desk *desk = *state;
    pthread_t thread;
    struct wb_error err;
    desk_make(desk, silent);
    assert_int_equal(pthread_create(&thread, NULL, end, desk), 0);
    assert_int_equal(wb_debug_session_start(desk->session, &desk->options, SECONDS(60), NULL, &err),
                     -1);
    pthread_join(thread, NULL);
    assert_string_equal(err.message, "the session was ended while it started");
    assert_ends(desk, "given up");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(it_starts_moves_and_ends),
        TEST(a_refused_start_has_the_adapters_words),
        TEST(a_program_may_be_quicker_than_the_answer),
        TEST(nobody_listens),
        TEST(a_lost_connection_is_the_end),
        TEST(what_is_no_dap_is_the_end),
        TEST(its_lifetime_ends_it),
        TEST(threads_share_it),
        TEST(a_start_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The DAP client: framing, matching by request_seq, late and broken answers, threads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "debug/dap.h"

struct fixture {
    struct wb_dap *dap;
    struct wb_arena arena;
    struct wb_text sent, events, garbage;
    int64_t last_request_seq;
};

static int keep_sent(void *ctx, const struct wb_span *spans, size_t n, struct wb_error *err)
{
    struct fixture *f = ctx;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        wb_text_add_span(&f->sent, spans[i]);
    }
    return 0;
}

static void keep_event(void *ctx, const struct wb_dap_message *event)
{
    struct fixture *f = ctx;
    wb_text_printf(&f->events, "%s ", event->name);
}

static void keep_request(void *ctx, const struct wb_dap_message *request)
{
    struct fixture *f = ctx;
    f->last_request_seq = request->seq;
    wb_text_printf(&f->events, "request:%s ", request->name);
}

static void keep_garbage(void *ctx, const char *what)
{
    struct fixture *f = ctx;
    wb_text_printf(&f->garbage, "%s;", what);
}

static int setup(void **state)
{
    struct fixture *f = wb_alloc(sizeof(*f));
    wb_arena_init(&f->arena);
    f->dap = wb_dap_new(&(struct wb_dap_options){.write = keep_sent,
                                                 .on_event = keep_event,
                                                 .on_request = keep_request,
                                                 .on_garbage = keep_garbage,
                                                 .ctx = f});
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    wb_dap_close(f->dap, "the test is over");
    wb_dap_free(f->dap);
    wb_arena_done(&f->arena);
    wb_text_done(&f->sent);
    wb_text_done(&f->events);
    wb_text_done(&f->garbage);
    free(f);
    return 0;
}

static void feed(struct fixture *f, const char *body)
{
    char head[64];
    snprintf(head, sizeof(head), "Content-Length: %zu\r\n\r\n", strlen(body));
    wb_dap_feed(f->dap, head, strlen(head));
    wb_dap_feed(f->dap, body, strlen(body));
}

static struct wb_dap_pending *start(struct fixture *f, const char *command)
{
    struct wb_dap_pending *pending = wb_dap_start(f->dap, command, WB_SPAN("{\"a\":1}"), NULL);
    assert_non_null(pending);
    return pending;
}

static void wait_for(struct fixture *f, struct wb_dap_pending *pending, struct wb_dap_answer *ret)
{
    assert_int_equal(
        wb_dap_wait(f->dap, pending, wb_clock_deadline(10000), NULL, &f->arena, ret, NULL), 0);
}

static void requests_are_numbered_and_framed(void **state)
{
    struct fixture *f = *state;
    static const char body[] =
        "{\"seq\":1,\"type\":\"request\",\"command\":\"next\",\"arguments\":{\"a\":1}}";
    char expected[256];
    snprintf(expected, sizeof(expected), "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
    struct wb_dap_pending *pending = start(f, "next");
    assert_string_equal(wb_text_cstr(&f->sent), expected);
    wb_dap_drop(f->dap, pending);
}

static void answers_are_matched_by_number_alone(void **state)
{
    struct fixture *f = *state;
    struct wb_dap_answer first, second;
    struct wb_dap_pending *a = start(f, "scopes"), *b = start(f, "variables");
    feed(f, "{\"type\":\"response\",\"request_seq\":2,\"success\":true,\"command\":\"\","
            "\"body\":{\"n\":2}}");
    assert_true(wb_dap_is_answered(f->dap, b));
    assert_false(wb_dap_is_answered(f->dap, a));
    feed(f, "{\"type\":\"response\",\"request_seq\":1,\"success\":true,\"command\":\"wrong\","
            "\"body\":{\"n\":1}}");
    wait_for(f, a, &first);
    wait_for(f, b, &second);
    assert_int_equal(wb_json_int_or(wb_json_get(first.body, "n"), 0), 1);
    assert_int_equal(wb_json_int_or(wb_json_get(second.body, "n"), 0), 2);
}

static void errors_are_found_where_adapters_keep_them(void **state)
{
    static const struct {
        const char *answer, *text;
    } cases[] = {
        {"\"message\":\"no such thread\"", "no such thread"},
        {"\"message\":null,\"body\":{\"error\":{\"format\":\"cannot {verb} {_what}\","
         "\"variables\":{\"verb\":\"open\",\"_what\":\"it\"}}}",
         "cannot open it"},
        {"\"message\":\"Failed to launch\",\"body\":{\"error\":{\"format\":\"see {where\"}}",
         "Failed to launch: see {where"},
        {"\"message\":\"no x\",\"body\":{\"error\":{\"format\":\"there is no x here\"}}",
         "there is no x here"},
        {"\"message\":\"oh {a}\",\"body\":{\"error\":{\"format\":\"{a}{b}\"}}", "oh {a}: {a}{b}"},
        {"\"body\":{}", "it gave no reason"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        struct wb_dap_answer answer;
        struct wb_dap_pending *pending = start(f, "launch");
        feed(f, wb_arena_printf(&f->arena,
                                "{\"type\":\"response\",\"request_seq\":%zu,\"success\":false,%s}",
                                i + 1, cases[i].answer));
        assert_true(wb_dap_is_failed(f->dap, pending));
        wait_for(f, pending, &answer);
        assert_true(answer.failed);
        assert_string_equal(answer.error, cases[i].text);
    }
}

static void late_repeated_and_foreign_answers_are_dropped(void **state)
{
    struct fixture *f = *state;
    struct wb_error err;
    struct wb_dap_answer answer;
    struct wb_dap_pending *pending = start(f, "pause");
    assert_int_equal(
        wb_dap_wait(f->dap, pending, wb_clock_now_ms(), NULL, &f->arena, &answer, &err), -1);
    assert_int_equal(err.code, WB_ERROR_TIMEOUT);
    for (int i = 0; i < 2; i++) {
        feed(f, "{\"type\":\"response\",\"request_seq\":1,\"success\":true}");
    }
    feed(f, "{\"type\":\"response\",\"request_seq\":77,\"success\":true}");
    feed(f, "{\"type\":\"response\",\"success\":true}");
    feed(f, "{\"type\":\"nonsense\"}");
    feed(f, "{\"seq\":1}");
    feed(f, "not json");
    feed(f, "[]");
    assert_false(wb_dap_is_closed(f->dap));
    feed(f, "{\"type\":\"event\",\"event\":\"stopped\"}");
    assert_string_equal(wb_text_cstr(&f->events), "stopped ");
}

static void junk_before_a_header_is_skipped(void **state)
{
    struct fixture *f = *state;
    static const char junk[] = "DEBUGGER (client): Connected\r\n\r\n> prompt\n";
    wb_dap_feed(f->dap, junk, strlen(junk));
    feed(f, "{\"type\":\"event\",\"event\":\"initialized\"}");
    assert_string_equal(wb_text_cstr(&f->events), "initialized ");
}

static void every_split_of_the_stream_is_the_same(void **state)
{
    struct fixture *f = *state;
    static const char stream[] =
        "content-length: 38\r\nX: y\r\n\r\n{\"type\":\"event\",\"event\":\"initialized\"}"
        "Content-Length: 47\r\n\r\n{\"type\":\"event\",\"event\":\"stopped\",\"body\":{   }}";
    for (size_t cut = 0; cut <= strlen(stream); cut++) {
        wb_text_clear(&f->events);
        wb_dap_feed(f->dap, stream, cut);
        wb_dap_feed(f->dap, stream + cut, strlen(stream) - cut);
        assert_string_equal(wb_text_cstr(&f->events), "initialized stopped ");
    }
}

static void a_stream_that_cannot_be_read_closes(void **state)
{
    struct fixture *f = *state;
    struct wb_error err;
    struct wb_dap_answer answer;
    struct wb_dap_pending *pending = start(f, "threads");
    static const char huge[] = "Content-Length: 99999999999\r\n\r\n";
    wb_dap_feed(f->dap, huge, strlen(huge));
    assert_true(wb_dap_is_closed(f->dap));
    assert_true(wb_dap_is_failed(f->dap, pending));
    assert_int_equal(wb_dap_wait(f->dap, pending, WB_NEVER, NULL, &f->arena, &answer, &err), -1);
    assert_int_equal(err.code, WB_ERROR_CLOSED);
    assert_null(wb_dap_start(f->dap, "threads", WB_SPAN(""), &err));
    feed(f, "{\"type\":\"event\",\"event\":\"stopped\"}");
    assert_int_equal(f->events.len, 0);
}

static void reverse_requests_are_answered(void **state)
{
    struct fixture *f = *state;
    feed(f, "{\"seq\":9,\"type\":\"request\",\"command\":\"runInTerminal\",\"arguments\":{}}");
    assert_int_equal(f->last_request_seq, 9);
    assert_int_equal(wb_dap_reply(f->dap, 9, "runInTerminal", "not \"here\"", WB_SPAN(""), NULL),
                     0);
    assert_non_null(strstr(wb_text_cstr(&f->sent),
                           "\"request_seq\":9,\"success\":false,\"command\":\"runInTerminal\","
                           "\"message\":\"not \\\"here\\\"\"}"));
}

static void capabilities_are_laid_over(void **state)
{
    struct fixture *f = *state;
    struct wb_dap_capabilities can = {0};
    wb_dap_capabilities_merge(
        &can, wb_json_parse(&f->arena,
                            WB_SPAN("{\"supportsLogPoints\":true,\"supportsSetVariable\":true,"
                                    "\"exceptionBreakpointFilters\":[{\"filter\":\"a\",\"default\":"
                                    "true},{\"label\":\"no id\"},{\"filter\":\"b\",\"label\":\"B\"}"
                                    "]}"),
                            NULL));
    wb_dap_capabilities_merge(&can, wb_json_parse(&f->arena,
                                                  WB_SPAN("{\"supportsLogPoints\":false}"), NULL));
    assert_false(can.log_points);
    assert_true(can.set_variable);
    assert_int_equal(can.n_filters, 2);
    assert_true(can.filters[0].is_default);
    assert_string_equal(can.filters[1].label, "B");
    wb_dap_capabilities_merge(&can, NULL);
    assert_int_equal(can.n_filters, 2);
    wb_dap_capabilities_done(&can);
}

/* Answers come on another thread, and one waiter is cancelled. */
static void *answer_all(void *ctx)
{
    struct fixture *f = ctx;
    for (int i = 1; i <= 200; i++) {
        char body[128];
        snprintf(body, sizeof(body),
                 "{\"type\":\"response\",\"request_seq\":%d,\"success\":true,\"body\":{\"n\":%d}}",
                 i, i);
        feed(f, body);
    }
    return NULL;
}

static void waiters_wake(void **state)
{
    struct fixture *f = *state;
    struct wb_dap_pending *pending[200];
    pthread_t thread;
    struct wb_cancel cancel;
    struct wb_dap_answer answer;
    struct wb_error err;
    for (size_t i = 0; i < WB_COUNT(pending); i++) {
        pending[i] = start(f, "evaluate");
    }
    struct wb_dap_pending *never = start(f, "never");
    assert_int_equal(pthread_create(&thread, NULL, answer_all, f), 0);
    for (size_t i = 0; i < WB_COUNT(pending); i++) {
        wait_for(f, pending[i], &answer);
        assert_int_equal(wb_json_int_or(wb_json_get(answer.body, "n"), 0), (int64_t)i + 1);
    }
    wb_cancel_init(&cancel);
    wb_cancel_fire(&cancel);
    assert_int_equal(wb_dap_wait(f->dap, never, WB_NEVER, &cancel, &f->arena, &answer, &err), -1);
    assert_int_equal(err.code, WB_ERROR_CANCELLED);
    pthread_join(thread, NULL);
    wb_cancel_done(&cancel);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(requests_are_numbered_and_framed),
        TEST(answers_are_matched_by_number_alone),
        TEST(errors_are_found_where_adapters_keep_them),
        TEST(late_repeated_and_foreign_answers_are_dropped),
        TEST(junk_before_a_header_is_skipped),
        TEST(every_split_of_the_stream_is_the_same),
        TEST(a_stream_that_cannot_be_read_closes),
        TEST(reverse_requests_are_answered),
        TEST(capabilities_are_laid_over),
        TEST(waiters_wake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

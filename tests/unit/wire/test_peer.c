/* Tests of wire/peer.h: a peer on memory. What it sends is kept as text, what it hears is written
 * down, and the other side is this file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

#include "base/clock.h"
#include "wire/peer.h"

struct wire {
    struct wb_peer *peer;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t more;
    struct wb_text sent;
    struct wb_text heard; /* feeding thread only */
    struct wb_text asked; /* feeding thread only: the last request's id */
    bool write_fails;
    const char *close_on; /* a notification that closes the peer while it is handled */
};

static int keep_sent(void *ctx, const struct wb_span *spans, size_t n, struct wb_error *err)
{
    struct wire *wire = ctx;
    int status = 0;

    pthread_mutex_lock(&wire->lock);
    if (wire->write_fails) {
        status = wb_error_set(err, WB_ERROR_IO, "the pipe is full");
    }
    for (size_t i = 0; i < n && status == 0; i++) {
        wb_text_add_span(&wire->sent, spans[i]);
    }
    pthread_cond_signal(&wire->more);
    pthread_mutex_unlock(&wire->lock);
    return status;
}

static void hear(struct wire *wire, const char *kind, const struct wb_peer_message *message)
{
    struct wb_span params = wb_json_write(message->arena, message->params);

    wb_text_printf(&wire->heard, "%s %s", kind, message->method);
    if (message->id.len != 0) {
        wb_text_printf(&wire->heard, " " WB_SPAN_FMT, WB_SPAN_ARG(message->id));
    }
    if (message->params != NULL) {
        wb_text_printf(&wire->heard, " " WB_SPAN_FMT, WB_SPAN_ARG(params));
    }
    wb_text_add_char(&wire->heard, '\n');
}

/* "echo" is answered at once, everything else when the test says so. */
static void hear_request(void *ctx, const struct wb_peer_message *message)
{
    struct wire *wire = ctx;

    hear(wire, "request", message);
    wb_text_clear(&wire->asked);
    wb_text_add_span(&wire->asked, message->id);
    if (wb_str_equal(message->method, "echo")) {
        struct wb_span params = wb_json_write(message->arena, message->params);

        assert_int_equal(wb_peer_reply(wire->peer, message->id, params, NULL), 0);
    }
}

static void hear_notification(void *ctx, const struct wb_peer_message *message)
{
    struct wire *wire = ctx;

    hear(wire, "notification", message);
    if (wire->close_on != NULL && wb_str_equal(message->method, wire->close_on)) {
        wb_peer_close(wire->peer, "closed by a handler");
    }
}

static void hear_garbage(void *ctx, const char *what)
{
    struct wire *wire = ctx;

    wb_text_printf(&wire->heard, "garbage %s\n", what);
}

static void open_wire(struct wire *wire, enum wb_framing framing)
{
    struct wb_peer_options options = {
        .framing = framing,
        .write = keep_sent,
        .on_request = hear_request,
        .on_notification = hear_notification,
        .on_garbage = hear_garbage,
        .cancel_method = "$/cancelRequest",
        .cancel_key = "id",
        .ctx = wire,
    };

    *wire = (struct wire){0};
    pthread_mutex_init(&wire->lock, NULL);
    wb_cond_init(&wire->more);
    wire->peer = wb_peer_new(&options);
}

static void close_wire(struct wire *wire)
{
    wb_peer_close(wire->peer, "the test is over");
    wb_peer_free(wire->peer);
    wb_text_done(&wire->sent);
    wb_text_done(&wire->heard);
    wb_text_done(&wire->asked);
    pthread_cond_destroy(&wire->more);
    pthread_mutex_destroy(&wire->lock);
}

static int set_up(void **state)
{
    static struct wire wire;

    open_wire(&wire, WB_FRAMING_LINES);
    *state = &wire;
    return 0;
}

static int tear_down(void **state)
{
    close_wire(*state);
    return 0;
}

static void feed(struct wire *wire, const char *text)
{
    wb_peer_feed(wire->peer, text, strlen(text));
}

static void expect_sent(struct wire *wire, const char *expected)
{
    pthread_mutex_lock(&wire->lock);
    assert_string_equal(wb_text_cstr(&wire->sent), expected);
    wb_text_clear(&wire->sent);
    pthread_mutex_unlock(&wire->lock);
}

static void expect_heard(struct wire *wire, const char *expected)
{
    assert_string_equal(wb_text_cstr(&wire->heard), expected);
    wb_text_clear(&wire->heard);
}

static struct wb_peer_pending *start(struct wire *wire, const char *method)
{
    struct wb_peer_pending *pending = wb_peer_start(wire->peer, method, (struct wb_span){0}, NULL);

    assert_non_null(pending);
    return pending;
}

/* Waits for an answer that must be there already, and gives it as text. */
static void expect_answer(struct wire *wire, struct wb_peer_pending *pending, const char *expected)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    WB_AUTO(wb_text_done) struct wb_text shown = {0};
    struct wb_peer_answer answer;
    struct wb_error err;

    if (wb_peer_wait(wire->peer, pending, 0, NULL, &arena, &answer, &err) != 0) {
        wb_text_printf(&shown, "no answer, %s: %s", wb_error_code_name(err.code), err.message);
    } else if (answer.failed) {
        wb_text_printf(&shown, "error %d %s", (int)answer.error_code, answer.error_message);
        if (answer.error_data != NULL) {
            wb_text_add_char(&shown, ' ');
            wb_text_add_span(&shown, wb_json_write(&arena, answer.error_data));
        }
        assert_null(answer.result);
    } else {
        wb_text_add_span(&shown, wb_json_write(&arena, answer.result));
        assert_non_null(answer.result);
    }
    assert_string_equal(wb_text_cstr(&shown), expected);
}

static void test_sent_messages(void **state)
{
    struct wire *wire = *state;
    struct wb_peer_pending *first = wb_peer_start(wire->peer, "a/b", WB_SPAN("{\"x\":[1]}"), NULL);
    struct wb_peer_pending *second = start(wire, "c");

    expect_sent(wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a/b\",\"params\":{\"x\":[1]}}\n"
                      "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"c\"}\n");
    assert_int_equal(wb_peer_notify(wire->peer, "n", WB_SPAN("[]"), NULL), 0);
    assert_int_equal(wb_peer_notify(wire->peer, "n", (struct wb_span){0}, NULL), 0);
    expect_sent(wire, "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":[]}\n"
                      "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n");
    wb_peer_drop(wire->peer, first);
    wb_peer_drop(wire->peer, second);
    expect_sent(wire,
                "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":1}}\n"
                "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":2}}\n");
}

static void test_header_framing(void **state)
{
    struct wire wire;

    (void)state;
    open_wire(&wire, WB_FRAMING_HEADERS);
    struct wb_peer_pending *pending = start(&wire, "m");
    expect_sent(&wire, "Content-Length: 37\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}");
    feed(&wire, "hello from the server\nContent-Length: 22\r\n\r\n{\"id\":1,\"result\":\"ok\"}");
    expect_answer(&wire, pending, "\"ok\"");
    close_wire(&wire);
}

static void test_answer_shapes(void **state)
{
    struct wire *wire = *state;

    static const struct {
        const char *members, *expected;
    } rows[] = {
        {"\"result\":{\"a\":1}", "{\"a\":1}"},
        {"\"result\":null", "null"},
        {"\"result\":[]", "[]"},
        {"\"x\":1", "null"}, /* JavaScript's undefined */
        {"\"result\":7,\"error\":null", "7"},
        {"\"error\":null", "null"},
        {"\"error\":{\"code\":-32601,\"message\":\"no\"}", "error -32601 no"},
        {"\"error\":{\"code\":-32601,\"message\":\"no\"},\"result\":7", "error -32601 no"},
        {"\"error\":{\"code\":1,\"message\":\"no\",\"data\":[1]}", "error 1 no [1]"},
        {"\"error\":{\"code\":2.0,\"message\":\"\"}", "error 2 "},
        {"\"error\":{\"code\":\"E7\",\"message\":\"no\"}", "error -32603 no"},
        {"\"error\":{\"code\":5}", "error 5 {\"code\":5}"},
        {"\"error\":{\"message\":5}", "error -32603 {\"message\":5}"},
        {"\"error\":\"broken\"", "error -32603 broken"},
        {"\"error\":17", "error -32603 17"},
        {"\"error\":{}", "error -32603 {}"},
        {"\"error\":false", "error -32603 false"},
    };

    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        struct wb_peer_pending *pending = start(wire, "m");
        char line[256];

        snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%zu,%s}\n", i + 1,
                 rows[i].members);
        feed(wire, line);
        assert_int_equal(wb_peer_pending_count(wire->peer), 0);
        expect_answer(wire, pending, rows[i].expected);
    }
    expect_heard(wire, "");
}

static void test_answers_in_any_order(void **state)
{
    struct wire *wire = *state;
    struct wb_peer_pending *pending[600];

    for (size_t i = 0; i < WB_COUNT(pending); i++) {
        pending[i] = start(wire, "m");
    }
    for (size_t i = WB_COUNT(pending); i-- > 0;) {
        char line[64];

        snprintf(line, sizeof(line), "{\"id\":%zu,\"result\":%zu}\n", i + 1, i * 10);
        feed(wire, line);
    }
    for (size_t i = 0; i < WB_COUNT(pending); i++) {
        char expected[32];

        snprintf(expected, sizeof(expected), "%zu", i * 10);
        expect_answer(wire, pending[i], expected);
    }
}

/* Both sides count from 1: a message with a method is never an answer. */
static void test_ids_of_both_directions_overlap(void **state)
{
    struct wire *wire = *state;
    struct wb_peer_pending *pending = start(wire, "mine");

    wb_text_clear(&wire->sent);
    feed(wire, "{\"id\":1,\"method\":\"echo\",\"params\":[\"theirs\"],\"result\":0}\n");
    expect_heard(wire, "request echo 1 [\"theirs\"]\n");
    expect_sent(wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[\"theirs\"]}\n");
    assert_int_equal(wb_peer_pending_count(wire->peer), 1);
    feed(wire, "{\"id\":1,\"result\":\"mine\"}\n");
    expect_answer(wire, pending, "\"mine\"");
}

static void test_ids_are_echoed_as_they_came(void **state)
{
    struct wire *wire = *state;
    static const char *const ids[] = {
        "0", "-7", "\"a\\\"b\"", "\"\"", "\"1\"", "18446744073709551615", "\"\xC3\xA4\"",
    };

    for (size_t i = 0; i < WB_COUNT(ids); i++) {
        char line[128];
        char expected[128];

        snprintf(line, sizeof(line), "{\"id\":%s,\"method\":\"echo\",\"params\":{}}\n", ids[i]);
        snprintf(expected, sizeof(expected), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n",
                 ids[i]);
        feed(wire, line);
        expect_sent(wire, expected);
    }
}

static void test_unknown_late_and_double_answers(void **state)
{
    struct wire *wire = *state;
    struct wb_peer_pending *kept = start(wire, "kept");
    struct wb_peer_pending *dropped = start(wire, "dropped");

    feed(wire, "{\"id\":99,\"result\":0}\n{\"id\":-1,\"result\":0}\n{\"id\":257,\"result\":0}\n");
    wb_peer_drop(wire->peer, dropped);
    feed(wire, "{\"id\":2,\"result\":\"late\"}\n");
    feed(wire, "{\"id\":1,\"result\":\"first\"}\n{\"id\":1,\"result\":\"second\"}\n"
               "{\"id\":1,\"error\":{\"code\":1,\"message\":\"third\"}}\n");
    expect_answer(wire, kept, "\"first\"");
    feed(wire, "{\"id\":1,\"result\":\"fourth\"}\n");
    expect_heard(wire, "");
    assert_int_equal(wb_peer_pending_count(wire->peer), 0);
}

static void test_answered_before_drop_sends_no_cancel(void **state)
{
    struct wire *wire = *state;
    struct wb_peer_pending *pending = start(wire, "m");

    feed(wire, "{\"id\":1,\"result\":[1,2,3]}\n");
    wb_text_clear(&wire->sent);
    wb_peer_drop(wire->peer, pending);
    expect_sent(wire, "");
}

static void test_garbage(void **state)
{
    struct wire *wire = *state;

    static const struct {
        const char *line, *heard, *sent; /* prefixes; NULL: nothing */
    } rows[] = {
        {"nonsense", "garbage Invalid JSON",
         "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":"
         "{\"code\":-32700,\"message\":\"Invalid JSON"},
        {"{\"id\":1,", "garbage Invalid JSON",
         "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":"
         "{\"code\":-32700"},
        {"null", "garbage A message must be one JSON object",
         "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600"},
        {"[{\"id\":1,\"method\":\"echo\"}]", "garbage A message must be one JSON object",
         "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600"},
        {"{}", "garbage A message must have a method",
         "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600"},
        {"{\"id\":\"x\",\"method\":5}", "garbage The method must be a string",
         "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-32600"},
        {"{\"method\":null}", "garbage The method must be a string",
         "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600"},
        {"{\"id\":{},\"method\":\"echo\"}", "garbage The id of a request",
         "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600"},
        {"{\"id\":true,\"method\":\"echo\"}", "garbage The id of a request",
         "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600"},
        /* Answers that nobody can have asked for are never answered. */
        {"{\"id\":null,\"error\":{\"code\":-32700,\"message\":\"what?\"}}",
         "garbage {\"id\":null,\"error\":{\"code\":-32700,\"message\":\"what?\"}}", NULL},
        {"{\"error\":{\"code\":1,\"message\":\"\"}}", "garbage {\"error\"", NULL},
        {"{\"id\":\"1\",\"result\":5}", "garbage {\"id\":\"1\"", NULL},
        {"{\"id\":1.5,\"result\":5}", "garbage {\"id\":1.5", NULL},
    };
    struct wb_peer_pending *pending = start(wire, "m");

    wb_text_clear(&wire->sent);
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        wb_text_clear(&wire->heard);
        wb_text_clear(&wire->sent);
        feed(wire, rows[i].line);
        feed(wire, "\n");
        assert_true(wb_str_starts(wb_text_cstr(&wire->heard), rows[i].heard));
        if (rows[i].sent == NULL) {
            expect_sent(wire, "");
        } else {
            assert_true(wb_str_starts(wb_text_cstr(&wire->sent), rows[i].sent));
        }
    }
    feed(wire, "{\"id\":1,\"result\":\"still there\"}\n");
    expect_answer(wire, pending, "\"still there\"");
}

static void test_notifications(void **state)
{
    struct wire *wire = *state;

    feed(wire, "{\"method\":\"one\",\"params\":{\"a\":1}}\n{\"method\":\"two\",\"params\":null}\n"
               "{\"method\":\"three\",\"id\":null}\n");
    expect_heard(wire, "notification one {\"a\":1}\nnotification two\nnotification three\n");
    expect_sent(wire, "");
}

/* What a server tells before it answers is handled before the answer is there. */
static void test_order_of_arrival(void **state)
{
    struct wire *wire = *state;
    struct wb_peer_pending *pending = start(wire, "m");

    feed(wire, "{\"method\":\"first\"}\n{\"method\":\"ask\",\"id\":\"q\"}\n"
               "{\"id\":1,\"result\":1}\n{\"method\":\"last\"}\n");
    expect_heard(wire, "notification first\nrequest ask \"q\"\nnotification last\n");
    expect_answer(wire, pending, "1");
    assert_int_equal(
        wb_peer_reply_error(wire->peer, WB_SPAN("\"q\""), WB_RPC_METHOD_NOT_FOUND, "no", NULL), 0);
}

static void test_order_of_sending(void **state)
{
    struct wire *wire = *state;

    assert_int_equal(wb_peer_notify(wire->peer, "didChange", (struct wb_span){0}, NULL), 0);
    struct wb_peer_pending *pending = start(wire, "hover");
    assert_int_equal(wb_peer_notify(wire->peer, "didSave", (struct wb_span){0}, NULL), 0);
    expect_sent(wire, "{\"jsonrpc\":\"2.0\",\"method\":\"didChange\"}\n"
                      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hover\"}\n"
                      "{\"jsonrpc\":\"2.0\",\"method\":\"didSave\"}\n");
    wb_peer_drop(wire->peer, pending);
}

static void test_replies(void **state)
{
    struct wire *wire = *state;

    feed(wire, "{\"method\":\"a\",\"id\":1}\n{\"method\":\"b\",\"id\":2}\n");
    assert_int_equal(wb_peer_reply(wire->peer, WB_SPAN("2"), (struct wb_span){0}, NULL), 0);
    assert_int_equal(wb_peer_reply_error(wire->peer, WB_SPAN("1"), WB_RPC_METHOD_NOT_FOUND,
                                         "no \"a\"\n", NULL),
                     0);
    expect_sent(wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":null}\n"
                      "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":"
                      "\"no \\\"a\\\"\\n\"}}\n");
}

static void test_deadline(void **state)
{
    struct wire *wire = *state;
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    struct wb_peer_answer answer;
    struct wb_error err;

    assert_int_equal(wb_peer_call(wire->peer, "slow", (struct wb_span){0}, wb_clock_deadline(1),
                                  NULL, &arena, &answer, &err),
                     -1);
    assert_int_equal(err.code, WB_ERROR_TIMEOUT);
    assert_string_equal(err.message, "slow got no answer in time");
    expect_sent(wire,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"slow\"}\n"
                "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":1}}\n");
    assert_int_equal(wb_peer_pending_count(wire->peer), 0);
    feed(wire, "{\"id\":1,\"result\":\"late\"}\n");
    expect_heard(wire, "");
}

static void test_cancel_before_the_wait(void **state)
{
    struct wire *wire = *state;
    struct wb_cancel cancel;
    struct wb_arena arena = {0};
    struct wb_peer_answer answer;
    struct wb_error err;

    wb_cancel_init(&cancel);
    wb_cancel_fire(&cancel);
    assert_int_equal(wb_peer_call(wire->peer, "m", (struct wb_span){0}, WB_NEVER, &cancel, &arena,
                                  &answer, &err),
                     -1);
    assert_int_equal(err.code, WB_ERROR_CANCELLED);
    /* An answer that is there already is taken all the same. */
    struct wb_peer_pending *pending = start(wire, "m");
    feed(wire, "{\"id\":2,\"result\":true}\n");
    assert_int_equal(wb_peer_wait(wire->peer, pending, WB_NEVER, &cancel, &arena, &answer, &err),
                     0);
    assert_true(wb_json_bool(answer.result, false));
    wb_arena_done(&arena);
    wb_cancel_done(&cancel);
}

/* A thread that calls, and what it got. */
struct caller {
    struct wire *wire;
    struct wb_cancel *cancel;
    pthread_t thread;
    int status;
    struct wb_error err;
};

static void *run_caller(void *ctx)
{
    struct caller *caller = ctx;
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    struct wb_peer_answer answer;

    caller->status = wb_peer_call(caller->wire->peer, "m", (struct wb_span){0}, WB_NEVER,
                                  caller->cancel, &arena, &answer, &caller->err);
    return NULL;
}

static void start_callers(struct wire *wire, struct caller *callers, size_t n,
                          struct wb_cancel *cancel)
{
    for (size_t i = 0; i < n; i++) {
        callers[i] = (struct caller){.wire = wire, .cancel = cancel};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, run_caller, &callers[i]), 0);
    }
    while (wb_peer_pending_count(wire->peer) < n) {
        sched_yield();
    }
}

static void expect_callers(struct caller *callers, size_t n, enum wb_error_code code,
                           const char *message)
{
    for (size_t i = 0; i < n; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].status, -1);
        assert_int_equal(callers[i].err.code, code);
        assert_string_equal(callers[i].err.message, message);
    }
}

static void test_cancel_wakes(void **state)
{
    struct wire *wire = *state;
    struct caller callers[10];
    struct wb_cancel cancel;

    wb_cancel_init(&cancel);
    start_callers(wire, callers, WB_COUNT(callers), &cancel);
    wb_cancel_fire(&cancel);
    expect_callers(callers, WB_COUNT(callers), WB_ERROR_CANCELLED, "m was cancelled");
    assert_int_equal(wb_peer_pending_count(wire->peer), 0);
    wb_cancel_done(&cancel);
}

static void test_close_wakes_everybody(void **state)
{
    struct wire *wire = *state;
    struct caller callers[100];

    start_callers(wire, callers, WB_COUNT(callers), NULL);
    wb_peer_close(wire->peer, "clangd exited with status 1");
    wb_peer_close(wire->peer, "a second reason");
    expect_callers(callers, WB_COUNT(callers), WB_ERROR_CLOSED, "clangd exited with status 1");
}

static void test_after_close(void **state)
{
    struct wire *wire = *state;
    struct wb_peer_pending *answered = start(wire, "answered");
    struct wb_peer_pending *lost = start(wire, "lost");
    struct wb_peer_pending *dropped = start(wire, "dropped");
    struct wb_error err;

    feed(wire, "{\"id\":1,\"result\":1}\n{\"method\":\"ask\",\"id\":5}\n");
    wb_peer_close(wire->peer, "it is gone");
    wb_text_clear(&wire->sent);
    wb_text_clear(&wire->heard);
    assert_true(wb_peer_is_closed(wire->peer));
    expect_answer(wire, answered, "1");
    expect_answer(wire, lost, "no answer, closed: it is gone");
    wb_peer_drop(wire->peer, dropped);
    assert_null(wb_peer_start(wire->peer, "m", (struct wb_span){0}, &err));
    assert_string_equal(err.message, "it is gone");
    assert_int_equal(wb_peer_notify(wire->peer, "m", (struct wb_span){0}, &err), -1);
    assert_int_equal(err.code, WB_ERROR_CLOSED);
    assert_int_equal(wb_peer_reply(wire->peer, WB_SPAN("5"), WB_SPAN("1"), &err), -1);
    assert_int_equal(err.code, WB_ERROR_CLOSED);
    feed(wire, "{\"method\":\"too late\"}\n");
    expect_heard(wire, "");
    expect_sent(wire, "");
}

static void test_close_by_a_handler(void **state)
{
    struct wire *wire = *state;

    wire->close_on = "stop";
    feed(wire, "{\"method\":\"go\"}\n{\"method\":\"stop\"}\n{\"method\":\"more\"}\n");
    expect_heard(wire, "notification go\nnotification stop\n");
}

static void test_broken_stream_closes(void **state)
{
    struct wire wire;

    (void)state;
    open_wire(&wire, WB_FRAMING_HEADERS);
    struct wb_peer_pending *pending = start(&wire, "m");
    feed(&wire, "Content-Length: many\r\n\r\n");
    assert_true(wb_peer_is_closed(wire.peer));
    expect_heard(&wire, "garbage The other side sent a message header with the length \"many\"\n");
    expect_answer(&wire, pending,
                  "no answer, closed: The other side sent a message header with the length "
                  "\"many\"");
    close_wire(&wire);
}

static void test_write_fails(void **state)
{
    struct wire *wire = *state;
    struct wb_arena arena = {0};
    struct wb_peer_answer answer;
    struct wb_error err;

    wire->write_fails = true;
    assert_int_equal(wb_peer_call(wire->peer, "m", (struct wb_span){0}, WB_NEVER, NULL, &arena,
                                  &answer, &err),
                     -1);
    assert_string_equal(err.message, "the pipe is full");
    assert_int_equal(wb_peer_pending_count(wire->peer), 0);
    assert_int_equal(wb_peer_notify(wire->peer, "m", (struct wb_span){0}, &err), -1);
    assert_int_equal(err.code, WB_ERROR_IO);
}

static void test_limit_of_our_requests(void **state)
{
    struct wire *wire = *state;
    static struct wb_peer_pending *pending[WB_PEER_PENDING_MAX];
    struct wb_error err;

    for (size_t i = 0; i < WB_COUNT(pending); i++) {
        pending[i] = start(wire, "m");
    }
    assert_null(wb_peer_start(wire->peer, "m", (struct wb_span){0}, &err));
    assert_int_equal(err.code, WB_ERROR_LIMIT);
    wb_peer_drop(wire->peer, pending[7]);
    pending[7] = start(wire, "m");
    for (size_t i = 0; i < WB_COUNT(pending); i++) {
        wb_peer_drop(wire->peer, pending[i]);
    }
}

static void test_limit_of_their_requests(void **state)
{
    struct wire *wire = *state;

    for (size_t i = 0; i < WB_PEER_PENDING_MAX; i++) {
        feed(wire, "{\"id\":1,\"method\":\"ask\"}\n");
    }
    expect_sent(wire, "");
    feed(wire, "{\"id\":\"x\",\"method\":\"ask\"}\n");
    expect_sent(wire, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-32603,\"message\":"
                      "\"Too many requests are waiting for an answer\"}}\n");
    assert_int_equal(wb_peer_reply(wire->peer, WB_SPAN("1"), (struct wb_span){0}, NULL), 0);
    wb_text_clear(&wire->sent);
    feed(wire, "{\"id\":\"y\",\"method\":\"ask\"}\n");
    expect_sent(wire, "");
}

static void *reply_later(void *ctx)
{
    struct wire *wire = ctx;

    assert_int_equal(wb_peer_reply(wire->peer, wb_text_span(&wire->asked), WB_SPAN("[1]"), NULL),
                     0);
    return NULL;
}

static void test_reply_from_another_thread(void **state)
{
    struct wire *wire = *state;
    pthread_t thread;

    feed(wire, "{\"id\":\"abc\",\"method\":\"ask\",\"params\":{}}\n");
    expect_sent(wire, "");
    assert_int_equal(pthread_create(&thread, NULL, reply_later, wire), 0);
    pthread_join(thread, NULL);
    expect_sent(wire, "{\"jsonrpc\":\"2.0\",\"id\":\"abc\",\"result\":[1]}\n");
}

/* The answer's memory is the caller's: it outlives the peer and the next messages. */
static void test_answer_outlives_the_peer(void **state)
{
    WB_AUTO(wb_text_done) struct wb_text line = {0};
    struct wb_arena arena = {0};
    struct wb_peer_answer answer;
    struct wire wire;

    (void)state;
    open_wire(&wire, WB_FRAMING_LINES);
    struct wb_peer_pending *pending = start(&wire, "m");
    wb_text_add_str(&line, "{\"id\":1,\"result\":[");
    for (int i = 0; i < 100000; i++) {
        wb_text_printf(&line, "%s\"%d\"", i == 0 ? "" : ",", i);
    }
    wb_text_add_str(&line, "]}\n{\"method\":\"next\"}\n");
    feed(&wire, wb_text_cstr(&line));
    char *mine = wb_arena_strdup(&arena, "mine");
    assert_int_equal(wb_peer_wait(wire.peer, pending, 0, NULL, &arena, &answer, NULL), 0);
    close_wire(&wire);
    assert_string_equal(mine, "mine");
    assert_int_equal(wb_json_count(answer.result), 100000);
    assert_string_equal(wb_json_str(wb_json_at(answer.result, 99999)), "99999");
    wb_arena_done(&arena);
}

/* The other side of the crowd test: takes what has been sent so far and answers it backwards, with
 * the parameters as the result. */
static void answer_backwards(struct wire *wire, struct wb_frame_reader *reader, size_t *n_left)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    const struct wb_json *messages[256];
    size_t n = 0;
    struct wb_span body;

    while (n < WB_COUNT(messages) && wb_frame_step(reader, &body, NULL) == 1) {
        messages[n] = wb_json_parse(&arena, body, NULL);
        assert_non_null(messages[n++]);
    }
    *n_left -= n;
    while (n-- > 0) {
        char *line = wb_arena_printf(&arena, "{\"id\":%d,\"result\":%s}\n{\"method\":\"noise\"}\n",
                                     (int)wb_json_int_or(wb_json_get(messages[n], "id"), 0),
                                     wb_json_write(&arena, wb_json_get(messages[n], "params")).ptr);
        feed(wire, line);
    }
}

#define CROWD_THREADS 8
#define CROWD_CALLS 200

static void *run_crowd_server(void *ctx)
{
    struct wire *wire = ctx;
    struct wb_frame_reader reader;
    size_t n_left = CROWD_THREADS * CROWD_CALLS;

    wb_frame_reader_init(&reader, WB_FRAMING_LINES);
    while (n_left != 0) {
        pthread_mutex_lock(&wire->lock);
        while (wire->sent.len == 0) {
            wb_cond_wait(&wire->more, &wire->lock, WB_NEVER);
        }
        wb_frame_feed(&reader, wire->sent.ptr, wire->sent.len);
        wb_text_clear(&wire->sent);
        pthread_mutex_unlock(&wire->lock);
        answer_backwards(wire, &reader, &n_left);
    }
    wb_frame_reader_done(&reader);
    return NULL;
}

static void *run_crowd_caller(void *ctx)
{
    struct wire *wire = ctx;
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};

    for (int i = 0; i < CROWD_CALLS; i++) {
        struct wb_peer_answer answer;
        char *params = wb_arena_printf(&arena, "[\"%p\",%d]", (void *)&arena, i);

        assert_int_equal(wb_peer_call(wire->peer, "m", wb_span(params), WB_NEVER, NULL, &arena,
                                      &answer, NULL),
                         0);
        assert_string_equal(wb_json_write(&arena, answer.result).ptr, params);
    }
    return NULL;
}

static void test_crowd(void **state)
{
    struct wire *wire = *state;
    pthread_t server;
    pthread_t callers[CROWD_THREADS];

    assert_int_equal(pthread_create(&server, NULL, run_crowd_server, wire), 0);
    for (size_t i = 0; i < WB_COUNT(callers); i++) {
        assert_int_equal(pthread_create(&callers[i], NULL, run_crowd_caller, wire), 0);
    }
    for (size_t i = 0; i < WB_COUNT(callers); i++) {
        pthread_join(callers[i], NULL);
    }
    pthread_join(server, NULL);
    assert_int_equal(wb_peer_pending_count(wire->peer), 0);
}

#define PEER_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PEER_TEST(test_sent_messages),
        cmocka_unit_test(test_header_framing),
        PEER_TEST(test_answer_shapes),
        PEER_TEST(test_answers_in_any_order),
        PEER_TEST(test_ids_of_both_directions_overlap),
        PEER_TEST(test_ids_are_echoed_as_they_came),
        PEER_TEST(test_unknown_late_and_double_answers),
        PEER_TEST(test_answered_before_drop_sends_no_cancel),
        PEER_TEST(test_garbage),
        PEER_TEST(test_notifications),
        PEER_TEST(test_order_of_arrival),
        PEER_TEST(test_order_of_sending),
        PEER_TEST(test_replies),
        PEER_TEST(test_deadline),
        PEER_TEST(test_cancel_before_the_wait),
        PEER_TEST(test_cancel_wakes),
        PEER_TEST(test_close_wakes_everybody),
        PEER_TEST(test_after_close),
        PEER_TEST(test_close_by_a_handler),
        cmocka_unit_test(test_broken_stream_closes),
        PEER_TEST(test_write_fails),
        PEER_TEST(test_limit_of_our_requests),
        PEER_TEST(test_limit_of_their_requests),
        PEER_TEST(test_reply_from_another_thread),
        cmocka_unit_test(test_answer_outlives_the_peer),
        PEER_TEST(test_crowd),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

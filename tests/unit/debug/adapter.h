/* adapter: a debug adapter on a thread of the test, behind a loopback port, and a session that attaches
 * to it. What it says is a table. Include after cmocka.h. */
#ifndef WB_TESTS_DEBUG_ADAPTER_H
#define WB_TESTS_DEBUG_ADAPTER_H

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../run/fixture.h"
#include "base/clock.h"
#include "debug/session.h"
#include "sys/tcp.h"
#include "wire/frame.h"

/* What a request is answered with; commands that are not in the table succeed without a body. */
struct answer {
    const char *command;
    const char *body;      /* of a success; NULL: none */
    const char *error;     /* not NULL: it fails with this message */
    const char *events[4]; /* whole messages behind the answer */
    bool is_silent;        /* no answer */
    const char *raw;       /* bytes in place of the answer */
    bool hangs_up;         /* in place of the answer */
};

struct adapter {
    const struct answer *answers; /* ends with command NULL */
    int listener, port, fd;
    pthread_t thread;
};

static inline void adapter_say(struct adapter *it, const char *text)
{
    char head[64];
    wb_frame_head(WB_FRAMING_HEADERS, strlen(text), head);
    (void)!send(it->fd, head, strlen(head), MSG_NOSIGNAL);
    (void)!send(it->fd, text, strlen(text), MSG_NOSIGNAL);
}

static inline bool adapter_answer(struct adapter *it, struct wb_arena *arena, struct wb_span text)
{
    static const struct answer otherwise = {.command = ""};
    const struct wb_json *request = wb_json_parse(arena, text, NULL);
    const char *command = wb_json_str_or(wb_json_get(request, "command"), "");
    long long seq = wb_json_int_or(wb_json_get(request, "seq"), 0);
    const struct answer *answer = it->answers;
    while (answer->command != NULL && !wb_str_equal(answer->command, command)) {
        answer++;
    }
    answer = answer->command != NULL ? answer : &otherwise;
    if (answer->hangs_up) {
        return false;
    }
    if (answer->raw != NULL) {
        (void)!send(it->fd, answer->raw, strlen(answer->raw), MSG_NOSIGNAL);
    } else if (answer->error != NULL) {
        adapter_say(it, wb_arena_printf(arena,
                                        "{\"type\":\"response\",\"request_seq\":%lld,\"success\":"
                                        "false,\"message\":\"%s\"}",
                                        seq, answer->error));
    } else if (!answer->is_silent) {
        adapter_say(it, wb_arena_printf(arena,
                                        "{\"type\":\"response\",\"request_seq\":%lld,\"success\":"
                                        "true,\"body\":%s}",
                                        seq, answer->body != NULL ? answer->body : "{}"));
    }
    for (size_t i = 0; i < WB_COUNT(answer->events) && answer->events[i] != NULL; i++) {
        adapter_say(it, answer->events[i]);
    }
    return true;
}

static inline void *adapter_run(void *ctx)
{
    struct adapter *it = ctx;
    struct wb_frame_reader reader;
    struct wb_span body;
    char buffer[4096];
    ssize_t n;
    bool goes_on = true;
    it->fd = accept(it->listener, NULL, NULL);
    wb_frame_reader_init(&reader, WB_FRAMING_HEADERS);
    while (goes_on && (n = recv(it->fd, buffer, sizeof(buffer), 0)) > 0) {
        wb_frame_feed(&reader, buffer, (size_t)n);
        while (goes_on && wb_frame_step(&reader, &body, NULL) > 0) {
            WB_AUTO(wb_arena_done) struct wb_arena arena;
            wb_arena_init(&arena);
            goes_on = adapter_answer(it, &arena, body);
        }
    }
    wb_frame_reader_done(&reader);
    shutdown(it->fd, SHUT_RDWR);
    return NULL;
}

static inline void adapter_init(struct adapter *it, const struct answer *answers)
{
    *it = (struct adapter){.answers = answers};
    it->listener = wb_tcp_listen(&it->port, NULL);
    assert_true(it->listener >= 0);
    assert_int_equal(pthread_create(&it->thread, NULL, adapter_run, it), 0);
}

/* When the session is over. */
static inline void adapter_done(struct adapter *it)
{
    pthread_join(it->thread, NULL);
    close(it->fd);
    close(it->listener);
}

/* --- a session on it --- */

#define ADAPTER_CONFIG                                                                             \
    "{\"adapters\":[{\"id\":\"fake\",\"languages\":[\"python\"],\"commands\":[[\"none\"]],"        \
    "\"attach\":{\"port\":{\"direct\":true,\"arguments\":{\"port\":\"{port}\"}}},"                 \
    "\"start_s\":20,\"install\":\"nothing\",\"no_evaluate\":[\"!\"],\"failed_values\":[\"#<\"]}]}"

struct desk {
    struct fixture run;
    struct wb_adapters *adapters;
    struct wb_debug_points points;
    struct adapter adapter;
    struct wb_template_values values;
    struct wb_debug_options options;
    struct wb_debug_session *session;
    int64_t lifetime_ms;
};

static inline void desk_init(struct desk *desk)
{
    static const struct wb_tool *const none[] = {NULL};
    memset(desk, 0, sizeof(*desk));
    fixture_init(&desk->run, none);
    const struct wb_json *config =
        wb_json_parse(&desk->run.scratch.arena, wb_span(ADAPTER_CONFIG), NULL);
    desk->adapters = wb_adapters_new(config, NULL);
    assert_non_null(desk->adapters);
    pthread_mutex_init(&desk->points.lock, NULL);
    desk->lifetime_ms = 60000;
}

/* Makes the adapter and the session, which has not started. */
static inline void desk_make(struct desk *desk, const struct answer *answers)
{
    const struct wb_adapter_row *row = wb_adapters_find(desk->adapters, "fake");
    adapter_init(&desk->adapter, answers);
    desk->values = (struct wb_template_values){.cwd = "/", .port = desk->adapter.port};
    desk->options = (struct wb_debug_options){
        .host = desk->run.host,
        .points = &desk->points,
        .row = row,
        .workspace = desk->run.workspace,
        .root = desk->run.workspace,
        .direct_port = desk->adapter.port,
        .arguments = row->attach[WB_ATTACH_PORT].arguments,
        .values = &desk->values,
        .request = &row->attach[WB_ATTACH_PORT],
        .answer_ms = 5000,
        .lifetime_ms = desk->lifetime_ms,
        .title = "the program",
    };
    desk->session = wb_debug_session_new(&desk->options);
}

/* 0, or -1 with the reason that it did not start. */
static inline int desk_start(struct desk *desk, const struct answer *answers, struct wb_error *err)
{
    desk_make(desk, answers);
    return wb_debug_session_start(desk->session, &desk->options, wb_clock_deadline(20000), NULL,
                                  err);
}

static inline void desk_view(struct desk *desk, struct wb_debug_view *ret)
{
    wb_debug_session_view(desk->session, &desk->run.scratch.arena, ret);
}

static inline void desk_done(struct desk *desk)
{
    if (desk->session != NULL) {
        wb_debug_session_end(desk->session, "the test is over");
        adapter_done(&desk->adapter);
        wb_debug_session_unref(desk->session);
    }
    wb_breakpoints_done(&desk->points.table);
    pthread_mutex_destroy(&desk->points.lock);
    wb_adapters_free(desk->adapters);
    wb_host_free(desk->run.host);
    scratch_done(&desk->run.scratch);
}

#define INITIALIZED "{\"type\":\"event\",\"event\":\"initialized\"}"
#define STOPPED(reason)                                                                            \
    "{\"type\":\"event\",\"event\":\"stopped\",\"body\":{\"reason\":\"" reason "\",\"threadId\":1}}"
#define INITIALIZE                                                                                 \
    {                                                                                              \
        .command = "initialize", .body = "{\"supportsConfigurationDoneRequest\":true,"             \
                                         "\"supportsSetVariable\":true}"                           \
    }
#define ATTACH                                                                                     \
    {                                                                                              \
        .command = "attach", .events = { INITIALIZED }                                             \
    }
#define CONFIGURED                                                                                 \
    {                                                                                              \
        .command = "configurationDone", .events = { STOPPED("entry") }                             \
    }

#endif

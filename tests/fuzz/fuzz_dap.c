/* fuzz_dap: an adapter that sends anything, on the memory that a debug session is made of: the client
 * (dap.h), the debuggee's states, handles, breakpoints, capabilities, output.
 *
 * The input is lines. One is the body of a message, which gets its header here; one behind '!' is
 * fed as it stands; one behind '@' is what we do meanwhile:
 *
 *   a  ask something        m  move          p  ask for a pause
 *   c  the connection of a child session     u  the last move is refused
 *   x  that connection is lost
 *   b  set breakpoints      e  end           h  give handles out
 *
 * Whatever comes: every request ends, an end is final, a stop is newer than the last, stale handles
 * stay stale, and what was printed is bounded text. */
#include <stdint.h>
#include <stdlib.h>

#include "debug/breakpoints.h"
#include "debug/dap.h"
#include "debug/debuggee.h"
#include "debug/handles.h"
#include "wire/frame.h"

#define N_PENDING 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct target {
    struct wb_dap *dap;
    struct wb_dap_pending *pending[N_PENDING];
    size_t n_pending;
    struct wb_dap_capabilities capabilities;
    struct wb_debuggee debuggee;
    struct wb_handles handles;
    struct wb_breakpoints points;
    unsigned link;
    uint64_t move;
    int64_t handle; /* the newest */
};

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* --- what the adapter hears --- */

static int take_message(void *ctx, const struct wb_span *spans, size_t n, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text message = {0};
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    struct wb_span text, line;
    (void)ctx;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        wb_text_add_span(&message, spans[i]);
    }
    text = wb_text_span(&message);
    while (wb_span_next_line(&text, &line) && line.len > 0) {
    }
    require(wb_json_parse(&arena, text, NULL) != NULL);
    return 0;
}

/* --- what comes in --- */

/* As a session judges a stop, in one step. */
static void judge(struct target *it)
{
    struct wb_debuggee *debuggee = &it->debuggee;
    const struct wb_stop *stop = &debuggee->stop;
    require(debuggee->state == WB_DEBUGGEE_JUDGING && stop->reason != NULL);
    struct wb_breakpoint *hit =
        wb_breakpoints_hit(&it->points, stop->link, stop->hits, stop->n_hits, "/a.c", 2);
    if (!wb_breakpoints_need_judge(&it->points) || hit == NULL || wb_breakpoint_count(hit)) {
        wb_debuggee_settle(debuggee, stop->epoch);
        require(debuggee->state == WB_DEBUGGEE_STOPPED);
    } else {
        bool passes = wb_debuggee_pass_over(debuggee, stop->epoch);
        require(debuggee->state == (passes ? WB_DEBUGGEE_RUNNING : WB_DEBUGGEE_STOPPED));
    }
}

static void take_event(void *ctx, const struct wb_dap_message *event)
{
    struct target *it = ctx;
    struct wb_debuggee *debuggee = &it->debuggee;
    uint64_t epoch = debuggee->stop.epoch, printed = wb_debug_output_end(&debuggee->output);
    bool has_ended = debuggee->state == WB_DEBUGGEE_ENDED;
    if (wb_str_equal(event->name, "breakpoint")) {
        wb_breakpoints_event(&it->points, it->link, event->body);
    } else if (wb_str_equal(event->name, "capabilities")) {
        wb_dap_capabilities_merge(&it->capabilities, wb_json_get(event->body, "capabilities"));
    } else if (wb_debuggee_event(debuggee, it->link, event->name, event->body) == WB_NEWS_STOPPED) {
        require(!has_ended && debuggee->stop.epoch == epoch + 1);
        wb_handles_clear(&it->handles);
        judge(it);
    } else {
        require(debuggee->stop.epoch == epoch);
    }
    require(!has_ended || debuggee->state == WB_DEBUGGEE_ENDED);
    require(wb_debug_output_end(&debuggee->output) >= printed);
    require(debuggee->output.text.len <= WB_DEBUG_OUTPUT_BYTES_MAX);
}

static void take_request(void *ctx, const struct wb_dap_message *request)
{
    struct target *it = ctx;
    require(wb_dap_reply(it->dap, request->seq, request->name, "no", (struct wb_span){0}, NULL) ==
            0);
}

/* --- what we do --- */

static void ask(struct target *it)
{
    if (it->n_pending < N_PENDING && !wb_dap_is_closed(it->dap)) {
        it->pending[it->n_pending] = wb_dap_start(it->dap, "threads", WB_SPAN("{}"), NULL);
        require(it->pending[it->n_pending++] != NULL);
    }
}

static void set_breakpoints(struct target *it)
{
    static const struct wb_breakpoint_wish lines[] = {
        {.line = 2, .condition = "a > 1", .hit = ">=2"}, {.line = 5}, {.line = 7, .hit = "%3"}};
    static const struct wb_breakpoint_wish functions[] = {{.function = "main"}};
    WB_AUTO(wb_text_done) struct wb_text out = {0};
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    require(wb_breakpoints_replace(&it->points, "/a.c", lines, WB_COUNT(lines), NULL) == 0);
    require(wb_breakpoints_replace(&it->points, NULL, functions, 1, NULL) == 0);
    wb_breakpoints_request(&it->points, "/a.c", it->capabilities.conditional_breakpoints,
                           it->capabilities.log_points, &out);
    require(wb_json_parse(&arena, wb_text_span(&out), NULL) != NULL);
}

static void give_handle(struct target *it)
{
    struct wb_handle handle = {.kind = WB_HANDLE_SCOPE,
                               .link = it->link,
                               .id = (int64_t)it->handles.count * 3 - 5,
                               .frame = 1,
                               .name = (char *)"Locals"};
    it->handle = wb_handles_add(&it->handles, &handle);
    require(it->handle > 0 && wb_handles_find(&it->handles, it->handle, false, NULL) != NULL);
}

static void check_handle(struct target *it)
{
    struct wb_error err;
    bool is_stale = it->handle > 0 && it->handle < it->handles.first;
    require(!is_stale || (wb_handles_find(&it->handles, it->handle, false, &err) == NULL &&
                          err.code == WB_ERROR_STALE));
}

static void act(struct target *it, char what)
{
    switch (what) {
    case 'a':
        ask(it);
        break;
    case 'b':
        set_breakpoints(it);
        break;
    case 'c':
        it->link = 1 - it->link;
        break;
    case 'e':
        wb_debuggee_end(&it->debuggee, "it was terminated");
        require(it->debuggee.state == WB_DEBUGGEE_ENDED);
        break;
    case 'h':
        give_handle(it);
        break;
    case 'm':
        it->move = wb_debuggee_move(&it->debuggee);
        break;
    case 'p':
        it->debuggee.pausing = true;
        break;
    case 'u':
        wb_debuggee_unmove(&it->debuggee, it->move);
        break;
    case 'x':
        wb_debuggee_lose_link(&it->debuggee, it->link);
        require(it->debuggee.state != WB_DEBUGGEE_STOPPED || it->debuggee.stop.link != it->link);
        break;
    default:
        wb_debuggee_started(&it->debuggee);
        break;
    }
    check_handle(it);
}

static void feed_line(struct target *it, struct wb_span line)
{
    char head[64];
    if (line.len > 0 && line.ptr[0] == '@') {
        act(it, line.len > 1 ? line.ptr[1] : ' ');
    } else if (line.len > 0 && line.ptr[0] == '!') {
        wb_dap_feed(it->dap, line.ptr + 1, line.len - 1);
        wb_dap_feed(it->dap, "\r\n", 2);
    } else {
        wb_frame_head(WB_FRAMING_HEADERS, line.len, head);
        wb_dap_feed(it->dap, head, strlen(head));
        wb_dap_feed(it->dap, line.ptr, line.len / 2);
        wb_dap_feed(it->dap, line.ptr + line.len / 2, line.len - line.len / 2);
    }
}

/* --- the end --- */

static void collect(struct target *it, struct wb_dap_pending *pending)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    struct wb_dap_answer answer;
    struct wb_error err;
    bool is_failed = wb_dap_is_failed(it->dap, pending);
    require(wb_dap_is_answered(it->dap, pending));
    if (wb_dap_wait(it->dap, pending, 0, NULL, &arena, &answer, &err) != 0) {
        require(err.code == WB_ERROR_CLOSED && is_failed);
        return;
    }
    require(answer.failed == is_failed && answer.failed == (answer.error != NULL));
    wb_breakpoints_answer(&it->points, "/a.c", it->link, answer.body);
}

static void check_end(struct target *it)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    wb_debug_output_read(&it->debuggee.output, 0, ~0u, &text);
    require(wb_utf8_valid(wb_text_span(&text)));
    for (size_t i = 0; i < it->points.count; i++) {
        wb_breakpoint_describe(&it->points.items[i], "/", true, &text);
    }
    wb_breakpoints_reset(&it->points);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *exit_text[] = {"exited with ", " exited normally", NULL};
    static const char *hidden[] = {"[noise", NULL};
    struct target it = {0};
    struct wb_span rest = {(const char *)data, size}, line;
    it.dap = wb_dap_new(&(struct wb_dap_options){
        .write = take_message, .on_event = take_event, .on_request = take_request, .ctx = &it});
    wb_debuggee_init(&it.debuggee, exit_text, hidden);
    wb_handles_init(&it.handles);
    while (wb_span_next_line(&rest, &line)) {
        feed_line(&it, line);
    }
    wb_dap_close(it.dap, "the input is over");
    for (size_t i = 0; i < it.n_pending; i++) {
        collect(&it, it.pending[i]);
    }
    check_end(&it);
    wb_dap_free(it.dap);
    wb_dap_capabilities_done(&it.capabilities);
    wb_debuggee_done(&it.debuggee);
    wb_handles_done(&it.handles);
    wb_breakpoints_done(&it.points);
    return 0;
}

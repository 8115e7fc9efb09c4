/* fuzz_peer: wire/peer.h fed with anything. The first byte chooses the framing; eight requests of
 * ours are waiting. Every request that comes in is answered, and whatever came in, every waiter
 * gets an answer or the reason of the close. */
#include <stdint.h>
#include <stdlib.h>

#include "wire/peer.h"

#define N_PENDING 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct target {
    struct wb_peer *peer;
    size_t n_heard;
};

static int swallow(void *ctx, const struct wb_span *spans, size_t n, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text message = {0};

    (void)ctx;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        wb_text_add_span(&message, spans[i]);
    }
    if (!wb_utf8_valid(wb_text_span(&message))) {
        abort();
    }
    return 0;
}

static void answer_request(void *ctx, const struct wb_peer_message *message)
{
    struct target *target = ctx;
    struct wb_span params = wb_json_write(message->arena, message->params);
    int status;

    if (target->n_heard++ % 2 == 0) {
        status = wb_peer_reply(target->peer, message->id, params, NULL);
    } else {
        status = wb_peer_reply_error(target->peer, message->id, WB_RPC_METHOD_NOT_FOUND,
                                     message->method, NULL);
    }
    if (status != 0 || message->id.len == 0) {
        abort();
    }
}

static void count_notification(void *ctx, const struct wb_peer_message *message)
{
    struct target *target = ctx;

    target->n_heard += strlen(message->method);
}

static void count_garbage(void *ctx, const char *what)
{
    struct target *target = ctx;

    target->n_heard += strlen(what);
}

static void collect(struct wb_peer *peer, struct wb_peer_pending *pending)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    struct wb_peer_answer answer;
    struct wb_error err;

    if (wb_peer_wait(peer, pending, 0, NULL, &arena, &answer, &err) != 0) {
        if (err.code != WB_ERROR_CLOSED) {
            abort();
        }
        return;
    }
    if (answer.failed ? answer.error_message == NULL : answer.result == NULL) {
        abort();
    }
    wb_json_write(&arena, answer.failed ? answer.error_data : answer.result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wb_peer_pending *pending[N_PENDING];
    struct target target = {0};
    struct wb_peer_options options = {
        .framing = size != 0 && data[0] & 1 ? WB_FRAMING_LINES : WB_FRAMING_HEADERS,
        .write = swallow,
        .on_request = answer_request,
        .on_notification = count_notification,
        .on_garbage = count_garbage,
        .cancel_method = "$/cancelRequest",
        .cancel_key = "id",
        .ctx = &target,
    };

    target.peer = wb_peer_new(&options);
    for (size_t i = 0; i < N_PENDING; i++) {
        pending[i] = wb_peer_start(target.peer, "test/ask", WB_SPAN("{}"), NULL);
    }
    if (size != 0) {
        wb_peer_feed(target.peer, (const char *)data + 1, size - 1);
    }
    wb_peer_drop(target.peer, pending[0]);
    wb_peer_close(target.peer, "the input is over");
    for (size_t i = 1; i < N_PENDING; i++) {
        collect(target.peer, pending[i]);
    }
    wb_peer_free(target.peer);
    return 0;
}

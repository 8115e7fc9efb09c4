/* bridge: see bridge.h. Lock order: the bridge's, then the kernel's. Nothing is submitted under the
 * lock: a refused call comes back on the same thread. */
#include "kernel/bridge.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"

#define NAMES_SHOWN_MAX 5

struct bridge_call {
    struct wb_bridge *bridge;
    struct wb_run *run;
    uint32_t cell, number;
    char *tool, *args;
    struct wb_cancel cancel;
    bool is_running; /* submitted; else queued */
    bool is_dropped; /* nobody waits for its result any more */
    struct bridge_call *next;
};

struct wb_bridge {
    pthread_mutex_t lock; /* of all */
    pthread_cond_t emptied;
    struct wb_run *run;
    struct wb_kernel *kernel;
    uint32_t cell;             /* 0: none runs */
    struct bridge_call *calls; /* in the order of coming */
    size_t n_running, n_queued, args_bytes;
};

struct wb_bridge *wb_bridge_new(void)
{
    struct wb_bridge *bridge = wb_alloc(sizeof(*bridge));
    pthread_mutex_init(&bridge->lock, NULL);
    wb_cond_init(&bridge->emptied);
    return bridge;
}

void wb_bridge_free(struct wb_bridge *bridge)
{
    if (bridge == NULL) {
        return;
    }
    wb_bridge_end(bridge);
    pthread_mutex_lock(&bridge->lock);
    while (bridge->calls != NULL) {
        wb_cond_wait(&bridge->emptied, &bridge->lock, WB_NEVER);
    }
    pthread_mutex_unlock(&bridge->lock);
    pthread_cond_destroy(&bridge->emptied);
    pthread_mutex_destroy(&bridge->lock);
    free(bridge);
}

/* --- answers --- */

static void put_answer(struct wb_text *out, const struct wb_result *result)
{
    struct wb_json_writer w;
    wb_json_writer_init(&w, out);
    wb_json_begin_object(&w);
    wb_json_member_bool(&w, "ok", !result->is_error);
    wb_json_member_span(&w, "text", wb_text_span(&result->text));
    wb_json_key(&w, "data");
    wb_result_put_data(&w, result);
    wb_json_member_str(&w, "kind", result->is_error ? wb_error_code_name(result->code) : NULL);
    wb_json_member_int(&w, "pictures", (int64_t)result->n_attachments);
    wb_json_end_object(&w);
}

static void put_refusal(struct wb_text *out, enum wb_error_code code, const char *message)
{
    struct wb_json_writer w;
    wb_json_writer_init(&w, out);
    wb_json_begin_object(&w);
    wb_json_member_bool(&w, "ok", false);
    wb_json_member_str(&w, "text", message);
    wb_json_key(&w, "data");
    wb_json_put_null(&w);
    wb_json_member_str(&w, "kind", wb_error_code_name(code));
    wb_json_member_int(&w, "pictures", 0);
    wb_json_end_object(&w);
}

/* Under the lock. */
static void refuse(struct wb_bridge *bridge, uint32_t cell, uint32_t number,
                   const struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text json = {0};
    if (bridge->kernel != NULL) { /* no cell has run yet: nobody can wait */
        put_refusal(&json, err->code, err->message);
        wb_kernel_answer(bridge->kernel, cell, number, wb_text_span(&json));
    }
}

/* --- the list --- */

static struct bridge_call *find_call(struct wb_bridge *bridge, uint32_t cell, uint32_t number)
{
    struct bridge_call *call = bridge->calls;
    while (call != NULL && (call->cell != cell || call->number != number)) {
        call = call->next;
    }
    return call;
}

static struct bridge_call *find_queued(struct wb_bridge *bridge)
{
    struct bridge_call *call = bridge->calls;
    while (call != NULL && call->is_running) {
        call = call->next;
    }
    return call;
}

static void link_call(struct wb_bridge *bridge, struct bridge_call *call)
{
    struct bridge_call **link = &bridge->calls;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = call;
}

static void unlink_call(struct bridge_call *call)
{
    struct bridge_call **link = &call->bridge->calls;
    while (*link != call) {
        link = &(*link)->next;
    }
    *link = call->next;
    *(call->is_running ? &call->bridge->n_running : &call->bridge->n_queued) -= 1;
    call->bridge->args_bytes -= strlen(call->args);
    if (call->bridge->calls == NULL) {
        pthread_cond_broadcast(&call->bridge->emptied);
    }
}

static void free_call(struct bridge_call *call)
{
    wb_cancel_done(&call->cancel);
    free(call->tool);
    free(call->args);
    free(call);
}

/* Under the lock: nobody waits for it any more. A queued one is gone afterwards. */
static void drop_call(struct bridge_call *call)
{
    if (call->is_dropped) {
        return;
    }
    call->is_dropped = true;
    wb_kernel_hold(call->bridge->kernel, -1);
    if (call->is_running) {
        wb_cancel_fire(&call->cancel); /* its hooks never come back for our lock */
    } else {
        unlink_call(call);
        free_call(call);
    }
}

/* --- running --- */

static void on_done(void *ctx, struct wb_result *result);

static void submit(struct bridge_call *call)
{
    const struct wb_call_options options = {.cancel = &call->cancel, .origin = "bridge"};
    wb_run_submit(call->run, call->tool, wb_span(call->args), &options, on_done, call);
}

/* Under the lock. The caller submits it without. */
static void mark_running(struct bridge_call *call)
{
    call->is_running = true;
    call->bridge->n_queued--;
    call->bridge->n_running++;
}

/* Under the lock. */
static void answer(struct bridge_call *call, const struct wb_result *result)
{
    struct wb_bridge *bridge = call->bridge;
    WB_AUTO(wb_text_done) struct wb_text json = {0};
    if (result->data.len > WB_BRIDGE_DATA_BYTES_MAX) {
        struct wb_error err;
        wb_error_set(&err, WB_ERROR_LIMIT,
                     "the result of `%s` has %zu bytes of data, and a cell is given %d at most; "
                     "ask for less",
                     call->tool, result->data.len, WB_BRIDGE_DATA_BYTES_MAX);
        refuse(bridge, call->cell, call->number, &err);
        return;
    }
    for (size_t i = 0; i < result->n_attachments; i++) {
        wb_kernel_add_picture(bridge->kernel, call->cell, result->attachments[i].mime,
                              result->attachments[i].bytes);
    }
    put_answer(&json, result);
    wb_kernel_answer(bridge->kernel, call->cell, call->number, wb_text_span(&json));
}

/* A thread of the pool. */
static void on_done(void *ctx, struct wb_result *result)
{
    struct bridge_call *call = ctx;
    struct wb_bridge *bridge = call->bridge;
    pthread_mutex_lock(&bridge->lock);
    if (!call->is_dropped) {
        answer(call, result);
        wb_kernel_hold(bridge->kernel, -1);
    }
    struct bridge_call *next = find_queued(bridge);
    if (next != NULL) {
        mark_running(next);
    }
    unlink_call(call);
    pthread_mutex_unlock(&bridge->lock);
    free_call(call);
    wb_result_done(result);
    if (next != NULL) {
        submit(next);
    }
}

/* --- what the kernel asks; loop thread --- */

/* Under the lock: may this call be made at all? */
static int check_call(struct wb_bridge *bridge, uint32_t cell, uint32_t number, const char *tool,
                      const struct wb_json *args, struct wb_error *err)
{
    if (bridge->cell == 0 || cell != bridge->cell) {
        return wb_error_set(err, WB_ERROR_CLOSED,
                            "no cell is running: tools can be called only until the cell that "
                            "started this has ended");
    }
    if (tool == NULL || wb_json_type(args) != WB_JSON_OBJECT) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "a tool is called by its name and an object of arguments");
    }
    if (wb_str_equal(tool, "eval")) {
        return wb_error_set(err, WB_ERROR_DENIED,
                            "`eval` cannot be called from a cell: it would wait for itself; run "
                            "the code in this cell");
    }
    if (find_call(bridge, cell, number) != NULL) {
        return wb_error_set(err, WB_ERROR_PROTOCOL, "two calls have the number %u", number);
    }
    if (bridge->n_queued == WB_BRIDGE_QUEUED_MAX || bridge->args_bytes > WB_BRIDGE_ARGS_BYTES_MAX) {
        return wb_error_set(err, WB_ERROR_LIMIT,
                            "too many calls are under way already; await some of them first");
    }
    return 0;
}

static struct bridge_call *new_call(struct wb_bridge *bridge, uint32_t cell, uint32_t number,
                                    const char *tool, struct wb_span args)
{
    struct bridge_call *call = wb_alloc(sizeof(*call));
    *call = (struct bridge_call){
        .bridge = bridge,
        .run = bridge->run,
        .cell = cell,
        .number = number,
        .tool = wb_strdup(tool),
        .args = wb_strndup(args.ptr, args.len),
    };
    wb_cancel_init(&call->cancel);
    return call;
}

static void on_call(void *ctx, uint32_t cell, uint32_t number, struct wb_span payload)
{
    struct wb_bridge *bridge = ctx;
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct bridge_call *call = NULL;
    struct wb_error err;
    wb_arena_init(&arena);
    const struct wb_json *json = wb_json_parse(&arena, payload, NULL);
    const char *tool = wb_json_str(wb_json_get(json, "tool"));
    const struct wb_json *args = wb_json_get(json, "args");
    pthread_mutex_lock(&bridge->lock);
    if (check_call(bridge, cell, number, tool, args, &err) != 0) {
        refuse(bridge, cell, number, &err);
    } else {
        call = new_call(bridge, cell, number, tool, wb_json_write(&arena, args));
        link_call(bridge, call);
        bridge->n_queued++;
        bridge->args_bytes += strlen(call->args);
        wb_kernel_hold(bridge->kernel, 1);
        if (bridge->n_running < WB_BRIDGE_RUNNING_MAX) {
            mark_running(call);
        } else {
            call = NULL;
        }
    }
    pthread_mutex_unlock(&bridge->lock);
    if (call != NULL) {
        submit(call);
    }
}

static void on_cancelled(void *ctx, uint32_t cell, uint32_t number)
{
    struct wb_bridge *bridge = ctx;
    pthread_mutex_lock(&bridge->lock);
    struct bridge_call *call = find_call(bridge, cell, number);
    if (call != NULL) {
        drop_call(call);
    }
    pthread_mutex_unlock(&bridge->lock);
}

struct wb_kernel_port wb_bridge_port(struct wb_bridge *bridge)
{
    return (struct wb_kernel_port){.call = on_call, .cancelled = on_cancelled, .ctx = bridge};
}

/* --- a cell's begin and end --- */

void wb_bridge_begin(struct wb_bridge *bridge, struct wb_run *run, struct wb_kernel *kernel,
                     uint32_t cell)
{
    pthread_mutex_lock(&bridge->lock);
    bridge->run = run;
    bridge->kernel = kernel;
    bridge->cell = cell;
    pthread_mutex_unlock(&bridge->lock);
}

void wb_bridge_end(struct wb_bridge *bridge)
{
    struct wb_error err;
    wb_error_set(&err, WB_ERROR_CANCELLED, "cancelled, because the cell was stopped or has ended");
    pthread_mutex_lock(&bridge->lock);
    bridge->cell = 0;
    for (struct bridge_call *call = bridge->calls, *next; call != NULL; call = next) {
        next = call->next;
        if (!call->is_dropped) {
            refuse(bridge, call->cell, call->number, &err);
            drop_call(call);
        }
    }
    pthread_mutex_unlock(&bridge->lock);
}

size_t wb_bridge_outstanding(struct wb_bridge *bridge)
{
    size_t n = 0;
    pthread_mutex_lock(&bridge->lock);
    for (const struct bridge_call *call = bridge->calls; call != NULL; call = call->next) {
        n += !call->is_dropped;
    }
    pthread_mutex_unlock(&bridge->lock);
    return n;
}

void wb_bridge_describe(struct wb_bridge *bridge, struct wb_text *out)
{
    size_t n = 0;
    pthread_mutex_lock(&bridge->lock);
    for (const struct bridge_call *call = bridge->calls; call != NULL; call = call->next) {
        if (!call->is_dropped && n++ < NAMES_SHOWN_MAX) {
            wb_text_printf(out, "%s%.64s", n == 1 ? "waits for " : ", ", call->tool);
        }
    }
    if (n > NAMES_SHOWN_MAX) {
        wb_text_printf(out, " and %zu more", n - NAMES_SHOWN_MAX);
    }
    pthread_mutex_unlock(&bridge->lock);
}

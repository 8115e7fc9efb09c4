/* session_link: a session's connections, and what comes in on them: events, reverse requests, the
 * adapter's own output, the end. All on the loop thread; nothing here waits. */
#include <signal.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "debug/session_internal.h"

#define START_GRACE_MS 1000 /* from `terminated` to the answer of the launch */
#define EXIT_GRACE_MS 2000  /* from `exited` to the end, without `terminated` */

static int write_message(void *ctx, const struct wb_span *spans, size_t n, struct wb_error *err)
{
    struct wb_debug_link *link = ctx;
    struct wb_child *child = atomic_load(&link->session->child);
    int status;
    pthread_mutex_lock(&link->lock);
    if (link->stream != NULL) {
        status = wb_stream_write(link->stream, spans, n, err);
    } else if (child != NULL && link->session->row->transport == WB_ADAPTER_STDIO) {
        status = wb_child_write(child, spans, n, err);
    } else {
        status = wb_error_set(err, WB_ERROR_CLOSED, "the connection to %s is closed",
                              link->session->row->id);
    }
    pthread_mutex_unlock(&link->lock);
    return status;
}

/* --- ends --- */

/* Ends it when it has gone beyond a state, or did not in time. */
static void end_after(struct wb_debug_session *session, enum wb_session_state state, int64_t ms)
{
    int64_t deadline_ms = wb_clock_deadline(ms);
    bool in_time = true;
    pthread_mutex_lock(&session->lock);
    while (session->state <= state && in_time) {
        in_time = wb_cond_wait(&session->changed, &session->lock, deadline_ms);
    }
    pthread_mutex_unlock(&session->lock);
    wb_debug_session_end(session, NULL);
}

/* An adapter that ends while it starts may have a word to say about that in its next answer. */
static void end_job(struct wb_debug_session *session, uint64_t number)
{
    (void)number;
    end_after(session, WB_SESSION_STARTING, START_GRACE_MS);
}

/* Some adapters say `exited` and never `terminated`, or tell it on another connection. */
static void end_after_grace(struct wb_debug_session *session, uint64_t number)
{
    (void)number;
    end_after(session, WB_SESSION_LIVE, EXIT_GRACE_MS);
}

void wb_link_leave(struct wb_debug_link *link)
{
    struct wb_dap_pending *pending = wb_dap_start(link->dap, "disconnect", WB_SPAN("{}"), NULL);
    if (pending != NULL) {
        wb_dap_drop(link->dap, pending);
    }
}

/* With the lock. Child sessions come and go; the last one's end is the program's. */
static bool is_last(struct wb_debug_session *session, const struct wb_debug_link *link)
{
    if (link->index == 0) {
        return true;
    }
    for (unsigned i = 1; i < session->n_links; i++) {
        if (!session->links[i]->gone) {
            return false;
        }
    }
    return true;
}

/* With the lock. After the last child session the first connection has a word or two to say. */
static void take_end(struct wb_debug_session *session, struct wb_debug_link *link)
{
    link->gone = true;
    if (link->index > 0) {
        wb_link_leave(link); /* Node waits for that before it exits */
        wb_debuggee_lose_link(&session->debuggee, link->index);
    }
    if (!is_last(session, link)) {
        return;
    }
    if (session->debuggee.has_exit_code && session->debuggee.terminated) {
        wb_debuggee_end(&session->debuggee, "the program ended");
    }
    wb_session_job(session, link->index == 0 ? end_job : end_after_grace, 0, false);
}

void wb_link_on_end(struct wb_debug_link *link)
{
    struct wb_debug_session *session = link->session;
    pthread_mutex_lock(&session->lock);
    bool was_gone = link->gone;
    link->gone = true;
    if (!was_gone && session->state != WB_SESSION_STARTING) {
        take_end(session, link);
    }
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
    /* Last: who waits for an answer finds the session as it is now. */
    wb_dap_close(link->dap, "the adapter closed the connection");
}

/* A child's failure does not end its parent: who waits for a stop can read of it. */
void wb_session_lose_child(struct wb_debug_session *session, struct wb_debug_link *link,
                           const char *why)
{
    WB_AUTO(wb_free_p) char *words = wb_sprintf("a child session did not start: %s\n", why);
    wb_log(WB_LOG_INFO, "%s: %s", session->row->id, words);
    if (link != NULL) {
        wb_link_close_stream(link);
        wb_dap_close(link->dap, why);
    }
    pthread_mutex_lock(&session->lock);
    if (link != NULL) {
        link->gone = true;
    }
    wb_debuggee_print(&session->debuggee, WB_DEBUG_CONSOLE, wb_span(words));
    pthread_mutex_unlock(&session->lock);
}

/* --- events --- */

static void take_news(struct wb_debug_session *session, struct wb_debug_link *link,
                      enum wb_debuggee_news news)
{
    switch (news) {
    case WB_NEWS_STOPPED:
        wb_handles_clear(&session->handles);
        session->scoped_frame = 0;
        wb_session_take_stop(session);
        break;
    case WB_NEWS_TERMINATED:
        take_end(session, link);
        break;
    case WB_NEWS_EXITED:
        wb_session_job(session, end_after_grace, 0, false);
        break;
    case WB_NEWS_NONE:
        break;
    }
}

static void take_breakpoint(struct wb_debug_link *link, const struct wb_json *body)
{
    struct wb_debug_points *points = link->session->points;
    pthread_mutex_lock(&points->lock);
    wb_breakpoints_event(&points->table, link->index, body);
    pthread_mutex_unlock(&points->lock);
}

static void on_event(void *ctx, const struct wb_dap_message *event)
{
    struct wb_debug_link *link = ctx;
    struct wb_debug_session *session = link->session;
    if (wb_str_equal(event->name, "breakpoint")) {
        take_breakpoint(link, event->body);
        return;
    }
    pthread_mutex_lock(&session->lock);
    if (session->end_why != NULL) {
        /* Somebody ended it: how the program died of that says nothing. */
    } else if (wb_str_equal(event->name, "initialized")) {
        link->initialized = true;
    } else if (wb_str_equal(event->name, "capabilities")) {
        wb_dap_capabilities_merge(&link->capabilities, wb_json_get(event->body, "capabilities"));
    } else {
        take_news(session, link,
                  wb_debuggee_event(&session->debuggee, link->index, event->name, event->body));
    }
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
}

/* Every request of the adapter is answered, or it may wait for ever. */
static void on_request(void *ctx, const struct wb_dap_message *request)
{
    struct wb_debug_link *link = ctx;
    struct wb_debug_session *session = link->session;
    const char *refusal = "this client does not support it";
    bool is_child = session->row->child_sessions && wb_str_equal(request->name, "startDebugging");
    (void)!wb_dap_reply(link->dap, request->seq, request->name, is_child ? NULL : refusal,
                        (struct wb_span){0}, NULL);
    if (is_child) {
        wb_session_take_child(session, request->body);
    }
}

static void on_answer(void *ctx)
{
    struct wb_debug_link *link = ctx;
    pthread_mutex_lock(&link->session->lock);
    pthread_cond_broadcast(&link->session->changed);
    pthread_mutex_unlock(&link->session->lock);
}

static void on_garbage(void *ctx, const char *what)
{
    struct wb_debug_link *link = ctx;
    wb_log(WB_LOG_DEBUG, "%s sent %s", link->session->row->id, what);
}

/* --- links --- */

struct wb_debug_link *wb_session_add_link(struct wb_debug_session *session)
{
    struct wb_debug_link *link = NULL;
    pthread_mutex_lock(&session->lock);
    if (session->n_links < WB_DEBUG_LINKS_MAX) {
        link = wb_alloc(sizeof(*link));
        link->session = session;
        link->index = session->n_links;
        pthread_mutex_init(&link->lock, NULL);
        link->dap = wb_dap_new(&(struct wb_dap_options){
            .write = write_message,
            .on_event = on_event,
            .on_request = on_request,
            .on_answer = on_answer,
            .on_garbage = on_garbage,
            .ctx = link,
        });
        session->links[session->n_links++] = link;
    }
    pthread_mutex_unlock(&session->lock);
    return link;
}

/* What breaks the framing ends the connection, though the adapter may think that it stands. */
void wb_link_feed(struct wb_debug_link *link, const char *ptr, size_t len)
{
    struct wb_debug_session *session = link->session;
    bool was_open = !wb_dap_is_closed(link->dap);
    wb_dap_feed(link->dap, ptr, len);
    const char *reason = was_open ? wb_dap_close_reason(link->dap) : NULL;
    if (reason != NULL) {
        pthread_mutex_lock(&session->lock);
        if (session->broken == NULL) {
            session->broken = wb_strdup(reason);
        }
        pthread_mutex_unlock(&session->lock);
        wb_link_on_end(link);
    }
}

static void on_socket_data(void *ctx, const char *ptr, size_t len)
{
    wb_link_feed(ctx, ptr, len);
}

static void on_socket_end(void *ctx)
{
    wb_link_on_end(ctx);
}

void wb_link_open_take(struct wb_debug_link *link, int fd)
{
    const struct wb_stream_handler handler = {on_socket_data, on_socket_end, link};
    pthread_mutex_lock(&link->lock);
    link->stream = wb_stream_open_take(wb_host_loop(link->session->host), fd, fd, &handler);
    pthread_mutex_unlock(&link->lock);
}

void wb_link_close_stream(struct wb_debug_link *link)
{
    pthread_mutex_lock(&link->lock);
    struct wb_stream *stream = WB_STEAL(link->stream);
    pthread_mutex_unlock(&link->lock);
    wb_stream_free(stream);
}

void wb_link_free(struct wb_debug_link *link)
{
    wb_link_close_stream(link);
    wb_dap_close(link->dap, "the session is over");
    wb_dap_free(link->dap);
    wb_dap_capabilities_done(&link->capabilities);
    pthread_mutex_destroy(&link->lock);
    free(link);
}

void wb_session_drop_link(struct wb_debug_session *session)
{
    pthread_mutex_lock(&session->lock);
    struct wb_debug_link *link = session->links[--session->n_links];
    pthread_mutex_unlock(&session->lock);
    wb_link_free(link);
}

/* --- the adapter's own output --- */

void wb_session_on_pipe(struct wb_debug_session *session, enum wb_debug_category category,
                        struct wb_span bytes)
{
    pthread_mutex_lock(&session->lock);
    wb_debuggee_print(&session->debuggee, category, bytes);
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
}

/* session: see session.h. Its life, and the questions that others ask. */
#include "debug/session_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"

/* --- life --- */

void wb_session_set_state(struct wb_debug_session *session, enum wb_session_state state)
{
    static const char *const names[] = {"starting", "live", "ending", "over"};
    assert(state > session->state);
    wb_log(WB_LOG_DEBUG, "debug session of %s: %s -> %s", session->title, names[session->state],
           names[state]);
    session->state = state;
    pthread_cond_broadcast(&session->changed);
}

struct job {
    struct wb_debug_session *session;
    void (*run)(struct wb_debug_session *session, uint64_t number);
    uint64_t number;
    bool is_busy;
};

static void run_job(void *ctx)
{
    struct job *job = ctx;
    struct wb_debug_session *session = job->session;
    job->run(session, job->number);
    pthread_mutex_lock(&session->lock);
    session->n_busy -= job->is_busy;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
    wb_debug_session_unref(session);
    free(job);
}

void wb_session_job(struct wb_debug_session *session,
                    void (*run)(struct wb_debug_session *session, uint64_t number), uint64_t number,
                    bool is_busy)
{
    struct job *job = wb_alloc(sizeof(*job));
    *job = (struct job){wb_debug_session_ref(session), run, number, is_busy};
    session->n_busy += is_busy;
    if (wb_pool_run(wb_host_pool(session->host), run_job, job, NULL) != 0) {
        wb_log(WB_LOG_WARNING, "no thread is free to look after the debug session of %s",
               session->title);
        session->n_busy -= is_busy;
        atomic_fetch_sub(&session->refs, 1); /* never the last: the caller has one */
        free(job);
    }
}

static void end_of_lifetime(struct wb_debug_session *session, uint64_t number)
{
    (void)number;
    WB_AUTO(wb_free_p)
    char *why = session->lifetime_ms % 60000 == 0
                    ? wb_sprintf("its lifetime of %lld minutes was over",
                                 (long long)session->lifetime_ms / 60000)
                    : wb_sprintf("its lifetime of %lld seconds was over",
                                 (long long)session->lifetime_ms / 1000);
    wb_debug_session_end(session, why);
}

static void on_timer(void *ctx)
{
    struct wb_debug_session *session = ctx;
    pthread_mutex_lock(&session->lock);
    wb_session_job(session, end_of_lifetime, 0, false);
    pthread_mutex_unlock(&session->lock);
}

struct wb_debug_session *wb_debug_session_new(const struct wb_debug_options *options)
{
    struct wb_debug_session *session = wb_alloc(sizeof(*session));
    atomic_init(&session->refs, 1);
    atomic_init(&session->child, NULL);
    session->host = options->host;
    session->points = options->points;
    session->row = options->row;
    session->workspace = wb_strdup(options->workspace);
    session->title = wb_strdup(options->title);
    session->adapter = wb_strdup("");
    session->scratch =
        options->values->scratch != NULL ? wb_strdup(options->values->scratch) : NULL;
    session->is_ours = options->is_ours;
    session->stop_on_entry = options->stop_on_entry;
    session->is_post_mortem = options->is_post_mortem;
    session->answer_ms = options->answer_ms;
    session->lifetime_ms = options->lifetime_ms;
    session->lifetime_deadline_ms = wb_clock_deadline(options->lifetime_ms);
    wb_cancel_init(&session->start_cancel);
    pthread_mutex_init(&session->lock, NULL);
    wb_cond_init(&session->changed);
    wb_debuggee_init(&session->debuggee, options->row->exit_text, options->row->hidden_output);
    session->debuggee.is_attached = !options->is_ours;
    session->debuggee.entering = options->stop_on_entry;
    wb_handles_init(&session->handles);
    session->timer =
        wb_timer_start(wb_host_loop(options->host), options->lifetime_ms, on_timer, session);
    return session;
}

struct wb_debug_session *wb_debug_session_ref(struct wb_debug_session *session)
{
    atomic_fetch_add(&session->refs, 1);
    return session;
}

static void free_session(struct wb_debug_session *session)
{
    wb_child_free(atomic_load(&session->child));
    while (session->n_links > 0) {
        wb_session_drop_link(session);
    }
    wb_debuggee_done(&session->debuggee);
    wb_handles_done(&session->handles);
    wb_cancel_done(&session->start_cancel);
    pthread_cond_destroy(&session->changed);
    pthread_mutex_destroy(&session->lock);
    free(session->workspace);
    free(session->title);
    free(session->scratch);
    free(session->adapter);
    free(session->end_why);
    free(session->broken);
    for (unsigned i = 0; i < session->n_wishes; i++) {
        free(session->wishes[i].command);
        wb_text_done(&session->wishes[i].configuration);
    }
    free(session);
}

void wb_debug_session_unref(struct wb_debug_session *session)
{
    if (session != NULL && atomic_fetch_sub(&session->refs, 1) == 1) {
        free_session(session);
    }
}

/* --- looking --- */

static char *copy(struct wb_arena *arena, const char *text)
{
    return text != NULL ? wb_arena_strdup(arena, text) : NULL;
}

void wb_debug_session_view(struct wb_debug_session *session, struct wb_arena *arena,
                           struct wb_debug_view *ret)
{
    pthread_mutex_lock(&session->lock);
    const struct wb_debuggee *debuggee = &session->debuggee;
    *ret = (struct wb_debug_view){
        .state = debuggee->state,
        .stop = debuggee->stop,
        .has_exit_code = debuggee->has_exit_code,
        .exit_code = debuggee->exit_code,
        .end_reason = copy(arena, debuggee->end_reason),
        .output_end = wb_debug_output_end(&debuggee->output),
        .pid = debuggee->pid,
        .row = session->row,
        .title = copy(arena, session->title),
        .adapter = copy(arena, session->adapter),
        .is_ours = session->is_ours,
        .lifetime_left_ms = wb_clock_left_ms(session->lifetime_deadline_ms),
    };
    ret->stop.reason = copy(arena, debuggee->stop.reason);
    ret->stop.description = copy(arena, debuggee->stop.description);
    ret->stop.text = copy(arena, debuggee->stop.text);
    pthread_mutex_unlock(&session->lock);
}

static void wake(void *ctx)
{
    struct wb_debug_session *session = ctx;
    pthread_mutex_lock(&session->lock);
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
}

/* With the lock: its end has begun, or will: nobody answers any more. */
static bool is_lost(const struct wb_debug_session *session)
{
    const struct wb_debug_link *first = session->n_links > 0 ? session->links[0] : NULL;
    return session->state == WB_SESSION_ENDING ||
           (session->state == WB_SESSION_LIVE && first != NULL &&
            (first->gone || wb_dap_is_closed(first->dap)));
}

bool wb_session_is_at_rest(const struct wb_debug_session *session)
{
    return session->debuggee.state == WB_DEBUGGEE_ENDED ||
           (session->debuggee.state == WB_DEBUGGEE_STOPPED && !is_lost(session));
}

bool wb_debug_session_has_ended(struct wb_debug_session *session)
{
    pthread_mutex_lock(&session->lock);
    bool ended = session->debuggee.state == WB_DEBUGGEE_ENDED, lost = is_lost(session);
    pthread_mutex_unlock(&session->lock);
    if (!ended && lost) {
        wb_debug_session_end(session, NULL);
    }
    return ended || lost;
}

bool wb_debug_session_wait(struct wb_debug_session *session, int64_t deadline_ms,
                           struct wb_cancel *cancel)
{
    struct wb_cancel_hook hook = {.fire = wake, .ctx = session};
    bool in_time = true;
    wb_cancel_hook_add(cancel, &hook);
    pthread_mutex_lock(&session->lock);
    while (!wb_session_is_at_rest(session) && in_time && !wb_cancel_is_fired(cancel)) {
        in_time = wb_cond_wait(&session->changed, &session->lock, deadline_ms);
    }
    bool rests = wb_session_is_at_rest(session);
    pthread_mutex_unlock(&session->lock);
    wb_cancel_hook_remove(cancel, &hook);
    return rests;
}

uint64_t wb_debug_session_read_output(struct wb_debug_session *session, uint64_t since,
                                      unsigned categories, struct wb_text *out,
                                      uint64_t *ret_dropped)
{
    pthread_mutex_lock(&session->lock);
    *ret_dropped = wb_debug_output_read(&session->debuggee.output, since, categories, out);
    uint64_t end = wb_debug_output_end(&session->debuggee.output);
    pthread_mutex_unlock(&session->lock);
    return end;
}

/* With the lock. */
static unsigned present_link(const struct wb_debug_session *session)
{
    unsigned link =
        session->debuggee.stop.epoch > 0 ? session->debuggee.stop.link : session->n_links - 1;
    return link < session->n_links && !session->links[link]->gone ? link : session->n_links - 1;
}

unsigned wb_debug_session_link(struct wb_debug_session *session)
{
    pthread_mutex_lock(&session->lock);
    unsigned link = session->n_links > 0 ? present_link(session) : 0;
    pthread_mutex_unlock(&session->lock);
    return link;
}

static struct wb_debug_link *link_at(struct wb_debug_session *session, unsigned index,
                                     struct wb_error *err)
{
    pthread_mutex_lock(&session->lock);
    struct wb_debug_link *link = index < session->n_links ? session->links[index] : NULL;
    pthread_mutex_unlock(&session->lock);
    if (link == NULL) {
        wb_error_set(err, WB_ERROR_CLOSED, "the connection to %s is closed", session->row->id);
    }
    return link;
}

int wb_debug_session_ask(struct wb_debug_session *session, unsigned link_index, const char *command,
                         struct wb_span arguments_json, int64_t deadline_ms,
                         struct wb_cancel *cancel, struct wb_arena *arena,
                         const struct wb_json **ret_body, struct wb_error *err)
{
    struct wb_dap_answer answer;
    struct wb_error own;
    struct wb_debug_link *link = link_at(session, link_index, err);
    if (link == NULL) {
        return -1;
    }
    if (wb_dap_call(link->dap, command, arguments_json, deadline_ms, cancel, arena, &answer,
                    &own) != 0) {
        return own.code == WB_ERROR_TIMEOUT
                   ? wb_error_set(err, own.code,
                                  "%s did not answer `%s` in time; `status` says where the session "
                                  "stands, `terminate` ends it",
                                  session->row->id, command)
                   : wb_error_set(err, own.code, "%s", own.message);
    }
    if (answer.failed) {
        return wb_error_set(err, WB_ERROR_UNAVAILABLE, "%s: %s", session->row->id, answer.error);
    }
    *ret_body = answer.body;
    return 0;
}

void wb_debug_session_capabilities(struct wb_debug_session *session, struct wb_arena *arena,
                                   struct wb_dap_capabilities *ret)
{
    pthread_mutex_lock(&session->lock);
    *ret = (struct wb_dap_capabilities){0};
    if (session->n_links > 0) {
        *ret = session->links[present_link(session)]->capabilities;
    }
    const struct wb_dap_filter *filters = ret->filters;
    ret->filters = wb_arena_alloc_array(arena, ret->n_filters + 1, sizeof(*ret->filters));
    for (size_t i = 0; i < ret->n_filters; i++) {
        ret->filters[i] = filters[i];
        ret->filters[i].id = copy(arena, filters[i].id);
        ret->filters[i].label = copy(arena, filters[i].label);
    }
    pthread_mutex_unlock(&session->lock);
}

/* --- breakpoints --- */

/* Child sessions have the code; the first connection has it where there are none. */
static size_t code_links(struct wb_debug_session *session,
                         struct wb_debug_link *ret[WB_DEBUG_LINKS_MAX])
{
    size_t n = 0;
    pthread_mutex_lock(&session->lock);
    for (unsigned i = 1; i < session->n_links; i++) {
        if (!session->links[i]->gone) {
            ret[n++] = session->links[i];
        }
    }
    if (n == 0 && session->n_links > 0) {
        ret[n++] = session->links[0];
    }
    pthread_mutex_unlock(&session->lock);
    return n;
}

int wb_debug_session_send_breakpoints(struct wb_debug_session *session, const char *path,
                                      int64_t deadline_ms, struct wb_cancel *cancel,
                                      struct wb_error *err)
{
    struct wb_debug_link *links[WB_DEBUG_LINKS_MAX];
    size_t n = code_links(session, links);
    for (size_t i = 0; i < n; i++) {
        if (wb_link_send_breakpoints(links[i], path, deadline_ms, cancel, err) != 0) {
            return -1;
        }
    }
    return 0;
}

int wb_debug_session_send_exceptions(struct wb_debug_session *session, int64_t deadline_ms,
                                     struct wb_cancel *cancel, struct wb_error *err)
{
    struct wb_debug_link *links[WB_DEBUG_LINKS_MAX];
    size_t n = code_links(session, links);
    for (size_t i = 0; i < n; i++) {
        if (wb_link_send_exceptions(links[i], deadline_ms, cancel, err) != 0) {
            return -1;
        }
    }
    return 0;
}

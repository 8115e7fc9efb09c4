/* session_judge: stops that are looked at before the agent hears of them. A breakpoint's hits are
 * counted here, because adapters disagree on what a hit count means; its condition is evaluated once,
 * because a broken one stops every time in some adapters, silently; stops of an adapter's own making
 * are passed over. */
#include <stdlib.h>

#include "base/clock.h"
#include "debug/session_internal.h"

/* What is known of the stop under judgement. */
struct judgement {
    struct wb_debug_session *session;
    struct wb_arena arena;
    uint64_t epoch;
    unsigned link;
    bool has_thread;
    int64_t thread_id;
    int64_t hits[WB_STOP_HITS_MAX];
    size_t n_hits;
    bool is_at_breakpoint, is_at_start, is_exception;
    /* Of the top frame: */
    bool has_frame;
    int64_t frame_id, line;
    const char *path;
};

static int ask(struct judgement *it, const char *command, struct wb_text *arguments,
               const struct wb_json **ret)
{
    return wb_debug_session_ask(it->session, it->link, command, wb_text_span(arguments),
                                wb_clock_deadline(it->session->answer_ms), NULL, &it->arena, ret,
                                NULL);
}

static void find_frame(struct judgement *it)
{
    WB_AUTO(wb_text_done) struct wb_text arguments = {0};
    const struct wb_json *body;
    wb_text_printf(&arguments, "{\"threadId\":%lld,\"startFrame\":0,\"levels\":1}",
                   (long long)it->thread_id);
    if (!it->has_thread || ask(it, "stackTrace", &arguments, &body) != 0) {
        return;
    }
    const struct wb_json *frame = wb_json_at(wb_json_get(body, "stackFrames"), 0);
    it->has_frame = wb_json_int(wb_json_get(frame, "id"), &it->frame_id);
    it->line = wb_json_int_or(wb_json_get(frame, "line"), 0);
    it->path = wb_json_str(wb_json_path(frame, "source.path"));
}

/* NULL: the condition can be evaluated. */
static const char *try_condition(struct judgement *it, const char *condition)
{
    WB_AUTO(wb_text_done) struct wb_text arguments = {0};
    struct wb_json_writer w;
    struct wb_error err;
    const struct wb_json *body;
    wb_json_writer_init(&w, &arguments);
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "expression", condition);
    wb_json_member_int(&w, "frameId", it->frame_id);
    wb_json_member_str(&w, "context", "watch");
    wb_json_end_object(&w);
    if (!it->has_frame ||
        wb_debug_session_ask(it->session, it->link, "evaluate", wb_text_span(&arguments),
                             wb_clock_deadline(it->session->answer_ms), NULL, &it->arena, &body,
                             &err) == 0 ||
        err.code != WB_ERROR_UNAVAILABLE) {
        return NULL;
    }
    return wb_arena_strdup(&it->arena, err.message);
}

static struct wb_breakpoint *find_hit(struct judgement *it)
{
    return wb_breakpoints_hit(&it->session->points->table, it->link, it->hits, it->n_hits, it->path,
                              it->line);
}

/* The condition of the breakpoint that was hit, the first time. */
static void check_condition(struct judgement *it)
{
    struct wb_debug_points *points = it->session->points;
    pthread_mutex_lock(&points->lock);
    struct wb_breakpoint *hit = find_hit(it);
    const char *condition = hit != NULL && hit->condition != NULL && !hit->condition_checked
                                ? wb_arena_strdup(&it->arena, hit->condition)
                                : NULL;
    pthread_mutex_unlock(&points->lock);
    if (condition == NULL) {
        return;
    }
    const char *error = try_condition(it, condition);
    pthread_mutex_lock(&points->lock);
    hit = find_hit(it);
    if (hit != NULL && !hit->condition_checked) {
        hit->condition_checked = true;
        hit->condition_error = error != NULL ? wb_strdup(error) : NULL;
    }
    pthread_mutex_unlock(&points->lock);
}

/* The exception by which a program exits is no crash. Who chose filters gets what they ask for. */
static bool is_exit(struct judgement *it)
{
    struct wb_debug_points *points = it->session->points;
    WB_AUTO(wb_text_done) struct wb_text arguments = {0};
    const struct wb_json *body;
    pthread_mutex_lock(&points->lock);
    bool is_chosen = points->table.exceptions != NULL;
    pthread_mutex_unlock(&points->lock);
    wb_text_printf(&arguments, "{\"threadId\":%lld}", (long long)it->thread_id);
    if (is_chosen || ask(it, "exceptionInfo", &arguments, &body) != 0) {
        return false;
    }
    const char *id = wb_json_str_or(wb_json_get(body, "exceptionId"), "");
    for (const char **name = it->session->row->no_crash; *name != NULL; name++) {
        /* debugpy writes a note behind the name. */
        if (wb_str_starts(id, *name) && strchr(" ", id[strlen(*name)]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Is it a stop for the agent? */
static bool is_wanted(struct judgement *it)
{
    struct wb_debug_points *points = it->session->points;
    if (it->is_at_start || (it->is_exception && is_exit(it))) {
        return false;
    }
    if (!it->is_at_breakpoint) {
        return true;
    }
    pthread_mutex_lock(&points->lock);
    struct wb_breakpoint *hit = find_hit(it);
    bool wanted = hit != NULL ? wb_breakpoint_count(hit) : !it->session->row->keeps_breakpoints;
    pthread_mutex_unlock(&points->lock);
    return wanted;
}

static void decide(struct judgement *it, bool wanted)
{
    struct wb_debug_session *session = it->session;
    bool passes = false;
    uint64_t move = 0;
    pthread_mutex_lock(&session->lock);
    if (wanted) {
        wb_debuggee_settle(&session->debuggee, it->epoch);
    } else {
        passes = wb_debuggee_pass_over(&session->debuggee, it->epoch);
        move = session->debuggee.moves;
        session->n_moving += passes;
    }
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
    if (!passes) {
        return;
    }
    WB_AUTO(wb_text_done) struct wb_text arguments = {0};
    const struct wb_json *body;
    wb_text_printf(&arguments, "{\"threadId\":%lld}", (long long)it->thread_id);
    int status = ask(it, "continue", &arguments, &body);
    wb_session_moved(session);
    if (status != 0) {
        pthread_mutex_lock(&session->lock);
        wb_debuggee_unmove(&session->debuggee, move);
        pthread_cond_broadcast(&session->changed);
        pthread_mutex_unlock(&session->lock);
    }
}

/* The breakpoints of the start are not all told when rdbg stops at its own first line. */
static void wait_started(struct wb_debug_session *session)
{
    pthread_mutex_lock(&session->lock);
    while (!session->start_is_over) {
        wb_cond_wait(&session->changed, &session->lock, WB_NEVER);
    }
    pthread_mutex_unlock(&session->lock);
}

static void judge(struct wb_debug_session *session, uint64_t epoch)
{
    struct judgement it = {.session = session, .epoch = epoch};
    wb_arena_init(&it.arena);
    pthread_mutex_lock(&session->lock);
    const struct wb_stop *stop = &session->debuggee.stop;
    bool is_current = stop->epoch == epoch && session->debuggee.state == WB_DEBUGGEE_JUDGING;
    it.link = stop->link;
    it.has_thread = stop->has_thread;
    it.thread_id = stop->thread_id;
    it.n_hits = stop->n_hits;
    memcpy(it.hits, stop->hits, sizeof(it.hits));
    it.is_at_breakpoint = strstr(stop->reason, "breakpoint") != NULL;
    it.is_exception = wb_str_equal(stop->reason, "exception") && session->row->no_crash[0] != NULL;
    it.is_at_start = session->row->stops_at_start && !session->passed_start;
    session->passed_start = true;
    pthread_mutex_unlock(&session->lock);
    if (is_current) {
        if (!it.is_at_start && it.is_at_breakpoint) {
            find_frame(&it);
            check_condition(&it);
        }
        if (it.is_at_start) {
            wait_started(session);
        }
        decide(&it, is_wanted(&it));
    }
    wb_arena_done(&it.arena);
}

void wb_session_take_stop(struct wb_debug_session *session)
{
    struct wb_debug_points *points = session->points;
    const struct wb_stop *stop = &session->debuggee.stop;
    pthread_mutex_lock(&points->lock);
    bool must_judge = wb_breakpoints_need_judge(&points->table) || session->row->keeps_breakpoints;
    pthread_mutex_unlock(&points->lock);
    must_judge = (must_judge && strstr(stop->reason, "breakpoint") != NULL) ||
                 (session->row->no_crash[0] != NULL && wb_str_equal(stop->reason, "exception"));
    if (session->row->stops_at_start && !session->passed_start) {
        session->passed_start = session->stop_on_entry;
        must_judge = must_judge || !session->stop_on_entry;
    }
    if (must_judge) {
        wb_session_job(session, judge, stop->epoch, true);
    } else {
        wb_debuggee_settle(&session->debuggee, stop->epoch);
    }
}

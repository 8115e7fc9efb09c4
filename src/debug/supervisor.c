/* supervisor: see supervisor.h. */
#include "debug/supervisor.h"

#include <stdlib.h>

#include "base/clock.h"

struct wb_debug_place {
    struct wb_debug_supervisor *supervisor;
    struct wb_debug_place *next;
    char *conversation_id;
    size_t n_runs; /* under the supervisor's lock */
    struct wb_debug_points points;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    struct wb_debug_session *session;
    const struct wb_run *owner; /* of the session; never looked into */
    bool is_taken;              /* somebody has the turn */
    uint64_t seen;
    char *last_launch;
};

/* A catalogue and the configuration that it was made for. */
struct version {
    struct wb_adapters *adapters;
    char *config;
    struct version *next;
};

struct wb_debug_supervisor {
    pthread_mutex_t lock;
    struct wb_debug_place *places;
    struct version *versions;
};

/* --- the host's part --- */

static void *make_supervisor(struct wb_host *host)
{
    struct wb_debug_supervisor *supervisor = wb_alloc(sizeof(*supervisor));
    (void)host;
    pthread_mutex_init(&supervisor->lock, NULL);
    return supervisor;
}

static void free_supervisor(void *part)
{
    struct wb_debug_supervisor *supervisor = part;
    while (supervisor->versions != NULL) {
        struct version *version = supervisor->versions;
        supervisor->versions = version->next;
        wb_adapters_free(version->adapters);
        free(version->config);
        free(version);
    }
    pthread_mutex_destroy(&supervisor->lock);
    free(supervisor);
}

struct wb_debug_supervisor *wb_debug_supervisor_of_host(struct wb_host *host)
{
    static const char key;
    return wb_host_part(host, &key, make_supervisor, free_supervisor);
}

const struct wb_adapters *wb_debug_supervisor_adapters(struct wb_debug_supervisor *supervisor,
                                                       const struct wb_json *config_root,
                                                       struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    struct wb_span text = config_root != NULL ? wb_json_write(&arena, config_root) : WB_SPAN("");
    pthread_mutex_lock(&supervisor->lock);
    struct version *version = supervisor->versions;
    while (version != NULL && !wb_span_is(text, version->config)) {
        version = version->next;
    }
    struct wb_adapters *adapters =
        version != NULL ? version->adapters : wb_adapters_new(config_root, err);
    if (version == NULL && adapters != NULL) {
        version = wb_alloc(sizeof(*version));
        *version = (struct version){adapters, wb_strndup(text.ptr, text.len), supervisor->versions};
        supervisor->versions = version;
    }
    pthread_mutex_unlock(&supervisor->lock);
    return adapters;
}

/* --- places --- */

static struct wb_debug_place *make_place(struct wb_debug_supervisor *supervisor, const char *id)
{
    struct wb_debug_place *place = wb_alloc(sizeof(*place));
    place->supervisor = supervisor;
    place->conversation_id = wb_strdup(id);
    pthread_mutex_init(&place->points.lock, NULL);
    pthread_mutex_init(&place->lock, NULL);
    wb_cond_init(&place->changed);
    place->next = supervisor->places;
    supervisor->places = place;
    return place;
}

static void free_place(struct wb_debug_place *place)
{
    if (place->session != NULL) {
        wb_debug_session_end(place->session, "its conversation ended");
        wb_debug_session_unref(place->session);
    }
    wb_breakpoints_done(&place->points.table);
    pthread_mutex_destroy(&place->points.lock);
    pthread_cond_destroy(&place->changed);
    pthread_mutex_destroy(&place->lock);
    free(place->last_launch);
    free(place->conversation_id);
    free(place);
}

struct wb_debug_place *wb_debug_place_enter(struct wb_debug_supervisor *supervisor,
                                            const struct wb_run *run)
{
    const char *id = wb_run_conversation_id(run);
    pthread_mutex_lock(&supervisor->lock);
    struct wb_debug_place *place = supervisor->places;
    while (place != NULL && !wb_str_equal(place->conversation_id, id)) {
        place = place->next;
    }
    if (place == NULL) {
        place = make_place(supervisor, id);
    }
    place->n_runs++;
    pthread_mutex_unlock(&supervisor->lock);
    return place;
}

/* True: this was the last run, and the place is in no list any more. */
static bool unlink_place(struct wb_debug_place *place)
{
    struct wb_debug_supervisor *supervisor = place->supervisor;
    pthread_mutex_lock(&supervisor->lock);
    bool is_last = --place->n_runs == 0;
    struct wb_debug_place **link = &supervisor->places;
    while (is_last && *link != place) {
        link = &(*link)->next;
    }
    if (is_last) {
        *link = place->next;
    }
    pthread_mutex_unlock(&supervisor->lock);
    return is_last;
}

void wb_debug_place_leave(struct wb_debug_place *place, const struct wb_run *run)
{
    pthread_mutex_lock(&place->lock);
    struct wb_debug_session *session =
        place->owner == run ? wb_debug_session_ref(place->session) : NULL;
    place->owner = place->owner == run ? NULL : place->owner;
    pthread_mutex_unlock(&place->lock);
    if (session != NULL) {
        wb_debug_session_end(session, "the run that started it was closed");
        wb_debug_session_unref(session);
    }
    if (unlink_place(place)) {
        free_place(place);
    }
}

struct wb_debug_points *wb_debug_place_points(struct wb_debug_place *place)
{
    return &place->points;
}

struct wb_debug_session *wb_debug_place_session(struct wb_debug_place *place)
{
    pthread_mutex_lock(&place->lock);
    struct wb_debug_session *session =
        place->session != NULL ? wb_debug_session_ref(place->session) : NULL;
    pthread_mutex_unlock(&place->lock);
    return session;
}

static int refuse(struct wb_debug_session *old, struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct wb_debug_view view;
    wb_arena_init(&arena);
    wb_debug_session_view(old, &arena, &view);
    return wb_error_set(err, WB_ERROR_INVALID,
                        "a debug session of %s is under way already (%s); a conversation has one: "
                        "`terminate` it first, or `launch` with restart true",
                        view.title, wb_debuggee_state_name(view.state));
}

int wb_debug_place_put(struct wb_debug_place *place, const struct wb_run *run,
                       struct wb_debug_session *session, struct wb_error *err)
{
    struct wb_debug_session *old = wb_debug_place_session(place);
    if (old != NULL && !wb_debug_session_has_ended(old)) {
        int status = refuse(old, err);
        wb_debug_session_unref(old);
        return status;
    }
    if (old != NULL) {
        wb_debug_session_end(old, NULL); /* its rest: an adapter that is on its way out */
        wb_debug_session_unref(old);
    }
    pthread_mutex_lock(&place->lock);
    old = place->session;
    place->session = wb_debug_session_ref(session);
    place->owner = run;
    place->seen = 0;
    pthread_mutex_unlock(&place->lock);
    wb_debug_session_unref(old);
    pthread_mutex_lock(&place->points.lock);
    wb_breakpoints_reset(&place->points.table);
    pthread_mutex_unlock(&place->points.lock);
    return 0;
}

/* --- turns --- */

static void wake(void *ctx)
{
    struct wb_debug_place *place = ctx;
    pthread_mutex_lock(&place->lock);
    pthread_cond_broadcast(&place->changed);
    pthread_mutex_unlock(&place->lock);
}

int wb_debug_place_take_turn(struct wb_debug_place *place, int64_t deadline_ms,
                             struct wb_cancel *cancel, struct wb_error *err)
{
    struct wb_cancel_hook hook = {.fire = wake, .ctx = place};
    bool in_time = true;
    wb_cancel_hook_add(cancel, &hook);
    pthread_mutex_lock(&place->lock);
    while (place->is_taken && in_time && !wb_cancel_is_fired(cancel)) {
        in_time = wb_cond_wait(&place->changed, &place->lock, deadline_ms);
    }
    bool taken = !place->is_taken;
    place->is_taken = true;
    pthread_mutex_unlock(&place->lock);
    wb_cancel_hook_remove(cancel, &hook);
    return taken
               ? 0
               : wb_error_set(err, WB_ERROR_CANCELLED,
                              "given up while another run of this conversation used the debugger");
}

void wb_debug_place_give_turn(struct wb_debug_place *place)
{
    pthread_mutex_lock(&place->lock);
    place->is_taken = false;
    pthread_cond_broadcast(&place->changed);
    pthread_mutex_unlock(&place->lock);
}

/* --- what the agent has seen and done --- */

uint64_t wb_debug_place_seen(struct wb_debug_place *place)
{
    pthread_mutex_lock(&place->lock);
    uint64_t seen = place->seen;
    pthread_mutex_unlock(&place->lock);
    return seen;
}

void wb_debug_place_set_seen(struct wb_debug_place *place, uint64_t cursor)
{
    pthread_mutex_lock(&place->lock);
    place->seen = cursor;
    pthread_mutex_unlock(&place->lock);
}

char *wb_debug_place_last_launch(struct wb_debug_place *place)
{
    pthread_mutex_lock(&place->lock);
    char *json = place->last_launch != NULL ? wb_strdup(place->last_launch) : NULL;
    pthread_mutex_unlock(&place->lock);
    return json;
}

void wb_debug_place_keep_launch(struct wb_debug_place *place, const char *json)
{
    pthread_mutex_lock(&place->lock);
    free(place->last_launch);
    place->last_launch = wb_strdup(json);
    pthread_mutex_unlock(&place->lock);
}

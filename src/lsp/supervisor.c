/* supervisor: see supervisor.h. A slot is a row and a root: it outlives the processes that it
 * starts one after another. Starting happens on a thread of its own, so that who waits can stop
 * waiting. Knows no tool. */
#include "lsp/supervisor.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "sys/path.h"
#include "sys/watch.h"

#define CRASHES_MAX 5 /* restarts within the window; one more crash and it stays down */
#define CRASH_WINDOW_MS 180000
#define IDLE_CHECK_MS 15000

enum slot_state { SLOT_COLD, SLOT_STARTING, SLOT_RUNNING, SLOT_FAILED };

struct slot {
    struct wb_supervisor *supervisor;
    const struct wb_server_row *row;
    char *root, *workspace;
    enum slot_state state;
    struct wb_server *server; /* RUNNING */
    struct wb_error failure;  /* of the last start or crash */
    struct wb_cancel abort;   /* of the start under way */
    int64_t start_ms, idle_stop_ms, used_ms;
    int64_t crashes[CRASHES_MAX + 1]; /* times of the last ones, a ring */
    size_t n_crashes;
    int starts;
};

struct workspace {
    struct wb_watch *watch;
    pthread_mutex_t looking;
};

struct wb_supervisor {
    struct wb_host *host;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct wb_map slots;      /* "hash root" -> struct slot */
    struct wb_map workspaces; /* path -> struct workspace */
    struct wb_map catalogues; /* configuration as text -> struct wb_catalogue */
    struct wb_timer *timer;
    unsigned n_jobs; /* starts and idle stops under way */
    bool closing;
};

static const char part_key; /* its address names the part */

static void *make_supervisor(struct wb_host *host)
{
    struct wb_supervisor *supervisor = wb_alloc(sizeof(*supervisor));
    supervisor->host = host;
    pthread_mutex_init(&supervisor->lock, NULL);
    wb_cond_init(&supervisor->changed);
    wb_map_init(&supervisor->slots);
    wb_map_init(&supervisor->workspaces);
    wb_map_init(&supervisor->catalogues);
    return supervisor;
}

static void set_slot_state(struct slot *slot, enum slot_state state)
{
    static const char *const names[] = {"cold", "starting", "running", "failed"};
    wb_log(WB_LOG_DEBUG, "slot %s in %s: %s -> %s", slot->row->id, slot->root, names[slot->state],
           names[state]);
    slot->state = state;
    pthread_cond_broadcast(&slot->supervisor->changed);
}

/* The loop's timer and the pool hand over to a job; the supervisor waits for them when it ends. */
static bool begin_job(struct wb_supervisor *supervisor, void (*job)(void *ctx), void *ctx,
                      struct wb_error *err)
{
    supervisor->n_jobs++;
    if (wb_pool_run(wb_host_pool(supervisor->host), job, ctx, err) < 0) {
        supervisor->n_jobs--;
        return false;
    }
    return true;
}

static void end_job(struct wb_supervisor *supervisor)
{
    supervisor->n_jobs--;
    pthread_cond_broadcast(&supervisor->changed);
}

static void note_crash(struct slot *slot)
{
    slot->crashes[slot->n_crashes++ % WB_COUNT(slot->crashes)] = wb_clock_now_ms();
}

static bool crashes_too_often(const struct slot *slot)
{
    if (slot->n_crashes < WB_COUNT(slot->crashes)) {
        return false;
    }
    int64_t oldest = slot->crashes[slot->n_crashes % WB_COUNT(slot->crashes)];
    return wb_clock_now_ms() - oldest < CRASH_WINDOW_MS;
}

/* Takes a dead server out of its slot; the caller unrefs it without the lock. */
static struct wb_server *bury(struct slot *slot)
{
    struct wb_text obituary;
    wb_text_init(&obituary);
    wb_server_obituary(slot->server, &obituary);
    wb_error_set(&slot->failure, WB_ERROR_CLOSED, "%s", wb_text_cstr(&obituary));
    wb_text_done(&obituary);
    note_crash(slot);
    set_slot_state(slot, SLOT_FAILED);
    return WB_STEAL(slot->server);
}

/* Stopping. Servers are stopped side by side: each may take seconds. */

struct stop_job {
    struct wb_supervisor *supervisor;
    struct wb_server *server;
};

static void run_stop(void *ctx)
{
    struct stop_job *job = ctx;
    wb_server_stop(job->server);
    wb_server_unref(job->server);
    pthread_mutex_lock(&job->supervisor->lock);
    end_job(job->supervisor);
    pthread_mutex_unlock(&job->supervisor->lock);
    free(job);
}

/* Lock held. Takes the server out of its slot and stops it on another thread. */
static void stop_slot(struct slot *slot)
{
    struct stop_job *job = wb_alloc(sizeof(*job));
    *job = (struct stop_job){slot->supervisor, WB_STEAL(slot->server)};
    set_slot_state(slot, SLOT_COLD);
    if (!begin_job(slot->supervisor, run_stop, job, NULL)) {
        pthread_mutex_unlock(&slot->supervisor->lock);
        wb_server_stop(job->server);
        wb_server_unref(job->server);
        pthread_mutex_lock(&slot->supervisor->lock);
        free(job);
    }
}

static void wait_for_jobs(struct wb_supervisor *supervisor)
{
    while (supervisor->n_jobs > 0) {
        (void)wb_cond_wait(&supervisor->changed, &supervisor->lock, WB_NEVER);
    }
}

/* Idle servers: a timer of the loop looks, a job stops them. */

static void watch_idleness(struct wb_supervisor *supervisor);

static bool is_idle(const struct slot *slot)
{
    int64_t now = wb_clock_now_ms();
    return slot->state == SLOT_RUNNING && now - slot->used_ms > slot->idle_stop_ms &&
           now - wb_server_last_used_ms(slot->server) > slot->idle_stop_ms &&
           wb_server_pending(slot->server) == 0;
}

static void stop_idle(void *ctx)
{
    struct wb_supervisor *supervisor = ctx;
    pthread_mutex_lock(&supervisor->lock);
    struct wb_timer *timer = WB_STEAL(supervisor->timer);
    bool any = false;
    void *value;
    for (size_t cursor = 0; wb_map_next(&supervisor->slots, &cursor, NULL, &value);) {
        struct slot *slot = value;
        if (is_idle(slot)) {
            wb_log(WB_LOG_INFO, "%s in %s is idle and is stopped", slot->row->id, slot->root);
            stop_slot(slot);
        }
        any |= slot->state == SLOT_RUNNING;
    }
    if (any && !supervisor->closing) {
        watch_idleness(supervisor);
    }
    pthread_mutex_unlock(&supervisor->lock);
    wb_timer_stop(timer); /* not under the lock: it waits for its function */
}

static void watch_idleness(struct wb_supervisor *supervisor)
{
    if (supervisor->timer == NULL) {
        supervisor->timer =
            wb_timer_start(wb_host_loop(supervisor->host), IDLE_CHECK_MS, stop_idle, supervisor);
    }
}

/* Starting. */

static void take_started(struct slot *slot, struct wb_server *server, const struct wb_error *err)
{
    if (server == NULL) {
        slot->failure = *err;
        note_crash(slot);
        set_slot_state(slot, SLOT_FAILED);
        return;
    }
    slot->server = server;
    slot->used_ms = wb_clock_now_ms();
    set_slot_state(slot, SLOT_RUNNING);
    watch_idleness(slot->supervisor);
}

/* Found is not usable: a program that does not shake hands (a proxy without its component) gives
 * way to the next one. The error is the first one's. */
static struct wb_server *start_first(struct slot *slot, struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    struct wb_server *server = NULL;
    struct wb_error later, *first = err;
    const char *const *command;
    wb_error_set(err, WB_ERROR_UNAVAILABLE, "the program of %s is gone", slot->row->id);
    for (size_t cursor = 0;
         server == NULL && (command = wb_server_row_command(&arena, slot->row, slot->workspace,
                                                            slot->root, &cursor)) != NULL;) {
        struct wb_server_options options = {
            .host = slot->supervisor->host,
            .row = slot->row,
            .root = slot->root,
            .workspace = slot->workspace,
            .command = command,
            .cancel = &slot->abort,
        };
        server = wb_server_start(&options, wb_clock_deadline(slot->start_ms), first);
        first = &later;
    }
    return server;
}

static void run_start(void *ctx)
{
    struct slot *slot = ctx;
    struct wb_supervisor *supervisor = slot->supervisor;
    struct wb_error err;
    struct wb_server *server = start_first(slot, &err);
    pthread_mutex_lock(&supervisor->lock);
    take_started(slot, server, &err);
    end_job(supervisor);
    pthread_mutex_unlock(&supervisor->lock);
}

static int begin_start(struct slot *slot, const struct wb_supervisor_limits *limits,
                       struct wb_error *err)
{
    if (crashes_too_often(slot)) {
        return wb_error_set(err, WB_ERROR_UNAVAILABLE,
                            "%s in %s went down %d times within 3 minutes and is not started "
                            "again; use lsp reload when the cause is gone. Last: %s",
                            slot->row->id, slot->root, CRASHES_MAX + 1, slot->failure.message);
    }
    slot->start_ms = limits->start_ms;
    slot->starts++;
    wb_cancel_done(&slot->abort);
    wb_cancel_init(&slot->abort);
    if (!begin_job(slot->supervisor, run_start, slot, err)) {
        return -1;
    }
    set_slot_state(slot, SLOT_STARTING);
    return 0;
}

/* The slot of a row and root; NULL: there never was a server. */
static struct slot *peek_slot(struct wb_supervisor *supervisor, const struct wb_server_row *row,
                              const char *root, char **ret_key)
{
    *ret_key = wb_sprintf("%016llx %s", (unsigned long long)row->hash, root);
    return wb_map_get(&supervisor->slots, *ret_key);
}

static struct slot *find_slot(struct wb_supervisor *supervisor,
                              const struct wb_candidate *candidate, const char *workspace)
{
    WB_AUTO(wb_free_p) char *key = NULL;
    struct slot *slot = peek_slot(supervisor, candidate->row, candidate->root, &key);
    if (slot == NULL) {
        slot = wb_alloc(sizeof(*slot));
        slot->supervisor = supervisor;
        slot->row = candidate->row;
        slot->root = wb_strdup(candidate->root);
        slot->workspace = wb_strdup(workspace);
        wb_cancel_init(&slot->abort);
        wb_map_set(&supervisor->slots, key, slot);
    }
    return slot;
}

/* The watch begins before the first server reads the folder, so that nothing falls between. */
static void watch_workspace(struct wb_supervisor *supervisor, const char *path)
{
    if (wb_map_get(&supervisor->workspaces, path) != NULL) {
        return;
    }
    struct workspace *workspace = wb_alloc(sizeof(*workspace));
    pthread_mutex_init(&workspace->looking, NULL);
    struct wb_error err;
    workspace->watch = wb_watch_new(path, &err);
    if (workspace->watch == NULL) {
        wb_log(WB_LOG_WARNING, "changes of files that are not open are not noticed: %s",
               err.message);
    }
    wb_map_set(&supervisor->workspaces, path, workspace);
}

static void wake(void *ctx)
{
    struct wb_supervisor *supervisor = ctx;
    pthread_mutex_lock(&supervisor->lock);
    pthread_cond_broadcast(&supervisor->changed);
    pthread_mutex_unlock(&supervisor->lock);
}

/* Lock held. Waits for the start under way. 0: it has ended, either way. */
static int wait_for_start(struct slot *slot, int64_t deadline_ms, struct wb_cancel *cancel,
                          struct wb_error *err)
{
    while (slot->state == SLOT_STARTING) {
        if (wb_cancel_is_fired(cancel)) {
            return wb_error_set(err, WB_ERROR_CANCELLED, "cancelled while %s was starting",
                                slot->row->id);
        }
        if (!wb_cond_wait(&slot->supervisor->changed, &slot->supervisor->lock, deadline_ms)) {
            return wb_error_set(err, WB_ERROR_TIMEOUT,
                                "%s is still starting in %s; ask again in a moment", slot->row->id,
                                slot->root);
        }
    }
    return 0;
}

static int use_slot(struct slot *slot, const struct wb_supervisor_limits *limits,
                    int64_t deadline_ms, struct wb_cancel *cancel, struct wb_server **ret_dead,
                    struct wb_error *err)
{
    if (slot->state == SLOT_RUNNING && !wb_server_alive(slot->server)) {
        *ret_dead = bury(slot);
    }
    slot->idle_stop_ms = limits->idle_stop_ms;
    if (slot->state == SLOT_COLD || slot->state == SLOT_FAILED) {
        if (begin_start(slot, limits, err) < 0) {
            return -1;
        }
    }
    if (wait_for_start(slot, deadline_ms, cancel, err) < 0) {
        return -1;
    }
    if (slot->state != SLOT_RUNNING) {
        return wb_error_set(err, slot->failure.code, "%s", slot->failure.message);
    }
    slot->used_ms = wb_clock_now_ms();
    return 0;
}

struct wb_server *wb_supervisor_use(struct wb_supervisor *supervisor,
                                    const struct wb_candidate *candidate, const char *workspace,
                                    const struct wb_supervisor_limits *limits, int64_t deadline_ms,
                                    struct wb_cancel *cancel, struct wb_error *err)
{
    assert(candidate->reason == NULL);
    struct wb_cancel_hook hook = {.fire = wake, .ctx = supervisor};
    struct wb_server *dead = NULL, *server = NULL;
    wb_cancel_hook_add(cancel, &hook);
    pthread_mutex_lock(&supervisor->lock);
    watch_workspace(supervisor, workspace);
    struct slot *slot = find_slot(supervisor, candidate, workspace);
    if (use_slot(slot, limits, deadline_ms, cancel, &dead, err) == 0) {
        server = wb_server_ref(slot->server);
    }
    pthread_mutex_unlock(&supervisor->lock);
    wb_cancel_hook_remove(cancel, &hook);
    wb_server_unref(dead);
    return server;
}

struct wb_server *wb_supervisor_running(struct wb_supervisor *supervisor,
                                        const struct wb_candidate *candidate, const char *workspace)
{
    pthread_mutex_lock(&supervisor->lock);
    struct slot *slot = find_slot(supervisor, candidate, workspace);
    bool running = slot->state == SLOT_RUNNING && wb_server_alive(slot->server);
    struct wb_server *server = running ? wb_server_ref(slot->server) : NULL;
    pthread_mutex_unlock(&supervisor->lock);
    return server;
}

static bool is_running(void *ctx, const struct wb_server_row *row, const char *root)
{
    struct wb_supervisor *supervisor = ctx;
    WB_AUTO(wb_free_p) char *key = NULL;
    pthread_mutex_lock(&supervisor->lock);
    const struct slot *slot = peek_slot(supervisor, row, root, &key);
    bool running = slot != NULL && slot->state == SLOT_RUNNING && wb_server_alive(slot->server);
    pthread_mutex_unlock(&supervisor->lock);
    return running;
}

struct wb_running wb_supervisor_is_running(struct wb_supervisor *supervisor)
{
    return (struct wb_running){is_running, supervisor};
}

void wb_supervisor_list(struct wb_supervisor *supervisor, struct wb_arena *arena,
                        const char *workspace, struct wb_server ***ret, size_t *ret_n)
{
    pthread_mutex_lock(&supervisor->lock);
    struct wb_server **list =
        wb_arena_alloc_array(arena, supervisor->slots.count + 1, sizeof(struct wb_server *));
    size_t n = 0;
    void *value;
    for (size_t cursor = 0; wb_map_next(&supervisor->slots, &cursor, NULL, &value);) {
        struct slot *slot = value;
        if (slot->state == SLOT_RUNNING && wb_str_equal(slot->workspace, workspace) &&
            wb_server_alive(slot->server)) {
            list[n++] = wb_server_ref(slot->server);
        }
    }
    pthread_mutex_unlock(&supervisor->lock);
    *ret = list;
    *ret_n = n;
}

size_t wb_supervisor_reload(struct wb_supervisor *supervisor, const char *workspace,
                            const char *root)
{
    size_t stopped = 0;
    pthread_mutex_lock(&supervisor->lock);
    void *value;
    for (size_t cursor = 0; wb_map_next(&supervisor->slots, &cursor, NULL, &value);) {
        struct slot *slot = value;
        if (!wb_str_equal(slot->workspace, workspace) ||
            (root != NULL && !wb_str_equal(slot->root, root))) {
            continue;
        }
        slot->n_crashes = 0;
        wb_cancel_fire(&slot->abort);
        if (slot->state == SLOT_RUNNING) {
            stop_slot(slot);
            stopped++;
        } else if (slot->state == SLOT_FAILED) {
            set_slot_state(slot, SLOT_COLD);
        }
    }
    wait_for_jobs(supervisor);
    pthread_mutex_unlock(&supervisor->lock);
    return stopped;
}

/* Catching up with the disk. */

static size_t look(struct wb_supervisor *supervisor, struct wb_arena *arena, const char *workspace,
                   struct wb_file_event_item **ret)
{
    pthread_mutex_lock(&supervisor->lock);
    struct workspace *watched = wb_map_get(&supervisor->workspaces, workspace);
    pthread_mutex_unlock(&supervisor->lock);
    if (watched == NULL || watched->watch == NULL) {
        return 0;
    }
    struct wb_watch_event *events;
    size_t n;
    bool complete;
    pthread_mutex_lock(&watched->looking);
    wb_watch_look(watched->watch, arena, &events, &n, &complete);
    pthread_mutex_unlock(&watched->looking);
    struct wb_file_event_item *items = wb_arena_alloc_array(arena, n + 1, sizeof(*items));
    for (size_t i = 0; i < n; i++) {
        items[i] = (struct wb_file_event_item){events[i].path, (enum wb_file_event)events[i].kind};
    }
    *ret = items;
    return n;
}

void wb_supervisor_catch_up(struct wb_supervisor *supervisor, const char *workspace)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    struct wb_file_event_item *items = NULL;
    size_t n = look(supervisor, &arena, workspace, &items);
    struct wb_server **servers;
    size_t n_servers;
    wb_supervisor_list(supervisor, &arena, workspace, &servers, &n_servers);
    for (size_t i = 0; i < n_servers; i++) {
        if (n > 0) {
            wb_server_files_changed(servers[i], items, n);
        }
        wb_server_sync_open(servers[i]);
        wb_server_unref(servers[i]);
    }
}

/* Status. */

static const char *describe_slot(struct slot *slot, struct wb_arena *arena,
                                 struct wb_slot_status *status)
{
    struct wb_text loading;
    wb_text_init(&loading);
    const char *state = "stopped";
    if (slot->state == SLOT_STARTING) {
        state = "starting";
    } else if (slot->state == SLOT_FAILED) {
        state = "failed";
        status->detail = wb_arena_strdup(arena, slot->failure.message);
    } else if (slot->state == SLOT_RUNNING) {
        status->pid = wb_server_pid(slot->server);
        status->detail = wb_arena_strdup(arena, wb_server_info(slot->server));
        state = "ready";
        if (wb_server_loading(slot->server, &loading)) {
            state = "loading";
            status->detail =
                wb_arena_printf(arena, "%s: %s", status->detail, wb_text_cstr(&loading));
        }
    }
    wb_text_done(&loading);
    return state;
}

void wb_supervisor_status(struct wb_supervisor *supervisor, struct wb_arena *arena,
                          const char *workspace, struct wb_slot_status **ret, size_t *ret_n)
{
    struct wb_server *dead = NULL;
    size_t n = 0;
    pthread_mutex_lock(&supervisor->lock);
    struct wb_slot_status *list =
        wb_arena_alloc_array(arena, supervisor->slots.count + 1, sizeof(*list));
    void *value;
    for (size_t cursor = 0; wb_map_next(&supervisor->slots, &cursor, NULL, &value);) {
        struct slot *slot = value;
        if (!wb_str_equal(slot->workspace, workspace) || slot->starts == 0) {
            continue;
        }
        if (dead == NULL && slot->state == SLOT_RUNNING && !wb_server_alive(slot->server)) {
            dead = bury(slot);
        }
        list[n] = (struct wb_slot_status){.id = slot->row->id,
                                          .root = wb_arena_strdup(arena, slot->root),
                                          .starts = slot->starts};
        list[n].state = describe_slot(slot, arena, &list[n]);
        n++;
    }
    pthread_mutex_unlock(&supervisor->lock);
    wb_server_unref(dead);
    *ret = list;
    *ret_n = n;
}

const struct wb_catalogue *wb_supervisor_catalogue(struct wb_supervisor *supervisor,
                                                   const struct wb_json *config_root,
                                                   struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    const char *key = wb_json_write(&arena, config_root).ptr;
    pthread_mutex_lock(&supervisor->lock);
    struct wb_catalogue *catalogue = wb_map_get(&supervisor->catalogues, key);
    if (catalogue == NULL) {
        catalogue = wb_catalogue_new(config_root, err);
        if (catalogue != NULL) {
            wb_map_set(&supervisor->catalogues, key, catalogue);
        }
    }
    pthread_mutex_unlock(&supervisor->lock);
    return catalogue;
}

/* The end. */

static void stop_all(struct wb_supervisor *supervisor)
{
    pthread_mutex_lock(&supervisor->lock);
    supervisor->closing = true;
    void *value;
    for (size_t cursor = 0; wb_map_next(&supervisor->slots, &cursor, NULL, &value);) {
        wb_cancel_fire(&((struct slot *)value)->abort);
    }
    wait_for_jobs(supervisor);
    for (size_t cursor = 0; wb_map_next(&supervisor->slots, &cursor, NULL, &value);) {
        struct slot *slot = value;
        if (slot->state == SLOT_RUNNING) {
            stop_slot(slot);
        }
    }
    wait_for_jobs(supervisor);
    struct wb_timer *timer = WB_STEAL(supervisor->timer);
    pthread_mutex_unlock(&supervisor->lock);
    wb_timer_stop(timer);
}

static void free_maps(struct wb_supervisor *supervisor)
{
    void *value;
    for (size_t cursor = 0; wb_map_next(&supervisor->slots, &cursor, NULL, &value);) {
        struct slot *slot = value;
        wb_cancel_done(&slot->abort);
        free(slot->workspace);
        free(slot->root);
        free(slot);
    }
    for (size_t cursor = 0; wb_map_next(&supervisor->workspaces, &cursor, NULL, &value);) {
        struct workspace *workspace = value;
        wb_watch_free(workspace->watch);
        pthread_mutex_destroy(&workspace->looking);
        free(workspace);
    }
    for (size_t cursor = 0; wb_map_next(&supervisor->catalogues, &cursor, NULL, &value);) {
        wb_catalogue_free(value);
    }
    wb_map_done(&supervisor->slots);
    wb_map_done(&supervisor->workspaces);
    wb_map_done(&supervisor->catalogues);
}

static void free_supervisor(void *part)
{
    struct wb_supervisor *supervisor = part;
    stop_all(supervisor);
    free_maps(supervisor);
    pthread_cond_destroy(&supervisor->changed);
    pthread_mutex_destroy(&supervisor->lock);
    free(supervisor);
}

struct wb_supervisor *wb_supervisor_of_host(struct wb_host *host)
{
    return wb_host_part(host, &part_key, make_supervisor, free_supervisor);
}

/* late: see late.h. */
#include "lsp/late.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/map.h"
#include "lsp/write_report.h"

/* A file and a server whose word on the last write has not come yet. */
struct pending {
    char *path;
    struct wb_server *server;
    struct wb_sync sync;
    bool baseline; /* the ledger had the old file */
    struct pending *next;
};

struct wb_late {
    struct wb_lsp *lsp;
    pthread_mutex_t lock;
    struct pending *pending;
    struct wb_map looked; /* row id and root -> uint64_t: publications looked at already */
};

struct wb_late *wb_late_new(struct wb_lsp *lsp)
{
    struct wb_late *late = wb_alloc(sizeof(*late));
    late->lsp = lsp;
    pthread_mutex_init(&late->lock, NULL);
    wb_map_init(&late->looked);
    return late;
}

static void free_pending(struct pending *pending)
{
    wb_server_unref(pending->server);
    free(pending->path);
    free(pending);
}

void wb_late_free(struct wb_late *late)
{
    if (late == NULL) {
        return;
    }
    while (late->pending != NULL) {
        struct pending *next = late->pending->next;
        free_pending(late->pending);
        late->pending = next;
    }
    void *looked;
    for (size_t cursor = 0; wb_map_next(&late->looked, &cursor, NULL, &looked);) {
        free(looked);
    }
    wb_map_done(&late->looked);
    pthread_mutex_destroy(&late->lock);
    free(late);
}

/* Takes the pending word on this file and server out of the list; NULL: none. */
static struct pending *take_pending(struct wb_late *late, const char *path,
                                    const struct wb_server *server)
{
    struct pending **at = &late->pending;
    while (*at != NULL && !((*at)->server == server && wb_str_equal((*at)->path, path))) {
        at = &(*at)->next;
    }
    struct pending *found = *at;
    if (found != NULL) {
        *at = found->next;
    }
    return found;
}

void wb_late_remember(struct wb_late *late, const char *path, struct wb_server *server,
                      const struct wb_sync *sync, bool baseline)
{
    struct pending *pending = wb_alloc(sizeof(*pending));
    *pending = (struct pending){.path = wb_strdup(path),
                                .server = wb_server_ref(server),
                                .sync = *sync,
                                .baseline = baseline};
    pthread_mutex_lock(&late->lock);
    pending->next = late->pending;
    late->pending = pending;
    pthread_mutex_unlock(&late->lock);
}

bool wb_late_take(struct wb_late *late, const char *path, const struct wb_server *server,
                  bool *ret_baseline)
{
    pthread_mutex_lock(&late->lock);
    struct pending *pending = take_pending(late, path, server);
    pthread_mutex_unlock(&late->lock);
    if (pending == NULL) {
        return false;
    }
    *ret_baseline = pending->baseline;
    free_pending(pending);
    return true;
}

static bool is_current(const struct pending *pending, struct wb_arena *arena)
{
    struct wb_span text;
    int64_t version;
    return wb_server_document(pending->server, arena, pending->path, &text, &version) &&
           version == pending->sync.version;
}

/* True: the pending is settled, told or dropped. */
static bool settle_pending(struct wb_late *late, struct wb_arena *arena,
                           const struct pending *pending, struct wb_diagnostic_list *news)
{
    if (!wb_server_alive(pending->server) || !is_current(pending, arena)) {
        return true;
    }
    struct wb_diagnostic_list fresh = {0};
    if (!wb_server_diagnosed(pending->server, pending->path, &pending->sync, arena, &fresh)) {
        return false;
    }
    wb_ledger_news(late->lsp->ledger, pending->path, wb_server_row(pending->server)->id, &fresh,
                   WB_SEVERITY_WARNING, arena, news);
    return true;
}

static void settle_all_pending(struct wb_late *late, struct wb_arena *arena,
                               struct wb_diagnostic_list *news)
{
    pthread_mutex_lock(&late->lock);
    for (struct pending **at = &late->pending; *at != NULL;) {
        struct pending *pending = *at;
        if (settle_pending(late, arena, pending, news)) {
            *at = pending->next;
            free_pending(pending);
        } else {
            at = &pending->next;
        }
    }
    pthread_mutex_unlock(&late->lock);
}

static bool is_pending(struct wb_late *late, const char *path, const struct wb_server *server)
{
    const struct pending *it = late->pending;
    while (it != NULL && !(it->server == server && wb_str_equal(it->path, path))) {
        it = it->next;
    }
    return it != NULL;
}

/* Has the server published since the last look? */
static bool has_published(struct wb_late *late, struct wb_arena *arena, struct wb_server *server)
{
    const char *key =
        wb_arena_printf(arena, "%s %s", wb_server_row(server)->id, wb_server_root(server));
    uint64_t *looked = wb_map_get(&late->looked, key);
    if (looked == NULL) {
        looked = wb_alloc(sizeof(*looked));
        wb_map_set(&late->looked, key, looked);
    }
    uint64_t before = *looked;
    *looked = wb_server_mark(server);
    return *looked != before;
}

/* New errors in open files that the ledger knows. */
static void look_elsewhere(struct wb_late *late, struct wb_arena *arena, struct wb_server *server,
                           struct wb_diagnostic_list *news)
{
    const char *id = wb_server_row(server)->id;
    const char **paths;
    size_t n;
    wb_server_open_paths(server, arena, &paths, &n);
    for (size_t i = 0; i < n; i++) {
        struct wb_diagnostic_list fresh = {0};
        if (wb_ledger_knows(late->lsp->ledger, paths[i], id) &&
            !is_pending(late, paths[i], server) &&
            wb_server_diagnostics_now(server, arena, paths[i], &fresh)) {
            wb_ledger_news(late->lsp->ledger, paths[i], id, &fresh, WB_SEVERITY_ERROR, arena, news);
        }
    }
}

void wb_late_collect(struct wb_late *late, struct wb_call *call, struct wb_diagnostic_list *news)
{
    struct wb_lsp *lsp = late->lsp;
    struct wb_server **servers;
    size_t n;
    settle_all_pending(late, call->arena, news);
    wb_supervisor_list(lsp->supervisor, call->arena, lsp->workspace, &servers, &n);
    pthread_mutex_lock(&late->lock);
    for (size_t i = 0; i < n; i++) {
        if (has_published(late, call->arena, servers[i])) {
            look_elsewhere(late, call->arena, servers[i], news);
        }
        wb_server_unref(servers[i]);
    }
    pthread_mutex_unlock(&late->lock);
}

void wb_late_tell(struct wb_late *late, struct wb_call *call, struct wb_result *result)
{
    struct wb_write_report report = {0};
    wb_late_collect(late, call, &report.news);
    if (report.news.count > 0) {
        wb_diagnostics_sort(&report.news);
        wb_write_report_separate(&result->text);
        wb_text_add_str(&result->text, "Diagnostics that came since the last write:\n");
        wb_write_report_list(&report.news, late->lsp->workspace, &result->text);
        wb_write_report_add(&report, call, "late_diagnostics", result);
    }
}

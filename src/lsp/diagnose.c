/* diagnose: the diagnostics of one server: what it pushed and what we pulled are kept apart and
 * shown together; and the wait for its word on one version of a file, which an event ends, not a
 * timer (LSP 3.17 "Publish Diagnostics", "Pull Diagnostics"). */
#include "lsp/server_internal.h"

#include <stdlib.h>

#include "base/clock.h"
#include "sys/path.h"

#define OFFER_MS 5000 /* after the handshake, for the registration of pull diagnostics */
#define YOUNG_MS 800  /* after the handshake */
#define YOUNG_SETTLE_MS 150
#define PULLS_AGAIN_MAX 3 /* of one question, because the server asked for it meanwhile */

static void clear_publication(struct wb_publication *publication)
{
    if (publication->there) {
        wb_arena_done(&publication->arena);
    }
    free(publication->result_id);
    *publication = (struct wb_publication){0};
}

static struct wb_news *find_news(struct wb_server *server, const char *path)
{
    struct wb_news *news = wb_map_get(&server->news, path);
    if (news == NULL) {
        news = wb_alloc(sizeof(*news));
        wb_map_set(&server->news, path, news);
    }
    return news;
}

void wb_server_news_store(struct wb_server *server, const char *path, bool pulled,
                          const struct wb_json *items, bool has_version, int64_t version,
                          const char *result_id)
{
    struct wb_news *news = find_news(server, path);
    struct wb_publication *publication = pulled ? &news->pull : &news->push;
    bool again = publication->has_version && has_version && publication->version == version;
    unsigned n_before = again ? publication->n_in_a_row : 0;
    clear_publication(publication);
    wb_arena_init(&publication->arena);
    publication->there = true;
    publication->has_version = has_version;
    publication->version = version;
    publication->at_ms = wb_clock_now_ms();
    publication->n_in_a_row = n_before + 1;
    publication->serial = ++server->serial;
    publication->result_id = result_id != NULL ? wb_strdup(result_id) : NULL;
    publication->items = wb_json_write(&publication->arena, items);
    wb_diagnostics_parse(&publication->arena, items, path, server->row->id, &publication->list);
}

static void put_line_items(struct wb_json_writer *w, struct wb_arena *arena,
                           const struct wb_publication *publication, int64_t line)
{
    const struct wb_json *items = wb_json_parse(arena, publication->items, NULL);
    for (struct wb_json_iter it = wb_json_iter(items); wb_json_next(&it);) {
        int64_t first = wb_json_int_or(wb_json_path(it.value, "range.start.line"), -1);
        int64_t last = wb_json_int_or(wb_json_path(it.value, "range.end.line"), first);
        if (first <= line && line <= last) {
            wb_json_put_value(w, it.value);
        }
    }
}

void wb_server_put_diagnostics(struct wb_server *server, struct wb_json_writer *w,
                               struct wb_arena *arena, const char *path, int64_t line)
{
    wb_json_begin_array(w);
    pthread_mutex_lock(&server->lock);
    const struct wb_news *news = wb_map_get(&server->news, path);
    if (news != NULL) {
        put_line_items(w, arena, &news->push, line);
        put_line_items(w, arena, &news->pull, line);
    }
    pthread_mutex_unlock(&server->lock);
    wb_json_end_array(w);
}

static void free_news(struct wb_news *news)
{
    if (news != NULL) {
        clear_publication(&news->push);
        clear_publication(&news->pull);
        free(news);
    }
}

void wb_server_news_forget(struct wb_server *server, const char *path)
{
    free_news(wb_map_remove(&server->news, path));
}

void wb_server_news_done(struct wb_server *server)
{
    void *news;
    for (size_t cursor = 0; wb_map_next(&server->news, &cursor, NULL, &news);) {
        free_news(news);
    }
    wb_map_done(&server->news);
}

static bool copy_news(struct wb_server *server, struct wb_arena *arena, const char *path,
                      struct wb_diagnostic_list *list)
{
    const struct wb_news *news = wb_map_get(&server->news, path);
    if (news == NULL) {
        return false;
    }
    /* Of a server that is asked, an older push must not stand beside a fresh answer. */
    bool answered = news->pull.there && server->row->diagnostics != WB_DIAGNOSTICS_BOTH;
    if (!answered) {
        wb_diagnostics_copy(arena, list, &news->push.list);
    }
    wb_diagnostics_copy(arena, list, &news->pull.list);
    return news->push.there || news->pull.there;
}

bool wb_server_diagnostics_now(struct wb_server *server, struct wb_arena *arena, const char *path,
                               struct wb_diagnostic_list *list)
{
    pthread_mutex_lock(&server->lock);
    bool there = copy_news(server, arena, path, list);
    pthread_mutex_unlock(&server->lock);
    return there;
}

uint64_t wb_server_mark(struct wb_server *server)
{
    pthread_mutex_lock(&server->lock);
    uint64_t mark = server->serial;
    pthread_mutex_unlock(&server->lock);
    return mark;
}

/* Is there a push that speaks of this text? Servers without versions are believed for any push after
 * it was sent, those with one for the version that matches (or a later one). */
static bool has_push(struct wb_server *server, const char *path, const struct wb_sync *sync)
{
    const struct wb_news *news = wb_map_get(&server->news, path);
    if (news == NULL || !news->push.there) {
        return false;
    }
    return news->push.has_version ? news->push.version >= sync->version
                                  : !server->row->versions && news->push.serial > sync->mark;
}

static uint64_t push_serial(struct wb_server *server, const char *path)
{
    const struct wb_news *news = wb_map_get(&server->news, path);
    return news != NULL ? news->push.serial : 0;
}

/* Until when a better push may follow the one that is there: some rows publish a first, poorer result
 * for the same version, and servers that have just begun an empty one before they have read their
 * configuration. */
static int64_t settled_at(const struct wb_server *server, const char *path)
{
    const struct wb_news *news = wb_map_get(&server->news, path);
    const struct wb_publication *push = &news->push;
    bool may_be_early = push->list.count == 0 && push->at_ms < server->running_since_ms + YOUNG_MS;
    if (push->has_version && push->n_in_a_row > 1) {
        return push->at_ms;
    }
    return push->at_ms + WB_MAX(server->row->settle_ms, may_be_early ? YOUNG_SETTLE_MS : 0);
}

static bool is_over(const struct wb_server *server, struct wb_cancel *cancel)
{
    return server->state > WB_SERVER_RUNNING || wb_cancel_is_fired(cancel);
}

static void wake(void *ctx)
{
    struct wb_server *server = ctx;
    pthread_mutex_lock(&server->lock);
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

/* One more push ends the wait at once. `lock` is held. */
static void settle(struct wb_server *server, const char *path, int64_t until_ms,
                   struct wb_cancel *cancel)
{
    uint64_t first = push_serial(server, path);
    while (push_serial(server, path) == first && !is_over(server, cancel) &&
           wb_cond_wait(&server->changed, &server->lock, until_ms)) {
    }
}

static bool wait_for_push(struct wb_server *server, const char *path, const struct wb_sync *sync,
                          int64_t deadline_ms, struct wb_cancel *cancel)
{
    struct wb_cancel_hook hook = {.fire = wake, .ctx = server};
    wb_cancel_hook_add(cancel, &hook);
    pthread_mutex_lock(&server->lock);
    bool in_time = true;
    while (in_time && !has_push(server, path, sync) && !is_over(server, cancel)) {
        in_time = wb_cond_wait(&server->changed, &server->lock, deadline_ms);
    }
    bool there = has_push(server, path, sync);
    if (there) {
        settle(server, path, WB_MIN(deadline_ms, settled_at(server, path)), cancel);
    }
    pthread_mutex_unlock(&server->lock);
    wb_cancel_hook_remove(cancel, &hook);
    return there;
}

static bool offers_pull(struct wb_server *server)
{
    return wb_server_offers_locked(server, "diagnosticProvider", "textDocument/diagnostic");
}

static bool is_open_for_pull(struct wb_server *server)
{
    return offers_pull(server) && (server->refreshes > 0 || !server->row->first_refresh);
}

/* Servers that register the offer do so some time after the handshake, and some that offer at once
 * have not read their configuration yet. */
static void wait_for_offer(struct wb_server *server, int64_t deadline_ms, struct wb_cancel *cancel)
{
    struct wb_cancel_hook hook = {.fire = wake, .ctx = server};
    wb_cancel_hook_add(cancel, &hook);
    pthread_mutex_lock(&server->lock);
    int64_t until = WB_MIN(deadline_ms, server->running_since_ms + OFFER_MS);
    while (!is_open_for_pull(server) && !is_over(server, cancel) &&
           wb_cond_wait(&server->changed, &server->lock, until)) {
    }
    pthread_mutex_unlock(&server->lock);
    wb_cancel_hook_remove(cancel, &hook);
}

bool wb_server_is_asked(struct wb_server *server)
{
    switch (server->row->diagnostics) {
    case WB_DIAGNOSTICS_PUSH:
    case WB_DIAGNOSTICS_NONE:
        return false;
    case WB_DIAGNOSTICS_TSSERVER:
        return true;
    case WB_DIAGNOSTICS_PULL:
    case WB_DIAGNOSTICS_BOTH:
        return !server->pull_refused &&
               wb_server_offers(server, "diagnosticProvider", "textDocument/diagnostic");
    }
    return false;
}

/* The identifier of the registration, where the server has several or insists on it. */
static const char *pull_identifier(struct wb_server *server)
{
    const char *identifier =
        wb_json_str(wb_server_capability(server, "diagnosticProvider.identifier"));
    if (identifier != NULL) {
        return identifier;
    }
    const struct wb_registration *it = server->registrations;
    while (it != NULL && !wb_str_equal(it->method, "textDocument/diagnostic")) {
        it = it->next;
    }
    return it != NULL ? wb_json_str(wb_json_get(it->options, "identifier")) : NULL;
}

static void write_pull(struct wb_server *server, struct wb_arena *arena, const char *path,
                       struct wb_text *out)
{
    struct wb_json_writer w;
    wb_json_writer_init(&w, out);
    wb_json_begin_object(&w);
    wb_json_key(&w, "textDocument");
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "uri", wb_path_to_uri(arena, path));
    wb_json_end_object(&w);
    pthread_mutex_lock(&server->lock);
    const char *identifier = pull_identifier(server);
    if (identifier != NULL) {
        wb_json_member_str(&w, "identifier", identifier);
    }
    const struct wb_news *news = wb_map_get(&server->news, path);
    if (news != NULL && news->pull.result_id != NULL) {
        wb_json_member_str(&w, "previousResultId", news->pull.result_id);
    }
    pthread_mutex_unlock(&server->lock);
    wb_json_end_object(&w);
}

static void store_report(struct wb_server *server, const char *path, const struct wb_json *report,
                         int64_t version)
{
    const char *kind = wb_json_str_or(wb_json_get(report, "kind"), "full");
    const char *id = wb_json_str(wb_json_get(report, "resultId"));
    if (wb_str_equal(kind, "unchanged")) { /* what we have is still right, for this version too */
        struct wb_news *news = find_news(server, path);
        news->pull.version = version;
        news->pull.serial = ++server->serial;
        return;
    }
    wb_server_news_store(server, path, true, wb_json_get(report, "items"), true, version, id);
}

static void take_report(struct wb_server *server, struct wb_arena *arena, const char *path,
                        const struct wb_json *report, int64_t version)
{
    pthread_mutex_lock(&server->lock);
    store_report(server, path, report, version);
    const struct wb_json *related = wb_json_get(report, "relatedDocuments");
    for (struct wb_json_iter it = wb_json_iter(related); wb_json_next(&it);) {
        const char *other = wb_path_from_uri(arena, wb_span(it.key));
        if (other != NULL) {
            store_report(server, other, it.value, 0);
        }
    }
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

static uint64_t refreshes_of(struct wb_server *server)
{
    pthread_mutex_lock(&server->lock);
    uint64_t refreshes = server->refreshes;
    pthread_mutex_unlock(&server->lock);
    return refreshes;
}

static int pull_once(struct wb_server *server, const char *path, int64_t version,
                     int64_t deadline_ms, struct wb_cancel *cancel, struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    WB_AUTO(wb_text_done) struct wb_text params;
    wb_text_init(&params);
    write_pull(server, &arena, path, &params);
    const struct wb_json *report;
    if (wb_server_request(server, "textDocument/diagnostic", wb_text_span(&params), deadline_ms,
                          cancel, &arena, &report, err) < 0) {
        return -1;
    }
    take_report(server, &arena, path, report, version);
    return 0;
}

/* A workspace/diagnostic/refresh says that answers until then do not hold. */
static int pull(struct wb_server *server, const char *path, int64_t version, int64_t deadline_ms,
                struct wb_cancel *cancel, struct wb_error *err)
{
    for (int again = 0;; again++) {
        uint64_t refreshes = refreshes_of(server);
        if (pull_once(server, path, version, deadline_ms, cancel, err) < 0) {
            return -1;
        }
        if (refreshes_of(server) == refreshes || again == PULLS_AGAIN_MAX) {
            return 0;
        }
    }
}

static int ask_tsserver(struct wb_server *server, const char *path, int64_t version,
                        int64_t deadline_ms, struct wb_cancel *cancel, struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    WB_AUTO(wb_text_done) struct wb_text text;
    wb_text_init(&text);
    if (wb_server_ask_tsserver(server, path, deadline_ms, cancel, &text, err) < 0) {
        return -1;
    }
    const struct wb_json *items = wb_json_parse(&arena, wb_text_span(&text), err);
    pthread_mutex_lock(&server->lock);
    wb_server_news_store(server, path, true, items, true, version, NULL);
    pthread_mutex_unlock(&server->lock);
    return 0;
}

/* Waits for the check behind a save, and for a load that is under way, whose end causes one too. The
 * check's last push comes just behind its end. False: the deadline. */
static bool wait_for_check(struct wb_server *server, const char *path, int64_t deadline_ms,
                           struct wb_cancel *cancel)
{
    bool done;
    struct wb_cancel_hook hook = {.fire = wake, .ctx = server};
    wb_cancel_hook_add(cancel, &hook);
    do {
        (void)wb_server_wait_ready(server, deadline_ms, cancel);
        pthread_mutex_lock(&server->lock);
        done = wb_server_wait_check(server, deadline_ms, cancel);
        settle(server, path, WB_MIN(deadline_ms, server->check.ended_ms + server->row->settle_ms),
               cancel);
        pthread_mutex_unlock(&server->lock);
    } while (done && wb_server_loading(server, NULL) && wb_clock_left_ms(deadline_ms) > 0);
    wb_cancel_hook_remove(cancel, &hook);
    return done;
}

/* 1: answered. 0: the server does not offer it after all. -1: no answer. */
static int ask(struct wb_server *server, const char *path, const struct wb_sync *sync,
               int64_t deadline_ms, struct wb_cancel *cancel, struct wb_error *err)
{
    if (server->row->diagnostics == WB_DIAGNOSTICS_PULL && !server->pull_refused) {
        wait_for_offer(server, deadline_ms, cancel);
    }
    if (!wb_server_is_asked(server)) {
        return 0;
    }
    (void)wb_server_wait_ready(server, deadline_ms, cancel);
    /* The check's findings are pushed; the question after it is their fence too. */
    if (server->row->check_progress != NULL && !wait_for_check(server, path, deadline_ms, cancel)) {
        return wb_error_set(err, WB_ERROR_TIMEOUT, "the check on save is still running");
    }
    int status = server->row->diagnostics == WB_DIAGNOSTICS_TSSERVER
                     ? ask_tsserver(server, path, sync->version, deadline_ms, cancel, err)
                     : pull(server, path, sync->version, deadline_ms, cancel, err);
    if (status < 0 && err->code == WB_ERROR_UNAVAILABLE) {
        server->pull_refused = true; /* announced, and not there */
        return 0;
    }
    return status < 0 ? -1 : 1;
}

static void say_unknown(struct wb_server *server, struct wb_arena *arena,
                        const struct wb_error *err, struct wb_server_answer *ret)
{
    struct wb_text reason;
    wb_text_init(&reason);
    ret->state = WB_ANSWER_UNKNOWN;
    if (!wb_server_alive(server)) {
        wb_server_obituary(server, &reason);
    } else if (err != NULL && err->code != WB_ERROR_TIMEOUT && err->code != WB_ERROR_NONE) {
        wb_text_add_str(&reason, err->message);
    } else {
        wb_text_printf(&reason, "still checking (%s", server->row->id);
        struct wb_text loading;
        wb_text_init(&loading);
        if (wb_server_loading(server, &loading)) {
            wb_text_printf(&reason, ": %s", wb_text_cstr(&loading));
        }
        wb_text_done(&loading);
        wb_text_add_char(&reason, ')');
    }
    ret->reason = wb_arena_strdup(arena, wb_text_cstr(&reason));
    wb_text_done(&reason);
}

/* A server that is not asked any more (it took its registration back) is heard alone. */
static void forget_pull(struct wb_server *server, const char *path)
{
    pthread_mutex_lock(&server->lock);
    struct wb_news *news = wb_map_get(&server->news, path);
    if (news != NULL) {
        clear_publication(&news->pull);
    }
    pthread_mutex_unlock(&server->lock);
}

/* Errors and warnings make findings; what is only information or a hint leaves a file clean. */
static bool has_findings(const struct wb_diagnostic_list *list, size_t from)
{
    for (size_t i = from; i < list->count; i++) {
        if (list->items[i].severity <= WB_SEVERITY_WARNING) {
            return true;
        }
    }
    return false;
}

bool wb_server_diagnosed(struct wb_server *server, const char *path, const struct wb_sync *sync,
                         struct wb_arena *arena, struct wb_diagnostic_list *list)
{
    pthread_mutex_lock(&server->lock);
    const struct wb_news *news = wb_map_get(&server->news, path);
    bool known = has_push(server, path, sync) ||
                 (news != NULL && news->pull.there && news->pull.version >= sync->version);
    if (known) {
        copy_news(server, arena, path, list);
    }
    pthread_mutex_unlock(&server->lock);
    return known;
}

void wb_server_diagnose(struct wb_server *server, const char *path, const struct wb_sync *sync,
                        int64_t deadline_ms, struct wb_cancel *cancel, struct wb_arena *arena,
                        struct wb_diagnostic_list *list, struct wb_server_answer *ret)
{
    struct wb_error err = {.code = WB_ERROR_NONE};
    *ret = (struct wb_server_answer){.server = server->row->id};
    int asked = ask(server, path, sync, deadline_ms, cancel, &err);
    bool known = asked == 1;
    if (asked == 0) {
        forget_pull(server, path);
        known = wait_for_push(server, path, sync, deadline_ms, cancel);
    }
    size_t from = list->count;
    (void)wb_server_diagnostics_now(server, arena, path, list);
    if (!known) {
        list->count = from; /* of an older text: not an answer */
        say_unknown(server, arena, &err, ret);
        return;
    }
    ret->state = has_findings(list, from) ? WB_ANSWER_FINDINGS : WB_ANSWER_CLEAN;
}

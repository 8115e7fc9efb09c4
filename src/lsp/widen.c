/* widen: see widen.h. */
#include "lsp/widen.h"

#include "base/clock.h"
#include "lsp/leftovers.h"
#include "run/usable.h"
#include "sys/path.h"

#define READ_MS 15000 /* for all files together */
#define ROOM_MS 2000  /* of the question's time, kept for the question itself */

struct mention {
    const char *path, *language_id;
    bool is_header;
};

struct widen {
    struct wb_query *query;
    struct wb_server *server;
    const struct wb_catalogue *catalogue;
    struct mention *mentions;
    size_t n_mentions, mentions_capacity;
    bool all_c;              /* the files that have the name are C's, headers apart */
    size_t n_opened, n_left; /* left: beyond the bound */
    const char *paths[WB_WIDEN_FILES_MAX];
    struct wb_sync syncs[WB_WIDEN_FILES_MAX];
};

/* Servers look for these files as a compiler's driver does: from the file that is asked about upwards,
 * beyond the workspace too. */
static bool has_index(const struct wb_query *query, const struct wb_server *server)
{
    const char *none = NULL;
    const char **files = wb_server_row(server)->index_files;
    return *files == NULL || /* none is named: it has one always */
           wb_usable_root(query->call->arena, "/", query->path, files, &none, NULL) != NULL;
}

/* A file that has the name: is it one of this server's? */
static void visit(void *ctx, const char *path)
{
    struct widen *widen = ctx;
    struct wb_arena *arena = widen->query->call->arena;
    const struct wb_language *language =
        wb_languages_of_file(wb_catalogue_languages(widen->catalogue), path,
                             (struct wb_span){NULL, 0});
    if (language == NULL || !wb_server_row_serves(wb_server_row(widen->server), language) ||
        !wb_path_is_inside(path, wb_server_root(widen->server))) {
        return;
    }
    struct mention mention = {
        .path = wb_arena_strdup(arena, path),
        .language_id = language->lsp_id,
        .is_header = wb_str_ends(path, ".h"),
    };
    widen->all_c = widen->all_c && (mention.is_header || wb_str_equal(language->id, "c"));
    *WB_ARENA_PUSH(arena, widen->mentions, widen->n_mentions, widen->mentions_capacity) = mention;
}

/* Without a compile command clangd takes a header for Objective-C++, where a function of the same
 * name is another one. Among C files it is told (its own compilationDatabaseChanges) that headers
 * are C's. */
static void tell_c_headers(struct widen *widen)
{
    WB_AUTO(wb_text_done) struct wb_text params = {0};
    struct wb_json_writer w;
    wb_json_writer_init(&w, &params);
    wb_json_begin_object(&w);
    wb_json_key(&w, "settings");
    wb_json_begin_object(&w);
    wb_json_key(&w, "compilationDatabaseChanges");
    wb_json_begin_object(&w);
    for (size_t i = 0; i < widen->n_mentions; i++) {
        if (widen->mentions[i].is_header) {
            wb_json_key(&w, widen->mentions[i].path);
            wb_json_begin_object(&w);
            wb_json_member_str(&w, "workingDirectory", wb_server_root(widen->server));
            wb_json_key(&w, "compilationCommand");
            wb_json_begin_array(&w);
            wb_json_put_str(&w, "clang");
            wb_json_put_str(&w, "-xc-header");
            wb_json_put_str(&w, widen->mentions[i].path);
            wb_json_end_array(&w);
            wb_json_end_object(&w);
        }
    }
    wb_json_end_object(&w);
    wb_json_end_object(&w);
    wb_json_end_object(&w);
    wb_server_notify(widen->server, "workspace/didChangeConfiguration", wb_text_span(&params));
}

static void open_file(struct widen *widen, const struct mention *mention)
{
    struct wb_error ignored;
    struct wb_span text;
    int64_t version;
    if (wb_server_document(widen->server, widen->query->call->arena, mention->path, &text,
                           &version)) {
        return;
    }
    if (widen->n_opened == WB_WIDEN_FILES_MAX) {
        widen->n_left++;
        return;
    }
    widen->paths[widen->n_opened] = mention->path;
    if (wb_server_sync(widen->server, mention->path, mention->language_id, false,
                       &widen->syncs[widen->n_opened], &ignored) == 0) {
        widen->n_opened++;
    }
}

/* What the server says of a file shows that it has read it. */
static size_t wait_until_read(struct widen *widen)
{
    struct wb_query *query = widen->query;
    int64_t left_ms = wb_clock_left_ms(query->deadline_ms);
    int64_t deadline_ms =
        wb_clock_deadline(WB_MIN(left_ms > ROOM_MS ? left_ms - ROOM_MS : 0, (int64_t)READ_MS));
    size_t n_unread = 0;
    for (size_t i = 0; i < widen->n_opened; i++) {
        struct wb_diagnostic_list list = {0};
        struct wb_server_answer answer = {0};
        wb_call_progress(query->call, (int64_t)i, (int64_t)widen->n_opened, "reading %s",
                         wb_call_relative(query->call, widen->paths[i]));
        wb_server_diagnose(widen->server, widen->paths[i], &widen->syncs[i], deadline_ms,
                           query->call->cancel, query->call->arena, &list, &answer);
        n_unread += answer.state == WB_ANSWER_UNKNOWN;
    }
    return n_unread;
}

void wb_query_widen(struct wb_query *query, struct wb_server *server, struct wb_span name,
                    struct wb_text *note)
{
    struct wb_error ignored;
    struct widen widen = {.query = query, .server = server, .all_c = true};
    widen.catalogue = wb_lsp_catalogue(query->lsp, &ignored);
    if (widen.catalogue == NULL || has_index(query, server)) {
        return;
    }
    wb_leftovers_visit(query->call, name, visit, &widen);
    if (widen.all_c && wb_server_row(server)->compilation_changes) {
        tell_c_headers(&widen);
    }
    for (size_t i = 0; i < widen.n_mentions; i++) {
        open_file(&widen, &widen.mentions[i]);
    }
    size_t n_unread = wait_until_read(&widen);
    const char *id = wb_server_row(server)->id;
    if (widen.n_left > 0) {
        wb_text_printf(note,
                       "%s has no index of this project (none of its files is there: %s), and %zu "
                       "more files have the name than the %d that were opened for it\n",
                       id, wb_server_row(server)->index_files[0], widen.n_left, WB_WIDEN_FILES_MAX);
    }
    if (n_unread > 0) {
        wb_text_printf(note, "%s has not read %zu of the files that have the name in time\n", id,
                       n_unread);
    }
}

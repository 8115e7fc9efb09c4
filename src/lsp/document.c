/* document: what a server knows of files: opened, changed, saved, closed (LSP 3.17 "Text Document
 * Synchronization"), in one order under the server's `sync` lock.
 *
 * The text is always sent whole. Equal content is never sent: servers answer it differently, some
 * not at all. The file is on disk before the server hears of it. */
#include "lsp/server_internal.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "sys/ignore.h"
#include "sys/path.h"

#define OPEN_MAX 100                     /* documents open in one server; the oldest is closed */
#define DOCUMENT_BYTES_MAX (16 * WB_MIB) /* larger files are not sent */
#define RACY_NS 50000000                 /* a stamp younger than this proves nothing */

static void free_document(struct wb_document *document)
{
    wb_text_done(&document->text);
    free(document->path);
    free(document->uri);
    free(document->language_id);
    free(document);
}

void wb_server_documents_done(struct wb_server *server)
{
    void *document;
    for (size_t cursor = 0; wb_map_next(&server->documents, &cursor, NULL, &document);) {
        free_document(document);
    }
    wb_map_done(&server->documents);
}

static void begin_params(struct wb_json_writer *w, struct wb_text *text, const char *uri)
{
    wb_text_init(text);
    wb_json_writer_init(w, text);
    wb_json_begin_object(w);
    wb_json_key(w, "textDocument");
    wb_json_begin_object(w);
    wb_json_member_str(w, "uri", uri);
}

static void send_params(struct wb_server *server, const char *method, struct wb_json_writer *w,
                        struct wb_text *text)
{
    wb_json_end_object(w);
    wb_server_notify(server, method, wb_text_span(text));
    wb_text_done(text);
}

static void send_open(struct wb_server *server, const struct wb_document *document)
{
    struct wb_text text;
    struct wb_json_writer w;
    begin_params(&w, &text, document->uri);
    wb_json_member_str(&w, "languageId", document->language_id);
    wb_json_member_int(&w, "version", document->version);
    wb_json_member_span(&w, "text", wb_text_span(&document->text));
    wb_json_end_object(&w);
    send_params(server, "textDocument/didOpen", &w, &text);
}

static void send_change(struct wb_server *server, const struct wb_document *document, bool force)
{
    struct wb_text text;
    struct wb_json_writer w;
    begin_params(&w, &text, document->uri);
    wb_json_member_int(&w, "version", document->version);
    wb_json_end_object(&w);
    wb_json_key(&w, "contentChanges");
    wb_json_begin_array(&w);
    wb_json_begin_object(&w);
    wb_json_member_span(&w, "text", wb_text_span(&document->text));
    wb_json_end_object(&w);
    wb_json_end_array(&w);
    if (server->row->want_diagnostics) { /* clangd: now, not after its debounce */
        wb_json_member_bool(&w, "wantDiagnostics", true);
        wb_json_member_bool(&w, "forceRebuild", force);
    }
    send_params(server, "textDocument/didChange", &w, &text);
}

static void send_save(struct wb_server *server, const struct wb_document *document)
{
    struct wb_text text;
    struct wb_json_writer w;
    begin_params(&w, &text, document->uri);
    wb_json_end_object(&w);
    if (server->wants_save_text) {
        wb_json_member_span(&w, "text", wb_text_span(&document->text));
    }
    send_params(server, "textDocument/didSave", &w, &text);
}

static void send_close(struct wb_server *server, const struct wb_document *document)
{
    struct wb_text text;
    struct wb_json_writer w;
    begin_params(&w, &text, document->uri);
    wb_json_end_object(&w);
    send_params(server, "textDocument/didClose", &w, &text);
}

static void close_document(struct wb_server *server, struct wb_document *document)
{
    send_close(server, document);
    wb_map_remove(&server->documents, document->path);
    pthread_mutex_lock(&server->lock);
    wb_server_news_forget(server, document->path);
    pthread_mutex_unlock(&server->lock);
    free_document(document);
}

static void close_oldest(struct wb_server *server)
{
    struct wb_document *oldest = NULL;
    void *value;
    for (size_t cursor = 0; wb_map_next(&server->documents, &cursor, NULL, &value);) {
        struct wb_document *document = value;
        if (oldest == NULL || document->used < oldest->used) {
            oldest = document;
        }
    }
    if (oldest != NULL) {
        close_document(server, oldest);
    }
}

static bool is_racy(const struct wb_file_stamp *stamp)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    return now_ns - WB_MAX(stamp->mtime_ns, stamp->ctime_ns) < RACY_NS;
}

/* The file's text without its BOM, in the arena. JSON carries only valid UTF-8, so a file that is
 * not is not sent: what the server saw would not be the file. */
static int read_document(struct wb_server *server, struct wb_arena *arena, const char *path,
                         struct wb_span *ret, struct wb_file_stamp *ret_stamp, struct wb_error *err)
{
    if (wb_file_read(arena, path, DOCUMENT_BYTES_MAX, ret, ret_stamp, err) < 0) {
        return -1;
    }
    size_t bom = wb_file_bom(*ret);
    ret->ptr += bom;
    ret->len -= bom;
    if (!wb_utf8_valid(*ret)) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "%s is not valid UTF-8, so it cannot be sent to %s; convert it first "
                            "(iconv -f latin1 -t utf-8)",
                            path, server->row->id);
    }
    return 0;
}

static struct wb_document *open_document(struct wb_server *server, const char *path,
                                         struct wb_span text, const struct wb_file_stamp *stamp,
                                         const char *language_id)
{
    if (server->documents.count >= OPEN_MAX) {
        close_oldest(server);
    }
    struct wb_arena arena;
    wb_arena_init(&arena);
    struct wb_document *document = wb_alloc(sizeof(*document));
    document->path = wb_strdup(path);
    document->uri = wb_strdup(wb_path_to_uri(&arena, path));
    document->language_id = wb_strdup(language_id);
    document->version = 1;
    document->stamp = *stamp;
    document->racy = is_racy(stamp);
    wb_text_init(&document->text);
    wb_text_add_span(&document->text, text);
    wb_map_set(&server->documents, path, document);
    document->mark = wb_server_mark(server);
    document->tree_seen = server->tree_changes;
    if (server->wants_open) {
        send_open(server, document);
    }
    wb_arena_done(&arena);
    return document;
}

/* What is on disk is saved: servers whose checkers run on save hear of it once a version. */
static void save(struct wb_server *server, struct wb_document *document)
{
    if (server->wants_save && document->saved_version != document->version) {
        document->saved_version = document->version;
        pthread_mutex_lock(&server->lock);
        wb_server_check_caused(server);
        pthread_mutex_unlock(&server->lock);
        send_save(server, document);
    }
}

/* A file that others include changed. The server is made to look at the document anew: clangd reads
 * headers again only then. */
static bool is_outdated(const struct wb_server *server, const struct wb_document *document)
{
    return document->tree_seen != server->tree_changes;
}

static void rebuild(struct wb_server *server, struct wb_document *document)
{
    document->version++;
    document->mark = wb_server_mark(server);
    document->tree_seen = server->tree_changes;
    send_change(server, document, true);
}

static void change_text(struct wb_server *server, struct wb_document *document, struct wb_span text)
{
    wb_text_clear(&document->text);
    wb_text_add_span(&document->text, text);
    document->version++; /* before it is sent: servers echo it */
    document->mark = wb_server_mark(server);
    if (server->sync_kind != 0) {
        send_change(server, document, false);
    }
}

/* Takes what is on disk over into the document; sends it if it differs. */
static void take_text(struct wb_server *server, struct wb_document *document, struct wb_span text,
                      const struct wb_file_stamp *stamp)
{
    document->stamp = *stamp;
    document->racy = is_racy(stamp);
    if (!wb_span_equal(text, wb_text_span(&document->text))) {
        change_text(server, document, text);
        save(server, document);
    }
}

static bool is_as_sent(const struct wb_document *document, const struct wb_file_stamp *stamp)
{
    return !document->racy && wb_file_stamp_equal(&document->stamp, stamp);
}

/* Brings one open document up to date. asked: it is asked about now, so that what it includes counts
 * too. False: the file is gone or unreadable, and was closed. */
static bool refresh_document(struct wb_server *server, struct wb_document *document, bool asked)
{
    struct wb_file_stamp stamp;
    enum wb_file_kind kind = wb_file_kind(document->path, &stamp);
    if (kind == WB_FILE_REGULAR && is_as_sent(document, &stamp)) {
        if (asked && is_outdated(server, document)) {
            rebuild(server, document);
        }
        return true;
    }
    struct wb_arena arena;
    wb_arena_init(&arena);
    struct wb_span text;
    struct wb_error err;
    bool readable = kind == WB_FILE_REGULAR &&
                    read_document(server, &arena, document->path, &text, &stamp, &err) == 0;
    if (readable) {
        take_text(server, document, text, &stamp);
        if (asked && is_outdated(server, document)) {
            rebuild(server, document);
        }
    } else {
        close_document(server, document);
    }
    wb_arena_done(&arena);
    return readable;
}

void wb_server_anticipate(struct wb_server *server, const char *path, struct wb_span content)
{
    size_t bom = wb_file_bom(content);
    content.ptr += bom;
    content.len -= bom;
    pthread_mutex_lock(&server->sync);
    struct wb_document *document = wb_map_get(&server->documents, path);
    if (document != NULL && content.len <= DOCUMENT_BYTES_MAX && wb_utf8_valid(content) &&
        !wb_span_equal(content, wb_text_span(&document->text))) {
        change_text(server, document, content);
        document->racy = true; /* the disk decides, at the next look */
    }
    pthread_mutex_unlock(&server->sync);
}

void wb_server_sync_open(struct wb_server *server)
{
    pthread_mutex_lock(&server->sync);
    void *document;
    for (size_t cursor = 0; wb_map_next(&server->documents, &cursor, NULL, &document);) {
        refresh_document(server, document, false);
    }
    pthread_mutex_unlock(&server->sync);
}

static int sync_locked(struct wb_server *server, const char *path, const char *language_id,
                       struct wb_document **ret, struct wb_error *err)
{
    struct wb_document *document = wb_map_get(&server->documents, path);
    if (document != NULL && refresh_document(server, document, true)) {
        *ret = document;
        return 0;
    }
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    struct wb_span text;
    struct wb_file_stamp stamp;
    if (read_document(server, &arena, path, &text, &stamp, err) < 0) {
        return -1;
    }
    *ret = open_document(server, path, text, &stamp, language_id);
    return 0;
}

int wb_server_sync(struct wb_server *server, const char *path, const char *language_id, bool saved,
                   struct wb_sync *ret, struct wb_error *err)
{
    struct wb_document *document;
    pthread_mutex_lock(&server->sync);
    const struct wb_document *before = wb_map_get(&server->documents, path);
    int64_t version_before = before != NULL ? before->version : 0;
    int status = sync_locked(server, path, language_id, &document, err);
    if (status == 0) {
        document->used = ++server->use_counter;
        if (saved) {
            save(server, document);
        }
        *ret = (struct wb_sync){.version = document->version,
                                .mark = document->mark,
                                .sent = document->version != version_before};
    }
    pthread_mutex_unlock(&server->sync);
    return status;
}

bool wb_server_document(struct wb_server *server, struct wb_arena *arena, const char *path,
                        struct wb_span *ret_text, int64_t *ret_version)
{
    pthread_mutex_lock(&server->sync);
    const struct wb_document *document = wb_map_get(&server->documents, path);
    if (document != NULL) {
        *ret_text = wb_arena_span(arena, wb_text_span(&document->text));
        *ret_version = document->version;
    }
    pthread_mutex_unlock(&server->sync);
    return document != NULL;
}

void wb_server_close(struct wb_server *server, const char *path)
{
    pthread_mutex_lock(&server->sync);
    struct wb_document *document = wb_map_get(&server->documents, path);
    if (document != NULL) {
        close_document(server, document);
    }
    pthread_mutex_unlock(&server->sync);
}

void wb_server_open_paths(struct wb_server *server, struct wb_arena *arena, const char ***ret,
                          size_t *ret_n)
{
    pthread_mutex_lock(&server->sync);
    const char **paths = wb_arena_alloc_array(arena, server->documents.count + 1, sizeof(*paths));
    const char *path;
    void *document;
    size_t n = 0;
    for (size_t cursor = 0; wb_map_next(&server->documents, &cursor, &path, &document);) {
        paths[n++] = wb_arena_strdup(arena, path);
    }
    pthread_mutex_unlock(&server->sync);
    *ret = paths;
    *ret_n = n;
}

/* Watched files: the server says by registration which it wants to hear of. */

/* LSP's glob against a path below the watcher's base (an absolute folder). */
static bool watcher_matches(const struct wb_server *server, struct wb_arena *arena,
                            const struct wb_json *watcher, const char *path)
{
    const struct wb_json *glob = wb_json_get(watcher, "globPattern");
    const char *pattern = wb_json_str(glob);
    const char *base = server->root;
    if (pattern == NULL) { /* RelativePattern: its base is a URI or a folder */
        pattern = wb_json_str(wb_json_get(glob, "pattern"));
        const struct wb_json *uri = wb_json_get(glob, "baseUri");
        uri = wb_json_type(uri) == WB_JSON_OBJECT ? wb_json_get(uri, "uri") : uri;
        const char *folder = wb_path_from_uri(arena, wb_json_span(uri));
        base = folder != NULL ? folder : base;
    }
    if (pattern == NULL) {
        return false;
    }
    if (*pattern == '/') { /* absolute, as pyright and gopls send them */
        return wb_ignore_glob(pattern + 1, path + 1);
    }
    return wb_path_is_inside(path, base) && wb_ignore_glob(pattern, wb_path_relative(path, base));
}

static bool is_watched(struct wb_server *server, struct wb_arena *arena,
                       const struct wb_file_event_item *item)
{
    for (const struct wb_registration *it = server->registrations; it != NULL; it = it->next) {
        if (!wb_str_equal(it->method, "workspace/didChangeWatchedFiles")) {
            continue;
        }
        const struct wb_json *watchers = wb_json_get(it->options, "watchers");
        for (struct wb_json_iter w = wb_json_iter(watchers); wb_json_next(&w);) {
            int64_t kinds = wb_json_int_or(wb_json_get(w.value, "kind"), 7);
            if ((kinds & (INT64_C(1) << (item->event - 1))) != 0 &&
                watcher_matches(server, arena, w.value, item->path)) {
                return true;
            }
        }
    }
    return false;
}

/* Whoever has the document open hears of it by didChange and didSave. Told of its file too, some
 * servers look at everything twice (gopls 0.24: 1.7 ms more until its diagnostics). */
static bool is_open(struct wb_server *server, const struct wb_file_event_item *item)
{
    return server->sync_kind != 0 && item->event != WB_FILE_DELETED &&
           wb_map_get(&server->documents, item->path) != NULL;
}

/* Under the `sync` lock. */
static size_t put_watched(struct wb_server *server, struct wb_arena *arena,
                          struct wb_json_writer *w, const struct wb_file_event_item *items,
                          size_t n)
{
    size_t put = 0;
    pthread_mutex_lock(&server->lock);
    for (size_t i = 0; i < n; i++) {
        if (!is_open(server, &items[i]) && is_watched(server, arena, &items[i])) {
            wb_json_begin_object(w);
            wb_json_member_str(w, "uri", wb_path_to_uri(arena, items[i].path));
            wb_json_member_int(w, "type", items[i].event);
            wb_json_end_object(w);
            put++;
        }
    }
    pthread_mutex_unlock(&server->lock);
    return put;
}

/* Under the `sync` lock. */
static void note_tree_changes(struct wb_server *server, const struct wb_file_event_item *items,
                              size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (const char **glob = server->row->rebuild_on; *glob != NULL; glob++) {
            if (wb_ignore_glob(*glob, items[i].path)) {
                server->tree_changes++;
                return;
            }
        }
    }
}

void wb_server_files_changed(struct wb_server *server, const struct wb_file_event_item *items,
                             size_t n)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    WB_AUTO(wb_text_done) struct wb_text text;
    wb_text_init(&text);
    struct wb_json_writer w;
    wb_json_writer_init(&w, &text);
    wb_json_begin_object(&w);
    wb_json_key(&w, "changes");
    wb_json_begin_array(&w);
    pthread_mutex_lock(&server->sync);
    note_tree_changes(server, items, n);
    size_t put = put_watched(server, &arena, &w, items, n);
    pthread_mutex_unlock(&server->sync);
    wb_json_end_array(&w);
    wb_json_end_object(&w);
    if (put > 0) {
        wb_server_notify(server, "workspace/didChangeWatchedFiles", wb_text_span(&text));
    }
}

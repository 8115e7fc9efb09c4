/* server: one language-server process: handshake, capabilities, its open documents, the diagnostics
 * that it published, its readiness. From start to end; a restart makes a new one (supervisor).
 *
 *   starting -> running -> stopping -> ended
 *        \_________\____________________/^
 *
 * Reference-counted: whoever holds one may use it after it ended, and gets the reason as an error.
 * Any thread, unless it says otherwise. */
#ifndef WB_LSP_SERVER_H
#define WB_LSP_SERVER_H

#include "base/cancel.h"
#include "lsp/catalogue.h"
#include "lsp/diagnostics.h"
#include "lsp/position.h"
#include "run/host.h"
#include "wire/peer.h"

struct wb_server;

struct wb_server_options {
    struct wb_host *host;
    const struct wb_server_row *row; /* outlives the server */
    const char *root, *workspace;
    const char *const *command;
    const char *const *prefix; /* exec prefix, or NULL */
    struct wb_cancel *cancel;  /* gives the start up; may be NULL */
};

/* Starts the process and shakes hands (initialize, initialized, configuration). Blocks up to the
 * deadline; the error carries the last stderr lines. */
struct wb_server *wb_server_start(const struct wb_server_options *options, int64_t deadline_ms,
                                  struct wb_error *err);
struct wb_server *wb_server_ref(struct wb_server *server);
void wb_server_unref(struct wb_server *server);
/* shutdown, exit, end of stdin, SIGTERM, SIGKILL: design section 6. Blocks, bounded. */
void wb_server_stop(struct wb_server *server);

const struct wb_server_row *wb_server_row(const struct wb_server *server);
const char *wb_server_root(const struct wb_server *server);
const char *wb_server_info(const struct wb_server *server); /* "clangd 14.0.6", or its row id */
enum wb_position_encoding wb_server_encoding(const struct wb_server *server);
int wb_server_pid(const struct wb_server *server);
bool wb_server_alive(struct wb_server *server);
/* Why it ended, with the stderr tail: "exited with status 1: ...". */
void wb_server_obituary(struct wb_server *server, struct wb_text *out);
/* Monotonic time of the last request; requests outstanding. */
int64_t wb_server_last_used_ms(struct wb_server *server);
size_t wb_server_pending(struct wb_server *server);

/* A capability of the server, static ("definitionProvider") or registered dynamically
 * ("textDocument/definition"). */
bool wb_server_offers(struct wb_server *server, const char *provider, const char *method);
const struct wb_json *wb_server_capability(struct wb_server *server, const char *dotted);

/* Is it still loading the project? *out says what it told ("indexing 12/40"). */
bool wb_server_loading(struct wb_server *server, struct wb_text *out);
/* Waits while it is loading. False: deadline, cancel, or death. */
bool wb_server_wait_ready(struct wb_server *server, int64_t deadline_ms, struct wb_cancel *cancel);
/* After an empty answer: a server that began to load, or is younger than young_ms and announces its
 * loading, is waited for; a young one that announces nothing is given a moment. True: the question
 * is worth repeating. */
bool wb_server_wait_settled(struct wb_server *server, int64_t young_ms, int64_t deadline_ms,
                            struct wb_cancel *cancel);

/* Sends a request and waits. Answers that mean "ask again" (ContentModified, ServerCancelled) are
 * asked again, bounded. A server error is an error here: "clangd answered: <message>". */
WB_MUST_CHECK int wb_server_request(struct wb_server *server, const char *method,
                                    struct wb_span params, int64_t deadline_ms,
                                    struct wb_cancel *cancel, struct wb_arena *arena,
                                    const struct wb_json **ret, struct wb_error *err);
void wb_server_notify(struct wb_server *server, const char *method, struct wb_span params);

/* Documents (LSP 3.17 "Text Document Synchronization"). What the server knows of a file is what we
 * sent last. */

/* What the server has of a file after a sync. `mark` is the number of its publications before it was
 * told, so that only later ones speak of this text. */
struct wb_sync {
    int64_t version;
    uint64_t mark;
    bool sent; /* it differed from what the server had */
};

/* Opens the file, or brings the server up to what is on disk; equal content sends nothing. saved:
 * also tells that it was saved. A file that is gone is closed: NOT_FOUND. language_id is used when
 * it is opened. */
WB_MUST_CHECK int wb_server_sync(struct wb_server *server, const char *path,
                                 const char *language_id, bool saved, struct wb_sync *ret,
                                 struct wb_error *err);
/* Tells the server of an open file's new content while that is still being written, so that it thinks
 * during the fsyncs. The next sync compares with the disk: it says that the file is saved, or, if
 * nothing was written, brings the old content back. Nothing happens if the file is not open, or the
 * content is no valid UTF-8. */
void wb_server_anticipate(struct wb_server *server, const char *path, struct wb_span content);
/* Brings every open document up to what is on disk. */
void wb_server_sync_open(struct wb_server *server);
/* The text that the server has, without BOM, copied; false if the file is not open. */
bool wb_server_document(struct wb_server *server, struct wb_arena *arena, const char *path,
                        struct wb_span *ret_text, int64_t *ret_version);
void wb_server_close(struct wb_server *server, const char *path);

/* workspace/didChangeWatchedFiles for these, where the server registered for them. */
enum wb_file_event { WB_FILE_CREATED = 1, WB_FILE_CHANGED, WB_FILE_DELETED };

struct wb_file_event_item {
    const char *path;
    enum wb_file_event event;
};

void wb_server_files_changed(struct wb_server *server, const struct wb_file_event_item *items,
                             size_t n);

/* Diagnostics. */

/* What the server last said of the file, as it stands. False: it never said anything. */
bool wb_server_diagnostics_now(struct wb_server *server, struct wb_arena *arena, const char *path,
                               struct wb_diagnostic_list *list);
/* How many publications there were so far; later ones have larger serials. */
uint64_t wb_server_mark(struct wb_server *server);
/* Waits until the server has said what it thinks of this text of the file (pushed or pulled), and
 * adds it to the list. *ret says clean, findings, or unknown and why. */
void wb_server_diagnose(struct wb_server *server, const char *path, const struct wb_sync *sync,
                        int64_t deadline_ms, struct wb_cancel *cancel, struct wb_arena *arena,
                        struct wb_diagnostic_list *list, struct wb_server_answer *ret);
/* Is this server asked for diagnostics (rather than heard)? */
bool wb_server_is_asked(struct wb_server *server);
/* As diagnose, without waiting: false when there is nothing yet for this text. */
bool wb_server_diagnosed(struct wb_server *server, const char *path, const struct wb_sync *sync,
                         struct wb_arena *arena, struct wb_diagnostic_list *list);
/* Writes the diagnostics that touch the 0-based line as an array, as the server wrote them: the
 * context of a code action. */
void wb_server_put_diagnostics(struct wb_server *server, struct wb_json_writer *w,
                               struct wb_arena *arena, const char *path, int64_t line);
/* Paths of the documents that are open now. */
void wb_server_open_paths(struct wb_server *server, struct wb_arena *arena, const char ***ret,
                          size_t *ret_n);

/* While a write-tier call of ours is in flight it may take edits that the server sends by
 * workspace/applyEdit; without a taker they are answered applied: false. */
struct wb_edit_taker {
    /* Loop thread; edit is valid during the call. True: applied. */
    bool (*take)(void *ctx, const struct wb_json *edit);
    void *ctx;
};

void wb_server_set_edit_taker(struct wb_server *server, const struct wb_edit_taker *taker);

#endif

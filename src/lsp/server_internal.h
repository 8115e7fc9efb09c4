/* server_internal: the inside of a server, for the files that make one up: server.c (process and
 * requests), handshake.c, inbox.c (what the server sends), document.c, diagnose.c, save_check.c.
 * Nobody else.
 *
 * Two locks, always taken in this order: `sync` keeps what we tell the server in order (documents
 * and their versions); `lock` guards what it told us (state, news, progress, registrations), and
 * `changed` is signalled whenever that changes. The loop thread takes only `lock`. */
#ifndef WB_LSP_SERVER_INTERNAL_H
#define WB_LSP_SERVER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "lsp/server.h"
#include "sys/child.h"
#include "sys/file.h"

enum wb_server_state { WB_SERVER_STARTING, WB_SERVER_RUNNING, WB_SERVER_STOPPING, WB_SERVER_ENDED };

/* A file that is open in the server. `text` is what the server has: the file without its BOM. */
struct wb_document {
    char *path, *uri, *language_id;
    int64_t version;
    struct wb_text text;
    struct wb_file_stamp stamp; /* of the file when text was read */
    bool racy;                  /* read so soon after its change that the stamp proves nothing */
    uint64_t mark;              /* publications before the text was sent */
    uint64_t tree_seen;         /* changes of the tree (rebuild_on) when it was opened */
    int64_t saved_version;      /* that the server was told is saved; 0: none */
    uint64_t used;              /* larger is later */
};

/* What the server said of one file, in one of two ways that do not overwrite one another. */
struct wb_publication {
    struct wb_arena arena;
    struct wb_diagnostic_list list;
    struct wb_span items; /* as the server wrote them, for code actions */
    bool there, has_version;
    int64_t version;
    int64_t at_ms;       /* when it came */
    unsigned n_in_a_row; /* with that version, this one counted */
    uint64_t serial;     /* of the server's publications; 0: none yet */
    char *result_id;     /* pulls: for previousResultId */
};

struct wb_news {
    struct wb_publication push, pull;
};

/* A capability that the server registered at run time. */
struct wb_registration {
    char *id, *method;
    const struct wb_json *options; /* in the arena, may be NULL */
    struct wb_arena arena;
    struct wb_registration *next;
};

struct wb_progress {
    char *title;
    struct wb_text message;
    int64_t percentage; /* -1: none */
};

/* The check behind a save, see save_check.c. */
struct wb_save_check {
    bool running;
    bool doubtful;     /* the next end may be that of an earlier check, cancelled */
    int64_t missed_ms; /* of the first cause without a beginning since; 0: none */
    int64_t cause_ms;  /* of the last save or load; 0: none */
    int64_t begun_ms, ended_ms;
};

struct wb_server {
    atomic_int refs;
    struct wb_host *host;
    const struct wb_server_row *row;
    char *root, *workspace;
    struct wb_child *child;
    _Atomic(struct wb_child *) writable; /* child once it is set, for the loop thread */
    struct wb_peer *peer;
    struct wb_arena arena; /* the initialize result; what lives as long as the server */
    const struct wb_json *capabilities;
    char *info;
    enum wb_position_encoding encoding;
    int64_t sync_kind; /* TextDocumentSyncKind: 0 none, 1 full, 2 incremental */
    bool wants_open, wants_save, wants_save_text;
    atomic_bool pull_refused; /* announced, then answered "method not found" */

    pthread_mutex_t sync;
    struct wb_map documents; /* path -> struct wb_document */
    uint64_t use_counter;
    uint64_t tree_changes; /* files of the row's rebuild_on that changed */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum wb_server_state state;
    int64_t running_since_ms, last_used_ms;
    struct wb_child_status status; /* once ended */
    char *obituary;                /* once ended */
    struct wb_map news;            /* path -> struct wb_news */
    uint64_t serial;
    struct wb_registration *registrations;
    struct wb_map progress;  /* token as JSON -> struct wb_progress */
    unsigned progress_ended; /* how many progresses have ended */
    struct wb_save_check check;
    uint64_t refreshes;                  /* times that it asked to be asked for diagnostics anew */
    bool status_seen_busy, status_quiet; /* experimental/serverStatus */
    bool service_ready;                  /* language/status */
    bool log_ready;                      /* the row's ready_log was seen */
    char *status_text;
    const struct wb_edit_taker *edit_taker;
};

/* Puts the end of the process into an error that says only that the pipe is closed. */
void wb_server_explain_closed(struct wb_server *server, struct wb_error *err);

/* handshake.c */
int wb_server_shake_hands(struct wb_server *server, int64_t deadline_ms, struct wb_cancel *cancel,
                          struct wb_error *err);

/* inbox.c: handlers of the peer; loop thread. */
void wb_server_on_request(void *ctx, const struct wb_peer_message *message);
void wb_server_on_notification(void *ctx, const struct wb_peer_message *message);
void wb_server_inbox_done(struct wb_server *server);

/* Setting of a section ("python.analysis"); NULL: none. */
const struct wb_json *wb_server_setting(const struct wb_server *server, const char *section);

/* wb_server_offers with `lock` held. */
bool wb_server_offers_locked(const struct wb_server *server, const char *provider,
                             const char *method);

/* save_check.c; `lock` is held. */
void wb_server_check_caused(struct wb_server *server);
void wb_server_check_told(struct wb_server *server, bool ended, bool begun);
/* Waits on `changed` for the end of the check that the last cause had. False: the deadline, cancel. */
bool wb_server_wait_check(struct wb_server *server, int64_t deadline_ms, struct wb_cancel *cancel);

/* tsserver.c: asks for the syntactic and semantic diagnostics of a file, as LSP Diagnostic[] in JSON.
 */
int wb_server_ask_tsserver(struct wb_server *server, const char *path, int64_t deadline_ms,
                           struct wb_cancel *cancel, struct wb_text *ret, struct wb_error *err);

/* document.c */
void wb_server_documents_done(struct wb_server *server);

/* diagnose.c: stores a publication; `lock` is held. */
void wb_server_news_store(struct wb_server *server, const char *path, bool pulled,
                          const struct wb_json *items, bool has_version, int64_t version,
                          const char *result_id);
void wb_server_news_forget(struct wb_server *server, const char *path);
void wb_server_news_done(struct wb_server *server);

#endif

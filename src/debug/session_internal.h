/* session_internal: the inside of a session, for the files that make one up: session.c (life and
 * questions), session_move.c, session_adapter.c (process and connection), session_start.c
 * (handshakes), session_link.c (what comes in), session_judge.c (stops that are looked at first),
 * session_end.c. Nobody else.
 *
 * `lock` guards what others told us and the states; `changed` is signalled whenever that changes. The
 * loop thread takes it. Each link's own lock guards its stream, so that nobody writes to one that is
 * being closed. */
#ifndef WB_DEBUG_SESSION_INTERNAL_H
#define WB_DEBUG_SESSION_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "debug/session.h"
#include "debug/template.h"
#include "sys/child.h"

#define WB_DEBUG_LINKS_MAX 16

enum wb_session_state { WB_SESSION_STARTING, WB_SESSION_LIVE, WB_SESSION_ENDING, WB_SESSION_OVER };

/* A child session that was asked for, and not started yet. */
struct wb_child_wish {
    char *command;
    struct wb_text configuration;
};

/* One DAP connection: the adapter's own, or one of a child session. */
struct wb_debug_link {
    struct wb_debug_session *session;
    unsigned index;
    struct wb_dap *dap;
    pthread_mutex_t lock;
    struct wb_stream *stream; /* a socket; NULL: the adapter's stdin and stdout */
    /* Under the session's lock: */
    bool initialized; /* the event came */
    bool launched;    /* launch or attach was sent */
    bool gone;        /* terminated, or its connection ended */
    struct wb_dap_capabilities capabilities;
};

struct wb_debug_session {
    atomic_int refs;
    struct wb_host *host;
    struct wb_debug_points *points;
    const struct wb_adapter_row *row;
    char *workspace, *title, *scratch, *adapter;
    bool is_ours, stop_on_entry, is_post_mortem;
    int64_t answer_ms, lifetime_ms, lifetime_deadline_ms;
    int port;                         /* that the adapter listens on; 0: none */
    _Atomic(struct wb_child *) child; /* the adapter; NULL: direct */
    struct wb_cancel start_cancel;    /* gives the start up */
    struct wb_timer *timer;           /* of the lifetime */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum wb_session_state state;
    bool start_is_over; /* _start has returned, or is about to */
    struct wb_debuggee debuggee;
    struct wb_handles handles;
    int64_t scoped_frame; /* our id of the frame whose scopes were asked for last */
    unsigned n_moving; /* moves that the adapter has not answered: a pause must not overtake them */
    bool passed_start; /* the stop of the row's stops_at_start is behind us */
    struct wb_debug_link *links[WB_DEBUG_LINKS_MAX];
    unsigned n_links;
    struct wb_child_wish wishes[WB_DEBUG_LINKS_MAX]; /* by number */
    unsigned n_wishes;
    char *end_why;
    char *broken;    /* what the adapter sent that is no DAP */
    unsigned n_busy; /* jobs that use more than the session: the end waits for them */
};

/* session.c */
void wb_session_set_state(struct wb_debug_session *session, enum wb_session_state state);
/* Stopped, with somebody to ask, or ended; with the session's lock held. */
bool wb_session_is_at_rest(const struct wb_debug_session *session);
/* Runs job(session, number) on a pool thread, with a reference; with the session's lock held. The end
 * waits for a job that is busy; one that ends the session itself is not. */
void wb_session_job(struct wb_debug_session *session,
                    void (*job)(struct wb_debug_session *session, uint64_t number), uint64_t number,
                    bool is_busy);

/* session_move.c: a move was answered. */
void wb_session_moved(struct wb_debug_session *session);

/* session_link.c */
struct wb_debug_link *wb_session_add_link(struct wb_debug_session *session);
/* Takes the socket. */
void wb_link_open_take(struct wb_debug_link *link, int fd);
void wb_link_close_stream(struct wb_debug_link *link);
/* Frees the newest link, which nobody uses. */
void wb_session_drop_link(struct wb_debug_session *session);
void wb_link_free(struct wb_debug_link *link);
/* Loop thread: the adapter's own standard output and error, where DAP does not run on them. */
void wb_session_on_pipe(struct wb_debug_session *session, enum wb_debug_category category,
                        struct wb_span bytes);
/* Sends disconnect and waits for nothing. */
void wb_link_leave(struct wb_debug_link *link);
/* A child session did not start; link NULL: it has none. Not on the loop thread. */
void wb_session_lose_child(struct wb_debug_session *session, struct wb_debug_link *link,
                           const char *why);
/* Bytes of the adapter (loop thread). */
void wb_link_feed(struct wb_debug_link *link, const char *ptr, size_t len);
/* A connection ended (loop thread). */
void wb_link_on_end(struct wb_debug_link *link);

/* session_adapter.c: each leaves a link that has shaken hands as far as `initialize`. */
WB_MUST_CHECK int wb_session_start_adapter(struct wb_debug_session *session,
                                           const struct wb_debug_options *options,
                                           int64_t deadline_ms, struct wb_cancel *cancel,
                                           struct wb_error *err);
WB_MUST_CHECK int wb_session_connect(struct wb_debug_session *session,
                                     const struct wb_debug_options *options, int64_t deadline_ms,
                                     struct wb_cancel *cancel, struct wb_error *err);
/* The connection of a link: listener -1: we connect to the port. */
WB_MUST_CHECK int wb_link_meet(struct wb_debug_link *link, int listener, int port,
                               int64_t deadline_ms, struct wb_cancel *cancel, struct wb_error *err);
/* Puts the adapter's last words into the error. Returns -1. */
int wb_session_explain(struct wb_debug_session *session, struct wb_error *err);

/* session_start.c: the client order on one connection. */
WB_MUST_CHECK int wb_link_shake_hands(struct wb_debug_link *link, const char *command,
                                      struct wb_span arguments, int64_t deadline_ms,
                                      struct wb_cancel *cancel, struct wb_error *err);
WB_MUST_CHECK int wb_link_initialize(struct wb_debug_link *link, int64_t deadline_ms,
                                     struct wb_cancel *cancel, struct wb_error *err);
WB_MUST_CHECK int wb_link_send_breakpoints(struct wb_debug_link *link, const char *path,
                                           int64_t deadline_ms, struct wb_cancel *cancel,
                                           struct wb_error *err);
WB_MUST_CHECK int wb_link_send_exceptions(struct wb_debug_link *link, int64_t deadline_ms,
                                          struct wb_cancel *cancel, struct wb_error *err);
/* A child session that the adapter asked for; body: of startDebugging. Loop thread. */
void wb_session_take_child(struct wb_debug_session *session, const struct wb_json *body);

/* session_judge.c: decides on the stop of the debuggee, which is judging; under the lock. */
void wb_session_take_stop(struct wb_debug_session *session);

#endif

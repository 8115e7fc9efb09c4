/* session: one debuggee behind one adapter, from the launch or attach to the verified end.
 *
 *   starting --> live --> ending --> over
 *      \____________________^
 *
 * What the debuggee does meanwhile is debuggee.h's. The client order that every adapter takes:
 * initialize -> its answer -> launch or attach is sent, not waited for -> `initialized`, or the
 * launch's failure -> breakpoints, exception filters -> configurationDone -> the launch's answer
 * (docs/internals/debugger.md).
 *
 * Whatever comes, nothing is left: the end is disconnect, end of the connection, SIGTERM, SIGKILL to
 * the tree, and a look that nothing is there. A launched program dies with its session, an attached
 * one runs on. The lifetime ends it from a timer, also while somebody waits.
 *
 * Reference-counted: whoever holds one may use it after it ended, and reads the last stop, the exit
 * code and the output. Any thread but the loop's. */
#ifndef WB_DEBUG_SESSION_H
#define WB_DEBUG_SESSION_H

#include "base/cancel.h"
#include "debug/breakpoints.h"
#include "debug/catalogue.h"
#include "debug/dap.h"
#include "debug/debuggee.h"
#include "debug/handles.h"
#include "debug/template.h"
#include "run/host.h"

struct wb_debug_session;

/* The breakpoints of a conversation and their lock: they outlive sessions. The lock is taken inside a
 * session's, never around one. */
struct wb_debug_points {
    pthread_mutex_t lock;
    struct wb_breakpoints table;
};

struct wb_debug_options {
    struct wb_host *host;
    struct wb_debug_points *points;   /* outlive the session */
    const struct wb_adapter_row *row; /* outlives the session */
    const char *workspace;
    const char *root; /* the adapter's working directory */
    /* Resolved candidates, tried in order, with {port} open; NULL: what listens on direct_port speaks
     * DAP itself. */
    const char *const *const *commands;
    int64_t direct_port;
    const struct wb_json *arguments;           /* of launch or attach, ... */
    const struct wb_template_values *values;   /* ... and what goes into it and the command */
    const struct wb_adapter_template *request; /* which of the two it is, more words */
    bool is_ours;                              /* we started the debuggee */
    bool stop_on_entry;
    bool is_post_mortem; /* a core file: it is looked at, and never runs */
    int64_t answer_ms;   /* how long the adapter may take to answer a question */
    int64_t lifetime_ms;
    const char *title; /* "build/app", "process 1234": for sentences */
};

/* Makes a session that has not started. Never NULL; the caller unrefs. */
struct wb_debug_session *wb_debug_session_new(const struct wb_debug_options *options);
/* In place of a start: it is over before it began. */
void wb_debug_session_abandon(struct wb_debug_session *session);
/* Starts adapter and debuggee; the options are those of _new. Another call may end it meanwhile.
 * After an error the session is over. */
WB_MUST_CHECK int wb_debug_session_start(struct wb_debug_session *session,
                                         const struct wb_debug_options *options,
                                         int64_t deadline_ms, struct wb_cancel *cancel,
                                         struct wb_error *err);
struct wb_debug_session *wb_debug_session_ref(struct wb_debug_session *session);
void wb_debug_session_unref(struct wb_debug_session *session);

/* Ends it: the ladder. Blocks, bounded; a second caller waits for the first. `why` is told to whoever
 * asks later: "it was terminated"; the first one stays. */
void wb_debug_session_end(struct wb_debug_session *session, const char *why);
/* Where the connection is lost, waits for the end, so that it can be told. True: it has ended. */
bool wb_debug_session_has_ended(struct wb_debug_session *session);
/* Nothing of it is left. */
bool wb_debug_session_is_over(struct wb_debug_session *session);

/* A copy of what is known, in the arena. */
struct wb_debug_view {
    enum wb_debuggee_state state;
    struct wb_stop stop;
    bool has_exit_code;
    int64_t exit_code;
    const char *end_reason; /* NULL until the end */
    uint64_t output_end;
    int64_t pid; /* of the debuggee; 0: not told */
    const struct wb_adapter_row *row;
    const char *title, *adapter; /* the adapter's command */
    bool is_ours;
    int64_t lifetime_left_ms;
};

void wb_debug_session_view(struct wb_debug_session *session, struct wb_arena *arena,
                           struct wb_debug_view *ret);

/* Waits while the debuggee starts, runs, or is judged. False: deadline or cancel. */
bool wb_debug_session_wait(struct wb_debug_session *session, int64_t deadline_ms,
                           struct wb_cancel *cancel);

/* command: continue, next, stepIn, stepOut. Sets it running and sends; the stop is waited for by
 * _wait. thread: NULL: the stopped one. */
WB_MUST_CHECK int wb_debug_session_move(struct wb_debug_session *session, const char *command,
                                        const int64_t *thread, int64_t deadline_ms,
                                        struct wb_cancel *cancel, struct wb_error *err);
/* Asks for a stop; one that is there already is fine. */
WB_MUST_CHECK int wb_debug_session_pause(struct wb_debug_session *session, const int64_t *thread,
                                         int64_t deadline_ms, struct wb_cancel *cancel,
                                         struct wb_error *err);

/* Tells the adapter the breakpoints of a file (NULL: functions) as the table has them now. */
WB_MUST_CHECK int wb_debug_session_send_breakpoints(struct wb_debug_session *session,
                                                    const char *path, int64_t deadline_ms,
                                                    struct wb_cancel *cancel, struct wb_error *err);
WB_MUST_CHECK int wb_debug_session_send_exceptions(struct wb_debug_session *session,
                                                   int64_t deadline_ms, struct wb_cancel *cancel,
                                                   struct wb_error *err);

/* A request on a connection; an adapter's error is an error here, with its text. */
WB_MUST_CHECK int wb_debug_session_ask(struct wb_debug_session *session, unsigned link,
                                       const char *command, struct wb_span arguments_json,
                                       int64_t deadline_ms, struct wb_cancel *cancel,
                                       struct wb_arena *arena, const struct wb_json **ret_body,
                                       struct wb_error *err);
/* The connection that the debuggee is on now: of the last stop, else of the newest child session. */
unsigned wb_debug_session_link(struct wb_debug_session *session);

/* What the adapter can do: a copy, filters in the arena. */
void wb_debug_session_capabilities(struct wb_debug_session *session, struct wb_arena *arena,
                                   struct wb_dap_capabilities *ret);

/* Handles of the stop of this epoch; 0 when it is over or there are too many. */
int64_t wb_debug_session_add_handle(struct wb_debug_session *session, uint64_t epoch,
                                    const struct wb_handle *handle);
/* A copy, its name in the arena; *ret_epoch: of the stop that it belongs to. */
WB_MUST_CHECK int wb_debug_session_find_handle(struct wb_debug_session *session, int64_t id,
                                               bool is_frame, struct wb_arena *arena,
                                               struct wb_handle *ret, uint64_t *ret_epoch,
                                               struct wb_error *err);
/* The adapter was asked for this frame's scopes last (our id). Returns the one before. */
int64_t wb_debug_session_note_scopes(struct wb_debug_session *session, int64_t frame);

/* Appends what was printed since the cursor; *ret_dropped: bytes that are gone. Returns the new
 * cursor. */
uint64_t wb_debug_session_read_output(struct wb_debug_session *session, uint64_t since,
                                      unsigned categories, struct wb_text *out,
                                      uint64_t *ret_dropped);

#endif

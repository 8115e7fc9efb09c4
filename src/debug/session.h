/* session: one debuggee behind one adapter, from the launch or attach to the verified end.
 *
 *   starting -> running <-> stopped -> ending -> ended
 *
 * The client order that every adapter takes (research in docs/internals/debugger.md): initialize ->
 * its answer -> launch or attach is sent, not waited for -> `initialized`, or the launch's failure ->
 * breakpoints, exception filters -> configurationDone -> the launch's answer.
 *
 * Whatever comes, nothing is left: end is disconnect, end of the connection, SIGTERM, SIGKILL to the
 * tree, and a look that nothing is there. A launched program dies with its session, an attached one
 * runs on. The lifetime ends it from a timer, also while somebody waits.
 *
 * Reference-counted: whoever holds one may use it after it ended, and reads the last stop, the exit
 * code and the output. Any thread. */
#ifndef WB_DEBUG_SESSION_H
#define WB_DEBUG_SESSION_H

#include "base/cancel.h"
#include "debug/breakpoints.h"
#include "debug/catalogue.h"
#include "debug/dap.h"
#include "debug/debuggee.h"
#include "debug/handles.h"
#include "run/host.h"

struct wb_debug_session;

/* The breakpoints of the conversation and their lock: they outlive sessions. */
struct wb_debug_points {
    pthread_mutex_t lock;
    struct wb_breakpoints table;
};

struct wb_debug_options {
    struct wb_host *host;
    struct wb_debug_points *points;
    const struct wb_adapter_row *row; /* outlives the session */
    const char *workspace, *cwd;
    const char *const *const *commands; /* resolved candidates, tried in order; NULL: direct */
    const char *const *env;             /* of the adapter: NAME=value, NULL-terminated */
    int64_t direct_port;                /* no commands: who listens there speaks DAP; else 0 */
    struct wb_span request;             /* the launch or attach request's arguments, JSON */
    const char *scratch;                /* a private folder that is removed at the end; or NULL */
    bool is_attach;                     /* the request's name */
    bool is_ours;                       /* we started the debuggee: it dies with the session */
    int64_t lifetime_ms;
    const char *title; /* "build/app", "pid 1234", for sentences */
};

/* Starts the adapter and the debuggee. The session is given at once by *ret_session, so that another
 * call can end it while this one waits; the caller unrefs it, also after an error. */
WB_MUST_CHECK int wb_debug_session_start(
    const struct wb_debug_options *options,
    void (*on_made)(void *ctx, struct wb_debug_session *session), void *ctx, int64_t deadline_ms,
    struct wb_cancel *cancel, struct wb_debug_session **ret_session, struct wb_error *err);
struct wb_debug_session *wb_debug_session_ref(struct wb_debug_session *session);
void wb_debug_session_unref(struct wb_debug_session *session);

/* Ends it: the ladder. terminate: false lets the debuggee go (attached: always). Blocks, bounded; a
 * second caller waits for the first. `why` is told to whoever asks later: "terminated",
 * "its lifetime of 30 minutes was over". *ret_forced (may be NULL): what had to be killed, or NULL. */
void wb_debug_session_end(struct wb_debug_session *session, bool terminate, const char *why);

/* A copy of what is known, in the arena. */
struct wb_debug_view {
    enum wb_debuggee_state state;
    struct wb_stop stop;
    bool has_exit_code;
    int64_t exit_code;
    const char *end_reason;
    uint64_t output_end;
    int64_t pid;
    const char *adapter, *title;
};

void wb_debug_session_view(struct wb_debug_session *session, struct wb_arena *arena,
                           struct wb_debug_view *ret);

/* Waits while the state is starting, running or judging. False: deadline or cancel. */
bool wb_debug_session_wait(struct wb_debug_session *session, int64_t deadline_ms,
                           struct wb_cancel *cancel);

/* command: continue, next, stepIn, stepOut. Sets it running and sends; the stop is waited for by
 * _wait. has_thread false: the stopped thread. */
WB_MUST_CHECK int wb_debug_session_move(struct wb_debug_session *session, const char *command,
                                        bool has_thread, int64_t thread_id, int64_t deadline_ms,
                                        struct wb_cancel *cancel, struct wb_error *err);
WB_MUST_CHECK int wb_debug_session_pause(struct wb_debug_session *session, bool has_thread,
                                         int64_t thread_id, int64_t deadline_ms,
                                         struct wb_cancel *cancel, struct wb_error *err);

/* Tells the adapter the breakpoints of a file (NULL: functions) as the table has them now. */
WB_MUST_CHECK int wb_debug_session_send_breakpoints(struct wb_debug_session *session,
                                                    const char *path, int64_t deadline_ms,
                                                    struct wb_cancel *cancel, struct wb_error *err);
WB_MUST_CHECK int wb_debug_session_send_exceptions(struct wb_debug_session *session,
                                                   int64_t deadline_ms, struct wb_cancel *cancel,
                                                   struct wb_error *err);

/* A request on the connection of the stop; an adapter's error is an error here, with its text. */
WB_MUST_CHECK int wb_debug_session_ask(struct wb_debug_session *session, const char *command,
                                       struct wb_span arguments_json, int64_t deadline_ms,
                                       struct wb_cancel *cancel, struct wb_arena *arena,
                                       const struct wb_json **ret_body, struct wb_error *err);

/* Can the adapter do it? A copy; filters are in the arena. */
void wb_debug_session_capabilities(struct wb_debug_session *session, struct wb_arena *arena,
                                   struct wb_dap_capabilities *ret);

/* Handles of the present stop, under the session's lock. */
int64_t wb_debug_session_add_handle(struct wb_debug_session *session, uint64_t epoch,
                                    const struct wb_handle *handle);
WB_MUST_CHECK int wb_debug_session_find_handle(struct wb_debug_session *session, int64_t id,
                                               bool is_frame, struct wb_arena *arena,
                                               struct wb_handle *ret, struct wb_error *err);

uint64_t wb_debug_session_read_output(struct wb_debug_session *session, uint64_t since,
                                      unsigned categories, struct wb_text *out,
                                      uint64_t *ret_dropped);

#endif

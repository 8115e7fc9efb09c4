/* supervisor: the host's language servers: one process for a root and row, shared by all runs,
 * started once under concurrent calls, restarted on the next use after a crash (at most 5 times in
 * 3 minutes), stopped after 10 minutes without use.
 *
 *   cold -> starting -> running -> cold (stopped, crashed, idle)
 *              \-> failed (reason kept; tried again on the next use, within the limit)
 *
 * Any thread. */
#ifndef WB_LSP_SUPERVISOR_H
#define WB_LSP_SUPERVISOR_H

#include "lsp/server.h"

struct wb_supervisor;

/* The host's one (wb_host_part). */
struct wb_supervisor *wb_supervisor_of_host(struct wb_host *host);

/* The catalogue for this configuration, kept until the host ends: rows outlive the runs that asked
 * for them, as servers do. */
const struct wb_catalogue *wb_supervisor_catalogue(struct wb_supervisor *supervisor,
                                                   const struct wb_json *config_root,
                                                   struct wb_error *err);

struct wb_supervisor_limits {
    int64_t idle_stop_ms; /* default 600,000 */
    int64_t start_ms;     /* deadline of a handshake, default 60,000 */
};

/* The running server for a usable candidate, started where needed; waits for a start under way up to
 * the deadline (the start goes on after it: WB_ERROR_TIMEOUT "still starting"). Caller unrefs. */
struct wb_server *wb_supervisor_use(struct wb_supervisor *supervisor,
                                    const struct wb_candidate *candidate, const char *workspace,
                                    const struct wb_supervisor_limits *limits, int64_t deadline_ms,
                                    struct wb_cancel *cancel, struct wb_error *err);
/* The same without starting or waiting: NULL if it does not run. */
struct wb_server *wb_supervisor_running(struct wb_supervisor *supervisor,
                                        const struct wb_candidate *candidate,
                                        const char *workspace);
/* What wb_catalogue_candidates wants to know. */
struct wb_running wb_supervisor_is_running(struct wb_supervisor *supervisor);
/* All running servers of a workspace; caller unrefs each. */
void wb_supervisor_list(struct wb_supervisor *supervisor, struct wb_arena *arena,
                        const char *workspace, struct wb_server ***ret, size_t *ret_n);

/* Stops the servers of this workspace (root NULL: all) and forgets failures, so that the next use
 * starts anew. Returns how many were stopped. */
size_t wb_supervisor_reload(struct wb_supervisor *supervisor, const char *workspace,
                            const char *root);

/* What happened on disk since the last look, by us or anybody, is told to the servers of the
 * workspace; then every open document is brought up to date. Called before each question and after
 * each write. */
void wb_supervisor_catch_up(struct wb_supervisor *supervisor, const char *workspace);

/* For status: one line a slot. */
struct wb_slot_status {
    const char *id, *root, *state; /* "running", "loading", "starting", "failed", "stopped" */
    const char *detail;
    int pid;
    int starts;
};

void wb_supervisor_status(struct wb_supervisor *supervisor, struct wb_arena *arena,
                          const char *workspace, struct wb_slot_status **ret, size_t *ret_n);

#endif

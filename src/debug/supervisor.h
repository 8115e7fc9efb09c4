/* supervisor: the host's debug sessions, one a conversation.
 *
 * A conversation's place holds its breakpoints and its session, and lives as long as a run of it is
 * attached. A session ends with the run that started it, with its lifetime, and with the host. One
 * that ended stays readable until the next launch. Any thread. */
#ifndef WB_DEBUG_SUPERVISOR_H
#define WB_DEBUG_SUPERVISOR_H

#include "debug/session.h"
#include "run/run.h"

struct wb_debug_supervisor;
struct wb_debug_place;

/* The host's one (wb_host_part). */
struct wb_debug_supervisor *wb_debug_supervisor_of_host(struct wb_host *host);

/* The catalogue for this configuration, kept until the host ends: sessions keep their rows. */
const struct wb_adapters *wb_debug_supervisor_adapters(struct wb_debug_supervisor *supervisor,
                                                       const struct wb_json *config_root,
                                                       struct wb_error *err);

/* A run of the conversation comes and goes. Leaving ends the session that this run started. */
struct wb_debug_place *wb_debug_place_enter(struct wb_debug_supervisor *supervisor,
                                            const struct wb_run *run);
void wb_debug_place_leave(struct wb_debug_place *place, const struct wb_run *run);

struct wb_debug_points *wb_debug_place_points(struct wb_debug_place *place);
/* The present or last session; NULL: none yet. Caller unrefs. */
struct wb_debug_session *wb_debug_place_session(struct wb_debug_place *place);
/* Makes the session the conversation's, unless one lives: then it is refused and not taken. One that
 * ended is waited for until nothing of it is left. */
WB_MUST_CHECK int wb_debug_place_put(struct wb_debug_place *place, const struct wb_run *run,
                                     struct wb_debug_session *session, struct wb_error *err);

/* Runs of one conversation take turns, as the calls of one run do. -1: cancel or deadline. */
WB_MUST_CHECK int wb_debug_place_take_turn(struct wb_debug_place *place, int64_t deadline_ms,
                                           struct wb_cancel *cancel, struct wb_error *err);
void wb_debug_place_give_turn(struct wb_debug_place *place);

/* Up to where the agent has seen the session's output. */
uint64_t wb_debug_place_seen(struct wb_debug_place *place);
void wb_debug_place_set_seen(struct wb_debug_place *place, uint64_t cursor);

/* The arguments of the last launch, for a restart: an object as JSON; caller frees. NULL: none. */
char *wb_debug_place_last_launch(struct wb_debug_place *place);
void wb_debug_place_keep_launch(struct wb_debug_place *place, const char *json);

#endif

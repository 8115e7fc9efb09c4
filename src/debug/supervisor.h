/* supervisor: the host's debug sessions, one a conversation.
 *
 * A conversation's place (its breakpoints, its session) lives as long as a run of it is attached. A
 * session ends with the run that started it, with its lifetime, and with the host. A session that
 * ended stays readable until the next launch. Any thread. */
#ifndef WB_DEBUG_SUPERVISOR_H
#define WB_DEBUG_SUPERVISOR_H

#include "debug/session.h"
#include "run/run.h"

struct wb_debug_supervisor;
struct wb_debug_place; /* of one conversation */

struct wb_debug_supervisor *wb_debug_supervisor_of_host(struct wb_host *host);

/* The catalogue for this configuration, kept until the host ends, as sessions keep their rows. */
const struct wb_adapters *wb_debug_supervisor_adapters(struct wb_debug_supervisor *supervisor,
                                                       const struct wb_json *config_root,
                                                       struct wb_error *err);

/* A run of the conversation comes and goes. Leaving ends the session that this run started. */
struct wb_debug_place *wb_debug_supervisor_enter(struct wb_debug_supervisor *supervisor,
                                                 const struct wb_run *run);
void wb_debug_supervisor_leave(struct wb_debug_supervisor *supervisor, struct wb_debug_place *place,
                               const struct wb_run *run);

struct wb_debug_points *wb_debug_place_points(struct wb_debug_place *place);
/* The present or last session; NULL: none yet. Caller unrefs. */
struct wb_debug_session *wb_debug_place_session(struct wb_debug_place *place);

/* Takes the place for a launch: refused while a session lives. Afterwards the place is "starting"
 * until _set or _release. */
WB_MUST_CHECK int wb_debug_place_claim(struct wb_debug_place *place, const struct wb_run *run,
                                       struct wb_error *err);
void wb_debug_place_set(struct wb_debug_place *place, struct wb_debug_session *session); /* refs */
void wb_debug_place_release(struct wb_debug_place *place);

#endif

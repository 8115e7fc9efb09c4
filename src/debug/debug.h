/* debug: the debugger as a run has it: the host's supervisor, the conversation's place, this
 * configuration's settings. What the tool of this folder works on. */
#ifndef WB_DEBUG_DEBUG_H
#define WB_DEBUG_DEBUG_H

#include "debug/choose.h"
#include "debug/supervisor.h"
#include "run/call.h"

struct wb_debug {
    struct wb_run *run;
    const char *workspace;
    struct wb_debug_supervisor *supervisor;
    struct wb_debug_place *place;
    int64_t wait_ms;     /* for the stop of a move: debug.wait_s, default 10 */
    int64_t answer_ms;   /* for an adapter's answer: debug.answer_s, default 15 */
    int64_t lifetime_ms; /* of a session: debug.lifetime_s, default 1800 */
};

/* Attaches the debugger to the run. */
void wb_debug_attach(struct wb_run *run);
bool wb_debug_available(const struct wb_run *run); /* for the tool's `available` */
struct wb_debug *wb_debug_of_run(const struct wb_run *run);

/* The catalogue of the run's configuration. */
const struct wb_adapters *wb_debug_adapters(struct wb_debug *debug, struct wb_error *err);

/* For doctor: every adapter, what is usable here, and why the others are not, as lines of text or one
 * JSON array. Runs probes. */
WB_MUST_CHECK int wb_debug_survey_text(struct wb_debug *debug, struct wb_arena *arena,
                                       struct wb_cancel *cancel, struct wb_text *out,
                                       struct wb_json_writer *w, struct wb_error *err);

#endif

/* gate: the one place that says whether a call may run. Model, harness, human, bridge and workers
 * all pass here.
 *
 * First the guard rules (run/rules.h): deny ends it. Then: a tool whose tier is within the run's
 * `allow`, or which a rule allows, passes; others are asked for, and so is what a rule wants asked. A
 * path outside the workspace (through a symlink too) is always asked for. All reasons are combined
 * into one approval card in the conversation; with nobody to answer it, the call is refused with a
 * sentence that names the option which would allow it.
 *
 * An approval holds for exactly that tool and those arguments: once, or until the run ends. A call
 * that was refused is not asked for again while nothing else was. */
#ifndef WB_RUN_GATE_H
#define WB_RUN_GATE_H

#include "run/tool.h"

#define WB_GATE_ANSWER_MS (10 * 60 * 1000) /* how long an approval card stays open */

/* What a call touches, collected before the verdict. */
struct wb_gate_subject {
    struct wb_arena *arena;
    const char **paths; /* absolute, real */
    size_t n_paths, paths_capacity;
    const char *command;   /* a command line, or NULL */
    const char *operation; /* of a tool that has several, or NULL */
};

void wb_gate_add_path(struct wb_gate_subject *subject, const char *absolute_real);

/* Decides, asks where it must, and returns 0 when the call may run; approved paths outside the
 * workspace are then in call->outside. Blocks while a card is open. */
WB_MUST_CHECK int wb_gate_pass(struct wb_call *call, const struct wb_gate_subject *subject,
                               struct wb_span arguments_json, struct wb_error *err);

/* What the gate remembers of a run: calls that were approved for all of it, and the last refused. */
struct wb_grants;

struct wb_grants *wb_grants_new(void);
void wb_grants_free(struct wb_grants *grants);

#endif

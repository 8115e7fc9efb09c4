/* gate: the one place that says whether a call may run. Model, harness, human, bridge and workers
 * all pass here.
 *
 * First the guard rules (run/rules.h): deny ends it. Then: a tool whose tier is within the run's
 * `allow`, or which a rule allows, passes; others are asked for, and so is what a rule wants asked. A
 * path outside the workspace (through a symlink too) is always asked for. All reasons are combined
 * into one approval card in the conversation; with nobody to answer it, the call is refused with a
 * sentence that names the option which would allow it.
 *
 * An approval holds for exactly that tool and those arguments: once, or until the run ends; or, where
 * the card offers it, for all calls of the tool that fit the pattern on the card. A pattern never covers
 * what a rule wants asked, nor a path outside. A call that was refused is not asked for again while
 * nothing else was. */
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
    bool is_code;          /* the command is a program in another language */
    const char *operation; /* of a tool that has several, or NULL */
};

void wb_gate_add_path(struct wb_gate_subject *subject, const char *absolute_real);

/* Decides, asks where it must, and returns 0 when the call may run; what was decided on is in
 * call->passed then, and approved paths outside the workspace in call->outside. Blocks while a card is
 * open. */
WB_MUST_CHECK int wb_gate_pass(struct wb_call *call, const struct wb_gate_subject *subject,
                               struct wb_span arguments_json, struct wb_error *err);

/* A path (absolute, real) that the call came upon in its work, inside the workspace: may it be read or
 * written? What the rules deny and what they want asked may not, unless wb_gate_pass has seen it. */
WB_MUST_CHECK int wb_gate_pass_path(struct wb_call *call, const char *path, struct wb_error *err);

#endif

/* choose: which adapter fits a launch or attach, and which are usable in this checkout at all.
 *
 * An adapter is usable when two tests hold: a root marker exists, searched from the program upwards
 * to the workspace, and its program resolves (project-local folders first, then PATH). Whether it
 * answers its handshake is found out at the start, where the next candidate is tried; `adapters` and
 * doctor ask by the row's probe. Any thread. */
#ifndef WB_DEBUG_CHOOSE_H
#define WB_DEBUG_CHOOSE_H

#include "base/cancel.h"
#include "debug/catalogue.h"
#include "debug/program.h"
#include "run/host.h"

struct wb_adapter_choice {
    const struct wb_adapter_row *row;
    const char *root, *marker;          /* NULL: no marker */
    const char *const *const *commands; /* that resolve, in order; the list ends with NULL */
    const char *interpreter;            /* rows with every_program: what runs the program */
    const char *interpreter_why;        /* a clause: "the project's own", ... */
    const char *reason;                 /* why not usable; NULL: usable */
};

/* What is to be debugged. */
struct wb_target {
    enum wb_target_kind kind;
    const char *path;          /* absolute; NULL: a module */
    const char *from;          /* where the marker is searched from: path, or cwd */
    const char *language;      /* id, or NULL */
    struct wb_program program; /* what path is */
};

/* The adapter for the target: the named one, or the first in order of priority that is usable. The
 * error says for each that would fit what is missing, where it was looked for, and what installs
 * it. */
WB_MUST_CHECK int wb_choose_for_launch(struct wb_arena *arena, const struct wb_adapters *adapters,
                                       const char *workspace, const struct wb_target *target,
                                       const char *adapter, struct wb_adapter_choice *ret,
                                       struct wb_error *err);
/* kind: by port or pid. Where several fit and none is named, the error lists them. */
WB_MUST_CHECK int wb_choose_for_attach(struct wb_arena *arena, const struct wb_adapters *adapters,
                                       const char *workspace, enum wb_attach_kind kind,
                                       const char *adapter, struct wb_adapter_choice *ret,
                                       struct wb_error *err);

/* Every row, usable ones first. Runs the rows' probes (bounded by the deadline), so that what is said
 * to be installed was asked. */
void wb_choose_survey(struct wb_arena *arena, struct wb_host *host,
                      const struct wb_adapters *adapters, const char *workspace,
                      int64_t deadline_ms, struct wb_cancel *cancel, struct wb_adapter_choice **ret,
                      size_t *ret_n);

#endif

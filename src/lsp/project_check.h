/* project_check: the project's own checker (catalogue/project-checks.json merged with the
 * configuration's "checks"), its exit status believed, its output parsed into diagnostics.
 *
 * The row of the nearest project marker, from the workspace upwards never, decides. The workspace
 * stays byte-identical: build output goes to a cache outside. A check that runs code of the
 * project's own runs only in a workspace that the operator trusts. */
#ifndef WB_LSP_PROJECT_CHECK_H
#define WB_LSP_PROJECT_CHECK_H

#include "lsp/diagnostics.h"
#include "lsp/lsp.h"

/* Runs it. *ret_answer: its name, and clean, findings, or unknown with the reason (the check itself
 * failed, timed out). -1: no check could be run: no marker, not trusted, no program, and what to do. */
WB_MUST_CHECK int wb_project_check(struct wb_lsp *lsp, struct wb_call *call,
                                   struct wb_diagnostic_list *list,
                                   struct wb_server_answer *ret_answer, struct wb_error *err);

/* For doctor: every row that could apply to this workspace, and whether its program resolves. */
struct wb_check_status {
    const char *id, *root, *program; /* program NULL: not found */
    const char *reason;              /* why it would not run now; NULL: it would */
};

WB_MUST_CHECK int wb_project_check_status(struct wb_lsp *lsp, struct wb_arena *arena,
                                          struct wb_check_status **ret, size_t *ret_n,
                                          struct wb_error *err);

#endif

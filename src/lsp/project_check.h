/* project_check: the project's own checker (catalogue/project-checks.json merged with the
 * configuration's "checks"), its exit status believed, its output parsed into diagnostics.
 *
 * For each language of the workspace the row of the nearest project marker decides: the workspace's
 * folder first, then up to two folders below, at most 8 roots. The workspace stays byte-identical:
 * build output goes to a cache outside. A check that runs code of the project's own, or a program
 * that lies in the workspace, runs only in a workspace that the operator trusts. */
#ifndef WB_LSP_PROJECT_CHECK_H
#define WB_LSP_PROJECT_CHECK_H

#include "lsp/diagnostics.h"
#include "lsp/lsp.h"

/* Runs them one after the other and adds what they found. *ret: an answer for each, in the call's
 * arena: its name, and clean, findings, or unknown with the reason (it failed, timed out, could not
 * run while another could). -1: cancelled, or no check could be run: no marker, not trusted, no
 * program, and what to do. */
WB_MUST_CHECK int wb_project_check(struct wb_lsp *lsp, struct wb_call *call,
                                   struct wb_diagnostic_list *list, struct wb_server_answer **ret,
                                   size_t *ret_n, struct wb_error *err);

/* For doctor: every row that could apply to this workspace, and whether its program resolves. */
struct wb_check_status {
    const char *id, *root, *program; /* program NULL: none, or not found */
    const char *reason;              /* why it would not run now; NULL: it would */
};

WB_MUST_CHECK int wb_project_check_status(struct wb_lsp *lsp, struct wb_arena *arena,
                                          struct wb_check_status **ret, size_t *ret_n,
                                          struct wb_error *err);

#endif

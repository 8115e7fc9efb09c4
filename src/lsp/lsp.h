/* lsp: language servers as a run has them: the host's supervisor, this configuration's catalogue,
 * the run's ledger. What the tools of this folder work on. */
#ifndef WB_LSP_LSP_H
#define WB_LSP_LSP_H

#include "lsp/ledger.h"
#include "lsp/supervisor.h"
#include "run/call.h"
#include "run/run.h"

struct wb_on_write;

struct wb_lsp {
    struct wb_run *run;
    const char *workspace;
    struct wb_supervisor *supervisor;
    struct wb_supervisor_limits limits;
    struct wb_ledger *ledger;
    struct wb_on_write *on_write;
    int64_t request_ms; /* how long a question may take: lsp.request_timeout_s, default 30 */
};

/* Attaches language servers to the run and observes its writes. */
void wb_lsp_attach(struct wb_run *run);
bool wb_lsp_available(const struct wb_run *run); /* for the tools' `available` */
struct wb_lsp *wb_lsp_of_run(const struct wb_run *run);

/* The catalogue of the run's configuration; loaded on first use. */
const struct wb_catalogue *wb_lsp_catalogue(struct wb_lsp *lsp, struct wb_error *err);

/* What could serve the file; an error where nothing is usable, which says for each row what is
 * missing, where it was looked for, and what would install it. */
WB_MUST_CHECK int wb_lsp_candidates(struct wb_lsp *lsp, struct wb_arena *arena, const char *path,
                                    struct wb_candidates *ret, struct wb_error *err);

/* on_write.c */
struct wb_on_write *wb_on_write_new(struct wb_lsp *lsp);
void wb_on_write_free(struct wb_on_write *on_write);
struct wb_write_observer wb_on_write_observer(struct wb_on_write *on_write);

#endif

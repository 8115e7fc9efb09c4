/* ledger: the diagnostics that a run has been told of, or that were there before it wrote: what is
 * accounted for, file by file and server by server.
 *
 * The key of a finding is exactly severity, code and message: a set, not a count, and without a
 * position, so that a diagnostic that slid down four lines is not new. A finding that a fresh
 * result no longer has leaves the ledger; breaking it again is reported again. Any thread. */
#ifndef WB_LSP_LEDGER_H
#define WB_LSP_LEDGER_H

#include "lsp/diagnostics.h"

struct wb_ledger;

struct wb_ledger *wb_ledger_new(void);
void wb_ledger_free(struct wb_ledger *ledger);

/* Takes a result as it stands: the baseline before a write, or findings that were just told. */
void wb_ledger_account(struct wb_ledger *ledger, const char *path, const char *server,
                       const struct wb_diagnostic_list *fresh);
/* Adds to *ret those of fresh, down to `least` severity, that are not accounted for by any server
 * of this file; then takes fresh as it stands. */
void wb_ledger_news(struct wb_ledger *ledger, const char *path, const char *server,
                    const struct wb_diagnostic_list *fresh, enum wb_severity least,
                    struct wb_arena *arena, struct wb_diagnostic_list *ret);
/* Was anything ever taken for this file and server? */
bool wb_ledger_knows(struct wb_ledger *ledger, const char *path, const char *server);
/* The file is gone. */
void wb_ledger_forget(struct wb_ledger *ledger, const char *path);

#endif

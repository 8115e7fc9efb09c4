/* late: what servers say after a write's result was given: of the files written, and of other open
 * files. It is told with the next result of the run, unless the file has changed again. Any thread. */
#ifndef WB_LSP_LATE_H
#define WB_LSP_LATE_H

#include "lsp/lsp.h"

struct wb_late;

struct wb_late *wb_late_new(struct wb_lsp *lsp);
void wb_late_free(struct wb_late *late);

/* The server's word on this text of the file is still to come. baseline: the ledger had the old
 * file. */
void wb_late_remember(struct wb_late *late, const char *path, struct wb_server *server,
                      const struct wb_sync *sync, bool baseline);
/* The file is written again: forgets it. False: nothing was remembered. */
bool wb_late_take(struct wb_late *late, const char *path, const struct wb_server *server,
                  bool *ret_baseline);
/* Adds what came since the last look to the list. */
void wb_late_collect(struct wb_late *late, struct wb_call *call, struct wb_diagnostic_list *news);
/* At the end of a result: adds what came since. */
void wb_late_tell(struct wb_late *late, struct wb_call *call, struct wb_result *result);

#endif

/* spill: where the whole output of long cells is kept: files of the user's cache folder, which stay
 * until they are a week old. Any thread. */
#ifndef WB_KERNEL_SPILL_H
#define WB_KERNEL_SPILL_H

#include "run/call.h"

/* The path for the output of this call, in its arena; NULL: there is no folder for it. */
const char *wb_spill_path(const struct wb_call *call);
/* Removes what is old. */
void wb_spill_prune(void);

#endif

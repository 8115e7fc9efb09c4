/* bridge: calls that a cell makes become calls of its run, like everybody's: surface, gate,
 * observers and caps hold. Each runs on a thread of the pool; the loop only hands over.
 *
 *   queued --a place of 32 is free--> running --result--> answered
 *      \------------------------------/--cell over, kernel lost interest--> dropped
 *
 * The lock of `eval` (its turn) is never taken here: eval inside eval is refused at once. */
#ifndef WB_KERNEL_BRIDGE_H
#define WB_KERNEL_BRIDGE_H

#include "kernel/kernel.h"
#include "run/run.h"

#define WB_BRIDGE_RUNNING_MAX 32
#define WB_BRIDGE_QUEUED_MAX 4096
#define WB_BRIDGE_ARGS_BYTES_MAX (128 << 20) /* of all that are under way */
#define WB_BRIDGE_DATA_BYTES_MAX (16 << 20)

struct wb_bridge;

/* One a kernel; lives longer than it. */
struct wb_bridge *wb_bridge_new(void);
/* Waits for the calls that it dropped: their ends come here. */
void wb_bridge_free(struct wb_bridge *bridge);
struct wb_kernel_port wb_bridge_port(struct wb_bridge *bridge);

/* From now on calls of this cell belong to the run. */
void wb_bridge_begin(struct wb_bridge *bridge, struct wb_run *run, struct wb_kernel *kernel,
                     uint32_t cell);
/* Cancels all calls and answers them "cancelled"; further ones are refused. Idempotent. */
void wb_bridge_end(struct wb_bridge *bridge);
/* Calls of the cell that are not answered. */
size_t wb_bridge_outstanding(struct wb_bridge *bridge);
/* "waits for read, shell" or nothing. */
void wb_bridge_describe(struct wb_bridge *bridge, struct wb_text *out);

#endif

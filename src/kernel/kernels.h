/* kernels: the factory. Keeps one kernel for each conversation and language of the host, from the
 * first cell until reset, death, or the end of the host, across the runs of a conversation; gives it
 * to one cell at a time. Any thread. */
#ifndef WB_KERNEL_KERNELS_H
#define WB_KERNEL_KERNELS_H

#include "kernel/bridge.h"
#include "kernel/interpreter.h"

/* Attaches the factory to the run: WB_RESOURCE_KERNELS. */
void wb_kernel_attach(struct wb_run *run);
bool wb_kernel_available(const struct wb_run *run); /* for the tool's `available` */

/* A kernel in the hands of one cell. */
struct wb_kernel_lease {
    struct wb_kernel *kernel;
    struct wb_bridge *bridge;
    const char *const *cell_env; /* for its first cell, else NULL */
    const char *told;            /* what the result must say of it: fresh, where, why; or NULL */
    const char *cwd;             /* after the cell before */
    struct wb_kernel_slot *slot;
};

/* Waits until no other cell has the kernel; starts it where there is none, or after a death or with
 * reset. Refused at once where the cell that has it waits for a tool call itself: that would wait
 * for itself. */
WB_MUST_CHECK int wb_kernels_take(struct wb_call *call, enum wb_kernel_language language,
                                  bool reset, struct wb_kernel_lease *ret, struct wb_error *err);
/* Gives it back. cwd: where it is now, or NULL. A kernel that died is remembered for the next. */
void wb_kernels_give(struct wb_kernel_lease *lease, const struct wb_cell *cell);

/* How long a cell may be silent, and last: configuration. 0: for ever. */
int64_t wb_kernels_inactivity_ms(const struct wb_run *run);
int64_t wb_kernels_limit_ms(const struct wb_run *run);

#endif

/* kernels: the factory. Keeps one kernel for each conversation and language of the host, from the
 * first cell until reset, death or the host's end, across the runs of a conversation; gives it to
 * one cell at a time.
 *
 *   none --take--> starting --hello--> taken <--give, take--> free
 *                                        \--death, reset: the next take starts anew and says so
 *
 * Any thread. */
#ifndef WB_KERNEL_KERNELS_H
#define WB_KERNEL_KERNELS_H

#include "kernel/bridge.h"
#include "kernel/interpreter.h"

/* Attaches the factory to the run: WB_RESOURCE_KERNELS. */
void wb_kernel_attach(struct wb_run *run);
bool wb_kernel_available(const struct wb_run *run); /* for the tool's `available` */

struct wb_kernel_slot;

/* A kernel in the hands of one cell. */
struct wb_kernel_lease {
    struct wb_kernel_slot *slot;
    struct wb_kernel *kernel;
    struct wb_bridge *bridge;
    const char *const *cell_env; /* for its first cell; else NULL */
    const char *cwd;             /* after the cell before; of the slot, valid until given back */
    struct wb_text told; /* of a fresh one: lines that the result begins with. wb_text_done */
};

/* Waits until no other cell has the kernel; starts it where there is none, or after a death, or for a
 * reset, which also ends the other cell. Refused at once where the other cell waits for a tool call:
 * this may be that very call's work, and would wait for itself. */
WB_MUST_CHECK int wb_kernels_take(struct wb_call *call, enum wb_kernel_language language,
                                  bool reset, struct wb_kernel_lease *ret, struct wb_error *err);
/* Gives it back after a cell; what the next one must know of it is kept. */
void wb_kernels_give(struct wb_kernel_lease *lease, const struct wb_cell *cell);

#endif

/* spawn: starts a guard with a child behind it, and waits until the child's exec is decided.
 * For sys/child.c alone. */
#ifndef WB_SYS_SPAWN_H
#define WB_SYS_SPAWN_H

#include <sys/types.h>

#include "sys/child.h"

struct wb_spawned {
    pid_t guard_pid, pid;
    /* Ours, close-on-exec. */
    int control;
    int in;       /* writes the child's stdin */
    int out, err; /* -1: not asked for */
};

/* Any thread. Blocks for the two starts, about a millisecond. */
WB_MUST_CHECK int wb_spawn(const struct wb_child_options *options, struct wb_spawned *ret,
                           struct wb_error *err);

#endif

/* protocol: what host and guard say to each other over the control socket.
 *
 * A SOCK_SEQPACKET pair, one record a message, native byte order: both ends are built together.
 * The guard finds its end at WB_GUARD_CONTROL_FD and its orders in argv:
 *     werkbank-guard HOST_PID MEMORY_BYTES CWD PROGRAM [ARGUMENT...]
 * MEMORY_BYTES 0: no limit. CWD empty: the host's. Only numbers and enums: the guard links nothing. */
#ifndef WB_SYS_GUARD_PROTOCOL_H
#define WB_SYS_GUARD_PROTOCOL_H

#include <stdint.h>

#define WB_GUARD_CONTROL_FD 3

enum wb_guard_kind {
    /* Host to guard: value is a signal, flag 1 sends it to the whole tree. SIGKILL to the tree is
     * repeated until nothing is left. */
    WB_GUARD_SIGNAL = 1,
    /* Guard to host, once: either started, or failed and nothing after it. */
    WB_GUARD_STARTED, /* value: the child's pid */
    WB_GUARD_FAILED,  /* value: errno, flag: enum wb_guard_step */
    /* Then, in this order, once each: */
    WB_GUARD_ENDED, /* value: wait status, flag 1: over its memory limit */
    WB_GUARD_GONE,  /* no descendant is left */
};

enum wb_guard_step {
    WB_GUARD_STEP_SETUP, /* the guard's own */
    WB_GUARD_STEP_CWD,
    WB_GUARD_STEP_EXEC,
};

struct wb_guard_record {
    int32_t kind;
    int32_t value;
    int32_t flag;
};

#endif

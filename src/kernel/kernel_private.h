/* kernel_private: what kernel.c (the process), kernel_take.c (what it writes) and kernel_run.c (a
 * cell's course) share. For no other file. */
#ifndef WB_KERNEL_KERNEL_PRIVATE_H
#define WB_KERNEL_KERNEL_PRIVATE_H

#include <pthread.h>

#include "kernel/frame.h"
#include "kernel/kernel.h"

#define WB_KERNEL_LOST_MS 2000 /* after its frames ended: to end by itself */

enum wb_kernel_state {
    KERNEL_STARTING,
    KERNEL_IDLE,
    KERNEL_RUNNING,
    KERNEL_INTERRUPTING,
    KERNEL_DEAD
};

struct wb_kernel {
    struct wb_loop *loop;
    char *guard, **prefix; /* NULL-terminated; NULL: none */
    struct wb_kernel_port port;
    struct wb_child *child;
    int64_t oom_kills; /* of the whole system, when it started */

    /* Loop thread. */
    struct wb_kernel_reader *reader;
    struct wb_kernel_marks *marks;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    enum wb_kernel_state state;
    struct wb_kernel_hello hello;  /* unchanged once idle */
    uint32_t cell_number;          /* of the cell that runs, or ran last */
    struct wb_cell *cell;          /* NULL: none runs */
    int64_t active_ms;             /* when it was heard of last */
    int holds;                     /* calls outstanding */
    enum wb_cell_stop kill_reason; /* somebody wants it dead */
    bool is_done;                  /* DONE has come, and with it: */
    int64_t done_ms;
    uint64_t done_mark;
    uint64_t seen_mark; /* of the raw stream */
    struct wb_output background;
    char *broken;    /* what it did against the protocol */
    int64_t lost_ms; /* when its frames ended; 0: they have not */
    bool was_cut;    /* and it was killed for it */
    bool has_exited;
    struct wb_child_status status;
};

/* Under the lock. */
void wb_kernel_set_state(struct wb_kernel *kernel, enum wb_kernel_state state);
/* Under the lock, which is left meanwhile: how it ended, as a clause. Of one that has lost its
 * channel the exit is waited for. */
void wb_kernel_describe_end(struct wb_kernel *kernel, struct wb_text *out);
/* Sends a frame of the running cell. Any thread. -1: the pipe is closed. */
int wb_kernel_send(struct wb_kernel *kernel, enum wb_kernel_frame_type type, uint32_t cell,
                   struct wb_span payload);
/* For hooks: whoever waits looks again. ctx: the kernel. */
void wb_kernel_wake(void *ctx);
/* SIGKILL to all of it, in the capsule too. Blocks until it is gone, or 6 s. Without the lock. */
void wb_kernel_end_now(struct wb_kernel *kernel);

/* What the process writes, and its end: for wb_child_options. Loop thread; ctx: the kernel. */
void wb_kernel_on_frames(void *ctx, const char *ptr, size_t len);
void wb_kernel_on_frames_end(void *ctx);
void wb_kernel_on_raw(void *ctx, const char *ptr, size_t len);
void wb_kernel_on_exit(void *ctx, const struct wb_child_status *status);

#endif

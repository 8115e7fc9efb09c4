/* kernel: one interpreter process that runs cells and keeps what they made.
 *
 *   starting --HELLO--> idle --run--> running --DONE--> idle
 *      |                                 |  \--stop--> interrupting --DONE--> idle
 *      |                                 |                  \--5 s--> dead
 *      +--deadline, end--> dead          +--end, broken protocol--> dead
 *
 * The loop thread takes what the process writes; wb_kernel_run waits on its caller's thread and
 * steps the ladder of an interrupt: the frame at once, frame and SIGINT after 1 s, SIGKILL to the
 * tree after 5 s. One cell at a time: its caller takes turns (kernels.h). Knows no tool and no run:
 * calls of a cell go to a port. */
#ifndef WB_KERNEL_KERNEL_H
#define WB_KERNEL_KERNEL_H

#include "base/cancel.h"
#include "kernel/cell.h"
#include "sys/child.h"

struct wb_kernel;

/* Who answers the calls of cells. Loop thread, without the kernel's lock. */
struct wb_kernel_port {
    void (*call)(void *ctx, uint32_t cell, uint32_t call, struct wb_span payload);
    void (*cancelled)(void *ctx, uint32_t cell, uint32_t call);
    void *ctx;
};

struct wb_kernel_options {
    struct wb_loop *loop;
    const char *guard;
    const char *program;     /* for sentences */
    const char *const *argv; /* interpreter, flags, loader; the nonce is put behind */
    const char *const *prefix, *const *env; /* as of wb_child_options */
    const char *cwd;
    struct wb_span bootstrap;
    int64_t memory_bytes; /* 0: no limit */
    struct wb_kernel_port port;
};

struct wb_kernel_hello {
    char *language, *version, *executable, *cwd;
    int64_t pid; /* as seen inside */
};

/* Starts the process and waits for its HELLO. The error says what it printed instead. */
struct wb_kernel *wb_kernel_start(const struct wb_kernel_options *options, int64_t deadline_ms,
                                  struct wb_cancel *cancel, struct wb_error *err);
/* Asks it to end, then ends it with everything that it started. NULL is allowed. */
void wb_kernel_free(struct wb_kernel *kernel);
const struct wb_kernel_hello *wb_kernel_hello(const struct wb_kernel *kernel);
/* False: it is dead, or has lost its channel. ret_cause (may be NULL): a clause, "exited with status
 * 3"; the caller's text. */
bool wb_kernel_is_alive(struct wb_kernel *kernel, struct wb_text *ret_cause);

struct wb_kernel_cell_options {
    struct wb_span code;
    const char *const *env; /* NAME=value to set before; the first cell's only; may be NULL */
    int64_t inactivity_ms;  /* 0: none. Suspended while calls are held */
    int64_t limit_ms;       /* of the whole cell; 0: none */
    int64_t deadline_ms;    /* of the caller */
    struct wb_cancel *cancel;
    /* Before the cell is interrupted: its calls are to be ended. Any of the two may be NULL. */
    void (*on_stop)(void *ctx);
    /* Every few seconds, on this thread. */
    void (*on_wait)(void *ctx, int64_t elapsed_ms);
    void *ctx;
};

/* The number that the next cell will have. */
uint32_t wb_kernel_next_cell(const struct wb_kernel *kernel);
/* Runs a cell to its end, whatever that is: *cell (initialised by the caller) is filled. */
void wb_kernel_run(struct wb_kernel *kernel, const struct wb_kernel_cell_options *options,
                   struct wb_cell *cell);
/* Ends the process at once, from any thread: the running cell ends with this cause. */
void wb_kernel_kill(struct wb_kernel *kernel, enum wb_cell_stop why);

/* For the port, any thread: */

/* A call is outstanding (+1), or not any more (-1): the budget stands still, or begins anew. */
void wb_kernel_hold(struct wb_kernel *kernel, int change);
/* Sends TOOL_RESULT. Of a cell that is over the kernel drops it, and a dead kernel hears nothing. */
void wb_kernel_answer(struct wb_kernel *kernel, uint32_t cell, uint32_t call,
                      struct wb_span payload);
/* A picture of a call's result, for the running cell. */
void wb_kernel_add_picture(struct wb_kernel *kernel, uint32_t cell, const char *mime,
                           struct wb_span bytes);

#endif

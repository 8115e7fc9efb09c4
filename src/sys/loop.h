/* loop: the host's one I/O thread. Owns reading, timers and children's pipes (libuv inside).
 *
 * Nobody blocks here: callbacks run on the I/O thread ("loop thread" in headers) and must not wait
 * for calls of tools. Every function may be called from any thread unless it says otherwise.
 * The thread starts with the first use, so that a call that needs no I/O costs none. Where it cannot
 * start, for want of descriptors or threads, the program ends as for want of memory; wb_loop_start
 * in front of the first use makes an error of it. */
#ifndef WB_SYS_LOOP_H
#define WB_SYS_LOOP_H

#include "base/error.h"

struct wb_loop;

struct wb_loop *wb_loop_new(void);
/* Starts the thread unless it runs. */
WB_MUST_CHECK int wb_loop_start(struct wb_loop *loop, struct wb_error *err);
/* Stops and joins the thread. Every stream, timer and child must have been closed before. */
void wb_loop_free(struct wb_loop *loop);

/* Runs fn(ctx) on the loop thread, in the order of posting. */
void wb_loop_post(struct wb_loop *loop, void (*fn)(void *ctx), void *ctx);
/* As post, and waits until fn has run. Runs it directly when called on the loop thread. */
void wb_loop_run_sync(struct wb_loop *loop, void (*fn)(void *ctx), void *ctx);
bool wb_loop_is_current(const struct wb_loop *loop);

/* A one-shot timer. */
struct wb_timer;
struct wb_timer *wb_timer_start(struct wb_loop *loop, int64_t delay_ms, void (*fn)(void *ctx),
                                void *ctx);
/* Stops and frees. Afterwards fn neither runs nor is running (safe from fn itself, where it only
 * frees). A fired timer still must be given back here. NULL is allowed. */
void wb_timer_stop(struct wb_timer *timer);

#endif

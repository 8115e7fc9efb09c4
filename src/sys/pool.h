/* pool: kept threads for calls. A thread is started when none is free and kept for the next job;
 * a new thread a call costs a third of a warm hover. */
#ifndef WB_SYS_POOL_H
#define WB_SYS_POOL_H

#include "base/error.h"

struct wb_pool;

struct wb_pool *wb_pool_new(size_t threads_max);
/* Runs job(ctx) on a kept thread. WB_ERROR_LIMIT when threads_max jobs are running. */
WB_MUST_CHECK int wb_pool_run(struct wb_pool *pool, void (*job)(void *ctx), void *ctx,
                              struct wb_error *err);
/* Runs fn(ctx, 0) .. fn(ctx, n - 1) side by side, the last on the calling thread, and waits for all.
 * Where the pool is full the calling thread does the rest itself. */
void wb_pool_run_each(struct wb_pool *pool, size_t n, void (*fn)(void *ctx, size_t i), void *ctx);
/* Waits for the running jobs, then joins the threads. */
void wb_pool_free(struct wb_pool *pool);

#endif

/* pool: a stack of waiting threads.
 *
 * Last in, first out: the thread that worked last has its stack in the caches. Must not know what
 * a job is. */
#include "sys/pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "sys/thread.h"

struct worker {
    struct wb_pool *pool;
    pthread_t thread;
    pthread_cond_t wake;
    void (*job)(void *ctx); /* NULL: waiting */
    void *ctx;
    struct worker *below;        /* of the stack of waiting ones */
    struct worker *next_started; /* of all, for the end */
};

struct wb_pool {
    pthread_mutex_t lock;
    pthread_cond_t idle; /* n_running became 0 */
    struct worker *waiting, *all;
    size_t n_running, threads_max;
    bool stopping;
};

struct wb_pool *wb_pool_new(size_t threads_max)
{
    struct wb_pool *pool = wb_alloc(sizeof(*pool));
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->idle, NULL);
    pool->threads_max = threads_max;
    return pool;
}

/* Under the lock: back on the stack. */
static void finish_job(struct wb_pool *pool, struct worker *worker)
{
    worker->job = NULL;
    worker->below = pool->waiting;
    pool->waiting = worker;
    if (--pool->n_running == 0) {
        pthread_cond_signal(&pool->idle);
    }
}

static void *run_worker(void *ctx)
{
    struct worker *worker = ctx;
    struct wb_pool *pool = worker->pool;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (worker->job == NULL && !pool->stopping) {
            pthread_cond_wait(&worker->wake, &pool->lock);
        }
        if (worker->job == NULL) {
            break;
        }
        pthread_mutex_unlock(&pool->lock);
        worker->job(worker->ctx);
        pthread_mutex_lock(&pool->lock);
        finish_job(pool, worker);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Under the lock. */
static int start_worker(struct wb_pool *pool, void (*job)(void *ctx), void *ctx,
                        struct wb_error *err)
{
    struct worker *worker = wb_alloc(sizeof(*worker));
    *worker = (struct worker){.pool = pool, .job = job, .ctx = ctx};
    pthread_cond_init(&worker->wake, NULL);
    if (wb_thread_start(&worker->thread, "werkbank-call", run_worker, worker, err) != 0) {
        pthread_cond_destroy(&worker->wake);
        free(worker);
        return -1;
    }
    worker->next_started = pool->all;
    pool->all = worker;
    return 0;
}

static int assign(struct wb_pool *pool, void (*job)(void *ctx), void *ctx, struct wb_error *err)
{
    if (pool->n_running == pool->threads_max) {
        return wb_error_set(err, WB_ERROR_LIMIT,
                            "%zu calls are running already, which is the limit; wait for one of "
                            "them to end, then try again",
                            pool->threads_max);
    }
    struct worker *worker = pool->waiting;
    if (worker == NULL) {
        return start_worker(pool, job, ctx, err);
    }
    pool->waiting = worker->below;
    worker->job = job;
    worker->ctx = ctx;
    pthread_cond_signal(&worker->wake);
    return 0;
}

int wb_pool_run(struct wb_pool *pool, void (*job)(void *ctx), void *ctx, struct wb_error *err)
{
    pthread_mutex_lock(&pool->lock);
    int result = assign(pool, job, ctx, err);
    if (result == 0) {
        pool->n_running++;
    }
    pthread_mutex_unlock(&pool->lock);
    return result;
}

/* One wb_pool_run_each: its jobs count themselves off. */
struct each {
    void (*fn)(void *ctx, size_t i);
    void *ctx;
    pthread_mutex_t lock;
    pthread_cond_t done;
    size_t n_running;
};

struct each_job {
    struct each *each;
    size_t i;
};

static void run_each_job(void *ctx)
{
    struct each_job *job = ctx;
    struct each *each = job->each;
    each->fn(each->ctx, job->i);
    pthread_mutex_lock(&each->lock);
    each->n_running--;
    pthread_cond_signal(&each->done);
    pthread_mutex_unlock(&each->lock);
}

void wb_pool_run_each(struct wb_pool *pool, size_t n, void (*fn)(void *ctx, size_t i), void *ctx)
{
    struct each each = {.fn = fn, .ctx = ctx, .n_running = n};
    WB_AUTO(wb_free_p) struct each_job *jobs = wb_alloc_array(n, sizeof(*jobs));
    pthread_mutex_init(&each.lock, NULL);
    pthread_cond_init(&each.done, NULL);
    for (size_t i = 0; i < n; i++) {
        jobs[i] = (struct each_job){&each, i};
        if (i + 1 == n || wb_pool_run(pool, run_each_job, &jobs[i], NULL) < 0) {
            run_each_job(&jobs[i]);
        }
    }
    pthread_mutex_lock(&each.lock);
    while (each.n_running > 0) {
        pthread_cond_wait(&each.done, &each.lock);
    }
    pthread_mutex_unlock(&each.lock);
    pthread_cond_destroy(&each.done);
    pthread_mutex_destroy(&each.lock);
}

static void join_all(struct wb_pool *pool)
{
    for (struct worker *worker = pool->all, *next; worker != NULL; worker = next) {
        next = worker->next_started;
        pthread_join(worker->thread, NULL);
        pthread_cond_destroy(&worker->wake);
        free(worker);
    }
}

void wb_pool_free(struct wb_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    while (pool->n_running != 0) {
        pthread_cond_wait(&pool->idle, &pool->lock);
    }
    pool->stopping = true;
    for (struct worker *worker = pool->waiting; worker != NULL; worker = worker->below) {
        pthread_cond_signal(&worker->wake);
    }
    pthread_mutex_unlock(&pool->lock);
    join_all(pool);
    pthread_cond_destroy(&pool->idle);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* loop: a thread around uv_run, and a list of posted functions that an async handle wakes it for.
 *
 * libuv's own calls are for the loop thread only, except uv_async_send; so everything that others
 * want of it goes through the list. Must not know what streams and children do with it. */
#include "sys/loop.h"

#include <assert.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "sys/loop_uv.h"
#include "sys/thread.h"

struct post {
    void (*fn)(void *ctx);
    void *ctx;
    struct post *next;
};

struct wb_loop {
    uv_loop_t uv;
    uv_async_t wake;
    pthread_t thread;
    atomic_bool started;  /* uv, wake and thread are valid */
    pthread_mutex_t lock; /* of the start and of the list */
    struct post *first, **last;
    char *buffer; /* loop thread */
    size_t buffer_bytes;
};

struct wb_timer {
    uv_timer_t uv;
    struct wb_loop *loop;
    int64_t deadline_ms;
    void (*fn)(void *ctx);
    void *ctx;
};

struct sync {
    void (*fn)(void *ctx);
    void *ctx;
    sem_t done;
};

struct wb_loop *wb_loop_new(void)
{
    struct wb_loop *loop = wb_alloc(sizeof(*loop));
    pthread_mutex_init(&loop->lock, NULL);
    loop->last = &loop->first;
    return loop;
}

static void run_posts(uv_async_t *wake)
{
    struct wb_loop *loop = wake->data;
    pthread_mutex_lock(&loop->lock);
    struct post *post = loop->first;
    loop->first = NULL;
    loop->last = &loop->first;
    pthread_mutex_unlock(&loop->lock);
    while (post != NULL) {
        struct post *next = post->next;
        post->fn(post->ctx);
        free(post);
        post = next;
    }
}

static void *run_thread(void *ctx)
{
    struct wb_loop *loop = ctx;
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    return NULL;
}

/* Gives back what uv_loop_init and uv_async_init took. */
static void undo_start(struct wb_loop *loop)
{
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    uv_loop_close(&loop->uv);
}

/* Under the lock. */
static int start_thread(struct wb_loop *loop, struct wb_error *err)
{
    int result = uv_loop_init(&loop->uv);
    if (result == 0) {
        result = uv_async_init(&loop->uv, &loop->wake, run_posts);
        loop->wake.data = loop;
        if (result != 0) {
            uv_loop_close(&loop->uv);
        }
    }
    if (result != 0) {
        return wb_error_set(err, WB_ERROR_IO, "cannot start the I/O thread: %s",
                            uv_strerror(result));
    }
    if (wb_thread_start(&loop->thread, "werkbank-io", run_thread, loop, err) != 0) {
        undo_start(loop);
        return -1;
    }
    atomic_store(&loop->started, true);
    return 0;
}

int wb_loop_start(struct wb_loop *loop, struct wb_error *err)
{
    pthread_mutex_lock(&loop->lock);
    int status = atomic_load(&loop->started) ? 0 : start_thread(loop, err);
    pthread_mutex_unlock(&loop->lock);
    return status;
}

void wb_loop_post(struct wb_loop *loop, void (*fn)(void *ctx), void *ctx)
{
    struct post *post = wb_alloc(sizeof(*post));
    *post = (struct post){.fn = fn, .ctx = ctx};
    pthread_mutex_lock(&loop->lock);
    struct wb_error err;
    if (!atomic_load(&loop->started) && start_thread(loop, &err) != 0) {
        fprintf(stderr, "werkbank: error: %s\n", err.message);
        abort(); /* the caller can do nothing without its I/O thread, as without memory */
    }
    *loop->last = post;
    loop->last = &post->next;
    uv_async_send(&loop->wake);
    pthread_mutex_unlock(&loop->lock);
}

bool wb_loop_is_current(const struct wb_loop *loop)
{
    return atomic_load(&loop->started) && pthread_equal(loop->thread, pthread_self());
}

static void run_and_tell(void *ctx)
{
    struct sync *sync = ctx;
    sync->fn(sync->ctx);
    sem_post(&sync->done);
}

void wb_loop_run_sync(struct wb_loop *loop, void (*fn)(void *ctx), void *ctx)
{
    if (wb_loop_is_current(loop)) {
        fn(ctx);
        return;
    }
    struct sync sync = {.fn = fn, .ctx = ctx};
    sem_init(&sync.done, 0, 0);
    wb_loop_post(loop, run_and_tell, &sync);
    while (sem_wait(&sync.done) != 0) {
        /* a signal of the embedder's */
    }
    sem_destroy(&sync.done);
}

static void close_wake(void *ctx)
{
    struct wb_loop *loop = ctx;
    uv_close((uv_handle_t *)&loop->wake, NULL);
}

void wb_loop_free(struct wb_loop *loop)
{
    if (loop == NULL) {
        return;
    }
    assert(!wb_loop_is_current(loop));
    if (atomic_load(&loop->started)) {
        /* Without its async handle uv_run returns once all others are closed too. */
        wb_loop_post(loop, close_wake, loop);
        pthread_join(loop->thread, NULL);
        assert(loop->first == NULL);
        int result = uv_loop_close(&loop->uv);
        assert(result == 0);
        (void)result;
    }
    pthread_mutex_destroy(&loop->lock);
    free(loop->buffer);
    free(loop);
}

uv_loop_t *wb_loop_uv(struct wb_loop *loop)
{
    return &loop->uv;
}

char *wb_loop_buffer(struct wb_loop *loop, size_t bytes)
{
    if (bytes > loop->buffer_bytes) {
        free(loop->buffer);
        loop->buffer = wb_alloc(bytes);
        loop->buffer_bytes = bytes;
    }
    return loop->buffer;
}

static void on_timer(uv_timer_t *uv)
{
    struct wb_timer *timer = uv->data;
    timer->fn(timer->ctx);
}

static void start_timer(void *ctx)
{
    struct wb_timer *timer = ctx;
    uv_timer_init(&timer->loop->uv, &timer->uv);
    timer->uv.data = timer;
    uv_update_time(&timer->loop->uv); /* the functions before this one took their time */
    uv_timer_start(&timer->uv, on_timer, (uint64_t)wb_clock_left_ms(timer->deadline_ms), 0);
}

struct wb_timer *wb_timer_start(struct wb_loop *loop, int64_t delay_ms, void (*fn)(void *ctx),
                                void *ctx)
{
    struct wb_timer *timer = wb_alloc(sizeof(*timer));
    timer->loop = loop;
    timer->deadline_ms = wb_clock_deadline(delay_ms);
    timer->fn = fn;
    timer->ctx = ctx;
    wb_loop_post(loop, start_timer, timer);
    return timer;
}

static void free_timer(uv_handle_t *handle)
{
    free(handle->data);
}

static void close_timer(void *ctx)
{
    struct wb_timer *timer = ctx;
    uv_close((uv_handle_t *)&timer->uv, free_timer);
}

void wb_timer_stop(struct wb_timer *timer)
{
    if (timer != NULL) {
        wb_loop_run_sync(timer->loop, close_timer, timer);
    }
}

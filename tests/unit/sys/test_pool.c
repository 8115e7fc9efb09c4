/* Tests of sys/pool: reuse, the limit, the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include "sys/pool.h"

struct job {
    pthread_t thread;
    sem_t started, go, done;
    bool blocks_sigterm;
};

static void job_init(struct job *job)
{
    sem_init(&job->started, 0, 0);
    sem_init(&job->go, 0, 0);
    sem_init(&job->done, 0, 0);
}

static void run_job(void *ctx)
{
    struct job *job = ctx;
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    job->thread = pthread_self();
    job->blocks_sigterm = sigismember(&blocked, SIGTERM);
    sem_post(&job->started);
    sem_wait(&job->go);
    sem_post(&job->done);
}

static void limit_is_exact(void **state)
{
    struct job jobs[3], late;
    struct wb_error err;
    (void)state;
    struct wb_pool *pool = wb_pool_new(3);
    for (size_t i = 0; i < 3; i++) {
        job_init(&jobs[i]);
        assert_int_equal(wb_pool_run(pool, run_job, &jobs[i], &err), 0);
    }
    job_init(&late);
    assert_int_equal(wb_pool_run(pool, run_job, &late, &err), -1);
    assert_int_equal(err.code, WB_ERROR_LIMIT);
    assert_non_null(strstr(err.message, "3 calls are running"));
    for (size_t i = 0; i < 3; i++) {
        sem_wait(&jobs[i].started);
        assert_true(jobs[i].blocks_sigterm);
        sem_post(&jobs[i].go);
    }
    wb_pool_free(pool);
    assert_false(pthread_equal(jobs[0].thread, jobs[1].thread));
}

/* A thread is back on the stack a moment after its job's last line. */
static void run_when_free(struct wb_pool *pool, struct job *job)
{
    struct wb_error err;
    while (wb_pool_run(pool, run_job, job, &err) != 0) {
        assert_int_equal(err.code, WB_ERROR_LIMIT);
        usleep(100);
    }
}

static void threads_are_kept(void **state)
{
    struct job first, next;
    (void)state;
    struct wb_pool *pool = wb_pool_new(1);
    job_init(&first);
    sem_post(&first.go);
    run_when_free(pool, &first);
    for (int i = 0; i < 100; i++) {
        job_init(&next);
        sem_post(&next.go);
        run_when_free(pool, &next);
        sem_wait(&next.done);
        assert_true(pthread_equal(first.thread, next.thread));
    }
    wb_pool_free(pool);
}

static void count(void *ctx)
{
    usleep(1000);
    atomic_fetch_add((atomic_int *)ctx, 1);
}

static void free_waits_for_jobs(void **state)
{
    struct wb_error err;
    (void)state;
    for (int round = 0; round < 20; round++) {
        atomic_int n = 0;
        struct wb_pool *pool = wb_pool_new(64);
        for (int i = 0; i < 40; i++) {
            assert_int_equal(wb_pool_run(pool, count, &n, &err), 0);
        }
        wb_pool_free(pool);
        assert_int_equal(n, 40);
    }
    wb_pool_free(wb_pool_new(4));
    wb_pool_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_is_exact),
        cmocka_unit_test(threads_are_kept),
        cmocka_unit_test(free_waits_for_jobs),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}

/* Tests of sys/loop: posting, waiting, timers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <pthread.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "sys/loop.h"

struct order {
    struct wb_loop *loop;
    int seen[4000];
    int n;
};

struct numbered {
    struct order *order;
    int number;
};

static void note_number(void *ctx)
{
    struct numbered *numbered = ctx;
    assert_true(wb_loop_is_current(numbered->order->loop));
    numbered->order->seen[numbered->order->n++] = numbered->number;
}

static void do_nothing(void *ctx)
{
    (void)ctx;
}

static void posts_run_in_order(void **state)
{
    static struct order order;
    static struct numbered numbered[1000];
    (void)state;
    order.loop = wb_loop_new();
    for (int i = 0; i < 1000; i++) {
        numbered[i] = (struct numbered){&order, i};
        wb_loop_post(order.loop, note_number, &numbered[i]);
    }
    wb_loop_run_sync(order.loop, do_nothing, NULL);
    assert_int_equal(order.n, 1000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(order.seen[i], i);
    }
    wb_loop_free(order.loop);
}

static void *post_many(void *ctx)
{
    struct numbered *own = ctx;
    for (int i = 0; i < 1000; i++) {
        wb_loop_post(own[i].order->loop, note_number, &own[i]);
        if (i % 100 == 0) {
            wb_loop_run_sync(own[i].order->loop, do_nothing, NULL);
        }
    }
    return NULL;
}

/* Each thread's posts keep their order, and none is lost. */
static void threads_post_at_once(void **state)
{
    static struct order order;
    static struct numbered numbered[4][1000];
    pthread_t threads[4];
    int last[4] = {-1, -1, -1, -1};
    (void)state;
    order.loop = wb_loop_new();
    for (int t = 0; t < 4; t++) {
        for (int i = 0; i < 1000; i++) {
            numbered[t][i] = (struct numbered){&order, t * 1000 + i};
        }
        pthread_create(&threads[t], NULL, post_many, numbered[t]);
    }
    for (int t = 0; t < 4; t++) {
        pthread_join(threads[t], NULL);
    }
    wb_loop_free(order.loop);
    assert_int_equal(order.n, 4000);
    for (int i = 0; i < 4000; i++) {
        int t = order.seen[i] / 1000, number = order.seen[i] % 1000;
        assert_true(number > last[t]);
        last[t] = number;
    }
}

static void sync_inside(void *ctx)
{
    struct wb_loop *loop = ctx;
    int ran = 0;
    struct order order = {.loop = loop};
    struct numbered numbered = {&order, 1};
    wb_loop_run_sync(loop, note_number, &numbered);
    ran = order.n;
    assert_int_equal(ran, 1);
}

static void run_sync_on_the_loop_runs_directly(void **state)
{
    (void)state;
    struct wb_loop *loop = wb_loop_new();
    assert_false(wb_loop_is_current(loop));
    wb_loop_run_sync(loop, sync_inside, loop);
    assert_false(wb_loop_is_current(loop));
    wb_loop_free(loop);
}

/* The kernel counts threads as links of this folder. */
static unsigned long count_threads(void)
{
    struct stat task;
    assert_int_equal(stat("/proc/self/task", &task), 0);
    return task.st_nlink;
}

static void thread_starts_with_the_first_use(void **state)
{
    (void)state;
    unsigned long before = count_threads();
    struct wb_loop *loop = wb_loop_new();
    assert_int_equal(count_threads(), before);
    wb_loop_post(loop, do_nothing, NULL);
    assert_int_equal(count_threads(), before + 1);
    wb_loop_free(loop);
    wb_loop_free(wb_loop_new());
    wb_loop_free(NULL);
}

struct alarm {
    struct wb_timer *timer;
    atomic_int n_fired;
    sem_t fired;
    int64_t at_ms;
    bool stop_inside;
};

static void ring(void *ctx)
{
    struct alarm *alarm = ctx;
    alarm->at_ms = wb_clock_now_ms();
    atomic_fetch_add(&alarm->n_fired, 1);
    if (alarm->stop_inside) {
        wb_timer_stop(alarm->timer);
    }
    sem_post(&alarm->fired);
}

/* And once there are some, it starts. */
static void a_start_without_descriptors_is_an_error(void **state)
{
    struct wb_loop *loop = wb_loop_new();
    struct rlimit before;
    struct wb_error err;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (rlim_t n = 0; n < 12; n++) { /* in the middle of its set-up, too */
        int next = dup(STDIN_FILENO);
        close(next);
        const struct rlimit none = {(rlim_t)next + n, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        int status = wb_loop_start(loop, &err);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        if (status == 0) {
            assert_true(n > 0);
            break;
        }
        assert_string_equal(err.message, "cannot start the I/O thread: too many open files");
    }
    assert_int_equal(wb_loop_start(loop, &err), 0);
    wb_loop_run_sync(loop, do_nothing, NULL);
    wb_loop_free(loop);
}

static void timers_fire_once_and_not_early(void **state)
{
    (void)state;
    struct wb_loop *loop = wb_loop_new();
    struct alarm alarm = {0};
    sem_init(&alarm.fired, 0, 0);
    int64_t start_ms = wb_clock_now_ms();
    alarm.timer = wb_timer_start(loop, 30, ring, &alarm);
    sem_wait(&alarm.fired);
    assert_true(alarm.at_ms - start_ms >= 29);
    wb_timer_stop(alarm.timer);
    wb_timer_stop(NULL);
    assert_int_equal(alarm.n_fired, 1);
    wb_loop_free(loop);
}

/* Stopped from another thread at the very moment of firing: never after the stop. */
static void stopped_timers_are_silent(void **state)
{
    (void)state;
    struct wb_loop *loop = wb_loop_new();
    for (int i = 0; i < 300; i++) {
        struct alarm alarm = {0};
        sem_init(&alarm.fired, 0, 0);
        alarm.timer = wb_timer_start(loop, i % 3, ring, &alarm);
        usleep((useconds_t)(i * 7 % 2500));
        wb_timer_stop(alarm.timer);
        int n = alarm.n_fired;
        usleep(50);
        assert_int_equal(alarm.n_fired, n);
        assert_true(n <= 1);
    }
    wb_loop_free(loop);
}

static void start_inside(void *ctx)
{
    struct alarm *alarm = ctx;
    alarm->stop_inside = true;
    alarm->timer = wb_timer_start((struct wb_loop *)alarm->timer, 1, ring, alarm);
}

/* The timer's own function gives it back. */
static void timer_stops_itself(void **state)
{
    (void)state;
    struct wb_loop *loop = wb_loop_new();
    struct alarm alarm = {.timer = (struct wb_timer *)loop};
    sem_init(&alarm.fired, 0, 0);
    wb_loop_post(loop, start_inside, &alarm);
    sem_wait(&alarm.fired);
    wb_loop_free(loop);
    assert_int_equal(alarm.n_fired, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(posts_run_in_order),
        cmocka_unit_test(threads_post_at_once),
        cmocka_unit_test(run_sync_on_the_loop_runs_directly),
        cmocka_unit_test(thread_starts_with_the_first_use),
        cmocka_unit_test(a_start_without_descriptors_is_an_error),
        cmocka_unit_test(timers_fire_once_and_not_early),
        cmocka_unit_test(stopped_timers_are_silent),
        cmocka_unit_test(timer_stops_itself),
    };
    return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}

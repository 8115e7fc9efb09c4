/* Tests of base/cancel: the races between firing, adding and removing. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cancel.h"

static void count_up(void *ctx)
{
    (*(int *)ctx)++;
}

static void *fire_token(void *token)
{
    wb_cancel_fire(token);
    return NULL;
}

static void hooks_run_once(void **state)
{
    struct wb_cancel token;
    int counts[3] = {0};
    struct wb_cancel_hook hooks[3];

    (void)state;
    wb_cancel_init(&token);
    for (size_t i = 0; i < WB_COUNT(hooks); i++) {
        hooks[i] = (struct wb_cancel_hook){.fire = count_up, .ctx = &counts[i]};
        wb_cancel_hook_add(&token, &hooks[i]);
    }
    wb_cancel_hook_remove(&token, &hooks[1]);
    assert_false(wb_cancel_is_fired(&token));
    wb_cancel_fire(&token);
    wb_cancel_fire(&token);
    assert_true(wb_cancel_is_fired(&token));
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 0);
    assert_int_equal(counts[2], 1);
    wb_cancel_hook_remove(&token, &hooks[0]); /* has run: removing is allowed and does nothing */
    wb_cancel_hook_remove(&token, &hooks[1]); /* twice as well */
    wb_cancel_done(&token);
}

static void hook_of_a_fired_token_runs_at_once(void **state)
{
    struct wb_cancel token;
    int count = 0;
    struct wb_cancel_hook hook = {.fire = count_up, .ctx = &count};

    (void)state;
    wb_cancel_init(&token);
    wb_cancel_fire(&token);
    wb_cancel_hook_add(&token, &hook);
    assert_int_equal(count, 1);
    wb_cancel_hook_remove(&token, &hook);
    wb_cancel_done(&token);
}

static void null_token_never_fires(void **state)
{
    int count = 0;
    struct wb_cancel_hook hook = {.fire = count_up, .ctx = &count};

    (void)state;
    assert_false(wb_cancel_is_fired(NULL));
    wb_cancel_hook_add(NULL, &hook);
    wb_cancel_hook_remove(NULL, &hook);
    assert_int_equal(count, 0);
}

/* A hook that says that it runs, and returns when it is told to. */
struct gate {
    atomic_bool entered, open, left;
};

static void pass_gate(void *ctx)
{
    struct gate *gate = ctx;

    atomic_store(&gate->entered, true);
    while (!atomic_load(&gate->open)) {
        sched_yield();
    }
    atomic_store(&gate->left, true);
}

struct removal {
    struct wb_cancel *token;
    struct wb_cancel_hook *hook;
    struct gate *gate;
    atomic_bool begun;
    bool left_before_return;
};

static void *remove_hook(void *ctx)
{
    struct removal *removal = ctx;

    atomic_store(&removal->begun, true);
    wb_cancel_hook_remove(removal->token, removal->hook);
    removal->left_before_return = atomic_load(&removal->gate->left);
    return NULL;
}

static void remove_waits_for_the_running_hook(void **state)
{
    struct wb_cancel token;
    struct gate gate = {0};
    struct wb_cancel_hook hook = {.fire = pass_gate, .ctx = &gate};
    struct removal removal = {.token = &token, .hook = &hook, .gate = &gate};
    pthread_t firing;
    pthread_t removing;

    (void)state;
    wb_cancel_init(&token);
    wb_cancel_hook_add(&token, &hook);
    assert_int_equal(pthread_create(&firing, NULL, fire_token, &token), 0);
    while (!atomic_load(&gate.entered)) {
        sched_yield();
    }
    assert_int_equal(pthread_create(&removing, NULL, remove_hook, &removal), 0);
    while (!atomic_load(&removal.begun)) {
        sched_yield();
    }
    atomic_store(&gate.open, true);
    pthread_join(removing, NULL);
    pthread_join(firing, NULL);
    assert_true(removal.left_before_return);
    wb_cancel_done(&token);
}

/* Two hooks, one stuck: the other one must be removable. The stuck one may need our lock. */
static void remove_does_not_wait_for_another_hook(void **state)
{
    struct wb_cancel token;
    struct gate gate = {0};
    int count = 0;
    struct wb_cancel_hook stuck = {.fire = pass_gate, .ctx = &gate};
    struct wb_cancel_hook other = {.fire = count_up, .ctx = &count};
    pthread_t firing;

    (void)state;
    wb_cancel_init(&token);
    wb_cancel_hook_add(&token, &other);
    wb_cancel_hook_add(&token, &stuck);
    assert_int_equal(pthread_create(&firing, NULL, fire_token, &token), 0);
    while (!atomic_load(&gate.entered)) {
        sched_yield();
    }
    wb_cancel_hook_remove(&token, &other);
    int count_at_removal = count; /* not running now or ever: no race */
    atomic_store(&gate.open, true);
    pthread_join(firing, NULL);
    assert_int_equal(count, count_at_removal);
    wb_cancel_done(&token);
}

/* Many rounds of a waiter whose hook writes to its stack while another thread fires. */
static void *wait_in_rounds(void *token)
{
    for (int round = 0; round < 200; round++) {
        int count = 0;
        struct wb_cancel_hook hook = {.fire = count_up, .ctx = &count};

        wb_cancel_hook_add(token, &hook);
        wb_cancel_hook_remove(token, &hook);
        if (count > 1) {
            return token;
        }
        count = -1000; /* a late hook would be a race here, and ThreadSanitizer's find */
    }
    return NULL;
}

static void add_and_remove_race_with_fire(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        struct wb_cancel token;
        pthread_t waiters[3];
        pthread_t firing;

        wb_cancel_init(&token);
        for (size_t i = 0; i < WB_COUNT(waiters); i++) {
            assert_int_equal(pthread_create(&waiters[i], NULL, wait_in_rounds, &token), 0);
        }
        assert_int_equal(pthread_create(&firing, NULL, fire_token, &token), 0);
        for (size_t i = 0; i < WB_COUNT(waiters); i++) {
            void *failed;

            pthread_join(waiters[i], &failed);
            assert_null(failed);
        }
        pthread_join(firing, NULL);
        assert_true(wb_cancel_is_fired(&token));
        wb_cancel_done(&token);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hooks_run_once),
        cmocka_unit_test(hook_of_a_fired_token_runs_at_once),
        cmocka_unit_test(null_token_never_fires),
        cmocka_unit_test(remove_waits_for_the_running_hook),
        cmocka_unit_test(remove_does_not_wait_for_another_hook),
        cmocka_unit_test(add_and_remove_race_with_fire),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

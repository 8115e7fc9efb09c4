/* Tests of base/clock. Nothing here measures: it compares times, or waits for what must come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"

static void time_does_not_go_back(void **state)
{
    int64_t last_us = wb_clock_now_us();

    (void)state;
    for (int i = 0; i < 1000; i++) {
        int64_t now_us = wb_clock_now_us();

        assert_true(now_us >= last_us);
        last_us = now_us;
    }
    assert_true(wb_clock_now_ms() >= last_us / 1000);
}

static void deadlines_saturate(void **state)
{
    int64_t before_ms = wb_clock_now_ms();

    (void)state;
    assert_true(wb_clock_deadline(1000) >= before_ms + 1000);
    assert_true(wb_clock_deadline(WB_NEVER) == WB_NEVER);
    assert_true(wb_clock_deadline(WB_NEVER - 1) == WB_NEVER);
    assert_true(wb_clock_left_ms(WB_NEVER) == WB_NEVER);
    assert_int_equal(wb_clock_left_ms(before_ms - 5), 0);
    assert_int_equal(wb_clock_left_ms(INT64_MIN), 0);
    assert_in_range(wb_clock_left_ms(wb_clock_deadline(60000)), 1, 60000);
}

struct signal {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool given;
};

static void *give_signal(void *ctx)
{
    struct signal *signal = ctx;

    pthread_mutex_lock(&signal->lock);
    signal->given = true;
    pthread_cond_signal(&signal->cond);
    pthread_mutex_unlock(&signal->lock);
    return NULL;
}

static void wait_ends_by_signal(void **state)
{
    static const int64_t waits_ms[] = {60000, WB_NEVER};

    (void)state;
    for (size_t i = 0; i < WB_COUNT(waits_ms); i++) {
        struct signal signal = {.lock = PTHREAD_MUTEX_INITIALIZER};
        pthread_t giver;

        wb_cond_init(&signal.cond);
        pthread_mutex_lock(&signal.lock);
        assert_int_equal(pthread_create(&giver, NULL, give_signal, &signal), 0);
        int64_t deadline_ms = wb_clock_deadline(waits_ms[i]);
        while (!signal.given) {
            assert_true(wb_cond_wait(&signal.cond, &signal.lock, deadline_ms));
        }
        pthread_mutex_unlock(&signal.lock);
        pthread_join(giver, NULL);
        pthread_cond_destroy(&signal.cond);
    }
}

static void wait_ends_by_deadline(void **state)
{
    struct signal signal = {.lock = PTHREAD_MUTEX_INITIALIZER};
    int64_t deadlines_ms[] = {INT64_MIN, 0, wb_clock_now_ms(), wb_clock_deadline(5)};

    (void)state;
    wb_cond_init(&signal.cond);
    pthread_mutex_lock(&signal.lock);
    for (size_t i = 0; i < WB_COUNT(deadlines_ms); i++) {
        while (wb_cond_wait(&signal.cond, &signal.lock, deadlines_ms[i])) {
            continue; /* spurious */
        }
        assert_int_equal(wb_clock_left_ms(deadlines_ms[i]), 0);
    }
    pthread_mutex_unlock(&signal.lock);
    pthread_cond_destroy(&signal.cond);
}

static void timestamp_has_its_form(void **state)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";
    char stamp[32];

    (void)state;
    wb_clock_timestamp(stamp);
    assert_int_equal(strlen(stamp), strlen(form));
    for (size_t i = 0; form[i] != '\0'; i++) {
        if (form[i] == 'd') {
            assert_in_range(stamp[i], '0', '9');
        } else {
            assert_int_equal(stamp[i], form[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_does_not_go_back),  cmocka_unit_test(deadlines_saturate),
        cmocka_unit_test(wait_ends_by_signal),    cmocka_unit_test(wait_ends_by_deadline),
        cmocka_unit_test(timestamp_has_its_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

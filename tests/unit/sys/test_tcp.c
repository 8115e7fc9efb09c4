/* Connections on the loopback address, and what ends the waiting for one. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "sys/tcp.h"

static bool is_over(void *ctx)
{
    (void)ctx;
    return true;
}

static void *connect_late(void *ctx)
{
    const struct wb_tcp_wait wait = {.deadline_ms = wb_clock_deadline(10000)};
    return (void *)(intptr_t)wb_tcp_connect(*(int *)ctx, &wait, NULL);
}

static void both_sides_meet(void **state)
{
    const struct wb_tcp_wait wait = {.deadline_ms = wb_clock_deadline(10000)};
    pthread_t thread;
    int port;
    void *connected;
    char byte = 0;
    (void)state;
    int listener = wb_tcp_listen(&port, NULL);
    assert_true(listener >= 0);
    assert_int_equal(pthread_create(&thread, NULL, connect_late, &port), 0);
    int accepted = wb_tcp_accept(listener, &wait, NULL);
    assert_true(accepted >= 0);
    pthread_join(thread, &connected);
    int fd = (int)(intptr_t)connected;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(read(accepted, &byte, 1), 1);
    assert_int_equal(byte, 'x');
    close(fd);
    close(accepted);
    close(listener);
}

static void waiting_ends(void **state)
{
    struct wb_cancel cancel;
    struct wb_error err;
    int port, listener = wb_tcp_listen(&port, NULL), nobody = wb_tcp_free_port(NULL);
    (void)state;
    wb_cancel_init(&cancel);
    wb_cancel_fire(&cancel);

    const struct {
        struct wb_tcp_wait wait;
        enum wb_error_code code;
    } cases[] = {
        {{.deadline_ms = wb_clock_now_ms()}, WB_ERROR_TIMEOUT},
        {{.deadline_ms = WB_NEVER, .cancel = &cancel}, WB_ERROR_CANCELLED},
        {{.deadline_ms = WB_NEVER, .is_over = is_over}, WB_ERROR_CLOSED},
    };

    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        assert_int_equal(wb_tcp_accept(listener, &cases[i].wait, &err), -1);
        assert_int_equal(err.code, cases[i].code);
        assert_int_equal(wb_tcp_connect(nobody, &cases[i].wait, &err), -1);
        assert_int_equal(err.code, cases[i].code);
    }
    wb_cancel_done(&cancel);
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_meet),
        cmocka_unit_test(waiting_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

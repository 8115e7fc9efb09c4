/* clock: CLOCK_MONOTONIC in milliseconds, for everything that waits. */
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

static struct timespec read_clock(clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now); /* cannot fail for the two clocks that are read here */
    return now;
}

int64_t wb_clock_now_us(void)
{
    struct timespec now = read_clock(CLOCK_MONOTONIC);

    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t wb_clock_now_ms(void)
{
    return wb_clock_now_us() / 1000;
}

int64_t wb_clock_deadline(int64_t ms)
{
    int64_t deadline_ms;

    if (__builtin_add_overflow(wb_clock_now_ms(), ms, &deadline_ms)) {
        return WB_NEVER;
    }
    return deadline_ms;
}

int64_t wb_clock_left_ms(int64_t deadline_ms)
{
    if (deadline_ms == WB_NEVER) {
        return WB_NEVER;
    }
    int64_t now_ms = wb_clock_now_ms();
    return deadline_ms > now_ms ? deadline_ms - now_ms : 0;
}

void wb_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool wb_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline_ms)
{
    if (deadline_ms == WB_NEVER) {
        pthread_cond_wait(cond, mutex);
        return true;
    }
    deadline_ms = WB_MAX(deadline_ms, 0);
    struct timespec until = {
        .tv_sec = deadline_ms / 1000,
        .tv_nsec = deadline_ms % 1000 * 1000000,
    };
    return pthread_cond_timedwait(cond, mutex, &until) != ETIMEDOUT;
}

void wb_clock_timestamp(char out[32])
{
    struct timespec now = read_clock(CLOCK_REALTIME);
    struct tm utc;

    gmtime_r(&now.tv_sec, &utc);
    size_t len = strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(out + len, 32 - len, ".%03dZ", (int)(now.tv_nsec / 1000000));
}

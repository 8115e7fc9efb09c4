/* clock: monotonic time, deadlines, and waiting on a condition until one.
 *
 * A deadline is an absolute monotonic time in milliseconds; WB_NEVER has none. */
#ifndef WB_BASE_CLOCK_H
#define WB_BASE_CLOCK_H

#include <pthread.h>

#include "base/base.h"

#define WB_NEVER INT64_MAX

int64_t wb_clock_now_ms(void);
int64_t wb_clock_now_us(void);
/* Now plus ms; saturates at WB_NEVER. */
int64_t wb_clock_deadline(int64_t ms);
/* Milliseconds left, 0 when over; WB_NEVER without a deadline. */
int64_t wb_clock_left_ms(int64_t deadline_ms);

/* A condition variable on the monotonic clock. */
void wb_cond_init(pthread_cond_t *cond);
/* Waits until signalled or the deadline; false when the deadline is over. Spurious wake-ups
 * happen: call in a loop over the condition. */
bool wb_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline_ms);

/* "2026-12-01T10:00:00.123Z" for transcripts and logs (UTC wall clock). */
void wb_clock_timestamp(char out[32]);

#endif

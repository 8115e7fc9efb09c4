/* cancel: a token that says once, from any thread, that the caller gave up.
 *
 * Waiters subscribe a callback that wakes them. Thread-safe. The token is embedded in its call and
 * outlives every subscription. */
#ifndef WB_BASE_CANCEL_H
#define WB_BASE_CANCEL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"

struct wb_cancel_hook {
    void (*fire)(void *ctx); /* runs on the cancelling thread, without the token's lock held */
    void *ctx;
    struct wb_cancel_hook *next;
};

struct wb_cancel {
    atomic_bool fired;
    pthread_mutex_t lock;
    struct wb_cancel_hook *hooks;
    pthread_cond_t idle;                  /* the running hook has returned */
    const struct wb_cancel_hook *running; /* the one that wb_cancel_fire is in */
};

void wb_cancel_init(struct wb_cancel *cancel);
void wb_cancel_done(struct wb_cancel *cancel);
/* Idempotent. Hooks run once, in no particular order. */
void wb_cancel_fire(struct wb_cancel *cancel);
/* NULL is a token that never fires. */
bool wb_cancel_is_fired(const struct wb_cancel *cancel);
/* Adds a hook (caller's memory). If the token has fired already, the hook runs at once, on this
 * thread. Adding to and removing from NULL do nothing. */
void wb_cancel_hook_add(struct wb_cancel *cancel, struct wb_cancel_hook *hook);
/* Removes it; afterwards it neither runs nor is running. Must not be called from the hook. */
void wb_cancel_hook_remove(struct wb_cancel *cancel, struct wb_cancel_hook *hook);

#endif

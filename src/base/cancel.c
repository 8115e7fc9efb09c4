/* cancel: fires each hook once, outside the lock, and lets a remover wait for the one that runs.
 *
 * A hook is in one of three places: in the list (not fired), `running` (the firing thread is in
 * it), or nowhere (done or removed). All moves happen under the lock. */
#include "base/cancel.h"

#include "base/clock.h"

void wb_cancel_init(struct wb_cancel *cancel)
{
    *cancel = (struct wb_cancel){0};
    atomic_init(&cancel->fired, false);
    pthread_mutex_init(&cancel->lock, NULL);
    wb_cond_init(&cancel->idle);
}

void wb_cancel_done(struct wb_cancel *cancel)
{
    pthread_cond_destroy(&cancel->idle);
    pthread_mutex_destroy(&cancel->lock);
}

void wb_cancel_fire(struct wb_cancel *cancel)
{
    pthread_mutex_lock(&cancel->lock);
    if (!atomic_exchange(&cancel->fired, true)) {
        while (cancel->hooks != NULL) {
            struct wb_cancel_hook *hook = cancel->hooks;

            cancel->hooks = hook->next;
            cancel->running = hook;
            pthread_mutex_unlock(&cancel->lock);
            hook->fire(hook->ctx);
            pthread_mutex_lock(&cancel->lock);
            cancel->running = NULL;
            pthread_cond_broadcast(&cancel->idle);
        }
    }
    pthread_mutex_unlock(&cancel->lock);
}

bool wb_cancel_is_fired(const struct wb_cancel *cancel)
{
    return cancel != NULL && atomic_load(&cancel->fired);
}

void wb_cancel_hook_add(struct wb_cancel *cancel, struct wb_cancel_hook *hook)
{
    if (cancel == NULL) {
        return;
    }
    pthread_mutex_lock(&cancel->lock);
    bool fired = atomic_load(&cancel->fired);
    if (!fired) {
        hook->next = cancel->hooks;
        cancel->hooks = hook;
    }
    pthread_mutex_unlock(&cancel->lock);
    if (fired) {
        hook->fire(hook->ctx);
    }
}

void wb_cancel_hook_remove(struct wb_cancel *cancel, struct wb_cancel_hook *hook)
{
    if (cancel == NULL) {
        return;
    }
    pthread_mutex_lock(&cancel->lock);
    for (struct wb_cancel_hook **link = &cancel->hooks; *link != NULL; link = &(*link)->next) {
        if (*link == hook) {
            *link = hook->next;
            break;
        }
    }
    /* Only this hook is waited for: another one may need a lock that the caller holds. */
    while (cancel->running == hook) {
        pthread_cond_wait(&cancel->idle, &cancel->lock);
    }
    pthread_mutex_unlock(&cancel->lock);
}

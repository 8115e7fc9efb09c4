/* interrupt: a thread that waits for the signals which all others block: a handler could take no
 * lock. SIGUSR1 from wb_interrupt_stop ends it. */
#include "app/interrupt.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

struct wb_interrupt {
    pthread_t thread;
    sigset_t signals;
    sigset_t before; /* the mask to put back */
    pthread_mutex_t lock;
    struct wb_cancel *target;
};

static void handle_signal(struct wb_interrupt *interrupt, int signal)
{
    pthread_mutex_lock(&interrupt->lock);
    if (interrupt->target == NULL || wb_cancel_is_fired(interrupt->target)) {
        _exit(128 + signal);
    }
    /* Under the lock: the target stays until it has been fired. */
    wb_cancel_fire(interrupt->target);
    pthread_mutex_unlock(&interrupt->lock);
}

static void *wait_for_signals(void *ctx)
{
    struct wb_interrupt *interrupt = ctx;
    int signal = 0;
    while (sigwait(&interrupt->signals, &signal) == 0 && signal != SIGUSR1) {
        handle_signal(interrupt, signal);
    }
    return NULL;
}

struct wb_interrupt *wb_interrupt_start(struct wb_error *err)
{
    struct wb_interrupt *interrupt = wb_alloc(sizeof(*interrupt));
    pthread_mutex_init(&interrupt->lock, NULL);
    sigemptyset(&interrupt->signals);
    sigaddset(&interrupt->signals, SIGINT);
    sigaddset(&interrupt->signals, SIGTERM);
    sigaddset(&interrupt->signals, SIGHUP);
    sigaddset(&interrupt->signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &interrupt->signals, &interrupt->before);
    int error = pthread_create(&interrupt->thread, NULL, wait_for_signals, interrupt);
    if (error != 0) {
        wb_error_errno(err, error, "cannot start a thread");
        pthread_sigmask(SIG_SETMASK, &interrupt->before, NULL);
        pthread_mutex_destroy(&interrupt->lock);
        free(interrupt);
        return NULL;
    }
    return interrupt;
}

void wb_interrupt_stop(struct wb_interrupt *interrupt)
{
    if (interrupt == NULL) {
        return;
    }
    pthread_kill(interrupt->thread, SIGUSR1);
    pthread_join(interrupt->thread, NULL);
    pthread_sigmask(SIG_SETMASK, &interrupt->before, NULL);
    pthread_mutex_destroy(&interrupt->lock);
    free(interrupt);
}

void wb_interrupt_target(struct wb_interrupt *interrupt, struct wb_cancel *cancel)
{
    pthread_mutex_lock(&interrupt->lock);
    interrupt->target = cancel;
    pthread_mutex_unlock(&interrupt->lock);
}

/* thread: pthread_create with signals blocked. */
#include "sys/thread.h"

#include <signal.h>

/* Faults must reach their handlers (sanitizers, crash reporters), profilers want every thread. */
static void fill_foreign(sigset_t *set)
{
    static const int ours[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
    sigfillset(set);
    for (size_t i = 0; i < WB_COUNT(ours); i++) {
        sigdelset(set, ours[i]);
    }
}

int wb_thread_start(pthread_t *ret_thread, const char *name, void *(*run)(void *ctx), void *ctx,
                    struct wb_error *err)
{
    sigset_t foreign, before;
    fill_foreign(&foreign);
    pthread_sigmask(SIG_BLOCK, &foreign, &before);
    int error = pthread_create(ret_thread, NULL, run, ctx);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        return wb_error_errno(err, error, "cannot start a thread");
    }
    pthread_setname_np(*ret_thread, name);
    return 0;
}

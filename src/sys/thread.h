/* thread: starts the threads of this folder.
 *
 * They take no signals: a library's threads must not run the embedder's handlers. */
#ifndef WB_SYS_THREAD_H
#define WB_SYS_THREAD_H

#include <pthread.h>

#include "base/error.h"

/* The name shows in debuggers: at most 15 characters. */
WB_MUST_CHECK int wb_thread_start(pthread_t *ret_thread, const char *name, void *(*run)(void *ctx),
                                  void *ctx, struct wb_error *err);

#endif

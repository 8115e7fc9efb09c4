/* processes: what the tests of sys/child share: a program to start, what it said, who is alive. */
#ifndef WB_TESTS_PROCESSES_H
#define WB_TESTS_PROCESSES_H

#include <pthread.h>

#include "base/clock.h"
#include "sys/child.h"

extern struct wb_loop *loop; /* of the group's fixture */
int loop_set_up(void **state);
int loop_tear_down(void **state);

#define LONG_MS 60000 /* longer than anything here takes; a test that waits for it has failed */

/* What a child says, and that it has ended. */
struct listener {
    pthread_mutex_t lock;
    pthread_cond_t woken;
    struct wb_text out;
    int n_ends, n_exits;
    struct wb_child_status status;
};

void listener_init(struct listener *listener);
void listener_done(struct listener *listener);
/* Waits until the child has said it. False after LONG_MS. */
bool listener_await(struct listener *listener, const char *words);

/* Starts child_program in a mode, with its output going to the listener. Never NULL. The extra
 * options are kept where they are set. */
struct wb_child *start_mode(struct listener *listener, const char *mode, const char *arg,
                            const struct wb_child_options *extra);

/* A value for the environment variable WB_TEST_MARK that nobody else has. */
char *new_mark(void);
/* Processes with that mark that are alive (zombies are not). */
size_t count_marked(const char *mark);
/* Waits until there is none; false when some are left at the deadline. */
bool await_none_marked(const char *mark, int64_t deadline_ms);

size_t count_descriptors(void);
/* Our own children, zombies included. */
size_t count_children(void);

#endif

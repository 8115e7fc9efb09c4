/* host_program: a host with children of every unpleasant kind, for the tests that kill it.
 *
 *     host_program MARK [fork|exec]
 * Every child has WB_TEST_MARK=MARK in its environment. Says "ready" when all run. fork: a copy of
 * the host, with all its descriptors, lives on. exec: becomes another program instead of waiting. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "sys/child.h"

static void ignore_data(void *ctx, const char *ptr, size_t len)
{
    (void)ctx;
    (void)ptr;
    (void)len;
}

static struct wb_child *start(struct wb_loop *loop, const char *mode, const char *mark)
{
    const char *const argv[] = {CHILD_PROGRAM, mode, NULL};
    WB_AUTO(wb_free_p) char *entry = wb_sprintf("WB_TEST_MARK=%s", mark);
    const char *const env[] = {entry, NULL};
    struct wb_child_options options = {.argv = argv,
                                       .env = env,
                                       .guard = getenv("WERKBANK_GUARD"),
                                       .out = {.on_data = ignore_data}};
    struct wb_error err;
    struct wb_child *child = wb_child_start(loop, &options, &err);
    if (child == NULL) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    return child;
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"cat",    "wait",       "stubborn", "daemon-cat",
                                        "thread", "supervisor", "rabbit",   "daemon-exit"};
    if (argc < 2) {
        return 2;
    }
    struct wb_loop *loop = wb_loop_new();
    for (size_t i = 0; i < WB_COUNT(kinds); i++) {
        start(loop, kinds[i], argv[1]);
    }
    if (argc > 2 && wb_str_equal(argv[2], "fork") && fork() == 0) {
        close(STDOUT_FILENO);
        sleep(5);
        _exit(0);
    }
    puts("ready");
    fflush(stdout);
    if (argc > 2 && wb_str_equal(argv[2], "exec")) {
        close(STDOUT_FILENO);
        execl("/bin/sleep", "sleep", "20", (char *)NULL);
        return 1;
    }
    sleep(60);
    return 0;
}

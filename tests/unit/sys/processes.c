/* processes: see processes.h. */
#include "processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

struct wb_loop *loop;

int loop_set_up(void **state)
{
    (void)state;
    loop = wb_loop_new();
    return 0;
}

int loop_tear_down(void **state)
{
    (void)state;
    wb_loop_free(loop);
    return 0;
}

void listener_init(struct listener *listener)
{
    *listener = (struct listener){0};
    pthread_mutex_init(&listener->lock, NULL);
    wb_cond_init(&listener->woken);
}

void listener_done(struct listener *listener)
{
    wb_text_done(&listener->out);
    pthread_cond_destroy(&listener->woken);
    pthread_mutex_destroy(&listener->lock);
}

bool listener_await(struct listener *listener, const char *words)
{
    int64_t deadline_ms = wb_clock_deadline(LONG_MS);
    pthread_mutex_lock(&listener->lock);
    bool said;
    do {
        said = strstr(wb_text_cstr(&listener->out), words) != NULL;
    } while (!said && wb_cond_wait(&listener->woken, &listener->lock, deadline_ms));
    pthread_mutex_unlock(&listener->lock);
    return said;
}

static void on_data(void *ctx, const char *ptr, size_t len)
{
    struct listener *listener = ctx;
    pthread_mutex_lock(&listener->lock);
    assert_int_equal(listener->n_ends, 0);
    wb_text_add(&listener->out, ptr, len);
    pthread_cond_broadcast(&listener->woken);
    pthread_mutex_unlock(&listener->lock);
}

static void on_end(void *ctx)
{
    struct listener *listener = ctx;
    pthread_mutex_lock(&listener->lock);
    listener->n_ends++;
    pthread_mutex_unlock(&listener->lock);
}

static void on_exit_of_child(void *ctx, const struct wb_child_status *status)
{
    struct listener *listener = ctx;
    pthread_mutex_lock(&listener->lock);
    listener->n_exits++;
    listener->status = *status;
    pthread_mutex_unlock(&listener->lock);
}

struct wb_child *start_mode(struct listener *listener, const char *mode, const char *arg,
                            const struct wb_child_options *extra)
{
    const char *const argv[] = {CHILD_PROGRAM, mode, arg, NULL};
    struct wb_child_options options = extra != NULL ? *extra : (struct wb_child_options){0};
    options.argv = argv;
    options.guard = getenv("WERKBANK_GUARD");
    options.out = (struct wb_stream_handler){on_data, on_end, listener};
    options.on_exit = on_exit_of_child;
    options.ctx = listener;
    struct wb_error err;
    struct wb_child *child = wb_child_start(loop, &options, &err);
    if (child == NULL) {
        fail_msg("%s", err.message);
    }
    return child;
}

char *new_mark(void)
{
    static atomic_int n;
    return wb_sprintf("%d-%lld-%d", (int)getpid(), (long long)wb_clock_now_us(),
                      atomic_fetch_add(&n, 1));
}

/* environ is empty for a zombie, and stays readable for all others. */
static bool has_mark(const char *pid, const char *entry, size_t entry_len)
{
    static char bytes[256 * 1024];
    char path[64];
    snprintf(path, sizeof(path), "/proc/%.16s/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    size_t len = 0;
    for (ssize_t n; (n = read(fd, bytes + len, sizeof(bytes) - len)) > 0;) {
        len += (size_t)n;
    }
    close(fd);
    return memmem(bytes, len, entry, entry_len) != NULL;
}

size_t count_marked(const char *mark)
{
    WB_AUTO(wb_free_p) char *entry = wb_sprintf("WB_TEST_MARK=%s", mark);
    size_t n = 0;
    DIR *dir = opendir("/proc");
    for (struct dirent *at; (at = readdir(dir)) != NULL;) {
        if (at->d_name[0] >= '1' && at->d_name[0] <= '9') {
            n += has_mark(at->d_name, entry, strlen(entry) + 1);
        }
    }
    closedir(dir);
    return n;
}

bool await_none_marked(const char *mark, int64_t deadline_ms)
{
    while (count_marked(mark) != 0) {
        if (wb_clock_left_ms(deadline_ms) == 0) {
            return false;
        }
        usleep(20000);
    }
    return true;
}

size_t count_descriptors(void)
{
    size_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *at; (at = readdir(dir)) != NULL;) {
        n += at->d_name[0] != '.';
    }
    closedir(dir);
    return n - 1; /* the folder's own */
}

size_t count_children(void)
{
    size_t n = 0;
    char path[64], word[32];
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *at; (at = readdir(dir)) != NULL;) {
        snprintf(path, sizeof(path), "/proc/self/task/%.16s/children", at->d_name);
        FILE *file = at->d_name[0] != '.' ? fopen(path, "re") : NULL;
        while (file != NULL && fscanf(file, "%31s", word) == 1) {
            n++;
        }
        if (file != NULL) {
            fclose(file);
        }
    }
    closedir(dir);
    return n;
}

/* kernel: the process, from its start to its end. What it writes is taken in kernel_take.c, its cells
 * run in kernel_run.c. */
#include "kernel/kernel.h"

#include <assert.h>
#include <endian.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "kernel/kernel_private.h"
#include "sys/file.h"

#define NONCE_BYTES 16
#define SHUTDOWN_MS 500 /* for exit handlers */
#define KILL_MS 6000
#define KILL_INSIDE_MS 5000

void wb_kernel_set_state(struct wb_kernel *kernel, enum wb_kernel_state state)
{
    static const char *const names[] = {"starting", "idle", "running", "interrupting", "dead"};
    static const unsigned from[] = {
        [KERNEL_STARTING] = 0,
        [KERNEL_IDLE] = 1U << KERNEL_STARTING | 1U << KERNEL_RUNNING | 1U << KERNEL_INTERRUPTING,
        [KERNEL_RUNNING] = 1U << KERNEL_IDLE,
        [KERNEL_INTERRUPTING] = 1U << KERNEL_RUNNING,
        [KERNEL_DEAD] = 1U << KERNEL_STARTING | 1U << KERNEL_IDLE | 1U << KERNEL_RUNNING |
                        1U << KERNEL_INTERRUPTING,
    };
    (void)from;
    assert((from[state] & 1U << kernel->state) != 0);
    wb_log(WB_LOG_DEBUG, "kernel: %s -> %s", names[kernel->state], names[state]);
    kernel->state = state;
    pthread_cond_broadcast(&kernel->changed);
}

/* --- its end --- */

/* Processes that the system's out-of-memory killer has ended; -1: not known. */
static int64_t count_oom_kills(void)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct wb_span text, line;
    int64_t count = -1;
    wb_arena_init(&arena);
    if (wb_file_read(&arena, "/proc/vmstat", WB_MIB, &text, NULL, NULL) != 0) {
        return -1;
    }
    while (wb_span_next_line(&text, &line)) {
        const struct wb_span key = WB_SPAN("oom_kill ");
        if (wb_span_starts(line, key)) {
            wb_span_int64((struct wb_span){line.ptr + key.len, line.len - key.len}, &count);
        }
    }
    return count;
}

/* Under the lock: the end of the frames is often heard of before the exit that it comes from. */
static void await_exit(struct wb_kernel *kernel)
{
    int64_t until_ms = kernel->lost_ms + WB_KERNEL_LOST_MS;
    while (!kernel->has_exited && kernel->broken == NULL && kernel->lost_ms != 0 &&
           wb_cond_wait(&kernel->changed, &kernel->lock, until_ms)) {
    }
}

void wb_kernel_describe_end(struct wb_kernel *kernel, struct wb_text *out)
{
    const struct wb_child_status *status = &kernel->status;
    await_exit(kernel);
    /* Our own SIGKILL says nothing; an exit in the last moment before it does. */
    bool is_cut = !kernel->has_exited || (kernel->was_cut && status->signal == SIGKILL);
    if (kernel->broken != NULL) {
        wb_text_printf(out, "broke its protocol with the host (%s) and was killed", kernel->broken);
    } else if (is_cut) {
        wb_text_add_str(out, "lost its channel to the host, whose descriptor was closed");
    } else {
        wb_child_describe(status, out);
        if (status->signal == SIGKILL && !status->memory && count_oom_kills() > kernel->oom_kills) {
            wb_text_add_str(out, ", by the system's out-of-memory killer as it seems");
        }
        if (kernel->prefix != NULL && status->exited && status->exit_code > 128) {
            wb_text_printf(out, " (of the capsule's command: signal %d inside)",
                           status->exit_code - 128);
        }
    }
}

/* A client that ended without the process inside, which may be deaf to its end of file. */
static void kill_inside(struct wb_kernel *kernel)
{
    char pid[24];
    struct wb_child_output output;
    snprintf(pid, sizeof(pid), "%lld", (long long)kernel->hello.pid);
    const char *const argv[] = {"sh", "-c", "kill -s KILL -- \"-$0\"", pid, NULL};
    const struct wb_child_options options = {
        .argv = argv, .prefix = (const char *const *)kernel->prefix, .guard = kernel->guard};
    const struct wb_child_run run = {.options = &options,
                                     .output_bytes_max = 4096,
                                     .deadline_ms = wb_clock_deadline(KILL_INSIDE_MS)};
    if (wb_child_run(kernel->loop, &run, &output, NULL) == 0) {
        wb_child_output_done(&output);
    }
}

void wb_kernel_end_now(struct wb_kernel *kernel)
{
    wb_child_signal(kernel->child, SIGKILL, true);
    if (kernel->prefix != NULL && kernel->hello.pid > 1) {
        kill_inside(kernel);
    }
    wb_child_wait(kernel->child, wb_clock_deadline(KILL_MS), NULL, NULL);
}

int wb_kernel_send(struct wb_kernel *kernel, enum wb_kernel_frame_type type, uint32_t cell,
                   struct wb_span payload)
{
    WB_AUTO(wb_text_done) struct wb_text frame = {0};
    wb_kernel_frame_put(&frame, type, cell, 0, payload);
    struct wb_span bytes = wb_text_span(&frame);
    return wb_child_write(kernel->child, &bytes, 1, NULL);
}

void wb_kernel_free(struct wb_kernel *kernel)
{
    if (kernel == NULL) {
        return;
    }
    if (kernel->child != NULL && kernel->state == KERNEL_IDLE && wb_kernel_is_alive(kernel, NULL) &&
        wb_kernel_send(kernel, WB_KERNEL_SHUTDOWN, 0, WB_SPAN("{}")) == 0) {
        wb_child_wait(kernel->child, wb_clock_deadline(SHUTDOWN_MS), NULL, NULL);
    }
    wb_child_free(kernel->child);
    wb_kernel_reader_free(kernel->reader);
    wb_kernel_marks_free(kernel->marks);
    wb_output_done(&kernel->background);
    free(kernel->hello.language);
    free(kernel->hello.version);
    free(kernel->hello.executable);
    free(kernel->hello.cwd);
    free(kernel->broken);
    free(kernel->guard);
    for (size_t i = 0; kernel->prefix != NULL && kernel->prefix[i] != NULL; i++) {
        free(kernel->prefix[i]);
    }
    free(kernel->prefix);
    pthread_cond_destroy(&kernel->changed);
    pthread_mutex_destroy(&kernel->lock);
    free(kernel);
}

/* --- its start --- */

static char **copy_strings(const char *const *strings)
{
    size_t n = 0;
    while (strings != NULL && strings[n] != NULL) {
        n++;
    }
    if (n == 0) {
        return NULL;
    }
    char **copies = wb_alloc_array(n + 1, sizeof(*copies));
    for (size_t i = 0; i < n; i++) {
        copies[i] = wb_strdup(strings[i]);
    }
    return copies;
}

static int make_nonce(char out[2 * NONCE_BYTES + 1], struct wb_error *err)
{
    unsigned char random[NONCE_BYTES];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
        return wb_error_set(err, WB_ERROR_IO, "the system gives no random numbers");
    }
    for (size_t i = 0; i < sizeof(random); i++) {
        snprintf(out + 2 * i, 3, "%02x", random[i]);
    }
    return 0;
}

static int start_child(struct wb_kernel *kernel, const struct wb_kernel_options *options,
                       const char *nonce, struct wb_error *err)
{
    size_t n = 0;
    while (options->argv[n] != NULL) {
        n++;
    }
    WB_AUTO(wb_free_p) const char **argv = wb_alloc_array(n + 2, sizeof(*argv));
    memcpy(argv, options->argv, n * sizeof(*argv));
    argv[n] = nonce;
    const struct wb_child_options child = {
        .argv = argv,
        .env = options->env,
        .cwd = options->cwd,
        .prefix = options->prefix,
        .memory_bytes = options->memory_bytes,
        .guard = options->guard,
        .out = {.on_data = wb_kernel_on_frames, .on_end = wb_kernel_on_frames_end, .ctx = kernel},
        .on_stderr = wb_kernel_on_raw,
        .on_exit = wb_kernel_on_exit,
        .ctx = kernel,
    };
    kernel->child = wb_child_start(options->loop, &child, err);
    if (kernel->child == NULL) {
        return -1;
    }
    uint32_t len = htole32((uint32_t)options->bootstrap.len);
    struct wb_span source[] = {{(const char *)&len, sizeof(len)}, options->bootstrap};
    struct wb_error ignored; /* one that ended at once is told by its end */
    (void)!wb_child_write(kernel->child, source, WB_COUNT(source), &ignored);
    return 0;
}

void wb_kernel_wake(void *ctx)
{
    struct wb_kernel *kernel = ctx;
    pthread_mutex_lock(&kernel->lock);
    pthread_cond_broadcast(&kernel->changed);
    pthread_mutex_unlock(&kernel->lock);
}

/* False: it is not idle, for whatever reason. */
static bool await_hello(struct wb_kernel *kernel, int64_t deadline_ms, struct wb_cancel *cancel)
{
    struct wb_cancel_hook hook = {.fire = wb_kernel_wake, .ctx = kernel};
    bool in_time = true;
    wb_cancel_hook_add(cancel, &hook);
    pthread_mutex_lock(&kernel->lock);
    while (in_time && kernel->state == KERNEL_STARTING && kernel->broken == NULL &&
           !kernel->has_exited && !wb_cancel_is_fired(cancel)) {
        /* The frames' end is that of the process a moment later. */
        in_time = wb_cond_wait(&kernel->changed, &kernel->lock, deadline_ms);
    }
    bool is_idle = kernel->state == KERNEL_IDLE && kernel->broken == NULL;
    pthread_mutex_unlock(&kernel->lock);
    wb_cancel_hook_remove(cancel, &hook);
    return is_idle;
}

/* Stops what did not come up, and says why. */
static int give_up_start(struct wb_kernel *kernel, const char *program,
                         const struct wb_cancel *cancel, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text said = {0};
    WB_AUTO(wb_text_done) struct wb_text end = {0};
    pthread_mutex_lock(&kernel->lock);
    bool has_ended = kernel->has_exited || kernel->broken != NULL;
    wb_kernel_describe_end(kernel, &end);
    pthread_mutex_unlock(&kernel->lock);
    wb_child_stop(kernel->child, 0, 0);
    wb_child_stderr_tail(kernel->child, &said);
    const char *colon = said.len > 0 ? ": " : "";
    if (wb_cancel_is_fired(cancel)) {
        return wb_error_set(err, WB_ERROR_CANCELLED, "cancelled while %s started", program);
    }
    if (!has_ended) {
        return wb_error_set(err, WB_ERROR_TIMEOUT,
                            "%s did not come up in time and was stopped; eval.start_timeout_s "
                            "sets how long it may take%s%s",
                            program, colon, wb_text_cstr(&said));
    }
    return wb_error_set(err, WB_ERROR_UNAVAILABLE, "%s %s before it could run a cell%s%s", program,
                        wb_text_cstr(&end), colon, wb_text_cstr(&said));
}

struct wb_kernel *wb_kernel_start(const struct wb_kernel_options *options, int64_t deadline_ms,
                                  struct wb_cancel *cancel, struct wb_error *err)
{
    char nonce[2 * NONCE_BYTES + 1];
    if (make_nonce(nonce, err) != 0) {
        return NULL;
    }
    struct wb_kernel *kernel = wb_alloc(sizeof(*kernel));
    kernel->loop = options->loop;
    kernel->guard = wb_strdup(options->guard);
    kernel->prefix = copy_strings(options->prefix);
    kernel->port = options->port;
    kernel->oom_kills = count_oom_kills();
    kernel->reader = wb_kernel_reader_new(nonce);
    kernel->marks = wb_kernel_marks_new(nonce);
    pthread_mutex_init(&kernel->lock, NULL);
    wb_cond_init(&kernel->changed);
    wb_output_init(&kernel->background, WB_KERNEL_BACKGROUND_BYTES_MAX, NULL);
    if (start_child(kernel, options, nonce, err) != 0) {
        wb_kernel_free(kernel);
        return NULL;
    }
    if (!await_hello(kernel, deadline_ms, cancel)) {
        give_up_start(kernel, options->program, cancel, err);
        wb_kernel_free(kernel);
        return NULL;
    }
    return kernel;
}

const struct wb_kernel_hello *wb_kernel_hello(const struct wb_kernel *kernel)
{
    return &kernel->hello;
}

bool wb_kernel_is_alive(struct wb_kernel *kernel, struct wb_text *ret_cause)
{
    pthread_mutex_lock(&kernel->lock);
    bool is_alive = !kernel->has_exited && kernel->broken == NULL && kernel->lost_ms == 0;
    if (!is_alive && ret_cause != NULL) {
        wb_kernel_describe_end(kernel, ret_cause);
    }
    pthread_mutex_unlock(&kernel->lock);
    return is_alive;
}

/* child: processes. Nothing else in the program starts one.
 *
 * Each child is started with posix_spawn behind its own werkbank-guard (sys/guard/guard.c), the
 * child's parent and a subreaper, which makes the session and the limits, reports pid and status,
 * delivers signals, and removes the whole tree when the child ends or the host dies. The diagram
 * and the protocol between host and guard are in docs/internals/processes.md.
 *
 *   running --process died--> dead --its tree is gone--> gone --both pipes ended--> ended
 *
 * stderr is always drained: its tail is kept for error texts, and handed to on_stderr as it comes.
 * Every function may be called from any thread. Callbacks run on the loop thread. */
#ifndef WB_SYS_CHILD_H
#define WB_SYS_CHILD_H

#include "base/cancel.h"
#include "base/text.h"
#include "sys/stream.h"

struct wb_child;

struct wb_child_status {
    bool exited;   /* by itself, with exit_code */
    int exit_code; /* 0-255 */
    int signal;    /* nonzero: killed by it */
    bool memory;   /* killed over its memory limit: */
    int64_t memory_bytes;
};

struct wb_child_options {
    const char *const *argv; /* NULL-terminated; argv[0] as wb_path_find_program gave it */
    const char *const
        *env;        /* NAME=value added to or replacing ours, NAME alone removes it; may be NULL */
    const char *cwd; /* NULL: ours */
    const char *const *prefix;    /* exec prefix (the capsule), NULL-terminated; may be NULL */
    int64_t memory_bytes;         /* of the whole tree, measured ten times a second; 0: no limit */
    bool stderr_to_stdout;        /* one pipe for both; no tail then */
    const char *guard;            /* path of werkbank-guard */
    struct wb_stream_handler out; /* stdout; on_data NULL: goes to /dev/null */
    void (*on_stderr)(void *ctx, const char *ptr, size_t len); /* may be NULL */
    /* Once, after the process is gone, its tree is verified gone, and stdout and stderr have
     * ended; wb_child_wait may return a moment before it. May be NULL. */
    void (*on_exit)(void *ctx, const struct wb_child_status *status);
    void *ctx; /* of on_stderr and on_exit */
};

/* Starts the child; returns after the exec succeeded or failed (a missing or broken executable is
 * an error here, with its reason). stdin is a pipe, written by wb_child_write. Callbacks may run
 * before this returns. */
struct wb_child *wb_child_start(struct wb_loop *loop, const struct wb_child_options *options,
                                struct wb_error *err);

int wb_child_pid(const struct wb_child *child);
WB_MUST_CHECK int wb_child_write(struct wb_child *child, const struct wb_span *spans, size_t n,
                                 struct wb_error *err);
void wb_child_close_stdin(struct wb_child *child);
/* To the process alone, or to its whole session. A child that has ended is no error. */
void wb_child_signal(struct wb_child *child, int signal, bool tree);

/* The ladder after the protocol's own shutdown: close stdin, wait eof_ms; SIGTERM to the tree, wait
 * term_ms; SIGKILL to the tree; verify that nothing is left. Blocks; false only if something
 * survived (which is logged). Idempotent. */
bool wb_child_stop(struct wb_child *child, int64_t eof_ms, int64_t term_ms);
/* Waits for the end. True: *ret_status written. False: deadline or cancel. */
bool wb_child_wait(struct wb_child *child, int64_t deadline_ms, struct wb_cancel *cancel,
                   struct wb_child_status *ret_status);
bool wb_child_ended(struct wb_child *child);

/* The last bytes of stderr, valid UTF-8, whole lines where possible. Caller's text. */
void wb_child_stderr_tail(struct wb_child *child, struct wb_text *out);

/* Stops it (0, 0) if it runs, and frees. Afterwards no callback runs. Not on the loop thread. */
void wb_child_free(struct wb_child *child);

/* "exited with status 3", "was killed by signal 9 (SIGKILL)", "was killed: over its memory limit of
 * 512 MB": for sentences. */
void wb_child_describe(const struct wb_child_status *status, struct wb_text *out);

/* Runs a program to its end with its output collected (bounded: head and tail kept, and between
 * them a line "[... N bytes left out ...]"). input may be empty. For project checks, probes, shell.
 * Blocks; not on the loop thread. */
struct wb_child_run {
    const struct wb_child_options *options; /* out, on_stderr, on_exit, ctx are ignored */
    struct wb_span input;
    size_t output_bytes_max; /* each of stdout and stderr */
    int64_t deadline_ms;
    struct wb_cancel *cancel;
    /* Called on the loop thread as output arrives; may be NULL. */
    void (*on_output)(void *ctx, bool is_stderr, const char *ptr, size_t len);
    void *ctx;
};

/* 0: the program ended (any status) or was stopped at the deadline or cancel: then *ret_timed_out
 * or *ret_cancelled. -1: it did not start. */
struct wb_child_output {
    struct wb_child_status status;
    bool timed_out, cancelled;
    struct wb_text out, err;
    size_t out_cut_bytes, err_cut_bytes;
};

int wb_child_run(struct wb_loop *loop, const struct wb_child_run *run, struct wb_child_output *ret,
                 struct wb_error *err);
void wb_child_output_done(struct wb_child_output *output);

#endif

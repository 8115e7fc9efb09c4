/* call: the one path of every call, whoever makes it (design: the spine).
 *
 *   find in the surface -> decode arguments -> gate -> tool -> write observers -> result, transcript
 *
 * wb_run_call runs on the calling thread, which may block; wb_run_submit takes a kept thread of the
 * host's pool and reports by callback. */
#ifndef WB_RUN_CALL_H
#define WB_RUN_CALL_H

#include "base/cancel.h"
#include "run/result.h"
#include "run/tool.h"
#include "sys/commit.h"

struct wb_run;

struct wb_call_options {
    int64_t deadline_ms;      /* 0: none of the caller's */
    struct wb_cancel *cancel; /* may be NULL; needed until the result is given */
    /* Long work says where it is. done/total may be 0: unknown. Any thread. May be NULL. */
    void (*on_progress)(void *ctx, const char *message, int64_t done, int64_t total);
    void *ctx;
    const char *origin; /* "harness", "operator", "bridge": for the transcript; static */
};

/* Runs the call; fills *ret always (an unknown tool, bad arguments, a refusal are results with
 * is_error). The caller owns ret: wb_result_done. */
void wb_run_call(struct wb_run *run, const char *tool_name, struct wb_span arguments_json,
                 const struct wb_call_options *options, struct wb_result *ret);

/* The same on a thread of the pool. on_done runs there and takes the result: it calls
 * wb_result_done, or moves the structure elsewhere first. (When the pool has no thread left, the
 * result says so and on_done runs on the calling thread.) Arguments and options are copied. Calls
 * of one tool that is not parallel-safe run in the order of submitting. The call counts as the
 * run's until on_done has returned. */
void wb_run_submit(struct wb_run *run, const char *tool_name, struct wb_span arguments_json,
                   const struct wb_call_options *options,
                   void (*on_done)(void *ctx, struct wb_result *result), void *ctx);

/* For tools, inside a call: */
struct wb_call {
    struct wb_run *run;
    const struct wb_tool *tool;
    struct wb_arena *arena;   /* the result's */
    struct wb_cancel *cancel; /* the caller's, or one of the run's own: never NULL */
    int64_t deadline_ms;      /* WB_NEVER without one */
    const struct wb_call_options *options;
    uint64_t id;                          /* within the run */
    const struct wb_gate_subject *passed; /* what the gate decided on; NULL before it */
    const char **outside;                 /* paths outside the workspace that the gate let pass */
    size_t n_outside;
};

/* The real absolute path that an argument names (relative to the workspace), in the arena. The gate
 * has seen it; a file that need not exist is fine. Denied if a link leads elsewhere since then. */
char *wb_call_path(struct wb_call *call, struct wb_span path, struct wb_error *err);
/* Is it in the workspace, or in what the gate let pass outside? */
bool wb_call_may_reach(const struct wb_call *call, const char *real);
/* Its name for results: relative to the workspace when inside. Borrowed from path. */
const char *wb_call_relative(const struct wb_call *call, const char *absolute);

WB_PRINTF(4, 5)
void wb_call_progress(struct wb_call *call, int64_t done, int64_t total, const char *fmt, ...);
/* The earlier of the call's deadline and now + ms. */
int64_t wb_call_deadline(const struct wb_call *call, int64_t ms);

/* Puts a card to the conversation and waits for what becomes of it; card and answer go to the
 * transcript. ret's memory is the call's. */
struct wb_card;
struct wb_card_answer;
void wb_call_ask(struct wb_call *call, const struct wb_card *card, int64_t timeout_ms,
                 struct wb_card_answer *ret);

/* Writes files: observers before, one commit of edits (boundary: the workspace, and the paths
 * outside that the gate approved), observers after, the transcript. Everything that a tool writes
 * into the workspace goes through here. What observers have to say goes behind the tool's own text
 * and into its data at the call's end. */
WB_MUST_CHECK int wb_call_write(struct wb_call *call, const struct wb_commit_op *ops, size_t n_ops,
                                struct wb_result *result, struct wb_error *err);

#endif

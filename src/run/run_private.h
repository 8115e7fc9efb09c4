/* run_private: what run.c and call.c share: the run's own structure and the list of its calls. For
 * no other file. */
#ifndef WB_RUN_RUN_PRIVATE_H
#define WB_RUN_RUN_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "run/gate.h"
#include "run/grants.h"
#include "run/rules.h"
#include "run/run.h"

/* A call from its submission to its end. Its order in the run's list is the order of ids: of the
 * calls of a tool that is not parallel-safe, the oldest one runs. */
struct wb_active_call {
    struct wb_call call;
    struct wb_call_options options;
    struct wb_cancel cancel;           /* fired by the caller's token and by wb_run_close */
    struct wb_cancel_hook caller_hook; /* on options.cancel */
    struct wb_cancel_hook turn_hook;   /* on cancel, while waiting for the turn */
    enum wb_error_code refusal;        /* why it must not run at all: CLOSED or LIMIT */
    struct wb_active_call *older, *newer;
    unsigned n_pins; /* wb_run_close is firing the token */
    bool told;       /* wb_run_close has fired the token */
    int64_t begin_us;
};

struct wb_attached {
    void *resource;
    void (*free_resource)(void *resource);
    bool is_attached;
};

struct wb_run {
    struct wb_host *host;
    struct wb_arena arena; /* of the strings below; unchanged after open */
    const char *workspace, *id, *conversation_id, *label;
    _Atomic enum wb_tier cap, allow;
    const struct wb_rules *rules;
    struct wb_grants *grants;
    const char **only; /* NULL: all */
    struct wb_config *config;
    struct wb_transcript *transcript;
    const struct wb_question_port *port;
    void (*surface_changed)(void *ctx); /* NULL: nobody is told */
    void *surface_ctx;

    struct wb_attached attached[WB_RESOURCE_COUNT];
    enum wb_resource order[WB_RESOURCE_COUNT]; /* of attaching */
    size_t n_attached;
    struct wb_write_observer *observers;
    size_t n_observers, observers_capacity;

    pthread_mutex_t lock; /* of the rest */
    pthread_cond_t changed;
    struct wb_active_call *oldest, *newest;
    size_t n_calls;
    uint64_t last_call_id;
    bool closing;
};

/* Cancels every call and waits for its end; new ones are refused. */
void wb_run_end_calls(struct wb_run *run);

#endif

/* debuggee: what is known of the program, from the adapter's events and our own moves. A state machine
 * on memory: no descriptors, no threads, no clock; a fuzzer drives it.
 *
 *   starting --+--> running <--move--- stopped
 *              |       |  ^               ^
 *              |       |  +--pass over--  |
 *              |    stopped event       | |
 *              |       v                | |
 *              +--> judging ------------+-+
 *
 *   any --terminated, exited and gone, end of the connection--> ended (stays)
 *
 * A `stopped` event leads to judging where a breakpoint of ours must be looked at first (hit counts,
 * conditions), else directly to stopped. Nothing but a stop, a move and the end changes the state:
 * `continued` events come late, early and too often to be believed, and responses say nothing.
 *
 * Each stop has an epoch. Frames and references belong to one (handles.h); what is older is refused.
 * Not thread-safe: its session's lock guards it. */
#ifndef WB_DEBUG_DEBUGGEE_H
#define WB_DEBUG_DEBUGGEE_H

#include "base/json.h"
#include "debug/output.h"

#define WB_STOP_HITS_MAX 16

enum wb_debuggee_state {
    WB_DEBUGGEE_STARTING,
    WB_DEBUGGEE_RUNNING,
    WB_DEBUGGEE_JUDGING,
    WB_DEBUGGEE_STOPPED,
    WB_DEBUGGEE_ENDED,
};

const char *wb_debuggee_state_name(enum wb_debuggee_state state); /* "starting", ... */

struct wb_stop {
    uint64_t epoch; /* of the session, from 1; 0: never stopped */
    unsigned link;  /* which connection told it (child sessions) */
    bool has_thread;
    int64_t thread_id;
    char *reason; /* "breakpoint", "step", "pause", "exception", "entry", ...; never NULL */
    char *description, *text;       /* or NULL */
    int64_t hits[WB_STOP_HITS_MAX]; /* the adapter's breakpoint ids */
    size_t n_hits;
};

struct wb_debuggee {
    enum wb_debuggee_state state;
    struct wb_stop stop; /* the last one; stays readable after the end */
    uint64_t moves;      /* counts our continues and steps */
    bool pausing;        /* we asked for a pause and have not seen its stop */
    bool is_attached;    /* we did not start it: words without a number tell no exit code */
    bool entering;       /* the first stop is the one at the entry that was asked for */
    bool terminated;     /* the adapter said so, on its first connection */
    bool has_exit_code;
    int64_t exit_code;
    int64_t pid;      /* of `process` events; 0: not told */
    char *end_reason; /* once ended */
    struct wb_debug_output output;
    const char **exit_text, **hidden_output; /* of the row; borrowed, may be NULL */
};

void wb_debuggee_init(struct wb_debuggee *debuggee, const char **exit_text,
                      const char **hidden_output);
void wb_debuggee_done(struct wb_debuggee *debuggee);

/* What an event means for the session. */
enum wb_debuggee_news {
    WB_NEWS_NONE,
    WB_NEWS_STOPPED,    /* state is judging: the session decides with _settle or _pass_over */
    WB_NEWS_EXITED,     /* the program is gone; most adapters say terminated as well */
    WB_NEWS_TERMINATED, /* the adapter says that it is over */
};

/* Applies an event: stopped, exited, terminated, process, output. Others change nothing. */
enum wb_debuggee_news wb_debuggee_event(struct wb_debuggee *debuggee, unsigned link,
                                        const char *name, const struct wb_json *body);

/* What it printed, by an event or a pipe: lines of the adapter's own are left out. */
void wb_debuggee_print(struct wb_debuggee *debuggee, enum wb_debug_category category,
                       struct wb_span bytes);

/* Launch or attach is done: running, unless a stop came first. */
void wb_debuggee_started(struct wb_debuggee *debuggee);
/* Before a continue or step is sent: running. Returns the move's number. */
uint64_t wb_debuggee_move(struct wb_debuggee *debuggee);
/* The adapter refused that move: stopped again, unless something else happened since. */
void wb_debuggee_unmove(struct wb_debuggee *debuggee, uint64_t move);
/* judging -> stopped: the stop of this epoch is one for the agent. A newer one, or the end, stays. */
void wb_debuggee_settle(struct wb_debuggee *debuggee, uint64_t epoch);
/* judging -> running: it is none; we continue. False: it is not judging this stop any more, or
 * somebody asked for a pause meanwhile and it is stopped. */
bool wb_debuggee_pass_over(struct wb_debuggee *debuggee, uint64_t epoch);
/* A child session is over: where the stop was its own, the others run. */
void wb_debuggee_lose_link(struct wb_debuggee *debuggee, unsigned link);
/* The end, whatever the state; the first reason stays. */
void wb_debuggee_end(struct wb_debuggee *debuggee, const char *reason);

#endif

/* run: one agent at work in a conversation: a workspace, a cap, the resources attached to it, and
 * the surface that follows from them.
 *
 * A run is opened and attached to on one thread; afterwards calls may come from any thread. */
#ifndef WB_RUN_RUN_H
#define WB_RUN_RUN_H

#include "run/call.h"
#include "run/card.h"
#include "run/config.h"
#include "run/host.h"
#include "run/observer.h"
#include "run/transcript.h"

/* What stands behind tools. Attached means registered; usable is asked at the call. */
enum wb_resource {
    WB_RESOURCE_LANGUAGE_SERVERS,
    WB_RESOURCE_PARSERS,
    WB_RESOURCE_STAGING,
    WB_RESOURCE_DEBUGGER,
    WB_RESOURCE_KERNELS,
    WB_RESOURCE_QUESTIONS,
    WB_RESOURCE_ROSTER,
    WB_RESOURCE_COUNT,
};

struct wb_run_options {
    const char *workspace;       /* an existing folder */
    const char *conversation_id; /* NULL: a new one */
    enum wb_tier cap;            /* the highest tier that the run sees; 0: exec */
    enum wb_tier allow;          /* what passes without a card; 0: read */
    const char *const *only;     /* --tools: names, NULL-terminated; NULL: all */
    const char *config_file;
    bool trust;
    const struct wb_question_port *port; /* NULL: wb_question_port_none */
    const char
        *label; /* of a worker, for its cards: "worker tests"; NULL: the conversation's own */
};

/* The absolute real path of a folder that may be a workspace. */
char *wb_run_resolve_workspace(struct wb_arena *arena, const char *workspace, struct wb_error *err);

/* Opens the run: resolves the workspace, loads the configuration, repairs what a crashed commit
 * left. */
struct wb_run *wb_run_open(struct wb_host *host, const struct wb_run_options *options,
                           struct wb_error *err);
/* Cancels and waits for the run's calls, frees resources in reverse order of attaching. */
void wb_run_close(struct wb_run *run);

struct wb_host *wb_run_host(const struct wb_run *run);
const char *wb_run_workspace(const struct wb_run *run); /* absolute real path */
const char *wb_run_id(const struct wb_run *run);
const char *wb_run_conversation_id(const struct wb_run *run);
const struct wb_config *wb_run_config(const struct wb_run *run);
struct wb_transcript *wb_run_transcript(const struct wb_run *run);
const struct wb_question_port *wb_run_port(const struct wb_run *run);
enum wb_tier wb_run_cap(const struct wb_run *run);
enum wb_tier wb_run_allow(const struct wb_run *run);

/* The operator's acts: plan mode begins with cap read and ends with the cap that was. The surface is
 * another from now on; a call that has begun its work goes on, one that still waits for its approval or
 * its turn is refused when its tier is above the cap by then. Any thread. */
void wb_run_set_cap(struct wb_run *run, enum wb_tier cap);
void wb_run_set_allow(struct wb_run *run, enum wb_tier allow);
/* changed: told on the thread of wb_run_set_cap whenever the surface has become another. Set before the
 * first call; NULL: nobody. */
void wb_run_on_surface_changed(struct wb_run *run, void (*changed)(void *ctx), void *ctx);

/* Attaches a resource; the run owns it from here (free_resource may be NULL). Once a kind. */
void wb_run_attach(struct wb_run *run, enum wb_resource kind, void *resource,
                   void (*free_resource)(void *resource));
void *wb_run_resource(const struct wb_run *run, enum wb_resource kind); /* NULL: not attached */
void wb_run_observe(struct wb_run *run, const struct wb_write_observer *observer); /* copied */

/* The surface, in registry order: registered, within cap, within --tools. Returns the next tool
 * after *cursor (start at 0), NULL at the end. */
const struct wb_tool *wb_run_next_tool(const struct wb_run *run, size_t *cursor);
const struct wb_tool *wb_run_find_tool(const struct wb_run *run, const char *name);

#endif

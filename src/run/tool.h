/* tool: what a tool is. One `const struct wb_tool` a tool, in a file of its own
 * (src/<folder>/tool_<name>.c); the registry is a list of pointers to them (app/assemble.c).
 *
 * A tool knows its arguments and its resource. It knows no JSON-RPC, no MCP, no terminal, no model.
 */
#ifndef WB_RUN_TOOL_H
#define WB_RUN_TOOL_H

#include "run/args.h"
#include "run/result.h"

struct wb_call;
struct wb_run;
struct wb_gate_subject;

/* read has no side effects; write changes files; exec starts or steers a process. */
enum wb_tier { WB_TIER_READ = 1, WB_TIER_WRITE, WB_TIER_EXEC };

const char *wb_tier_name(enum wb_tier tier); /* "read" */
bool wb_tier_parse(const char *name, enum wb_tier *ret);

struct wb_tool {
    const char *name; /* [A-Za-z0-9_-]{1,64} */
    enum wb_tier tier;
    bool parallel_safe;      /* false: calls of one run take turns */
    const char *summary;     /* one line, for lists */
    const char *description; /* for the model: when to use it, what comes back */
    struct wb_args args;
    /* Is what stands behind the tool attached to the run? The only condition of registration.
     * NULL: always. */
    bool (*available)(const struct wb_run *run);
    /* More that the gate must know than the PATH arguments: files inside a patch, a command line.
     * NULL: nothing more. Any thread; must not change anything. */
    int (*subject)(struct wb_call *call, const void *args, struct wb_gate_subject *subject,
                   struct wb_error *err);
    /* Of a tool that is not parallel-safe: does this call not wait for its turn, because it is there
     * to end the one that has it? NULL: none does. */
    bool (*interrupts)(const void *args);
    /* Does the work on the call's thread. 0: *result is filled (it may say is_error itself).
     * -1: err becomes the result. */
    int (*call)(struct wb_call *call, const void *args, struct wb_result *result,
                struct wb_error *err);
};

#endif

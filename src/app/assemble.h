/* assemble: the one place that knows every tool and every resource, and plugs them together. */
#ifndef WB_APP_ASSEMBLE_H
#define WB_APP_ASSEMBLE_H

#include "run/run.h"

/* The registry, NULL-terminated, in the order of lists. */
extern const struct wb_tool *const wb_tools[];

/* A host with all tools. guard: path of werkbank-guard; NULL: $WERKBANK_GUARD, else beside the program
 * or in ../lib/werkbank from there, else where it was installed. */
struct wb_host *wb_assemble_host(const char *guard);

/* Attaches every resource there is. */
void wb_assemble_attach(struct wb_run *run);

#endif

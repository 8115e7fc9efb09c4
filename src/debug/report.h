/* report: a stop, an end, or "still running" as an agent reads it: reason, place, five source lines,
 * the top frame's locals, what was printed meanwhile. And the same as data (contract section 12). */
#ifndef WB_DEBUG_REPORT_H
#define WB_DEBUG_REPORT_H

#include "debug/inspect.h"
#include "run/call.h"

/* Fills result with where the session stands. since: cursor of the output that the agent has seen;
 * what came later is told, its last lines. */
void wb_report_state(struct wb_inspect *inspect, const char *workspace, uint64_t since,
                     struct wb_debug_points *points, struct wb_result *result);

/* Five lines of the file around the line, the line itself marked; nothing when it cannot be read. */
void wb_report_source(struct wb_arena *arena, const char *path, int64_t line, struct wb_text *out);

#endif

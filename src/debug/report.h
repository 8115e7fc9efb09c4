/* report: a stop, an end, or "still running" as an agent reads it: reason, place, five source lines,
 * the top frame's locals, what was printed meanwhile. And the same as data (contract section 12).
 * Any thread. */
#ifndef WB_DEBUG_REPORT_H
#define WB_DEBUG_REPORT_H

#include "debug/inspect.h"
#include "run/result.h"

struct wb_report {
    struct wb_inspect inspect;
    const char *workspace;
    struct wb_debug_points *points;
    uint64_t since; /* cursor of the output that the agent has seen: what came later is shown */
    bool is_status; /* asked for, rather than come to: the last stop is told after the end too */
};

/* Fills result with where the session stands. What cannot be asked is left out: a stop is told in any
 * case. */
void wb_report_state(struct wb_report *report, struct wb_result *result);

/* Five lines of the file around the line, the line itself marked; nothing when it cannot be read. */
void wb_report_source(struct wb_arena *arena, const char *path, int64_t line, struct wb_text *out);

/* "  name = value (type) [reference 5]\n", and the object of contract section 12. Both cut the value
 * at 400 characters and say how many are left out. */
void wb_report_variable(const struct wb_variable_item *item, struct wb_text *out);
void wb_report_put_variable(const struct wb_variable_item *item, struct wb_json_writer *w);

#endif

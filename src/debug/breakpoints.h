/* breakpoints: what the agent asked for, and what the adapter made of it. A table of the conversation:
 * it is filled before a launch, sent with each, and kept after the end.
 *
 *   pending --adapter: verified--> bound (at a line that may differ)
 *      \-----adapter: refused----> refused (with its reason)
 *
 * An adapter that says "not verified" without a reason leaves it pending: many bind later, when the
 * code is loaded, and tell so by an event. Counting hits is ours, because adapters disagree.
 * Not thread-safe: its conversation's lock guards it. */
#ifndef WB_DEBUG_BREAKPOINTS_H
#define WB_DEBUG_BREAKPOINTS_H

#include "base/json.h"

#define WB_BREAKPOINTS_MAX 1000 /* of one conversation */

enum wb_breakpoint_state { WB_BREAKPOINT_PENDING, WB_BREAKPOINT_BOUND, WB_BREAKPOINT_REFUSED };

enum wb_hit_rule { WB_HIT_ALWAYS, WB_HIT_EXACTLY, WB_HIT_FROM, WB_HIT_EVERY };

struct wb_breakpoint {
    char *path;                    /* absolute; NULL: a function breakpoint */
    char *function;                /* its name */
    int64_t line;                  /* as asked for */
    char *condition, *log_message; /* or NULL */
    enum wb_hit_rule rule;
    int64_t rule_count;
    bool is_sent;      /* in the last request */
    bool is_temporary; /* run to a line: gone after the next stop */

    enum wb_breakpoint_state state;
    int64_t bound_line; /* 0: not told */
    char *reason;       /* why refused, or what the adapter said of it; or NULL */
    bool has_id;
    int64_t id; /* the adapter's */
    unsigned link;
    int64_t hits;
    bool condition_checked;
    char *condition_error; /* its condition cannot be evaluated: it stops every time */
};

struct wb_breakpoints {
    struct wb_breakpoint *items; /* by path, then line; functions last */
    size_t count, capacity;
    char **exceptions; /* filter ids, NULL-terminated; NULL: the adapter's defaults */
};

/* One breakpoint as asked for. Texts may be NULL or empty: none. hit: "3", ">=3", "%3". */
struct wb_breakpoint_wish {
    int64_t line;
    const char *function;
    const char *condition, *hit, *log_message;
};

void wb_breakpoints_done(struct wb_breakpoints *table);

/* Replaces the file's breakpoints (path NULL: the function breakpoints). One that is there already
 * with the same wish keeps its state and hits; a line asked for twice counts once. */
WB_MUST_CHECK int wb_breakpoints_replace(struct wb_breakpoints *table, const char *path,
                                         const struct wb_breakpoint_wish *wishes, size_t n,
                                         struct wb_error *err);
/* filters NULL: the adapter's defaults. */
void wb_breakpoints_set_exceptions(struct wb_breakpoints *table, const char *const *filters);
/* Run to a line. False: a breakpoint without a condition is there already. */
bool wb_breakpoints_add_temporary(struct wb_breakpoints *table, const char *path, int64_t line);
/* Removes it; returns its path (caller frees), or NULL when there is none. */
char *wb_breakpoints_remove_temporary(struct wb_breakpoints *table);
/* The session is over: all pending again, hits forgotten. */
void wb_breakpoints_reset(struct wb_breakpoints *table);

/* The paths that have any, each once; start with *cursor 0. */
const char *wb_breakpoints_next_path(const struct wb_breakpoints *table, size_t *cursor);
bool wb_breakpoints_has_functions(const struct wb_breakpoints *table);
/* The arguments of setBreakpoints for the path, or of setFunctionBreakpoints for NULL. What the
 * adapter cannot do is refused, and not sent. */
void wb_breakpoints_request(struct wb_breakpoints *table, const char *path, bool can_condition,
                            bool can_log, struct wb_text *out);
/* Applies the answer, item by item in the order of the request. */
void wb_breakpoints_answer(struct wb_breakpoints *table, const char *path, unsigned link,
                           const struct wb_json *body);
/* Everything of this path (NULL: functions) is refused: the request failed. */
void wb_breakpoints_refuse(struct wb_breakpoints *table, const char *path, const char *reason);
/* A `breakpoint` event. */
void wb_breakpoints_event(struct wb_breakpoints *table, unsigned link, const struct wb_json *body);

/* Which one a stop is at: by the adapter's ids, else by place (path NULL: not known). NULL: none of
 * ours. */
struct wb_breakpoint *wb_breakpoints_hit(struct wb_breakpoints *table, unsigned link,
                                         const int64_t *ids, size_t n_ids, const char *path,
                                         int64_t line);
/* Must a stop be looked at before the agent hears of it? */
bool wb_breakpoints_need_judge(const struct wb_breakpoints *table);
/* Counts a hit; true: the rule holds, stop here. */
bool wb_breakpoint_count(struct wb_breakpoint *breakpoint);

/* "src/a.c:42: bound", "src/a.c:42: moved to line 44", "...: refused: no code on this line". */
void wb_breakpoint_describe(const struct wb_breakpoint *breakpoint, const char *workspace,
                            bool in_session, struct wb_text *out);
void wb_breakpoint_put(const struct wb_breakpoint *breakpoint, const char *workspace,
                       struct wb_json_writer *w);

#endif

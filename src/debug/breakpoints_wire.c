/* breakpoints_wire: the table as DAP's requests, and DAP's answers as states of the table. */
#include <stdlib.h>

#include "debug/breakpoints.h"
#include "sys/path.h"

static bool is_of(const struct wb_breakpoint *it, const char *path)
{
    return path != NULL ? it->path != NULL && wb_str_equal(it->path, path) : it->path == NULL;
}

/* What the adapter cannot do is not sent: without its condition it would stop every time. */
static const char *unsupported(const struct wb_breakpoint *it, bool can_condition, bool can_log)
{
    return it->condition != NULL && !can_condition ? "this adapter has no conditional breakpoints"
           : it->log_message != NULL && !can_log   ? "this adapter has no log points"
                                                   : NULL;
}

static void put_one(struct wb_json_writer *w, const struct wb_breakpoint *it)
{
    wb_json_begin_object(w);
    if (it->path != NULL) {
        wb_json_member_int(w, "line", it->line);
    } else {
        wb_json_member_str(w, "name", it->function);
    }
    if (it->condition != NULL) {
        wb_json_member_str(w, "condition", it->condition);
    }
    if (it->log_message != NULL) {
        wb_json_member_str(w, "logMessage", it->log_message);
    }
    wb_json_end_object(w);
}

static void set_reason(struct wb_breakpoint *it, const char *reason)
{
    free(it->reason);
    it->reason = reason != NULL && *reason != '\0' ? wb_strdup(reason) : NULL;
}

void wb_breakpoints_request(struct wb_breakpoints *table, const char *path, bool can_condition,
                            bool can_log, struct wb_text *out)
{
    struct wb_json_writer w;
    wb_json_writer_init(&w, out);
    wb_json_begin_object(&w);
    if (path != NULL) {
        wb_json_key(&w, "source");
        wb_json_begin_object(&w);
        wb_json_member_str(&w, "path", path);
        wb_json_member_str(&w, "name", wb_path_base(path));
        wb_json_end_object(&w);
    }
    wb_json_key(&w, "breakpoints");
    wb_json_begin_array(&w);
    for (size_t i = 0; i < table->count; i++) {
        struct wb_breakpoint *it = &table->items[i];
        const char *why = unsupported(it, can_condition, can_log);
        it->is_sent = is_of(it, path) ? why == NULL : it->is_sent;
        if (is_of(it, path) && why != NULL) {
            it->state = WB_BREAKPOINT_REFUSED;
            set_reason(it, why);
        } else if (is_of(it, path)) {
            put_one(&w, it);
        }
    }
    wb_json_end_array(&w);
    wb_json_end_object(&w);
}

/* "breakpoint.provisionalBreakpoint": a key of a translation, which says nothing to a reader. */
static const char *readable(const char *message)
{
    return message != NULL && strchr(message, ' ') != NULL ? message : NULL;
}

/* Not verified with words is a refusal, unless the adapter says that it only waits (DAP: reason
 * "pending"); without words it may still bind. */
static void apply(struct wb_breakpoint *it, unsigned link, const struct wb_json *body)
{
    const char *message = readable(wb_json_str(wb_json_get(body, "message")));
    const char *why = wb_json_str_or(wb_json_get(body, "reason"), "");
    if (wb_json_int(wb_json_get(body, "id"), &it->id)) {
        it->has_id = true;
        it->link = link;
    }
    if (wb_json_bool(wb_json_get(body, "verified"), false)) {
        it->state = WB_BREAKPOINT_BOUND;
        it->bound_line = wb_json_int_or(wb_json_get(body, "line"), it->bound_line);
        set_reason(it, NULL);
        return;
    }
    bool is_refused = message != NULL && !wb_str_equal(why, "pending");
    it->state = is_refused ? WB_BREAKPOINT_REFUSED : WB_BREAKPOINT_PENDING;
    set_reason(it, message);
}

void wb_breakpoints_answer(struct wb_breakpoints *table, const char *path, unsigned link,
                           const struct wb_json *body)
{
    struct wb_json_iter it = wb_json_iter(wb_json_get(body, "breakpoints"));
    for (size_t i = 0; i < table->count; i++) {
        if (is_of(&table->items[i], path) && table->items[i].is_sent && wb_json_next(&it)) {
            apply(&table->items[i], link, it.value);
        }
    }
}

void wb_breakpoints_refuse(struct wb_breakpoints *table, const char *path, const char *reason)
{
    for (size_t i = 0; i < table->count; i++) {
        if (is_of(&table->items[i], path)) {
            table->items[i].state = WB_BREAKPOINT_REFUSED;
            set_reason(&table->items[i], reason);
        }
    }
}

void wb_breakpoints_event(struct wb_breakpoints *table, unsigned link, const struct wb_json *body)
{
    const struct wb_json *given = wb_json_get(body, "breakpoint");
    const char *reason = wb_json_str_or(wb_json_get(body, "reason"), "");
    int64_t id;
    if (!wb_json_int(wb_json_get(given, "id"), &id) || wb_str_equal(reason, "new")) {
        return;
    }
    for (size_t i = 0; i < table->count; i++) {
        struct wb_breakpoint *it = &table->items[i];
        if (it->has_id && it->id == id && it->link == link) {
            apply(it, link, given);
        }
    }
}

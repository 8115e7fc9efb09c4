/* breakpoints: see breakpoints.h. What an adapter is told and what it answers is in
 * breakpoints_wire.c. */
#include "debug/breakpoints.h"

#include <stdio.h>
#include <stdlib.h>

#include "sys/path.h"

static void forget_answer(struct wb_breakpoint *it)
{
    free(it->reason);
    free(it->condition_error);
    it->reason = it->condition_error = NULL;
    it->state = WB_BREAKPOINT_PENDING;
    it->bound_line = 0;
    it->has_id = false;
    it->condition_checked = false;
}

static void free_breakpoint(struct wb_breakpoint *it)
{
    forget_answer(it);
    free(it->path);
    free(it->function);
    free(it->condition);
    free(it->log_message);
}

static void free_exceptions(struct wb_breakpoints *table)
{
    for (char **name = table->exceptions; name != NULL && *name != NULL; name++) {
        free(*name);
    }
    free(table->exceptions);
    table->exceptions = NULL;
}

void wb_breakpoints_done(struct wb_breakpoints *table)
{
    for (size_t i = 0; i < table->count; i++) {
        free_breakpoint(&table->items[i]);
    }
    free(table->items);
    free_exceptions(table);
}

void wb_breakpoints_reset(struct wb_breakpoints *table)
{
    for (size_t i = 0; i < table->count; i++) {
        forget_answer(&table->items[i]);
        table->items[i].hits = 0;
    }
}

/* --- wishes --- */

static bool same_text(const char *a, const char *b)
{
    return wb_str_equal(a != NULL ? a : "", b != NULL ? b : "");
}

static char *copy_text(const char *text)
{
    return text != NULL && *text != '\0' ? wb_strdup(text) : NULL;
}

/* "3", ">=3", "%3". */
static int read_rule(const char *hit, struct wb_breakpoint *it, struct wb_error *err)
{
    struct wb_span text = wb_span_trim(wb_span(hit));
    enum wb_hit_rule rule = WB_HIT_EXACTLY;
    if (text.len == 0) {
        return 0;
    }
    if (wb_span_starts(text, WB_SPAN(">="))) {
        rule = WB_HIT_FROM;
        text = (struct wb_span){text.ptr + 2, text.len - 2};
    } else if (text.ptr[0] == '%') {
        rule = WB_HIT_EVERY;
        text = (struct wb_span){text.ptr + 1, text.len - 1};
    }
    if (!wb_span_int64(wb_span_trim(text), &it->rule_count) || it->rule_count < 1) {
        return wb_error_set(
            err, WB_ERROR_INVALID,
            "the hit count `%s` is none; \"3\" stops at the third hit, \">=3\" from "
            "the third on, \"%%3\" at every third",
            hit);
    }
    it->rule = rule;
    return 0;
}

static int make(const char *path, const struct wb_breakpoint_wish *wish, struct wb_breakpoint *ret,
                struct wb_error *err)
{
    *ret = (struct wb_breakpoint){.line = wish->line};
    if (read_rule(wish->hit != NULL ? wish->hit : "", ret, err) != 0) {
        return -1;
    }
    ret->path = copy_text(path);
    ret->function = path == NULL ? copy_text(wish->function) : NULL;
    ret->condition = copy_text(wish->condition);
    ret->log_message = copy_text(wish->log_message);
    return 0;
}

static bool is_of(const struct wb_breakpoint *it, const char *path)
{
    return path != NULL ? it->path != NULL && wb_str_equal(it->path, path) : it->path == NULL;
}

static bool same_place(const struct wb_breakpoint *a, const struct wb_breakpoint *b)
{
    return a->line == b->line && same_text(a->function, b->function);
}

static bool same_wish(const struct wb_breakpoint *a, const struct wb_breakpoint *b)
{
    return same_place(a, b) && same_text(a->condition, b->condition) &&
           same_text(a->log_message, b->log_message) && a->rule == b->rule &&
           a->rule_count == b->rule_count && !a->is_temporary;
}

/* By path, then line; functions last, by name. */
static int compare(const void *a, const void *b)
{
    const struct wb_breakpoint *x = a, *y = b;
    if ((x->path == NULL) != (y->path == NULL)) {
        return x->path == NULL ? 1 : -1;
    }
    if (x->path == NULL) {
        return strcmp(x->function, y->function);
    }
    int by = strcmp(x->path, y->path);
    return by != 0 ? by : (x->line > y->line) - (x->line < y->line);
}

static void sort(struct wb_breakpoints *table)
{
    if (table->count > 1) {
        qsort(table->items, table->count, sizeof(*table->items), compare);
    }
}

static void add(struct wb_breakpoints *table, const struct wb_breakpoint *it)
{
    WB_GROW(table->items, table->capacity, table->count + 1);
    table->items[table->count++] = *it;
}

/* Takes the one with this wish out of the table; it keeps what is known of it. */
static bool take_same(struct wb_breakpoints *table, struct wb_breakpoint *fresh)
{
    for (size_t i = 0; i < table->count; i++) {
        struct wb_breakpoint *old = &table->items[i];
        if (is_of(old, fresh->path) && same_wish(old, fresh)) {
            free_breakpoint(fresh);
            *fresh = *old;
            *old = table->items[--table->count];
            return true;
        }
    }
    return false;
}

static void remove_all_of(struct wb_breakpoints *table, const char *path)
{
    size_t kept = 0;
    for (size_t i = 0; i < table->count; i++) {
        if (is_of(&table->items[i], path)) {
            free_breakpoint(&table->items[i]);
        } else {
            table->items[kept++] = table->items[i];
        }
    }
    table->count = kept;
}

static size_t count_others(const struct wb_breakpoints *table, const char *path)
{
    size_t n = 0;
    for (size_t i = 0; i < table->count; i++) {
        n += !is_of(&table->items[i], path);
    }
    return n;
}

static bool is_repeated(const struct wb_breakpoint *fresh, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (same_place(&fresh[i], &fresh[n])) {
            return true;
        }
    }
    return false;
}

int wb_breakpoints_replace(struct wb_breakpoints *table, const char *path,
                           const struct wb_breakpoint_wish *wishes, size_t n, struct wb_error *err)
{
    if (count_others(table, path) + n > WB_BREAKPOINTS_MAX) {
        return wb_error_set(err, WB_ERROR_LIMIT, "%d breakpoints are the most; clear some first",
                            WB_BREAKPOINTS_MAX);
    }
    struct wb_breakpoint *fresh = wb_alloc_array(n + 1, sizeof(*fresh));
    size_t made = 0;
    int status = 0;
    for (size_t i = 0; i < n && status == 0; i++) {
        status = make(path, &wishes[i], &fresh[made], err);
        if (status == 0 && is_repeated(fresh, made)) {
            free_breakpoint(&fresh[made]);
        } else if (status == 0) {
            made++;
        }
    }
    for (size_t i = 0; i < made && status == 0; i++) {
        take_same(table, &fresh[i]);
    }
    if (status == 0) {
        remove_all_of(table, path);
    }
    for (size_t i = 0; i < made; i++) {
        if (status == 0) {
            add(table, &fresh[i]);
        } else {
            free_breakpoint(&fresh[i]);
        }
    }
    free(fresh);
    sort(table);
    return status;
}

void wb_breakpoints_set_exceptions(struct wb_breakpoints *table, const char *const *filters)
{
    size_t n = 0;
    free_exceptions(table);
    if (filters == NULL) {
        return;
    }
    while (filters[n] != NULL) {
        n++;
    }
    table->exceptions = wb_alloc_array(n + 1, sizeof(*table->exceptions));
    for (size_t i = 0; i < n; i++) {
        table->exceptions[i] = wb_strdup(filters[i]);
    }
}

bool wb_breakpoints_add_temporary(struct wb_breakpoints *table, const char *path, int64_t line)
{
    for (size_t i = 0; i < table->count; i++) {
        if (is_of(&table->items[i], path) && table->items[i].line == line) {
            return false;
        }
    }
    struct wb_breakpoint it = {.path = wb_strdup(path), .line = line, .is_temporary = true};
    add(table, &it);
    sort(table);
    return true;
}

char *wb_breakpoints_remove_temporary(struct wb_breakpoints *table)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->items[i].is_temporary) {
            char *path = WB_STEAL(table->items[i].path);
            free_breakpoint(&table->items[i]);
            table->items[i] = table->items[--table->count];
            sort(table);
            return path;
        }
    }
    return NULL;
}

const char *wb_breakpoints_next_path(const struct wb_breakpoints *table, size_t *cursor)
{
    for (; *cursor < table->count && table->items[*cursor].path != NULL; (*cursor)++) {
        const char *path = table->items[*cursor].path;
        if (*cursor == 0 || !wb_str_equal(table->items[*cursor - 1].path, path)) {
            (*cursor)++;
            return path;
        }
    }
    return NULL;
}

bool wb_breakpoints_has_functions(const struct wb_breakpoints *table)
{
    return table->count > 0 && table->items[table->count - 1].path == NULL;
}

/* --- hits --- */

static bool is_at(const struct wb_breakpoint *it, const char *path, int64_t line)
{
    return it->path != NULL && wb_str_equal(it->path, path) &&
           (it->bound_line != 0 ? it->bound_line : it->line) == line;
}

static struct wb_breakpoint *find_id(struct wb_breakpoints *table, unsigned link, int64_t id)
{
    for (size_t i = 0; i < table->count; i++) {
        struct wb_breakpoint *it = &table->items[i];
        if (it->has_id && it->id == id && it->link == link) {
            return it;
        }
    }
    return NULL;
}

struct wb_breakpoint *wb_breakpoints_hit(struct wb_breakpoints *table, unsigned link,
                                         const int64_t *ids, size_t n_ids, const char *path,
                                         int64_t line)
{
    struct wb_breakpoint *found = NULL;
    for (size_t i = 0; i < n_ids && found == NULL; i++) {
        found = find_id(table, link, ids[i]);
    }
    for (size_t i = 0; path != NULL && i < table->count && found == NULL; i++) {
        if (is_at(&table->items[i], path, line)) {
            found = &table->items[i];
        }
    }
    return found;
}

bool wb_breakpoints_need_judge(const struct wb_breakpoints *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct wb_breakpoint *it = &table->items[i];
        if (it->rule != WB_HIT_ALWAYS || (it->condition != NULL && !it->condition_checked)) {
            return true;
        }
    }
    return false;
}

bool wb_breakpoint_count(struct wb_breakpoint *breakpoint)
{
    breakpoint->hits++;
    switch (breakpoint->rule) {
    case WB_HIT_ALWAYS:
        return true;
    case WB_HIT_EXACTLY:
        return breakpoint->hits == breakpoint->rule_count;
    case WB_HIT_FROM:
        return breakpoint->hits >= breakpoint->rule_count;
    case WB_HIT_EVERY:
        return breakpoint->hits % breakpoint->rule_count == 0;
    }
    return true;
}

/* --- telling --- */

static const char *rule_text(const struct wb_breakpoint *it, char out[32])
{
    static const char *const prefixes[] = {"", "", ">=", "%"};
    snprintf(out, 32, "%s%lld", prefixes[it->rule], (long long)it->rule_count);
    return out;
}

static bool has_moved(const struct wb_breakpoint *it)
{
    return it->state == WB_BREAKPOINT_BOUND && it->path != NULL && it->bound_line != 0 &&
           it->bound_line != it->line;
}

static void describe_state(const struct wb_breakpoint *it, bool in_session, struct wb_text *out)
{
    switch (it->state) {
    case WB_BREAKPOINT_BOUND:
        if (has_moved(it)) {
            wb_text_printf(out, "MOVED to line %lld (there is no code to stop at on line %lld)",
                           (long long)it->bound_line, (long long)it->line);
        } else {
            wb_text_add_str(out, "bound");
        }
        break;
    case WB_BREAKPOINT_REFUSED:
        wb_text_printf(out, "REFUSED: %s", it->reason != NULL ? it->reason : "no reason given");
        break;
    case WB_BREAKPOINT_PENDING:
        wb_text_add_str(out, in_session ? "pending: the program has no code for it so far"
                                        : "pending: set at the launch");
        if (it->reason != NULL) {
            wb_text_printf(out, " (%s)", it->reason);
        }
        break;
    }
}

void wb_breakpoint_describe(const struct wb_breakpoint *it, const char *workspace, bool in_session,
                            struct wb_text *out)
{
    char rule[32];
    if (it->path != NULL) {
        wb_text_printf(out, "%s:%lld: ", wb_path_relative(it->path, workspace),
                       (long long)it->line);
    } else {
        wb_text_printf(out, "%s(): ", it->function);
    }
    describe_state(it, in_session, out);
    if (it->condition != NULL) {
        wb_text_printf(out, "; if %s", it->condition);
    }
    if (it->condition_error != NULL) {
        wb_text_printf(out, " [this condition cannot be evaluated: %s]", it->condition_error);
    }
    if (it->rule != WB_HIT_ALWAYS) {
        wb_text_printf(out, "; hit count %s, hit %lld times", rule_text(it, rule),
                       (long long)it->hits);
    }
    if (it->log_message != NULL) {
        wb_text_printf(out, "; logs: %s", it->log_message);
    }
    wb_text_add_char(out, '\n');
}

void wb_breakpoint_put(const struct wb_breakpoint *it, const char *workspace,
                       struct wb_json_writer *w)
{
    static const char *const states[] = {"pending", "bound", "refused"};
    char rule[32];
    wb_json_begin_object(w);
    wb_json_member_str(w, "path", it->path != NULL ? wb_path_relative(it->path, workspace) : NULL);
    wb_json_member_str(w, "function", it->function);
    wb_json_member_int(w, "line", it->bound_line != 0 ? it->bound_line : it->line);
    wb_json_member_int(w, "asked_line", it->line);
    wb_json_member_str(w, "state", states[it->state]);
    wb_json_member_str(w, "reason", it->reason);
    wb_json_member_str(w, "condition", it->condition);
    wb_json_member_str(w, "condition_error", it->condition_error);
    wb_json_member_str(w, "hit_count", it->rule != WB_HIT_ALWAYS ? rule_text(it, rule) : NULL);
    wb_json_member_str(w, "log_message", it->log_message);
    wb_json_member_int(w, "hits", it->hits);
    wb_json_end_object(w);
}

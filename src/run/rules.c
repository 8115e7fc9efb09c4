/* rules: loading them, and combining those that fit. Whether a pattern fits is in patterns.c. */
#include "run/rules.h"

#include "base/text.h"
#include "run/nearest.h"
#include "run/patterns.h"

struct rule {
    const char *id;
    const char *tool, *operation, *path, *command; /* NULL: any */
    enum wb_verdict verdict;
    const char *reason;
};

struct wb_rules {
    struct rule *items;
    size_t count, capacity;
};

/* --- loading --- */

struct loader {
    struct wb_arena *arena;
    struct wb_rules *rules;
    const char *const *tools;
    size_t n_tools;
};

static enum wb_verdict read_action(const struct wb_json *value)
{
    static const char *const names[] = {
        [WB_VERDICT_ALLOW] = "allow", [WB_VERDICT_PROMPT] = "prompt", [WB_VERDICT_DENY] = "deny"};
    for (size_t i = WB_VERDICT_ALLOW; i < WB_COUNT(names); i++) {
        if (wb_str_equal(wb_json_str_or(value, ""), names[i])) {
            return (enum wb_verdict)i;
        }
    }
    return WB_VERDICT_NONE;
}

/* The tool that was meant, where no tool has this name but one has nearly this. */
static const char *find_meant_tool(const struct loader *l, const char *tool)
{
    if (tool == NULL || strchr(tool, '*') != NULL) {
        return NULL;
    }
    const char *near = wb_nearest(wb_span(tool), l->tools, l->n_tools);
    return near != NULL && !wb_str_equal(near, tool) ? near : NULL;
}

static const char *find_wrong_key(struct loader *l, const struct wb_json *row)
{
    static const char *const keys[] = {"id",      "tool",   "operation", "path",
                                       "command", "action", "reason",    "disabled"};
    for (struct wb_json_iter it = wb_json_iter(row); wb_json_next(&it);) {
        bool known = false;
        for (size_t i = 0; i < WB_COUNT(keys) && !known; i++) {
            known = wb_str_equal(it.key, keys[i]);
        }
        if (!known) {
            return wb_arena_printf(l->arena, "it has the unknown key `%.64s`", it.key);
        }
        bool is_flag = wb_str_equal(it.key, "disabled");
        if (wb_json_type(it.value) != (is_flag ? WB_JSON_BOOL : WB_JSON_STRING)) {
            return wb_arena_printf(l->arena, "`%s` must be %s", it.key,
                                   is_flag ? "true or false" : "a string");
        }
    }
    return NULL;
}

/* A sentence, or NULL when the row is understood. */
static const char *find_mistake(struct loader *l, const struct wb_json *row)
{
    const char *tool = wb_json_str(wb_json_get(row, "tool"));
    if (wb_json_type(row) != WB_JSON_OBJECT) {
        return "it is no object";
    }
    const char *mistake = find_wrong_key(l, row);
    if (mistake != NULL) {
        return mistake;
    }
    if (read_action(wb_json_get(row, "action")) == WB_VERDICT_NONE) {
        return "`action` must be \"allow\", \"prompt\" or \"deny\"";
    }
    const char *meant = find_meant_tool(l, tool);
    return meant != NULL
               ? wb_arena_printf(l->arena, "there is no tool `%.64s`, but `%s`", tool, meant)
               : NULL;
}

static void add_rule(struct loader *l, const struct rule *rule)
{
    struct wb_rules *rules = l->rules;
    *WB_ARENA_PUSH(l->arena, rules->items, rules->count, rules->capacity) = *rule;
}

static void add_row(struct loader *l, const struct wb_rule_file *file, const struct wb_json *row)
{
    const char *mistake = find_mistake(l, row);
    struct rule rule = {
        .id = wb_json_str_or(wb_json_get(row, "id"), "?"),
        .tool = wb_json_str(wb_json_get(row, "tool")),
        .operation = wb_json_str(wb_json_get(row, "operation")),
        .path = wb_json_str(wb_json_get(row, "path")),
        .command = wb_json_str(wb_json_get(row, "command")),
        .verdict = read_action(wb_json_get(row, "action")),
        .reason = wb_json_str(wb_json_get(row, "reason")),
    };
    if (mistake != NULL) {
        const char *meant = find_meant_tool(l, rule.tool);
        rule.verdict = WB_VERDICT_DENY;
        rule.reason =
            wb_arena_printf(l->arena,
                            "the guard rule `%.64s` of %s cannot be understood (%s), so "
                            "it denies what it may have been meant for; put it right there",
                            rule.id, file->path, mistake);
        rule.tool = meant != NULL ? meant : rule.tool;
        rule.path = rule.command = rule.operation = NULL;
    }
    if (rule.verdict != WB_VERDICT_ALLOW || file->may_allow) {
        add_rule(l, &rule);
    }
}

static void add_file(struct loader *l, const struct wb_rule_file *file)
{
    const char *mistake = file->mistake;
    if (mistake == NULL && wb_json_type(file->rows) != WB_JSON_ARRAY) {
        mistake = "`rules` must be an array of objects";
    }
    if (mistake != NULL) {
        add_rule(l, &(struct rule){.id = "?",
                                   .verdict = WB_VERDICT_DENY,
                                   .reason =
                                       wb_arena_printf(l->arena,
                                                       "the guard rules of %s cannot be understood "
                                                       "(%s), so that nothing runs; put them right",
                                                       file->path, mistake)});
        return;
    }
    for (struct wb_json_iter it = wb_json_iter(file->rows); wb_json_next(&it);) {
        if (!wb_json_bool(wb_json_get(it.value, "disabled"), false)) {
            add_row(l, file, it.value);
        }
    }
}

const struct wb_rules *wb_rules_load(struct wb_arena *arena, const struct wb_rule_file *files,
                                     size_t n_files, const char *const *tools, size_t n_tools)
{
    struct loader l = {arena, WB_ARENA_NEW(arena, struct wb_rules), tools, n_tools};
    for (size_t i = 0; i < n_files; i++) {
        add_file(&l, &files[i]);
    }
    return l.rules;
}

/* --- fitting --- */

/* A subject, with what has been found out about it. */
struct judged {
    const struct wb_rule_subject *subject;
    struct wb_arena *arena;
    struct wb_command_line line; /* when there is a command */
    const char **named;          /* the files that its words name; filled when first needed */
    size_t n_named;
    bool has_named;
};

static void find_named(struct judged *j)
{
    const struct wb_command_line *line = &j->line;
    if (j->has_named) {
        return;
    }
    j->has_named = true;
    j->named = wb_arena_alloc_array(j->arena, line->n_names + 1, sizeof(*j->named));
    for (size_t i = 0; i < line->n_names && !j->subject->is_code; i++) {
        const char *real = wb_pattern_real_path(j->arena, line->names[i], j->subject->workspace);
        if (real != NULL) {
            j->named[j->n_named++] = real;
        }
    }
}

static bool paths_allowed(const struct rule *rule, const struct judged *j)
{
    const struct wb_rule_subject *subject = j->subject;
    bool fits = subject->n_paths > 0;
    for (size_t i = 0; i < subject->n_paths && fits; i++) {
        fits = wb_pattern_allows_path(j->arena, rule->path, subject->paths[i], subject->workspace);
    }
    return fits;
}

static bool has_path(const struct rule *rule, struct judged *j)
{
    const struct wb_rule_subject *subject = j->subject;
    bool fits = false;
    for (size_t i = 0; i < subject->n_paths && !fits; i++) {
        fits = wb_pattern_fits_path(j->arena, rule->path, subject->paths[i], subject->workspace);
    }
    if (!fits && subject->command != NULL) {
        find_named(j);
        for (size_t i = 0; i < j->n_named && !fits; i++) {
            fits = wb_pattern_fits_path(j->arena, rule->path, j->named[i], subject->workspace);
        }
    }
    return fits;
}

static bool is_about(const struct rule *rule, const struct wb_rule_subject *subject)
{
    return (rule->tool == NULL || wb_pattern_fits(rule->tool, subject->tool)) &&
           (rule->operation == NULL ||
            (subject->operation != NULL && wb_pattern_fits(rule->operation, subject->operation))) &&
           (rule->command == NULL || subject->command != NULL);
}

/* Of a rule that denies or prompts. */
static enum wb_fit fit(const struct rule *rule, struct judged *j)
{
    if (!is_about(rule, j->subject) || (rule->path != NULL && !has_path(rule, j))) {
        return WB_FIT_NO;
    }
    if (rule->command == NULL) {
        return WB_FIT_YES;
    }
    enum wb_fit found = wb_pattern_fit_command(j->arena, rule->command, &j->line);
    return found == WB_FIT_PERHAPS && j->subject->is_code ? WB_FIT_NO : found;
}

static bool is_allowed(const struct rule *rule, const struct judged *j)
{
    return is_about(rule, j->subject) && (rule->path == NULL || paths_allowed(rule, j)) &&
           (rule->command == NULL || wb_pattern_allows_command(j->arena, rule->command, &j->line));
}

static const char *why_perhaps(const struct rule *rule, const struct judged *j)
{
    return wb_arena_printf(j->arena, "the guard rule `%.64s` may be meant for it: %s", rule->id,
                           j->line.unread != NULL
                               ? j->line.unread
                               : "a part of the command is not known before it runs");
}

static enum wb_verdict judge_rule(const struct rule *rule, struct judged *j,
                                  const char **ret_reason)
{
    *ret_reason = rule->reason;
    if (rule->verdict == WB_VERDICT_ALLOW) {
        return is_allowed(rule, j) ? WB_VERDICT_ALLOW : WB_VERDICT_NONE;
    }
    switch (fit(rule, j)) {
    case WB_FIT_YES:
        return rule->verdict;
    case WB_FIT_PERHAPS:
        *ret_reason = why_perhaps(rule, j);
        return WB_VERDICT_PROMPT;
    case WB_FIT_NO:
        break;
    }
    return WB_VERDICT_NONE;
}

bool wb_rules_have_paths(const struct wb_rules *rules)
{
    for (size_t i = 0; i < rules->count; i++) {
        if (rules->items[i].path != NULL) {
            return true;
        }
    }
    return false;
}

enum wb_verdict wb_rules_judge(const struct wb_rules *rules, struct wb_arena *arena,
                               const struct wb_rule_subject *subject, const char **ret_reason)
{
    enum wb_verdict verdict = WB_VERDICT_NONE;
    struct judged j = {.subject = subject, .arena = arena};
    *ret_reason = NULL;
    if (rules->count > 0 && subject->command != NULL) {
        wb_command_line_read(arena, subject->command, &j.line);
    }
    for (size_t i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->items[i];
        const char *reason;
        enum wb_verdict one =
            rule->verdict > verdict ? judge_rule(rule, &j, &reason) : WB_VERDICT_NONE;
        if (one > verdict) {
            verdict = one;
            *ret_reason = reason;
        }
    }
    return verdict;
}

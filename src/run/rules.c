/* rules: see the header. */
#include "run/rules.h"

#include "base/text.h"
#include "sys/ignore.h"
#include "sys/path.h"

struct rule {
    const char *tool, *operation, *path, *command; /* NULL: any */
    enum wb_verdict verdict;
    const char *reason;
};

struct wb_rules {
    struct rule *items;
    size_t count;
};

/* --- loading --- */

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

/* A sentence, or NULL when the row is understood. */
static const char *find_mistake(struct wb_arena *arena, const struct wb_json *row)
{
    static const char *const keys[] = {"id",      "tool",   "operation", "path",
                                       "command", "action", "reason",    "disabled"};
    for (struct wb_json_iter it = wb_json_iter(row); wb_json_next(&it);) {
        bool known = false;
        for (size_t i = 0; i < WB_COUNT(keys) && !known; i++) {
            known = wb_str_equal(it.key, keys[i]);
        }
        if (!known) {
            return wb_arena_printf(arena, "it has the unknown key `%.64s`", it.key);
        }
        if (!wb_str_equal(it.key, "disabled") && wb_json_str(it.value) == NULL) {
            return wb_arena_printf(arena, "`%s` must be a string", it.key);
        }
    }
    return read_action(wb_json_get(row, "action")) == WB_VERDICT_NONE
               ? "`action` must be \"allow\", \"prompt\" or \"deny\""
               : NULL;
}

static struct rule read_rule(struct wb_arena *arena, const struct wb_json *row)
{
    const char *mistake = find_mistake(arena, row);
    struct rule rule = {
        .tool = wb_json_str(wb_json_get(row, "tool")),
        .operation = wb_json_str(wb_json_get(row, "operation")),
        .path = wb_json_str(wb_json_get(row, "path")),
        .command = wb_json_str(wb_json_get(row, "command")),
        .verdict = read_action(wb_json_get(row, "action")),
        .reason = wb_json_str(wb_json_get(row, "reason")),
    };
    if (mistake != NULL) {
        rule.verdict = WB_VERDICT_DENY;
        rule.reason = wb_arena_printf(
            arena,
            "the guard rule `%.64s` cannot be understood (%s), so it denies what it may "
            "have been meant for; put it right in the configuration",
            wb_json_str_or(wb_json_get(row, "id"), "?"), mistake);
        rule.path = rule.command = rule.operation = NULL;
    }
    return rule;
}

const struct wb_rules *wb_rules_load(struct wb_arena *arena, const struct wb_json *rows)
{
    struct wb_rules *rules = WB_ARENA_NEW(arena, struct wb_rules);
    rules->items = wb_arena_alloc_array(arena, wb_json_count(rows) + 1, sizeof(*rules->items));
    for (struct wb_json_iter it = wb_json_iter(rows); wb_json_next(&it);) {
        if (!wb_json_bool(wb_json_get(it.value, "disabled"), false)) {
            rules->items[rules->count++] = read_rule(arena, it.value);
        }
    }
    return rules;
}

/* --- fitting --- */

/* * is any text, also over slashes and blanks; no other sign means anything. */
static bool fits(const char *pattern, const char *text)
{
    const char *star = NULL, *mark = text;
    while (*text != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            mark = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star + 1;
            text = ++mark;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

/* "git push *" fits `git push` alone too: a blank and a star are an optional rest. */
static bool fits_command(struct wb_arena *arena, const char *pattern, const char *command)
{
    size_t len = strlen(pattern);
    if (len > 2 && wb_str_equal(pattern + len - 2, " *") &&
        fits(wb_arena_strndup(arena, pattern, len - 2), command)) {
        return true;
    }
    return fits(pattern, command);
}

static bool path_fits(const char *pattern, const char *path, const char *workspace)
{
    const char *relative = wb_path_relative(path, workspace);
    return fits(pattern, path) || fits(pattern, relative) ||
           (pattern[0] != '/' && wb_ignore_glob(pattern, relative));
}

static bool paths_fit(const struct rule *rule, const struct wb_rule_subject *subject)
{
    size_t n = 0;
    for (size_t i = 0; i < subject->n_paths; i++) {
        n += path_fits(rule->path, subject->paths[i], subject->workspace);
    }
    return rule->verdict == WB_VERDICT_ALLOW ? n > 0 && n == subject->n_paths : n > 0;
}

static bool command_fits(const struct rule *rule, struct wb_arena *arena, const char *line)
{
    const char **commands;
    size_t n_commands, n = 0;
    bool is_whole = wb_command_line_split(arena, line, &commands, &n_commands);
    for (size_t i = 0; i < n_commands; i++) {
        n += fits_command(arena, rule->command, commands[i]);
    }
    return rule->verdict == WB_VERDICT_ALLOW ? is_whole && n > 0 && n == n_commands : n > 0;
}

static bool rule_fits(const struct rule *rule, struct wb_arena *arena,
                      const struct wb_rule_subject *subject)
{
    if (rule->tool != NULL && !fits(rule->tool, subject->tool)) {
        return false;
    }
    if (rule->operation != NULL &&
        (subject->operation == NULL || !fits(rule->operation, subject->operation))) {
        return false;
    }
    if (rule->path != NULL && !paths_fit(rule, subject)) {
        return false;
    }
    return rule->command == NULL ||
           (subject->command != NULL && command_fits(rule, arena, subject->command));
}

enum wb_verdict wb_rules_judge(const struct wb_rules *rules, struct wb_arena *arena,
                               const struct wb_rule_subject *subject, const char **ret_reason)
{
    enum wb_verdict verdict = WB_VERDICT_NONE;
    *ret_reason = NULL;
    for (size_t i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->items[i];
        if (rule->verdict > verdict && rule_fits(rule, arena, subject)) {
            verdict = rule->verdict;
            *ret_reason = rule->reason;
        }
    }
    return verdict;
}

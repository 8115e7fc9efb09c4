/* check_table: reads the rows of project checks. Knows no workspace. */
#include "lsp/check.h"

#include <stdlib.h>

#include "run/table.h"

#define TIMEOUT_S 300

extern const char wb_project_checks_json[];
extern const size_t wb_project_checks_json_len;

static enum wb_check_output read_output(const struct wb_json *value)
{
    const char *name = wb_json_str_or(value, "both");
    if (wb_str_equal(name, "stdout")) {
        return WB_CHECK_STDOUT;
    }
    return wb_str_equal(name, "stderr") ? WB_CHECK_STDERR : WB_CHECK_BOTH;
}

static void read_row(struct wb_arena *arena, const struct wb_json *json, struct wb_check_row *row)
{
    row->id = wb_json_str(wb_json_get(json, "id"));
    row->languages = wb_table_strings(arena, wb_json_get(json, "languages"));
    row->markers = wb_table_strings(arena, wb_json_get(json, "markers"));
    row->needed = wb_table_strings(arena, wb_json_get(json, "requires"));
    row->local = wb_table_strings(arena, wb_json_get(json, "local"));
    row->commands = wb_table_commands(arena, wb_json_get(json, "commands"));
    row->compile_commands =
        wb_str_equal(wb_json_str_or(wb_json_get(json, "builtin"), ""), "compile_commands");
    row->priority = wb_json_int_or(wb_json_get(json, "priority"), 0);
    row->trusted = wb_json_bool(wb_json_get(json, "trusted"), true);
    row->copy = wb_json_bool(wb_json_get(json, "copy"), false);
    row->warnings_fail = wb_json_bool(wb_json_get(json, "warnings_fail"), false);
    row->coarse_times = wb_json_bool(wb_json_get(json, "coarse_times"), false);
    row->env = wb_json_get(json, "env");
    row->severity_map = wb_json_get(json, "severity_map");
    row->ok_exit = wb_json_get(json, "ok_exit");
    row->findings_exit = wb_json_get(json, "findings_exit");
    row->output = read_output(wb_json_get(json, "output"));
    row->pattern = wb_json_str(wb_json_get(json, "pattern"));
    row->default_severity = WB_SEVERITY_ERROR;
    wb_severity_parse(wb_json_span(wb_json_get(json, "default_severity")), &row->default_severity);
    row->timeout_s = wb_json_int_or(wb_json_get(json, "timeout_s"), TIMEOUT_S);
    row->install = wb_json_str_or(wb_json_get(json, "install"), "");
}

static int check_row(const struct wb_check_row *row, struct wb_error *err)
{
    const char *missing = NULL;
    if (row->languages[0] == NULL) {
        missing = "languages";
    } else if (row->markers[0] == NULL) {
        missing = "markers";
    } else if (row->commands[0] == NULL && !row->compile_commands) {
        missing = "commands";
    } else if (row->pattern == NULL) {
        missing = "pattern";
    } else if (row->timeout_s < 1) {
        missing = "timeout_s";
    }
    if (missing == NULL) {
        return 0;
    }
    return wb_error_set(
        err, WB_ERROR_INVALID,
        "The project check %s has no usable `%s`: correct its row under `checks` in "
        "the configuration",
        row->id, missing);
}

static int compare_rows(const void *a, const void *b)
{
    const struct wb_check_row *x = a, *y = b;
    int by = (x->priority > y->priority) - (x->priority < y->priority);
    return by != 0 ? by : strcmp(x->id, y->id);
}

int wb_check_table_load(struct wb_arena *arena, const struct wb_json *config_root,
                        struct wb_check_table *ret, struct wb_error *err)
{
    struct wb_span built_in = {wb_project_checks_json, wb_project_checks_json_len};
    struct wb_table table;
    *ret = (struct wb_check_table){0};
    if (wb_table_load(arena, built_in, "checks", wb_json_get(config_root, "checks"), &table, err) <
        0) {
        return -1;
    }
    for (size_t i = 0; i < table.count; i++) {
        struct wb_check_row *row = WB_ARENA_PUSH(arena, ret->rows, ret->count, ret->capacity);
        read_row(arena, table.rows[i], row);
        if (check_row(row, err) < 0) {
            return -1;
        }
    }
    if (ret->count > 0) {
        qsort(ret->rows, ret->count, sizeof(*ret->rows), compare_rows);
    }
    return 0;
}

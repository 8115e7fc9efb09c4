/* catalogue: see catalogue.h. */
#include "debug/catalogue.h"

#include <stdlib.h>

#include "run/table.h"

#define START_S 60

extern const char wb_debug_adapters_json[];
extern const size_t wb_debug_adapters_json_len;

struct wb_adapters {
    struct wb_arena arena;
    const struct wb_languages *languages;
    struct wb_adapter_row *rows;
    size_t count;
};

static const char *const kind_names[WB_TARGET_KINDS] = {
    [WB_TARGET_SOURCE] = "source", [WB_TARGET_FOLDER] = "folder", [WB_TARGET_BINARY] = "binary",
    [WB_TARGET_MODULE] = "module", [WB_TARGET_TEST] = "test",     [WB_TARGET_CORE] = "core",
};

static const char *const attach_names[WB_ATTACH_KINDS] = {
    [WB_ATTACH_PORT] = "port",
    [WB_ATTACH_PID] = "pid",
};

const char *wb_target_kind_name(enum wb_target_kind kind)
{
    return kind_names[kind];
}

static void read_template(struct wb_arena *arena, const struct wb_json *json,
                          struct wb_adapter_template *ret)
{
    ret->arguments = wb_json_get(json, "arguments");
    ret->words = wb_table_strings(arena, wb_json_get(json, "words"));
    ret->is_attach = wb_str_equal(wb_json_str_or(wb_json_get(json, "request"), ""), "attach");
    ret->is_direct = wb_json_bool(wb_json_get(json, "direct"), false);
}

static void read_templates(struct wb_arena *arena, const struct wb_json *json,
                           struct wb_adapter_row *row)
{
    for (size_t i = 0; i < WB_TARGET_KINDS; i++) {
        read_template(arena, wb_json_get(wb_json_get(json, "launch"), kind_names[i]),
                      &row->launch[i]);
    }
    for (size_t i = 0; i < WB_ATTACH_KINDS; i++) {
        read_template(arena, wb_json_get(wb_json_get(json, "attach"), attach_names[i]),
                      &row->attach[i]);
        row->attach[i].is_attach = true;
    }
}

static enum wb_adapter_transport read_transport(const struct wb_json *json)
{
    const char *name = wb_json_str_or(json, "stdio");
    return wb_str_equal(name, "listen")    ? WB_ADAPTER_LISTEN
           : wb_str_equal(name, "dial_in") ? WB_ADAPTER_DIAL_IN
                                           : WB_ADAPTER_STDIO;
}

static void read_quirks(struct wb_arena *arena, const struct wb_json *json,
                        struct wb_adapter_row *row)
{
    row->child_sessions = wb_json_bool(wb_json_get(json, "child_sessions"), false);
    row->is_debuggee = wb_json_bool(wb_json_get(json, "is_debuggee"), false);
    row->stops_at_start = wb_json_bool(wb_json_get(json, "stops_at_start"), false);
    row->output_by_pipe = wb_json_bool(wb_json_get(json, "output_by_pipe"), false);
    row->keeps_conditions = wb_json_bool(wb_json_get(json, "keeps_conditions"), false);
    row->keeps_breakpoints = wb_json_bool(wb_json_get(json, "keeps_breakpoints"), false);
    row->exceptions = wb_table_strings(arena, wb_json_get(json, "exceptions"));
    row->no_crash = wb_table_strings(arena, wb_json_get(json, "no_crash"));
    row->exit_text = wb_table_strings(arena, wb_json_get(json, "exit_text"));
    row->failed_values = wb_table_strings(arena, wb_json_get(json, "failed_values"));
    row->no_evaluate = wb_table_strings(arena, wb_json_get(json, "no_evaluate"));
    row->hidden_output = wb_table_strings(arena, wb_json_get(json, "hidden_output"));
}

static void read_row(struct wb_arena *arena, const struct wb_json *json, struct wb_adapter_row *row)
{
    row->id = wb_json_str_or(wb_json_get(json, "id"), "");
    row->name = wb_json_str_or(wb_json_get(json, "name"), row->id);
    row->languages = wb_table_strings(arena, wb_json_get(json, "languages"));
    row->extensions = wb_table_strings(arena, wb_json_get(json, "extensions"));
    row->markers = wb_table_strings(arena, wb_json_get(json, "markers"));
    row->commands = wb_table_commands(arena, wb_json_get(json, "commands"));
    row->local = wb_table_strings(arena, wb_json_get(json, "local"));
    row->needs = wb_table_strings(arena, wb_json_get(json, "needs"));
    row->every_program = wb_json_bool(wb_json_get(json, "every_program"), false);
    row->probe = wb_table_strings(arena, wb_json_get(json, "probe"));
    row->priority = wb_json_int_or(wb_json_get(json, "priority"), 1);
    row->go_binaries = wb_str_equal(wb_json_str_or(wb_json_get(json, "binaries"), ""), "go");
    row->transport = read_transport(wb_json_get(json, "transport"));
    row->initialize = wb_json_get(json, "initialize");
    row->scratch_files = wb_json_get(json, "scratch_files");
    row->env = wb_json_get(json, "env");
    row->start_ms = 1000 * wb_json_int_or(wb_json_get(json, "start_s"), START_S);
    row->install = wb_json_str_or(wb_json_get(json, "install"), "");
    row->url = wb_json_str_or(wb_json_get(json, "url"), "");
    row->tested = wb_json_bool(wb_json_get(json, "tested"), false);
    read_templates(arena, json, row);
    read_quirks(arena, json, row);
}

static int compare_rows(const void *a, const void *b)
{
    const struct wb_adapter_row *x = a, *y = b;
    int by = (x->priority > y->priority) - (x->priority < y->priority);
    return by != 0 ? by : strcmp(x->id, y->id);
}

static int load(struct wb_adapters *adapters, const struct wb_json *config_root,
                struct wb_error *err)
{
    struct wb_table table;
    struct wb_span built_in = {wb_debug_adapters_json, wb_debug_adapters_json_len};
    adapters->languages =
        wb_languages_load(&adapters->arena, wb_json_get(config_root, "languages"), err);
    if (adapters->languages == NULL ||
        wb_table_load(&adapters->arena, built_in, "adapters", wb_json_get(config_root, "adapters"),
                      &table, err) != 0) {
        return -1;
    }
    adapters->rows =
        wb_arena_alloc_array(&adapters->arena, table.count + 1, sizeof(*adapters->rows));
    adapters->count = table.count;
    for (size_t i = 0; i < table.count; i++) {
        read_row(&adapters->arena, table.rows[i], &adapters->rows[i]);
    }
    if (table.count > 1) {
        qsort(adapters->rows, adapters->count, sizeof(*adapters->rows), compare_rows);
    }
    return 0;
}

struct wb_adapters *wb_adapters_new(const struct wb_json *config_root, struct wb_error *err)
{
    struct wb_adapters *adapters = wb_alloc(sizeof(*adapters));
    wb_arena_init(&adapters->arena);
    if (load(adapters, config_root, err) != 0) {
        wb_adapters_free(adapters);
        return NULL;
    }
    return adapters;
}

void wb_adapters_free(struct wb_adapters *adapters)
{
    if (adapters != NULL) {
        wb_arena_done(&adapters->arena);
        free(adapters);
    }
}

const struct wb_languages *wb_adapters_languages(const struct wb_adapters *adapters)
{
    return adapters->languages;
}

const struct wb_adapter_row *wb_adapters_next(const struct wb_adapters *adapters, size_t *cursor)
{
    return *cursor < adapters->count ? &adapters->rows[(*cursor)++] : NULL;
}

const struct wb_adapter_row *wb_adapters_find(const struct wb_adapters *adapters, const char *id)
{
    for (size_t i = 0; i < adapters->count; i++) {
        if (wb_str_equal(adapters->rows[i].id, id)) {
            return &adapters->rows[i];
        }
    }
    return NULL;
}

bool wb_adapter_row_speaks(const struct wb_adapter_row *row, const char *language, const char *path)
{
    for (const char **id = row->languages; language != NULL && *id != NULL; id++) {
        if (wb_str_equal(*id, language)) {
            return true;
        }
    }
    for (const char **extension = row->extensions; path != NULL && *extension != NULL;
         extension++) {
        if (wb_str_ends(path, *extension)) {
            return true;
        }
    }
    return false;
}

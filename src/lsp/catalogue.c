/* catalogue: see catalogue.h. */
#include "lsp/catalogue.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/map.h"
#include "run/table.h"
#include "run/usable.h"
#include "sys/file.h"
#include "sys/path.h"
#include "sys/walk.h"

#define FILES_LOOKED_AT_MAX 20000 /* of a workspace, for what it calls for */
#define HEAD_BYTES 256            /* of a file without a telling name, for its interpreter */

extern const char wb_language_servers_json[];
extern const size_t wb_language_servers_json_len;

struct wb_catalogue {
    struct wb_arena arena;
    const struct wb_languages *languages;
    struct wb_server_row *rows;
    size_t count, capacity;
};

/* Reading rows. */

static int read_choice(const struct wb_json *value, const char *const *names, size_t n,
                       int otherwise)
{
    const char *name = wb_json_str_or(value, "");
    for (size_t i = 0; i < n; i++) {
        if (wb_str_equal(names[i], name)) {
            return (int)i;
        }
    }
    return otherwise;
}

static void read_behaviour(const struct wb_json *json, struct wb_server_row *row)
{
    static const char *const kinds[] = {"types", "linter", "text"};
    static const char *const modes[] = {"push", "pull", "both", "tsserver", "none"};
    static const char *const ready[] = {"at_once", "progress", "server_status", "language_status",
                                        "log"};
    row->kind = (enum wb_server_kind)read_choice(wb_json_get(json, "kind"), kinds, 3, 0);
    row->diagnostics =
        (enum wb_diagnostics_mode)read_choice(wb_json_get(json, "diagnostics"), modes,
                                              WB_COUNT(modes), WB_DIAGNOSTICS_BOTH);
    row->ready = (enum wb_ready_mode)read_choice(wb_json_get(json, "ready"), ready, 5, 0);
    row->ready_log = wb_json_str(wb_json_get(json, "ready_log"));
    row->declare_pull = wb_json_bool(wb_json_get(json, "declare_pull"), true);
    row->check_progress = wb_json_str(wb_json_get(json, "check_progress"));
    row->check_cause = wb_json_str(wb_json_get(json, "check_cause"));
    row->first_refresh = wb_json_bool(wb_json_get(json, "first_refresh"), false);
    row->versions = wb_json_bool(wb_json_get(json, "versions"), false);
    row->want_diagnostics = wb_json_bool(wb_json_get(json, "want_diagnostics"), false);
    row->offset_encoding = wb_json_bool(wb_json_get(json, "offset_encoding"), false);
    row->compilation_changes = wb_json_bool(wb_json_get(json, "compilation_changes"), false);
    row->settle_ms = wb_json_int_or(wb_json_get(json, "settle_ms"), 0);
    row->memory_bytes = wb_json_int_or(wb_json_get(json, "memory_mb"), 0) * (int64_t)WB_MIB;
    row->tested = wb_json_bool(wb_json_get(json, "tested"), false);
}

static void read_row(struct wb_arena *arena, const struct wb_json *json, struct wb_server_row *row)
{
    row->id = wb_json_str(wb_json_get(json, "id"));
    row->languages = wb_table_strings(arena, wb_json_get(json, "languages"));
    row->markers = wb_table_strings(arena, wb_json_get(json, "markers"));
    row->outer_markers = wb_table_strings(arena, wb_json_get(json, "outer_markers"));
    row->commands = wb_table_commands(arena, wb_json_get(json, "commands"));
    row->local = wb_table_strings(arena, wb_json_get(json, "local"));
    row->index_files = wb_table_strings(arena, wb_json_get(json, "index_files"));
    row->rebuild_on = wb_table_strings(arena, wb_json_get(json, "rebuild_on"));
    row->group = wb_json_str(wb_json_get(json, "group"));
    row->priority = wb_json_int_or(wb_json_get(json, "priority"), 100);
    row->initialization_options = wb_json_get(json, "initialization_options");
    row->settings = wb_json_get(json, "settings");
    row->env = wb_json_get(json, "env");
    row->install = wb_json_str(wb_json_get(json, "install"));
    row->url = wb_json_str(wb_json_get(json, "url"));
    row->hash = wb_hash(wb_json_write(arena, json));
    read_behaviour(json, row);
}

static int load(struct wb_catalogue *catalogue, const struct wb_json *config_root,
                struct wb_error *err)
{
    struct wb_arena *arena = &catalogue->arena;
    /* Rows point into the configuration: keep a copy for the catalogue's life. */
    const struct wb_json *config = wb_json_parse(arena, wb_json_write(arena, config_root), NULL);
    struct wb_span built_in = {wb_language_servers_json, wb_language_servers_json_len};
    struct wb_table table;
    catalogue->languages = wb_languages_load(arena, wb_json_get(config, "languages"), err);
    if (catalogue->languages == NULL ||
        wb_table_load(arena, built_in, "servers", wb_json_get(config, "servers"), &table, err) <
            0) {
        return -1;
    }
    for (size_t i = 0; i < table.count; i++) {
        read_row(arena, table.rows[i],
                 WB_ARENA_PUSH(arena, catalogue->rows, catalogue->count, catalogue->capacity));
    }
    return 0;
}

struct wb_catalogue *wb_catalogue_new(const struct wb_json *config_root, struct wb_error *err)
{
    struct wb_catalogue *catalogue = wb_alloc(sizeof(*catalogue));
    wb_arena_init(&catalogue->arena);
    if (load(catalogue, config_root, err) < 0) {
        wb_catalogue_free(catalogue);
        return NULL;
    }
    return catalogue;
}

void wb_catalogue_free(struct wb_catalogue *catalogue)
{
    if (catalogue != NULL) {
        wb_arena_done(&catalogue->arena);
        free(catalogue);
    }
}

const struct wb_languages *wb_catalogue_languages(const struct wb_catalogue *catalogue)
{
    return catalogue->languages;
}

const struct wb_server_row *wb_catalogue_next(const struct wb_catalogue *catalogue, size_t *cursor)
{
    return *cursor < catalogue->count ? &catalogue->rows[(*cursor)++] : NULL;
}

static bool has_string(const char **strings, const char *wanted)
{
    for (; *strings != NULL; strings++) {
        if (wb_str_equal(*strings, wanted)) {
            return true;
        }
    }
    return false;
}

bool wb_server_row_serves(const struct wb_server_row *row, const struct wb_language *language)
{
    return has_string(row->languages, language->id);
}

/* Roots. */

char *wb_server_row_root(struct wb_arena *arena, const struct wb_server_row *row,
                         const char *workspace, const char *path, const char **ret_marker)
{
    return wb_usable_root(arena, workspace, path, row->markers, row->outer_markers, ret_marker);
}

const char *const *wb_server_row_command(struct wb_arena *arena, const struct wb_server_row *row,
                                         const char *workspace, const char *root, size_t *cursor)
{
    return wb_usable_command(arena, row->commands,
                             wb_usable_local_folders(arena, row->local, workspace, root), cursor);
}

/* Candidates. */

static void add_words(struct wb_text *out, const char **words)
{
    for (size_t i = 0; words[i] != NULL; i++) {
        wb_text_printf(out, "%s%s", i > 0 ? ", " : "", words[i]);
    }
}

static const char *keep(struct wb_arena *arena, struct wb_text *text)
{
    const char *kept = wb_arena_strdup(arena, wb_text_cstr(text));
    wb_text_done(text);
    return kept;
}

static const char *no_marker(struct wb_arena *arena, const struct wb_server_row *row)
{
    struct wb_text text;
    wb_text_init(&text);
    wb_text_add_str(&text, "no root marker from the file up to the workspace (");
    add_words(&text, row->outer_markers);
    wb_text_add_str(&text, row->outer_markers[0] != NULL && row->markers[0] != NULL ? ", " : "");
    add_words(&text, row->markers);
    wb_text_add_char(&text, ')');
    return keep(arena, &text);
}

static const char *no_program(struct wb_arena *arena, const struct wb_server_row *row)
{
    struct wb_text text;
    wb_text_init(&text);
    wb_text_printf(&text, "no program %s (looked in ",
                   row->commands[0] != NULL ? row->commands[0][0] : row->id);
    add_words(&text, row->local);
    wb_text_printf(&text, "%sPATH); install it: %s", row->local[0] != NULL ? " and " : "",
                   row->install != NULL ? row->install : row->url);
    return keep(arena, &text);
}

/* The marker's half of the judgement. */
static void place(struct wb_arena *arena, const struct wb_server_row *row, const char *workspace,
                  const char *path, struct wb_candidate *ret)
{
    *ret = (struct wb_candidate){.row = row};
    ret->root = wb_server_row_root(arena, row, workspace, path, &ret->marker);
    if (ret->root == NULL) {
        ret->reason = "no root marker";
    }
}

/* The program's half. It asks the disk for each folder of PATH. */
static void find_program(struct wb_arena *arena, const char *workspace,
                         struct wb_candidate *candidate)
{
    const char *root = candidate->root != NULL ? candidate->root : workspace;
    size_t first = 0;
    candidate->looked = true;
    candidate->command = wb_server_row_command(arena, candidate->row, workspace, root, &first);
    if (candidate->command == NULL && candidate->reason == NULL) {
        candidate->reason = "no program";
    }
}

/* Everything that is missing, as a sentence. */
static void explain(struct wb_arena *arena, const char *workspace, struct wb_candidate *candidate)
{
    if (!candidate->looked) {
        find_program(arena, workspace, candidate);
    }
    if (candidate->root == NULL) {
        candidate->reason = no_marker(arena, candidate->row);
    }
    if (candidate->command == NULL) {
        const char *missing = no_program(arena, candidate->row);
        candidate->reason = candidate->root == NULL
                                ? wb_arena_printf(arena, "%s; %s", candidate->reason, missing)
                                : missing;
    }
}

/* Whether a would serve instead of b, if it is usable. */
static bool outranks(const struct wb_candidate *a, const struct wb_candidate *b)
{
    return a->row->group != NULL && b->row->group != NULL &&
           wb_str_equal(a->row->group, b->row->group) &&
           (a->row->priority < b->row->priority ||
            (a->row->priority == b->row->priority && strcmp(a->row->id, b->row->id) < 0)) &&
           (wb_path_is_inside(a->root, b->root) || wb_path_is_inside(b->root, a->root));
}

/* Decides on one: at most one of a group serves a file, losers say who won. Candidates of different
 * roots do not compete. The winner is decided on first, so that losers' programs need not be looked
 * for, which would be most of a warm call's own time. */
static void settle(struct wb_arena *arena, const char *workspace, const struct wb_running *running,
                   struct wb_candidates *candidates, struct wb_candidate *candidate)
{
    for (size_t i = 0; i < candidates->count && candidate->reason == NULL; i++) {
        struct wb_candidate *rival = &candidates->items[i];
        if (rival->root == NULL || !outranks(rival, candidate)) {
            continue;
        }
        settle(arena, workspace, running, candidates, rival); /* its rank is higher: this ends */
        if (rival->reason == NULL) {
            candidate->reason =
                wb_arena_printf(arena, "%s serves these files instead", rival->row->id);
        }
    }
    if (candidate->reason == NULL && !candidate->looked &&
        (running == NULL || !running->is_running(running->ctx, candidate->row, candidate->root))) {
        find_program(arena, workspace, candidate);
    }
}

static void settle_all(struct wb_arena *arena, const char *workspace,
                       const struct wb_running *running, struct wb_candidates *candidates)
{
    for (size_t i = 0; i < candidates->count; i++) {
        settle(arena, workspace, running, candidates, &candidates->items[i]);
    }
}

static void count_usable(struct wb_candidates *candidates)
{
    candidates->n_usable = 0;
    for (size_t i = 0; i < candidates->count; i++) {
        candidates->n_usable += candidates->items[i].reason == NULL;
    }
}

static const struct wb_language *language_of(struct wb_arena *arena,
                                             const struct wb_catalogue *catalogue, const char *path)
{
    const struct wb_language *language =
        wb_languages_of_file(catalogue->languages, path, (struct wb_span){0});
    struct wb_span content;
    if (language == NULL && *wb_path_extension(path) == '\0' &&
        wb_file_read(arena, path, WB_MIB, &content, NULL, NULL) == 0) {
        content.len = WB_MIN(content.len, (size_t)HEAD_BYTES);
        language = wb_languages_of_file(catalogue->languages, path, content);
    }
    return language;
}

void wb_catalogue_candidates(struct wb_arena *arena, const struct wb_catalogue *catalogue,
                             const char *workspace, const char *path,
                             const struct wb_running *running, struct wb_candidates *ret)
{
    size_t capacity = 0;
    *ret = (struct wb_candidates){.language = language_of(arena, catalogue, path)};
    for (size_t i = 0; ret->language != NULL && i < catalogue->count; i++) {
        if (wb_server_row_serves(&catalogue->rows[i], ret->language)) {
            place(arena, &catalogue->rows[i], workspace, path,
                  WB_ARENA_PUSH(arena, ret->items, ret->count, capacity));
        }
    }
    settle_all(arena, workspace, running, ret);
    count_usable(ret);
    for (size_t i = 0; i < ret->count && ret->n_usable == 0; i++) {
        explain(arena, workspace, &ret->items[i]);
    }
}

/* The whole workspace: each row and root that some file would use, once. */

struct survey {
    struct wb_arena *arena;
    const struct wb_catalogue *catalogue;
    const char *workspace;
    struct wb_map seen; /* "folder language" and "row root" */
    struct wb_candidates *ret;
    size_t capacity, n_files;
};

/* ".git" and "." give a place to a file that is asked about; they do not call for a server. */
static bool calls_for_server(const struct wb_candidate *candidate)
{
    return candidate->marker == NULL ||
           !(wb_str_equal(candidate->marker, ".git") || wb_str_equal(candidate->marker, "."));
}

static bool is_new(struct survey *survey, const char *key)
{
    return wb_map_set(&survey->seen, key, survey) == NULL;
}

static void survey_file(struct survey *survey, const char *path, const struct wb_language *language)
{
    struct wb_arena *arena = survey->arena;
    for (size_t i = 0; i < survey->catalogue->count; i++) {
        const struct wb_server_row *row = &survey->catalogue->rows[i];
        if (!wb_server_row_serves(row, language)) {
            continue;
        }
        struct wb_candidate candidate;
        place(arena, row, survey->workspace, path, &candidate);
        const char *key =
            wb_arena_printf(arena, "%s\n%s", row->id, candidate.root != NULL ? candidate.root : "");
        if (calls_for_server(&candidate) && is_new(survey, key)) {
            explain(arena, survey->workspace, &candidate);
            candidate.example = wb_arena_strdup(arena, path);
            candidate.language_id = language->lsp_id;
            *WB_ARENA_PUSH(arena, survey->ret->items, survey->ret->count, survey->capacity) =
                candidate;
        }
    }
}

static bool visit(void *ctx, const struct wb_walk_entry *entry)
{
    struct survey *survey = ctx;
    const struct wb_language *language =
        wb_languages_of_file(survey->catalogue->languages, entry->path, (struct wb_span){0});
    if (language != NULL) {
        const char *folder = wb_path_dir(survey->arena, entry->path);
        if (is_new(survey, wb_arena_printf(survey->arena, "%s %s", folder, language->id))) {
            survey_file(survey, entry->path, language);
        }
    }
    return ++survey->n_files < FILES_LOOKED_AT_MAX;
}

/* Usable ones first, each part in order of id. */
static int compare_candidates(const void *a, const void *b)
{
    const struct wb_candidate *x = a, *y = b;
    int by = (x->reason != NULL) - (y->reason != NULL);
    if (by == 0) {
        by = strcmp(x->row->id, y->row->id);
    }
    return by != 0 || x->root == NULL || y->root == NULL ? by : strcmp(x->root, y->root);
}

void wb_catalogue_of_workspace(struct wb_arena *arena, const struct wb_catalogue *catalogue,
                               const char *workspace, struct wb_candidates *ret)
{
    *ret = (struct wb_candidates){0};
    struct survey survey = {
        .arena = arena, .catalogue = catalogue, .workspace = workspace, .ret = ret};
    struct wb_walk_options options = {0};
    wb_map_init(&survey.seen);
    (void)wb_walk(workspace, workspace, &options, visit, &survey, NULL, NULL);
    wb_map_done(&survey.seen);
    settle_all(arena, workspace, NULL, ret);
    count_usable(ret);
    if (ret->count > 1) {
        qsort(ret->items, ret->count, sizeof(*ret->items), compare_candidates);
    }
}

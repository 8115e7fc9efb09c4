/* choose: see choose.h. */
#include "debug/choose.h"

#include <stdlib.h>

#include "run/usable.h"
#include "sys/child.h"
#include "sys/path.h"
#include "sys/walk.h"

#define FOLDERS_LOOKED_AT_MAX 500 /* of a workspace, for markers */
#define PROBE_OUTPUT_BYTES 4096

/* --- programs --- */

/* Each folder of PATH, in order: a program may be in several, and only one has the module. */
static const char **path_folders(struct wb_arena *arena)
{
    const char **folders = NULL;
    size_t n = 0, capacity = 0;
    const char *env = getenv("PATH");
    for (const char *rest = env != NULL ? env : ""; *rest != '\0';) {
        size_t len = strcspn(rest, ":");
        if (*rest == '/') {
            *WB_ARENA_PUSH(arena, folders, n, capacity) = wb_arena_strndup(arena, rest, len);
        }
        rest += len + (rest[len] == ':');
    }
    *WB_ARENA_PUSH(arena, folders, n, capacity) = NULL;
    return folders;
}

struct found {
    struct wb_arena *arena;
    const char *const **items;
    size_t n, capacity;
};

static void add_command(struct found *found, const char *const *command, const char *program)
{
    size_t n = 0;
    for (size_t i = 0; i < found->n; i++) {
        if (wb_str_equal(found->items[i][0], program)) {
            return;
        }
    }
    while (command[n] != NULL) {
        n++;
    }
    const char **words = wb_arena_alloc_array(found->arena, n + 1, sizeof(*words));
    memcpy(words, command, n * sizeof(*words));
    words[0] = program;
    *WB_ARENA_PUSH(found->arena, found->items, found->n, found->capacity) = words;
}

static void add_from(struct found *found, const char *const *command, const char *folder)
{
    const char *const only[] = {folder, NULL};
    const char *program = wb_path_find_program(found->arena, command[0], only, "", NULL);
    if (program != NULL) {
        add_command(found, command, program);
    }
}

/* Project-local folders are asked for all commands before PATH is for the first. */
static const char *const **every_program(struct wb_arena *arena, const struct wb_adapter_row *row,
                                         const char *const *local)
{
    struct found found = {.arena = arena};
    for (; *local != NULL; local++) {
        for (size_t i = 0; row->commands[i] != NULL; i++) {
            add_from(&found, row->commands[i], *local);
        }
    }
    for (const char **folder = path_folders(arena); *folder != NULL; folder++) {
        for (size_t i = 0; row->commands[i] != NULL; i++) {
            add_from(&found, row->commands[i], *folder);
        }
    }
    *WB_ARENA_PUSH(arena, found.items, found.n, found.capacity) = NULL;
    return found.items;
}

static const char *missing_need(struct wb_arena *arena, const struct wb_adapter_row *row)
{
    for (const char **need = row->needs; *need != NULL; need++) {
        if (wb_path_find_program(arena, *need, NULL, NULL, NULL) == NULL) {
            return *need;
        }
    }
    return NULL;
}

static bool is_in(const char *program, const char *const *folders)
{
    for (; *folders != NULL; folders++) {
        if (wb_path_is_inside(program, *folders)) {
            return true;
        }
    }
    return false;
}

/* The program runs in the project's own environment, wherever the adapter is found. */
static void choose_interpreter(struct wb_adapter_choice *choice, const char *const *local)
{
    if (choice->row->every_program && choice->commands[0] != NULL) {
        const char *first = choice->commands[0][0];
        choice->interpreter = is_in(first, local) ? first : NULL;
        choice->interpreter_why = choice->interpreter != NULL
                                      ? "the project's own environment comes before PATH"
                                      : "the project has no .venv or venv: the first on PATH that "
                                        "has the adapter";
    }
}

/* --- one row --- */

static void add_list(struct wb_text *out, const char **words)
{
    for (size_t i = 0; words[i] != NULL; i++) {
        wb_text_printf(out, "%s%s", i > 0 ? ", " : "", words[i]);
    }
}

static const char *no_marker(struct wb_arena *arena, const struct wb_adapter_row *row)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    wb_text_add_str(&text, "no root marker from the program up to the workspace (");
    add_list(&text, row->markers);
    wb_text_add_char(&text, ')');
    return wb_arena_strdup(arena, wb_text_cstr(&text));
}

static const char *no_program(struct wb_arena *arena, const struct wb_adapter_row *row)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    wb_text_printf(&text, "no program %s (looked in ",
                   row->commands[0] != NULL ? row->commands[0][0] : row->id);
    add_list(&text, row->local);
    wb_text_printf(&text, "%sPATH); install it: %s", row->local[0] != NULL ? " and " : "",
                   row->install);
    return wb_arena_strdup(arena, wb_text_cstr(&text));
}

static void explain(struct wb_arena *arena, struct wb_adapter_choice *choice)
{
    const char *need = missing_need(arena, choice->row);
    const char *missing = NULL;
    if (choice->commands[0] == NULL) {
        missing = no_program(arena, choice->row);
    } else if (need != NULL) {
        missing = wb_arena_printf(arena, "no program %s, which it needs; install it: %s", need,
                                  choice->row->install);
    }
    if (choice->root == NULL) {
        const char *marker = no_marker(arena, choice->row);
        choice->reason =
            missing != NULL ? wb_arena_printf(arena, "%s; %s", marker, missing) : marker;
    } else {
        choice->reason = missing;
    }
}

/* Both tests, and why not. root NULL: the first one failed. */
static void judge(struct wb_arena *arena, const struct wb_adapter_row *row, const char *workspace,
                  const char *root, const char *marker, struct wb_adapter_choice *ret)
{
    const char *const *local =
        wb_usable_local_folders(arena, row->local, workspace, root != NULL ? root : workspace);
    *ret = (struct wb_adapter_choice){.row = row, .root = root, .marker = marker};
    ret->commands = row->every_program ? every_program(arena, row, local)
                                       : wb_usable_commands(arena, row->commands, local);
    choose_interpreter(ret, local);
    explain(arena, ret);
}

static void judge_at(struct wb_arena *arena, const struct wb_adapter_row *row,
                     const char *workspace, const char *from, struct wb_adapter_choice *ret)
{
    static const char *none[] = {NULL};
    const char *marker = NULL;
    const char *root = wb_usable_root(arena, workspace, from, row->markers, none, &marker);
    judge(arena, row, workspace, root, marker, ret);
}

/* --- launch --- */

static bool can_launch(const struct wb_adapter_row *row, const struct wb_target *target)
{
    if (row->launch[target->kind].arguments == NULL) {
        return false;
    }
    switch (target->kind) {
    case WB_TARGET_SOURCE:
        return wb_adapter_row_speaks(row, target->language, target->path);
    case WB_TARGET_BINARY:
    case WB_TARGET_CORE:
        return target->program.is_go || !row->go_binaries;
    case WB_TARGET_FOLDER:
    case WB_TARGET_TEST:
        return target->language == NULL || wb_adapter_row_speaks(row, target->language, NULL);
    case WB_TARGET_MODULE:
    case WB_TARGET_KINDS:
        break;
    }
    return true;
}

static int unknown_adapter(const struct wb_adapters *adapters, const char *id, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text names = {0};
    const struct wb_adapter_row *row;
    for (size_t cursor = 0; (row = wb_adapters_next(adapters, &cursor)) != NULL;) {
        wb_text_printf(&names, "%s%s", names.len > 0 ? ", " : "", row->id);
    }
    return wb_error_set(err, WB_ERROR_NOT_FOUND, "there is no adapter `%s`; the adapters are %s",
                        id, wb_text_cstr(&names));
}

static int none_usable(const char *what, struct wb_text *reasons, struct wb_error *err)
{
    return wb_error_set(err, WB_ERROR_UNAVAILABLE, "no debug adapter %s is usable:%s", what,
                        reasons->len > 0
                            ? wb_text_cstr(reasons)
                            : " the catalogue has none; `adapters` lists what there is");
}

static const char *describe_target(struct wb_arena *arena, const struct wb_target *target)
{
    const char *name = target->path != NULL ? wb_path_base(target->path) : "a module";
    return wb_arena_printf(arena, "for %s (%s%s%s)", name, wb_target_kind_name(target->kind),
                           target->language != NULL ? ", " : "",
                           target->language != NULL ? target->language : "");
}

/* Delve knows what a Go program is; the native debuggers take it too, but see less. */
static bool goes_before(const struct wb_adapter_row *a, const struct wb_adapter_row *b,
                        const struct wb_target *target)
{
    return target->program.is_go && a->go_binaries && !b->go_binaries;
}

/* A language that some adapter steers, but only as an executable. */
static bool is_compiled(const struct wb_adapters *adapters, const struct wb_target *target)
{
    const struct wb_adapter_row *row;
    for (size_t cursor = 0; (row = wb_adapters_next(adapters, &cursor)) != NULL;) {
        if (target->kind == WB_TARGET_SOURCE && row->launch[WB_TARGET_BINARY].arguments != NULL &&
            wb_adapter_row_speaks(row, target->language, NULL)) {
            return true;
        }
    }
    return false;
}

int wb_choose_for_launch(struct wb_arena *arena, const struct wb_adapters *adapters,
                         const char *workspace, const struct wb_target *target, const char *adapter,
                         struct wb_adapter_choice *ret, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text reasons = {0};
    const struct wb_adapter_row *row;
    bool found = false;
    if (adapter != NULL && wb_adapters_find(adapters, adapter) == NULL) {
        return unknown_adapter(adapters, adapter, err);
    }
    for (size_t cursor = 0; (row = wb_adapters_next(adapters, &cursor)) != NULL;) {
        struct wb_adapter_choice choice;
        bool is_named = adapter != NULL && wb_str_equal(adapter, row->id);
        if ((adapter != NULL && !is_named) || (found && !goes_before(row, ret->row, target))) {
            continue;
        }
        if (!can_launch(row, target)) {
            if (is_named) {
                return wb_error_set(err, WB_ERROR_INVALID, "%s cannot launch %s", row->id,
                                    describe_target(arena, target) + strlen("for "));
            }
            continue;
        }
        judge_at(arena, row, workspace, target->from, &choice);
        if (choice.reason == NULL) {
            *ret = choice;
            found = true;
        } else {
            wb_text_printf(&reasons, "\n  %s: %s", row->id, choice.reason);
        }
    }
    if (!found && reasons.len == 0 && is_compiled(adapters, target)) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "%s is source that is compiled: build it with debug information (-g), "
                            "and launch the executable; breakpoints are set in the source",
                            wb_path_base(target->path));
    }
    return found ? 0 : none_usable(describe_target(arena, target), &reasons, err);
}

/* --- the workspace as a whole --- */

/* A root for each row: the first folder, from the top, that has a marker of it. */
struct survey {
    struct wb_arena *arena;
    const struct wb_adapters *adapters;
    size_t n_rows, n_folders;
    const char **roots, **markers; /* by the row's place in the catalogue */
};

static void look_into(struct survey *survey, const char *folder)
{
    const struct wb_adapter_row *row;
    size_t i = 0;
    for (size_t cursor = 0; (row = wb_adapters_next(survey->adapters, &cursor)) != NULL; i++) {
        if (survey->roots[i] == NULL) {
            survey->markers[i] = wb_usable_marker(survey->arena, folder, row->markers);
            survey->roots[i] =
                survey->markers[i] != NULL ? wb_arena_strdup(survey->arena, folder) : NULL;
        }
    }
}

static bool visit(void *ctx, const struct wb_walk_entry *entry)
{
    struct survey *survey = ctx;
    if (entry->is_folder) {
        look_into(survey, entry->path);
        survey->n_folders++;
    }
    return survey->n_folders < FOLDERS_LOOKED_AT_MAX;
}

static void find_roots(struct wb_arena *arena, const struct wb_adapters *adapters,
                       const char *workspace, struct survey *ret)
{
    const struct wb_walk_options options = {.folders = true};
    size_t n = 0;
    for (size_t cursor = 0; wb_adapters_next(adapters, &cursor) != NULL;) {
        n++;
    }
    *ret = (struct survey){.arena = arena, .adapters = adapters, .n_rows = n};
    ret->roots = wb_arena_alloc_array(arena, n + 1, sizeof(*ret->roots));
    ret->markers = wb_arena_alloc_array(arena, n + 1, sizeof(*ret->markers));
    look_into(ret, workspace);
    (void)wb_walk(workspace, workspace, &options, visit, ret, NULL, NULL);
}

/* --- attach --- */

static bool share_language(const struct wb_adapter_row *a, const struct wb_adapter_row *b)
{
    for (const char **id = a->languages; *id != NULL; id++) {
        if (wb_adapter_row_speaks(b, *id, NULL)) {
            return true;
        }
    }
    return false;
}

/* Why this row cannot attach here, or NULL. */
static const char *judge_attach(struct wb_arena *arena, const struct wb_adapter_row *row,
                                const char *workspace, enum wb_attach_kind kind,
                                const struct survey *survey, size_t at,
                                struct wb_adapter_choice *ret)
{
    judge(arena, row, workspace, survey->roots[at], survey->markers[at], ret);
    if (row->attach[kind].is_direct && ret->root != NULL) {
        ret->reason = NULL; /* what listens there is the adapter */
    }
    return ret->reason;
}

static int choose_fitting(struct wb_arena *arena, const struct wb_adapters *adapters,
                          const char *workspace, enum wb_attach_kind kind, const char *adapter,
                          struct wb_adapter_choice *ret, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text reasons = {0}, fitting = {0};
    const struct wb_adapter_row *row;
    struct survey survey;
    size_t n = 0, at = 0;
    find_roots(arena, adapters, workspace, &survey);
    for (size_t cursor = 0; (row = wb_adapters_next(adapters, &cursor)) != NULL; at++) {
        struct wb_adapter_choice choice;
        if (row->attach[kind].arguments == NULL ||
            (adapter != NULL && !wb_str_equal(adapter, row->id)) ||
            (n > 0 && share_language(row, ret->row))) {
            continue; /* a native program has several debuggers: the first one takes it */
        }
        if (judge_attach(arena, row, workspace, kind, &survey, at, &choice) != NULL) {
            wb_text_printf(&reasons, "\n  %s: %s", row->id, choice.reason);
            continue;
        }
        *ret = choice;
        wb_text_printf(&fitting, "%s%s", n++ > 0 ? ", " : "", row->id);
    }
    if (n > 1) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "several adapters could attach here: %s; say which by `adapter`",
                            wb_text_cstr(&fitting));
    }
    return n == 1 ? 0 : none_usable("to attach with", &reasons, err);
}

int wb_choose_for_attach(struct wb_arena *arena, const struct wb_adapters *adapters,
                         const char *workspace, enum wb_attach_kind kind, const char *adapter,
                         struct wb_adapter_choice *ret, struct wb_error *err)
{
    if (adapter != NULL) {
        const struct wb_adapter_row *row = wb_adapters_find(adapters, adapter);
        if (row == NULL) {
            return unknown_adapter(adapters, adapter, err);
        }
        if (row->attach[kind].arguments == NULL) {
            return wb_error_set(err, WB_ERROR_INVALID, "%s cannot attach by %s", adapter,
                                kind == WB_ATTACH_PORT ? "port" : "pid");
        }
    }
    return choose_fitting(arena, adapters, workspace, kind, adapter, ret, err);
}

/* --- everything --- */

/* Does the program have the adapter in it? Asked of the program itself. */
static bool probe(struct wb_host *host, const struct wb_adapter_row *row, const char *program,
                  int64_t deadline_ms, struct wb_cancel *cancel)
{
    const char *argv[16] = {program};
    for (size_t i = 0; row->probe[i] != NULL && i + 2 < WB_COUNT(argv); i++) {
        argv[i + 1] = row->probe[i];
    }
    const struct wb_child_options options = {.argv = argv, .guard = wb_host_guard(host)};
    const struct wb_child_run run = {
        .options = &options,
        .output_bytes_max = PROBE_OUTPUT_BYTES,
        .deadline_ms = deadline_ms,
        .cancel = cancel,
    };
    struct wb_child_output output = {0};
    bool answers = wb_child_run(wb_host_loop(host), &run, &output, NULL) == 0 &&
                   !output.timed_out && output.status.exited && output.status.exit_code == 0;
    wb_child_output_done(&output);
    return answers;
}

/* Leaves the commands whose program answers the probe. */
static void probe_all(struct wb_arena *arena, struct wb_host *host, int64_t deadline_ms,
                      struct wb_cancel *cancel, struct wb_adapter_choice *choice)
{
    struct found found = {.arena = arena};
    for (size_t i = 0; choice->commands[i] != NULL && found.n == 0; i++) {
        if (probe(host, choice->row, choice->commands[i][0], deadline_ms, cancel)) {
            add_command(&found, choice->commands[i], choice->commands[i][0]);
        }
    }
    if (found.n == 0 && choice->commands[0] != NULL) {
        choice->reason =
            wb_arena_printf(arena, "%s does not have it%s; install it: %s", choice->commands[0][0],
                            choice->commands[1] != NULL ? ", nor has any other on PATH" : "",
                            choice->row->install);
    }
    *WB_ARENA_PUSH(arena, found.items, found.n, found.capacity) = NULL;
    choice->commands = found.items;
}

static int compare_choices(const void *a, const void *b)
{
    const struct wb_adapter_choice *x = a, *y = b;
    int by = (x->reason != NULL) - (y->reason != NULL);
    by = by != 0 ? by : (x->root == NULL) - (y->root == NULL);
    return by != 0 ? by : strcmp(x->row->id, y->row->id);
}

void wb_choose_survey(struct wb_arena *arena, struct wb_host *host,
                      const struct wb_adapters *adapters, const char *workspace,
                      int64_t deadline_ms, struct wb_cancel *cancel, struct wb_adapter_choice **ret,
                      size_t *ret_n)
{
    const struct wb_adapter_row *row;
    struct survey survey;
    size_t n = 0;
    find_roots(arena, adapters, workspace, &survey);
    struct wb_adapter_choice *choices =
        wb_arena_alloc_array(arena, survey.n_rows + 1, sizeof(*choices));
    for (size_t cursor = 0; (row = wb_adapters_next(adapters, &cursor)) != NULL; n++) {
        judge(arena, row, workspace, survey.roots[n], survey.markers[n], &choices[n]);
        if (choices[n].reason == NULL && row->probe[0] != NULL) {
            probe_all(arena, host, deadline_ms, cancel, &choices[n]);
        }
    }
    if (n > 1) {
        qsort(choices, n, sizeof(*choices), compare_choices);
    }
    *ret = choices;
    *ret_n = n;
}

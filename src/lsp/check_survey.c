/* check_survey: which project checks the workspace calls for, where, and which of them can run.
 *
 * A check belongs to a folder that has its marker and, below it, files of its languages. For each
 * language the folder nearest to the workspace's own decides; it alone is asked, at most two
 * folders below. Starts no process. */
#include "lsp/check.h"

#include <stdlib.h>

#include "base/map.h"
#include "run/usable.h"
#include "sys/file.h"
#include "sys/path.h"
#include "sys/walk.h"

#define FILES_LOOKED_AT_MAX 50000
#define DEPTH_MAX 2 /* folders below the workspace */
#define ROOTS_MAX 8
#define LANGUAGES_MAX 256

/* A set of languages, by their numbers in this survey. */
struct set {
    uint64_t words[LANGUAGES_MAX / 64];
};

struct place {
    const char *path;
    size_t depth, parent;
    struct set languages; /* of files in it and below */
    struct set decided;   /* by checks of this folder or one above */
};

struct survey {
    struct wb_lsp *lsp;
    struct wb_arena *arena;
    const struct wb_languages *languages;
    struct wb_map numbers; /* language id to number + 1 */
    struct place *places;
    size_t n_places, capacity;
    size_t here[DEPTH_MAX + 1]; /* where the walk is: places by depth */
    size_t n_files;
    struct wb_check_plans *plans;
};

static void set_add(struct set *set, size_t number)
{
    set->words[number / 64] |= UINT64_C(1) << (number % 64);
}

static void set_add_all(struct set *set, const struct set *other)
{
    for (size_t i = 0; i < WB_COUNT(set->words); i++) {
        set->words[i] |= other->words[i];
    }
}

static struct set set_without(const struct set *set, const struct set *other)
{
    struct set rest;
    for (size_t i = 0; i < WB_COUNT(rest.words); i++) {
        rest.words[i] = set->words[i] & ~other->words[i];
    }
    return rest;
}

static bool set_is_empty(const struct set *set)
{
    uint64_t all = 0;
    for (size_t i = 0; i < WB_COUNT(set->words); i++) {
        all |= set->words[i];
    }
    return all == 0;
}

/* Looking through the workspace. */

static size_t count_slashes(const char *path)
{
    size_t n = 0;
    for (; *path != '\0'; path++) {
        n += *path == '/';
    }
    return n;
}

static void add_place(struct survey *survey, const char *path, size_t depth)
{
    size_t parent = depth > 0 ? survey->here[depth - 1] : 0;
    survey->here[depth] = survey->n_places;
    *WB_ARENA_PUSH(survey->arena, survey->places, survey->n_places, survey->capacity) =
        (struct place){
            .path = wb_arena_strdup(survey->arena, path), .depth = depth, .parent = parent};
}

static void add_language(struct survey *survey, const struct wb_language *language, size_t depth)
{
    uintptr_t number = (uintptr_t)wb_map_get(&survey->numbers, language->id);
    if (number == 0) {
        number = survey->numbers.count + 1;
        wb_map_set(&survey->numbers, language->id, (void *)number);
    }
    for (size_t i = 0; i <= WB_MIN(depth, (size_t)DEPTH_MAX) && number <= LANGUAGES_MAX; i++) {
        set_add(&survey->places[survey->here[i]].languages, number - 1);
    }
}

static bool visit(void *ctx, const struct wb_walk_entry *entry)
{
    struct survey *survey = ctx;
    size_t depth = count_slashes(entry->relative);
    if (entry->is_folder) {
        if (depth < DEPTH_MAX) {
            add_place(survey, entry->path, depth + 1);
        }
        return true;
    }
    const struct wb_language *language =
        wb_languages_of_file(survey->languages, entry->path, (struct wb_span){0});
    if (language != NULL) {
        add_language(survey, language, depth);
    }
    return ++survey->n_files < FILES_LOOKED_AT_MAX;
}

/* Which of a row's programs resolve. */

/* A name with a slash counts from the root. */
static const char *const **place_commands(struct survey *survey, const struct wb_check_plan *plan)
{
    const char *const **commands = NULL;
    size_t n = 0, capacity = 0;
    for (const char *const *const *from = plan->row->commands; *from != NULL; from++) {
        const char **words = NULL;
        size_t n_words = 0, words_capacity = 0;
        for (const char *const *word = *from; *word != NULL; word++) {
            *WB_ARENA_PUSH(survey->arena, words, n_words, words_capacity) = *word;
        }
        *WB_ARENA_PUSH(survey->arena, words, n_words, words_capacity) = NULL;
        if (strchr(words[0], '/') != NULL) {
            words[0] =
                wb_path_normalize(survey->arena, wb_path_join(survey->arena, plan->root, words[0]));
        }
        *WB_ARENA_PUSH(survey->arena, commands, n, capacity) = (const char *const *)words;
    }
    *WB_ARENA_PUSH(survey->arena, commands, n, capacity) = NULL;
    return commands;
}

/* Programs in the workspace are the project's own. */
static void drop_own_programs(const char *workspace, const char *const **commands)
{
    const char *const **kept = commands;
    for (; *commands != NULL; commands++) {
        if (!wb_path_is_inside((*commands)[0], workspace)) {
            *kept++ = *commands;
        }
    }
    *kept = NULL;
}

static const char *no_program(struct survey *survey, const struct wb_check_row *row)
{
    struct wb_text text;
    wb_text_init(&text);
    wb_text_printf(&text, "no program %s (looked in ", row->commands[0][0]);
    for (const char **local = row->local; *local != NULL; local++) {
        wb_text_printf(&text, "%s%s", local != row->local ? ", " : "", *local);
    }
    wb_text_printf(&text, "%sPATH); install it: %s", row->local[0] != NULL ? " and " : "",
                   row->install);
    const char *kept = wb_arena_strdup(survey->arena, wb_text_cstr(&text));
    wb_text_done(&text);
    return kept;
}

static const char *needs_trust(struct survey *survey, const char *what)
{
    return wb_arena_printf(survey->arena,
                           "it runs %s, and this workspace is not trusted: the operator can say "
                           "`werkbank trust`, or start with `--trust`",
                           what);
}

static void resolve(struct survey *survey, struct wb_check_plan *plan)
{
    const struct wb_check_row *row = plan->row;
    const char *workspace = survey->lsp->workspace;
    bool trusted = wb_config_trusted(wb_run_config(survey->lsp->run));
    if (row->compile_commands) {
        plan->commands = row->commands;
        return;
    }
    const char *const **commands = place_commands(survey, plan);
    const char *const *local =
        wb_usable_local_folders(survey->arena, row->local, workspace, plan->root);
    plan->commands = wb_usable_commands(survey->arena, commands, local);
    if (plan->commands[0] == NULL) {
        plan->reason = no_program(survey, row);
    } else if (row->trusted && !trusted) {
        plan->reason = needs_trust(survey, "code of the project's own");
    } else if (!trusted) {
        const char *own = wb_path_relative(plan->commands[0][0], workspace);
        plan->commands = wb_usable_commands(survey->arena, commands, NULL);
        drop_own_programs(workspace, plan->commands);
        plan->reason = plan->commands[0] == NULL ? needs_trust(survey, own) : NULL;
    }
}

/* What each place calls for. */

/* Those of the row's languages that are in the set. */
static struct set served(struct survey *survey, const struct wb_check_row *row,
                         const struct set *present)
{
    struct set all = {0}, rest;
    for (const char **id = row->languages; *id != NULL; id++) {
        uintptr_t number = (uintptr_t)wb_map_get(&survey->numbers, *id);
        if (number != 0 && number <= LANGUAGES_MAX) {
            set_add(&all, number - 1);
        }
    }
    rest = set_without(&all, present);
    return set_without(&all, &rest);
}

static bool has_needed(struct survey *survey, const struct wb_check_row *row, const char *folder)
{
    for (const char **name = row->needed; *name != NULL; name++) {
        if (wb_file_kind(wb_path_join(survey->arena, folder, *name), NULL) == WB_FILE_MISSING) {
            return false;
        }
    }
    return true;
}

/* One that runs and sees to all of these languages, or NULL. */
static const struct wb_check_plan *find_better(struct survey *survey, size_t first,
                                               const struct set *languages)
{
    for (size_t i = first; i < survey->plans->count; i++) {
        const struct wb_check_plan *plan = &survey->plans->items[i];
        struct set theirs = served(survey, plan->row, languages);
        struct set rest = set_without(languages, &theirs);
        if (plan->reason == NULL && set_is_empty(&rest)) {
            return plan;
        }
    }
    return NULL;
}

/* Rows come by priority: what runs already leaves the rest to nobody else. */
static void add_plan(struct survey *survey, const struct wb_check_plan *plan, size_t first,
                     const struct set *languages, struct set *running)
{
    struct wb_check_plan *added = WB_ARENA_PUSH(survey->arena, survey->plans->items,
                                                survey->plans->count, survey->plans->capacity);
    *added = *plan;
    resolve(survey, added);
    struct set rest = set_without(languages, running);
    if (added->reason == NULL && set_is_empty(&rest)) {
        const struct wb_check_plan *better = find_better(survey, first, languages);
        added->reason = wb_arena_printf(survey->arena, "%s runs instead",
                                        better != NULL ? better->row->id : "another check");
    } else if (added->reason == NULL) {
        set_add_all(running, languages);
    }
}

static void mark_missed(struct survey *survey, size_t first, const struct set *present,
                        const struct set *running)
{
    for (size_t i = first; i < survey->plans->count; i++) {
        struct wb_check_plan *plan = &survey->plans->items[i];
        struct set languages = served(survey, plan->row, present);
        struct set rest = set_without(&languages, running);
        plan->missed = plan->reason != NULL && !set_is_empty(&rest);
    }
}

static void plan_place(struct survey *survey, const struct wb_check_table *table,
                       struct place *place)
{
    struct set running = {0};
    if (place->depth > 0) {
        place->decided = survey->places[place->parent].decided;
    }
    const struct set open = set_without(&place->languages, &place->decided);
    size_t first = survey->plans->count;
    for (size_t i = 0; i < table->count && !set_is_empty(&open); i++) {
        struct wb_check_plan plan = {.row = &table->rows[i], .root = place->path};
        struct set languages = served(survey, plan.row, &open);
        if (set_is_empty(&languages) || !has_needed(survey, plan.row, place->path)) {
            continue;
        }
        plan.marker = wb_usable_marker(survey->arena, place->path, plan.row->markers);
        if (plan.marker == NULL) {
            continue;
        }
        set_add_all(&place->decided, &languages);
        if (survey->plans->n_roots == ROOTS_MAX) {
            survey->plans->n_roots_left++;
            return;
        }
        add_plan(survey, &plan, first, &languages, &running);
    }
    survey->plans->n_roots += survey->plans->count > first;
    mark_missed(survey, first, &open, &running);
}

static void plan_all(struct survey *survey, const struct wb_check_table *table)
{
    for (size_t depth = 0; depth <= DEPTH_MAX; depth++) {
        for (size_t i = 0; i < survey->n_places; i++) {
            if (survey->places[i].depth == depth) {
                plan_place(survey, table, &survey->places[i]);
            }
        }
    }
}

int wb_check_survey(struct wb_lsp *lsp, struct wb_arena *arena, struct wb_cancel *cancel,
                    struct wb_check_plans *ret, struct wb_error *err)
{
    *ret = (struct wb_check_plans){0};
    struct wb_check_table table;
    const struct wb_catalogue *catalogue = wb_lsp_catalogue(lsp, err);
    if (catalogue == NULL ||
        wb_check_table_load(arena, wb_config_root(wb_run_config(lsp->run)), &table, err) < 0) {
        return -1;
    }
    struct survey survey = {
        .lsp = lsp, .arena = arena, .languages = wb_catalogue_languages(catalogue), .plans = ret};
    wb_map_init(&survey.numbers);
    add_place(&survey, lsp->workspace, 0);
    const struct wb_walk_options options = {.folders = true, .cancel = cancel};
    int result = wb_walk(lsp->workspace, lsp->workspace, &options, visit, &survey, NULL, err);
    if (result == 0) {
        plan_all(&survey, &table);
    }
    wb_map_done(&survey.numbers);
    return result;
}

/* The files of one check. */

struct collector {
    struct wb_arena *arena;
    const struct wb_languages *languages;
    const struct wb_check_row *row;
    const char **files;
    size_t count, capacity;
};

static bool collect(void *ctx, const struct wb_walk_entry *entry)
{
    struct collector *collector = ctx;
    const struct wb_language *language =
        wb_languages_of_file(collector->languages, entry->path, (struct wb_span){0});
    for (const char **id = collector->row->languages; language != NULL && *id != NULL; id++) {
        if (wb_str_equal(*id, language->id)) {
            *WB_ARENA_PUSH(collector->arena, collector->files, collector->count,
                           collector->capacity) =
                wb_arena_printf(collector->arena, "./%s", entry->relative);
            break;
        }
    }
    return true;
}

int wb_check_files(struct wb_lsp *lsp, struct wb_arena *arena, struct wb_cancel *cancel,
                   const struct wb_check_row *row, const char *root, const char ***ret,
                   size_t *ret_n, struct wb_error *err)
{
    const struct wb_catalogue *catalogue = wb_lsp_catalogue(lsp, err);
    if (catalogue == NULL) {
        return -1;
    }
    struct collector collector = {
        .arena = arena, .languages = wb_catalogue_languages(catalogue), .row = row};
    if (wb_walk(lsp->workspace, root, &(struct wb_walk_options){.cancel = cancel}, collect,
                &collector, NULL, err) < 0) {
        return -1;
    }
    *ret = collector.files;
    *ret_n = collector.count;
    return 0;
}

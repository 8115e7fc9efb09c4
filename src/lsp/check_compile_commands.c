/* check_compile_commands: each entry of a compilation database (the JSON format of Clang's
 * documentation) compiled with -fsyntax-only, several at a time.
 *
 * The database is the project's own text, and the check runs without trust. So only compilers
 * outside the workspace are started, and of their arguments only those are taken that say how to
 * read the source: nothing that writes a file, loads a plugin or starts another program. */
#include "lsp/check.h"

#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "run/table.h"
#include "sys/file.h"
#include "sys/path.h"

#define UNITS_MAX 20000
#define JOBS_MAX 8

struct unit {
    const char *cwd, *file;
    const char *const *argv; /* NULL: cannot be checked, for this reason: */
    const char *reason;
};

struct unit_list {
    struct unit *items;
    size_t count, capacity;
};

/* Words. */

/* A command as a POSIX shell would split it, without expansions. */
static const char **split_command(struct wb_arena *arena, const char *command)
{
    const char **words = NULL;
    size_t n = 0, capacity = 0;
    WB_AUTO(wb_text_done) struct wb_text word;
    wb_text_init(&word);
    bool open = false; /* a word has begun, maybe an empty one */
    char quote = '\0';
    for (const char *p = command; *p != '\0'; p++) {
        if (quote == '\0' && (*p == ' ' || *p == '\t' || *p == '\n')) {
            if (open) {
                *WB_ARENA_PUSH(arena, words, n, capacity) =
                    wb_arena_strdup(arena, wb_text_cstr(&word));
                wb_text_clear(&word);
                open = false;
            }
            continue;
        }
        open = true;
        if (*p == '\\' && p[1] != '\0' &&
            (quote == '\0' || (quote == '"' && strchr("\"\\$`", p[1]) != NULL))) {
            wb_text_add_char(&word, *++p);
        } else if (quote != '\0' ? *p == quote : (*p == '"' || *p == '\'')) {
            quote = quote != '\0' ? '\0' : *p;
        } else {
            wb_text_add_char(&word, *p);
        }
    }
    if (open) {
        *WB_ARENA_PUSH(arena, words, n, capacity) = wb_arena_strdup(arena, wb_text_cstr(&word));
    }
    *WB_ARENA_PUSH(arena, words, n, capacity) = NULL;
    return words;
}

enum form { ALONE, JOINED, SEPARATE, EITHER };

/* What is taken: how the source is read, and what is warned of. */
static const struct option {
    const char *name;
    enum form form;
} options[] = {
    {"-I", EITHER},          {"-D", EITHER},         {"-U", EITHER},
    {"-isystem", EITHER},    {"-iquote", EITHER},    {"-idirafter", EITHER},
    {"-include", SEPARATE},  {"-imacros", SEPARATE}, {"-isysroot", EITHER},
    {"--sysroot", SEPARATE}, {"--sysroot=", JOINED}, {"-F", EITHER},
    {"-iframework", EITHER}, {"-x", EITHER},         {"-std=", JOINED},
    {"--std=", JOINED},      {"-stdlib=", JOINED},   {"-target", SEPARATE},
    {"--target=", JOINED},   {"-arch", SEPARATE},    {"-ansi", ALONE},
    {"-pedantic", ALONE},    {"-w", ALONE},          {"-pedantic-errors", ALONE},
    {"-pthread", ALONE},     {"-nostdinc", ALONE},   {"-undef", ALONE},
    {"-nostdinc++", ALONE},  {"-O", JOINED},         {"-nostdlibinc", ALONE},
    {"-W", JOINED},          {"-m", JOINED},         {"-f", JOINED},
};

/* What is not taken of these families: other programs' options, and what writes, loads or prints in
 * another form. */
static const char *const refused[] = {
    "-Wa,",           "-Wl,",          "-Wp,",
    "-mllvm",         "-fplugin",      "-fpass-plugin",
    "-fdump",         "-fprofile",     "-ftest-coverage",
    "-fmodule",       "-fprebuilt",    "-fimplicit-module",
    "-fbuild",        "-fstack-usage", "-fcallgraph-info",
    "-ftime-",        "-fsave-",       "-fopt-info",
    "-frecord",       "-fcrash-",      "-fdiagnostics",
    "-fcolor",        "-fansi-escape", "-fcompare-debug",
    "-foffload",      "-fmem-report",  "-fproc-stat-report",
    "-fsyntax-only",  "-fpch",         "-flto",
    "-foptimization", "-fuse-ld",      "-fmessage-length",
    "-fthinlto",      "-fworking",     "-fembed",
};

static bool is_refused(const char *word)
{
    for (size_t i = 0; i < WB_COUNT(refused); i++) {
        if (wb_str_starts(word, refused[i])) {
            return true;
        }
    }
    return false;
}

/* How many words to take, 0: drop this one. Longer names come by their form: "-isystemX" is no
 * "-i..." of another kind. */
static size_t taken_words(const char *word, const char *next)
{
    if (is_refused(word)) {
        return 0;
    }
    for (size_t i = 0; i < WB_COUNT(options); i++) {
        bool exact = wb_str_equal(word, options[i].name);
        bool separate = options[i].form == SEPARATE || options[i].form == EITHER;
        bool joined = options[i].form == JOINED || options[i].form == EITHER;
        if (exact && separate && next != NULL) {
            return 2;
        }
        if ((exact && !separate) || (joined && !exact && wb_str_starts(word, options[i].name))) {
            return 1;
        }
    }
    return 0;
}

/* Compilers. */

static bool is_launcher(const char *name)
{
    return wb_str_equal(name, "ccache") || wb_str_equal(name, "sccache") ||
           wb_str_equal(name, "distcc") || wb_str_equal(name, "icecc");
}

/* gcc, x86_64-linux-gnu-g++-12, clang-14: a known name behind dashes, before a version. */
static bool is_compiler(const char *name)
{
    static const char *const known[] = {"cc", "c++", "gcc", "g++", "clang", "clang++"};
    size_t len = strlen(name);
    while (len > 0 && ((name[len - 1] >= '0' && name[len - 1] <= '9') || name[len - 1] == '.')) {
        len--;
    }
    len -= len > 0 && len < strlen(name) && name[len - 1] == '-';
    struct wb_span rest = {name, len};
    for (size_t i = 0; i < WB_COUNT(known); i++) {
        if (wb_span_ends(rest, wb_span(known[i]))) {
            size_t before = len - strlen(known[i]);
            if (before == 0 || name[before - 1] == '-') {
                return true;
            }
        }
    }
    return false;
}

static const char *find_compiler(struct wb_arena *arena, const char *workspace, const char *cwd,
                                 const char *word, const char **ret_reason)
{
    const char *name = wb_path_base(word);
    if (!is_compiler(name)) {
        *ret_reason = wb_arena_printf(arena, "%.64s is no compiler with -fsyntax-only", name);
        return NULL;
    }
    const char *path = NULL;
    if (strchr(word, '/') != NULL) {
        const char *given = wb_path_normalize(arena, wb_path_join(arena, cwd, word));
        path = wb_path_find_program(arena, given, NULL, NULL, NULL);
    }
    if (path == NULL || wb_path_is_inside(path, workspace)) {
        path = wb_path_find_program(arena, name, NULL, NULL, NULL);
    }
    if (path == NULL || wb_path_is_inside(path, workspace)) {
        *ret_reason = wb_arena_printf(arena, "no compiler %.64s on PATH", name);
        return NULL;
    }
    return path;
}

/* The compiler and what is taken of the arguments, before the file. */
static const char *const *make_argv(struct wb_arena *arena, const char *workspace,
                                    const char **words, const struct unit *unit,
                                    const char **ret_reason)
{
    size_t from = words[0] != NULL && is_launcher(wb_path_base(words[0]));
    if (words[0] == NULL || words[from] == NULL) {
        *ret_reason = "its entry has no command";
        return NULL;
    }
    const char **argv = NULL;
    size_t n = 0, capacity = 0;
    const char *compiler = find_compiler(arena, workspace, unit->cwd, words[from], ret_reason);
    if (compiler == NULL) {
        return NULL;
    }
    *WB_ARENA_PUSH(arena, argv, n, capacity) = compiler;
    for (from++; words[from] != NULL;) {
        size_t taken = taken_words(words[from], words[from + 1]);
        for (size_t i = 0; i < taken; i++) {
            *WB_ARENA_PUSH(arena, argv, n, capacity) = words[from + i];
        }
        from += WB_MAX(taken, (size_t)1);
    }
    *WB_ARENA_PUSH(arena, argv, n, capacity) = "-fsyntax-only";
    *WB_ARENA_PUSH(arena, argv, n, capacity) = unit->file;
    *WB_ARENA_PUSH(arena, argv, n, capacity) = NULL;
    return argv;
}

/* The database. */

static const char *key_of(struct wb_arena *arena, const struct unit *unit)
{
    WB_AUTO(wb_text_done) struct wb_text key;
    wb_text_init(&key);
    wb_text_printf(&key, "%s\n%s", unit->cwd, unit->file);
    for (const char *const *word = unit->argv; word != NULL && *word != NULL; word++) {
        wb_text_printf(&key, "\n%s", *word);
    }
    return wb_arena_strdup(arena, wb_text_cstr(&key));
}

/* False: not of this workspace. */
static bool read_unit(struct wb_arena *arena, const char *workspace, const char *root,
                      const struct wb_json *entry, struct unit *ret)
{
    const char *file = wb_json_str(wb_json_get(entry, "file"));
    const char *command = wb_json_str(wb_json_get(entry, "command"));
    if (file == NULL) {
        return false;
    }
    const char *folder = wb_json_str_or(wb_json_get(entry, "directory"), ".");
    *ret = (struct unit){.cwd = wb_path_normalize(arena, wb_path_join(arena, root, folder))};
    ret->file = wb_path_normalize(arena, wb_path_join(arena, ret->cwd, file));
    if (!wb_path_is_inside(ret->file, workspace)) {
        return false;
    }
    if (wb_file_kind(ret->cwd, NULL) != WB_FILE_FOLDER) {
        ret->cwd = root; /* a build folder that was removed */
    }
    const char **words = command != NULL ? split_command(arena, command)
                                         : wb_table_strings(arena, wb_json_get(entry, "arguments"));
    ret->argv = make_argv(arena, workspace, words, ret, &ret->reason);
    return true;
}

static int read_database(struct wb_arena *arena, const char *workspace,
                         const struct wb_check_plan *plan, struct unit_list *ret,
                         struct wb_error *err)
{
    const char *path = wb_path_join(arena, plan->root, plan->marker);
    struct wb_span content;
    if (wb_file_read(arena, path, WB_FILE_BYTES_MAX, &content, NULL, err) < 0) {
        return -1;
    }
    const struct wb_json *entries = wb_json_parse(arena, content, err);
    if (entries == NULL) {
        return wb_error_context(err, "%s", path);
    }
    struct wb_map seen;
    wb_map_init(&seen);
    const char *folder = wb_path_dir(arena, path);
    for (struct wb_json_iter it = wb_json_iter(entries);
         wb_json_next(&it) && ret->count < UNITS_MAX;) {
        struct unit unit;
        if (read_unit(arena, workspace, folder, it.value, &unit) &&
            wb_map_set(&seen, key_of(arena, &unit), ret) == NULL) {
            *WB_ARENA_PUSH(arena, ret->items, ret->count, ret->capacity) = unit;
        }
    }
    wb_map_done(&seen);
    return 0;
}

/* Running. */

struct work {
    struct wb_lsp *lsp;
    struct wb_call *call;
    const struct wb_check_row *row;
    const char *const *env;
    const struct unit_list *units;
    pthread_mutex_t lock; /* of all below, and of the call's arena while threads run */
    pthread_cond_t idle;
    size_t next, n_threads;
    struct wb_diagnostic_list *list;
    size_t n_unknown;
    const char *reason; /* of the first that is unknown */
    bool cancelled;
    struct wb_error err;
};

static void note_unknown(struct work *work, const struct unit *unit, const char *reason)
{
    if (work->n_unknown++ == 0) {
        work->reason = wb_arena_printf(work->call->arena, "%s: %s",
                                       wb_path_relative(unit->file, work->lsp->workspace), reason);
    }
}

static void check_unit(struct work *work, const struct unit *unit)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    const struct wb_check_run run = {.lsp = work->lsp,
                                     .call = work->call,
                                     .row = work->row,
                                     .argv = unit->argv,
                                     .env = work->env,
                                     .paths = {.cwd = unit->cwd},
                                     .quiet = true};
    struct wb_diagnostic_list list = {0};
    struct wb_server_answer answer;
    struct wb_error err;
    int result = wb_check_run(&run, &arena, &list, &answer, &err);
    pthread_mutex_lock(&work->lock);
    if (result < 0) {
        work->cancelled = true;
        work->err = err;
    } else {
        wb_diagnostics_copy(work->call->arena, work->list, &list);
        if (answer.state == WB_ANSWER_UNKNOWN) {
            note_unknown(work, unit, answer.reason);
        }
    }
    pthread_mutex_unlock(&work->lock);
}

/* The next unit that has a command, or NULL. */
static const struct unit *take_unit(struct work *work, size_t *ret_index)
{
    const struct unit *unit = NULL;
    pthread_mutex_lock(&work->lock);
    while (unit == NULL && !work->cancelled && work->next < work->units->count) {
        *ret_index = work->next;
        unit = &work->units->items[work->next++];
        if (unit->argv == NULL) {
            note_unknown(work, unit, unit->reason);
            unit = NULL;
        }
    }
    pthread_mutex_unlock(&work->lock);
    return unit;
}

static void do_work(struct work *work)
{
    const struct unit *unit;
    size_t index;
    while ((unit = take_unit(work, &index)) != NULL) {
        wb_call_progress(work->call, (int64_t)index, (int64_t)work->units->count, "%s: %s",
                         work->row->id, wb_path_relative(unit->file, work->lsp->workspace));
        check_unit(work, unit);
    }
}

static void help(void *ctx)
{
    struct work *work = ctx;
    do_work(work);
    pthread_mutex_lock(&work->lock);
    work->n_threads--;
    pthread_cond_signal(&work->idle);
    pthread_mutex_unlock(&work->lock);
}

/* On this thread, and on as many of the pool's as there are processors to use. */
static void work_together(struct work *work)
{
    struct wb_pool *pool = wb_host_pool(wb_run_host(work->lsp->run));
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t helpers = (size_t)WB_MIN(WB_MAX(processors, 1), JOBS_MAX) - 1;
    for (size_t i = 0; i < WB_MIN(helpers, work->units->count); i++) {
        pthread_mutex_lock(&work->lock);
        work->n_threads++;
        pthread_mutex_unlock(&work->lock);
        if (wb_pool_run(pool, help, work, NULL) < 0) {
            pthread_mutex_lock(&work->lock);
            work->n_threads--;
            pthread_mutex_unlock(&work->lock);
            break;
        }
    }
    do_work(work);
    pthread_mutex_lock(&work->lock);
    while (work->n_threads > 0) {
        pthread_cond_wait(&work->idle, &work->lock);
    }
    pthread_mutex_unlock(&work->lock);
}

static void conclude(struct work *work, size_t first, struct wb_server_answer *ret)
{
    struct wb_arena *arena = work->call->arena;
    if (work->units->count == 0) {
        ret->reason =
            wb_arena_printf(arena,
                            "%s: the database names no file of this workspace; make it anew "
                            "with the build system",
                            work->row->id);
    } else if (work->n_unknown > 0) {
        ret->reason =
            wb_arena_printf(arena, "%s: %zu of %zu entries could not be checked; %s", work->row->id,
                            work->n_unknown, work->units->count, work->reason);
    } else {
        ret->state = work->list->count > first ? WB_ANSWER_FINDINGS : WB_ANSWER_CLEAN;
    }
}

int wb_check_compile_commands(struct wb_lsp *lsp, struct wb_call *call,
                              const struct wb_check_plan *plan, struct wb_diagnostic_list *list,
                              struct wb_server_answer *ret, struct wb_error *err)
{
    struct unit_list units = {0};
    struct wb_error failure;
    ret->state = WB_ANSWER_UNKNOWN;
    if (read_database(call->arena, lsp->workspace, plan, &units, &failure) < 0) {
        ret->reason = wb_arena_printf(call->arena, "%s: %s", plan->row->id, failure.message);
        return 0;
    }
    struct work work = {.lsp = lsp,
                        .call = call,
                        .row = plan->row,
                        .env = wb_check_env(call->arena, plan->row, plan->root, "/nonexistent"),
                        .units = &units,
                        .list = list};
    size_t first = list->count;
    pthread_mutex_init(&work.lock, NULL);
    pthread_cond_init(&work.idle, NULL);
    work_together(&work);
    pthread_cond_destroy(&work.idle);
    pthread_mutex_destroy(&work.lock);
    if (work.cancelled) {
        return wb_error_set(err, work.err.code, "%s", work.err.message);
    }
    conclude(&work, first, ret);
    return 0;
}

/* interpreter: see interpreter.h. A row a language says what it is started with; the rest looks for
 * it. A script of a version manager is asked once for the program behind it, which kernels are then
 * started with: it costs a tenth of a second each time, and another process. */
#include "kernel/interpreter.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "sys/child.h"
#include "sys/path.h"

#define PROBE_OUTPUT_BYTES_MAX (16 * WB_KIB)

extern const char wb_kernel_python_loader[], wb_kernel_python_source[];
extern const size_t wb_kernel_python_source_len;
extern const char wb_kernel_javascript_loader[], wb_kernel_javascript_source[];
extern const size_t wb_kernel_javascript_source_len;

const char *const wb_kernel_language_names[] = {"python", "javascript", NULL};

static const struct kind {
    const char *key;        /* of the configuration */
    const char *names[3];   /* of the program */
    const char *folders[3]; /* of the workspace, looked at first */
    const char *reasons[2]; /* how to call these */
    const char *before[4];  /* of the command line, in front of the program */
    const char *flags[4];   /* behind it; then the loader */
    const char *ask[2];     /* arguments with which it prints its own path */
    int major, minor;       /* the oldest that will do */
    const char *install;    /* what to do where there is none */
    const char *loader, *source;
    const size_t *source_len;
} kinds[WB_KERNEL_LANGUAGES] = {
    [WB_KERNEL_PYTHON] =
        {
            .key = "eval.python",
            .names = {"python3", "python"},
            .folders = {".venv/bin", "venv/bin"},
            .reasons = {"the project's .venv", "the project's venv"},
            .flags = {"-c"},
            .ask = {"-c", "import sys; print(sys.executable)"},
            .major = 3,
            .minor = 9,
            .install = "install Python 3.9 or newer, or make a .venv in the project",
            .loader = wb_kernel_python_loader,
            .source = wb_kernel_python_source,
            .source_len = &wb_kernel_python_source_len,
        },
    [WB_KERNEL_JAVASCRIPT] =
        {
            .key = "eval.node",
            .names = {"node"},
            .before = {"sh", "-c", "exec \"$0\" \"$@\" 7>&2 8<&0 9>&1 0</dev/null 1>&2"},
            /* Its interrupts leave callbacks whose end Node.js would check for, and abort. */
            .flags = {"--no-force-async-hooks-checks", "-e"},
            .ask = {"-p", "process.execPath"},
            .major = 20,
            .install = "install Node.js 20 or newer",
            .loader = wb_kernel_javascript_loader,
            .source = wb_kernel_javascript_source,
            .source_len = &wb_kernel_javascript_source_len,
        },
};

/* --- on the host --- */

static const char *find_in(struct wb_arena *arena, const struct kind *kind, const char *folder)
{
    for (size_t i = 0; kind->names[i] != NULL; i++) {
        const char *path = wb_path_join(arena, folder, kind->names[i]);
        if (access(path, X_OK) == 0) {
            return path;
        }
    }
    return NULL;
}

static const char *find_configured(struct wb_arena *arena, const struct wb_run *run,
                                   const struct kind *kind, const char **ret_why)
{
    const char *name = wb_config_str(wb_run_config(run), kind->key, NULL);
    if (name == NULL) {
        return NULL;
    }
    *ret_why = wb_arena_printf(arena, "%s of the configuration", kind->key);
    const char *path = strchr(name, '/') != NULL
                           ? wb_path_join(arena, wb_run_workspace(run), name)
                           : wb_path_find_program(arena, name, NULL, NULL, NULL);
    if (path == NULL || access(path, X_OK) != 0) {
        *ret_why = wb_arena_printf(arena, "%s names %s, which is no program", kind->key, name);
        return NULL;
    }
    return path;
}

static const char *find_usual(struct wb_arena *arena, const struct wb_run *run,
                              const struct kind *kind, const char **ret_why)
{
    const char *path = NULL;
    for (size_t i = 0; path == NULL && kind->folders[i] != NULL; i++) {
        *ret_why = kind->reasons[i];
        path = find_in(arena, kind, wb_path_join(arena, wb_run_workspace(run), kind->folders[i]));
    }
    const char *venv = getenv("VIRTUAL_ENV");
    if (path == NULL && kind->folders[0] != NULL && venv != NULL && *venv == '/') {
        *ret_why = "VIRTUAL_ENV";
        path = find_in(arena, kind, wb_path_join(arena, venv, "bin"));
    }
    for (size_t i = 0; path == NULL && kind->names[i] != NULL; i++) {
        *ret_why = "on PATH";
        path = wb_path_find_program(arena, kind->names[i], NULL, NULL, NULL);
    }
    if (path == NULL) {
        *ret_why =
            wb_arena_printf(arena, "there is no %s on PATH%s; %s", kind->names[0],
                            kind->folders[0] != NULL ? " and no .venv or venv" : "", kind->install);
    }
    return path;
}

const char *wb_interpreter_find(struct wb_arena *arena, const struct wb_run *run,
                                enum wb_kernel_language language, const char **ret_why)
{
    const struct kind *kind = &kinds[language];
    *ret_why = NULL;
    const char *path = find_configured(arena, run, kind, ret_why);
    return path != NULL || *ret_why != NULL ? path : find_usual(arena, run, kind, ret_why);
}

/* --- probes --- */

/* One choice on its way. */
struct search {
    struct wb_arena *arena;
    const struct wb_run *run;
    const struct kind *kind;
    int64_t deadline_ms;
    struct wb_cancel *cancel;
    struct wb_interpreter *ret;
};

/* Runs a program to its end; *ret_line: the first line of its output that begins with the mark,
 * without it. -1: it did not start, or did not end in time. Else its exit status. */
static int probe(const struct search *search, const char *const *argv, const char *const *prefix,
                 const char *mark, const char **ret_line)
{
    struct wb_host *host = wb_run_host(search->run);
    const struct wb_child_options options = {
        .argv = argv,
        .prefix = prefix,
        .cwd = wb_run_workspace(search->run),
        .env = wb_kernel_environment(search->arena, search->run, NULL),
        .guard = wb_host_guard(host),
    };
    const struct wb_child_run child = {
        .options = &options,
        .output_bytes_max = PROBE_OUTPUT_BYTES_MAX,
        .deadline_ms = search->deadline_ms,
        .cancel = search->cancel,
    };
    struct wb_child_output output;
    *ret_line = "";
    if (wb_child_run(wb_host_loop(host), &child, &output, NULL) != 0) {
        return -1;
    }
    struct wb_span rest = wb_text_span(&output.out), line;
    while (wb_span_next_line(&rest, &line)) {
        if (wb_span_starts(line, wb_span(mark))) {
            *ret_line =
                wb_arena_strndup(search->arena, line.ptr + strlen(mark), line.len - strlen(mark));
            break;
        }
    }
    int status = output.status.exited && !output.timed_out ? output.status.exit_code : -1;
    wb_child_output_done(&output);
    return status;
}

static bool is_script(const char *path)
{
    char head[2];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is = fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
              memcmp(head, "#!", 2) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return is;
}

/* The program behind a script, or the script where it does not say. */
static const char *look_behind(const struct search *search, const char *script,
                               struct wb_interpreter_memory *memory)
{
    const char *const argv[] = {script, search->kind->ask[0], search->kind->ask[1], NULL};
    const char *behind;
    if (memory->script != NULL && wb_str_equal(memory->script, script) &&
        access(memory->program, X_OK) == 0) {
        return wb_arena_strdup(search->arena, memory->program);
    }
    if (probe(search, argv, NULL, "", &behind) != 0 || *behind != '/' ||
        access(behind, X_OK) != 0) {
        return script;
    }
    wb_interpreter_memory_done(memory);
    *memory = (struct wb_interpreter_memory){wb_strdup(script), wb_strdup(behind)};
    return behind;
}

void wb_interpreter_memory_done(struct wb_interpreter_memory *memory)
{
    free(memory->script);
    free(memory->program);
    *memory = (struct wb_interpreter_memory){0};
}

static int find_on_host(const struct search *search, enum wb_kernel_language language,
                        struct wb_interpreter_memory *memory, struct wb_error *err)
{
    struct wb_interpreter *ret = search->ret;
    const char *program = wb_interpreter_find(search->arena, search->run, language, &ret->why);
    if (program == NULL) {
        return wb_error_set(err, WB_ERROR_UNAVAILABLE, "no %s interpreter is usable here: %s",
                            wb_kernel_language_names[language], ret->why);
    }
    ret->program = program;
    if (is_script(program)) {
        ret->program = look_behind(search, program, memory);
        ret->why = wb_arena_printf(search->arena, "%s, %s", ret->why, program);
    }
    return 0;
}

/* --- in the capsule --- */

static const char *const *make_prefix(struct wb_arena *arena, const char **given, const char *cwd)
{
    const char **prefix = NULL;
    size_t n = 0, capacity = 0;
    for (; *given != NULL; given++) {
        const char *at = strstr(*given, "{cwd}");
        *WB_ARENA_PUSH(arena, prefix, n, capacity) =
            at != NULL ? wb_arena_printf(arena, "%.*s%s%s", (int)(at - *given), *given, cwd,
                                         at + strlen("{cwd}"))
                       : *given;
    }
    *WB_ARENA_PUSH(arena, prefix, n, capacity) = NULL;
    return prefix;
}

/* Prints the first of its arguments that is a program; exits with NONE_INSIDE otherwise. */
#define FOUND "werkbank-found "
#define NONE_INSIDE 44
static const char find_script[] =
    "for p; do p=$(command -v \"$p\") && [ -n \"$p\" ] && echo \"" FOUND "$p\" && exit; done; "
    "exit 44";

/* Looks for the interpreter from inside: the host's files are not the capsule's. */
static int find_inside(const struct search *search, const char *cwd, struct wb_error *err)
{
    const struct kind *kind = search->kind;
    const char *argv[16] = {"sh", "-c", find_script, "sh"};
    size_t n = 4;
    const char *configured = wb_config_str(wb_run_config(search->run), kind->key, NULL);
    if (configured != NULL) {
        argv[n++] = configured;
    }
    for (size_t i = 0; configured == NULL && kind->folders[i] != NULL; i++) {
        argv[n++] =
            wb_arena_printf(search->arena, "%s/%s/%s", cwd, kind->folders[i], kind->names[0]);
    }
    for (size_t i = 0; configured == NULL && kind->names[i] != NULL; i++) {
        argv[n++] = kind->names[i];
    }
    int status = probe(search, argv, search->ret->prefix, FOUND, &search->ret->program);
    search->ret->why = "in the capsule";
    if (wb_cancel_is_fired(search->cancel)) {
        return wb_error_set(err, WB_ERROR_CANCELLED, "cancelled while looking for %s",
                            kind->names[0]);
    }
    if (status == NONE_INSIDE) {
        return wb_error_set(err, WB_ERROR_UNAVAILABLE,
                            "the capsule has no %s; %s there, or name it by %s", kind->names[0],
                            kind->install, kind->key);
    }
    return status == 0 ? 0
                       : wb_error_set(err, WB_ERROR_UNAVAILABLE,
                                      "the capsule's command %s runs nothing "
                                      "(capsule.exec_prefix), and cells are not run on the host "
                                      "instead",
                                      search->ret->prefix[0]);
}

/* 1: it runs. 0: it does not, and the host will do. */
static int probe_capsule(const struct search *search, bool was_used, struct wb_error *err)
{
    const char **argv =
        wb_config_strings(wb_run_config(search->run), search->arena, "capsule.probe");
    const char *line;
    if (argv == NULL || argv[0] == NULL) {
        return 1;
    }
    int status = probe(search, (const char *const *)argv, NULL, "", &line);
    if (status == 0) {
        return 1;
    }
    if (was_used || status < 0) {
        return wb_error_set(err, WB_ERROR_UNAVAILABLE,
                            "the conversation's capsule does not answer (%s %s): cells are not "
                            "run on the host instead; start the capsule again, or take "
                            "capsule.exec_prefix out of the configuration",
                            argv[0], status < 0 ? "did not end well" : "says that it does not run");
    }
    search->ret->note = wb_arena_printf(
        search->arena,
        "the configured capsule does not run (%s exited with status %d): this is on the host",
        argv[0], status);
    return 0;
}

/* *ret->prefix: NULL on the host. */
static int choose_place(const struct search *search, const char *cwd, bool was_used,
                        struct wb_error *err)
{
    const char **given =
        wb_config_strings(wb_run_config(search->run), search->arena, "capsule.exec_prefix");
    if (given == NULL || given[0] == NULL) {
        return 0;
    }
    int is_running = probe_capsule(search, was_used, err);
    if (is_running > 0) {
        search->ret->prefix = make_prefix(search->arena, given, cwd);
    }
    return is_running < 0 ? -1 : 0;
}

/* --- the choice --- */

static void make_command(struct wb_arena *arena, const struct kind *kind,
                         struct wb_interpreter *interpreter)
{
    const char **argv = wb_arena_alloc_array(arena, 16, sizeof(*argv));
    size_t n = 0;
    for (size_t i = 0; kind->before[i] != NULL; i++) {
        argv[n++] = kind->before[i];
    }
    argv[n++] = interpreter->program;
    for (size_t i = 0; kind->flags[i] != NULL; i++) {
        argv[n++] = kind->flags[i];
    }
    argv[n++] = kind->loader;
    interpreter->argv = argv;
    interpreter->bootstrap = (struct wb_span){kind->source, *kind->source_len};
}

/* Folders whose programs come first, as in an activated environment; "" or with a colon behind. */
static const char *own_folders(struct wb_arena *arena, const struct wb_run *run,
                               const char *program)
{
    const char *bin = wb_path_dir(arena, program);
    const char *mark = wb_path_join(arena, wb_path_dir(arena, bin), "pyvenv.cfg");
    const char *modules = wb_path_join(arena, wb_run_workspace(run), "node_modules/.bin");
    bool is_venv = access(mark, F_OK) == 0, has_modules = access(modules, F_OK) == 0;
    return wb_arena_printf(arena, "%s%s%s%s", is_venv ? bin : "", is_venv ? ":" : "",
                           has_modules ? modules : "", has_modules ? ":" : "");
}

/* What would wait for a human, page or colour, does not. */
static const char *const *make_additions(struct wb_arena *arena, const struct wb_run *run,
                                         const struct wb_interpreter *interpreter)
{
    static const char *const quiet[] = {"TERM=dumb", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat",
                                        "GIT_TERMINAL_PROMPT=0"};
    const char *path = getenv("PATH");
    const char **added = wb_arena_alloc_array(arena, WB_COUNT(quiet) + 2, sizeof(*added));
    memcpy(added, quiet, sizeof(quiet));
    if (interpreter->prefix == NULL && path != NULL) {
        added[WB_COUNT(quiet)] =
            wb_arena_printf(arena, "PATH=%s%s", own_folders(arena, run, interpreter->program),
                            path);
    }
    return added;
}

int wb_interpreter_choose(struct wb_arena *arena, const struct wb_run *run,
                          enum wb_kernel_language language, bool capsule_was_used,
                          struct wb_interpreter_memory *memory, int64_t deadline_ms,
                          struct wb_cancel *cancel, struct wb_interpreter *ret,
                          struct wb_error *err)
{
    const struct search search = {arena, run, &kinds[language], deadline_ms, cancel, ret};
    const char *cwd = wb_config_str(wb_run_config(run), "capsule.workspace", wb_run_workspace(run));
    *ret = (struct wb_interpreter){0};
    if (choose_place(&search, cwd, capsule_was_used, err) != 0) {
        return -1;
    }
    if ((ret->prefix != NULL ? find_inside(&search, cwd, err)
                             : find_on_host(&search, language, memory, err)) != 0) {
        return -1;
    }
    make_command(arena, &kinds[language], ret);
    const char *const *added = make_additions(arena, run, ret);
    ret->env = wb_kernel_environment(arena, run, added);
    ret->cell_env = ret->prefix != NULL ? added : NULL;
    return 0;
}

int wb_interpreter_check_version(enum wb_kernel_language language, const char *version,
                                 struct wb_error *err)
{
    const struct kind *kind = &kinds[language];
    int major = 0, minor = 0;
    if (sscanf(version, "%d.%d", &major, &minor) != 2 || major < kind->major ||
        (major == kind->major && minor < kind->minor)) {
        return wb_error_set(err, WB_ERROR_UNAVAILABLE,
                            "cells need %s %d.%d or newer, and this is %.64s; name another one "
                            "by %s in the configuration",
                            kind->names[0], kind->major, kind->minor, version, kind->key);
    }
    return 0;
}

void wb_interpreter_survey(struct wb_arena *arena, const struct wb_run *run, struct wb_text *out,
                           struct wb_json_writer *w)
{
    wb_text_add_str(out, "Interpreters of eval\n");
    wb_json_begin_array(w);
    for (int i = 0; i < WB_KERNEL_LANGUAGES; i++) {
        const char *why;
        const char *program = wb_interpreter_find(arena, run, (enum wb_kernel_language)i, &why);
        wb_text_printf(out, program != NULL ? "  %s: %s (%s)\n" : "  %s: %s%s\n",
                       wb_kernel_language_names[i], program != NULL ? program : "", why);
        wb_json_begin_object(w);
        wb_json_member_str(w, "language", wb_kernel_language_names[i]);
        wb_json_member_bool(w, "usable", program != NULL);
        wb_json_member_str(w, "program", program);
        wb_json_member_str(w, "reason", why);
        wb_json_end_object(w);
    }
    wb_json_end_array(w);
}

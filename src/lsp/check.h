/* check: what the files of the project check share: rows of catalogue/project-checks.json, the plan
 * of what runs where, a check's output as diagnostics, and the copy that a check may run in. Private
 * to project_check.c and check_*.c. */
#ifndef WB_LSP_CHECK_H
#define WB_LSP_CHECK_H

#include "lsp/diagnostics.h"
#include "lsp/lsp.h"

enum wb_check_output { WB_CHECK_STDOUT, WB_CHECK_STDERR, WB_CHECK_BOTH };

struct wb_check_row { /* catalogue/README.md says what each key means */
    const char *id;
    const char **languages, **markers, **needed, **local; /* NULL-terminated */
    const char *const **commands;                         /* the list too */
    bool compile_commands;                                /* the built-in check */
    int64_t priority;
    bool trusted, copy, warnings_fail, coarse_times;
    const struct wb_json *env, *severity_map, *ok_exit, *findings_exit;
    enum wb_check_output output;
    const char *pattern;
    enum wb_severity default_severity;
    int64_t timeout_s;
    const char *install;
};

struct wb_check_table {
    struct wb_check_row *rows; /* by priority */
    size_t count, capacity;
};

/* The built-in rows merged with config_root's "checks". */
WB_MUST_CHECK int wb_check_table_load(struct wb_arena *arena, const struct wb_json *config_root,
                                      struct wb_check_table *ret, struct wb_error *err);

/* A row whose marker was found in a folder that has files of its languages. */
struct wb_check_plan {
    const struct wb_check_row *row;
    const char *root;             /* the marker's folder */
    const char *marker;           /* its path below root */
    const char *const **commands; /* those whose program resolves, absolute; NULL-terminated */
    const char *reason;           /* why it does not run; NULL: it runs */
    bool missed;                  /* it does not, and no other check sees to its languages */
};

struct wb_check_plans {
    struct wb_check_plan *items;
    size_t count, capacity;
    size_t n_roots, n_roots_left; /* looked into; not looked into, because there are too many */
};

/* For each language that has files in the workspace: the rows of the nearest folder with a marker,
 * looked for in the workspace's folder and then up to two folders below. */
WB_MUST_CHECK int wb_check_survey(struct wb_lsp *lsp, struct wb_arena *arena,
                                  struct wb_cancel *cancel, struct wb_check_plans *ret,
                                  struct wb_error *err);

/* All files of the row's languages below root, as "./path". */
WB_MUST_CHECK int wb_check_files(struct wb_lsp *lsp, struct wb_arena *arena,
                                 struct wb_cancel *cancel, const struct wb_check_row *row,
                                 const char *root, const char ***ret, size_t *ret_n,
                                 struct wb_error *err);

/* How paths in the output become paths in the workspace. */
struct wb_check_paths {
    const char *cwd;              /* what relative ones count from */
    const char *copy, *workspace; /* the first becomes the second, also in messages; or NULL */
};

/* Adds a diagnostic for each match of the row's pattern; each begins a line. -1: the pattern does not compile. */
WB_MUST_CHECK int wb_check_parse(struct wb_arena *arena, const struct wb_check_row *row,
                                 struct wb_span output, const struct wb_check_paths *paths,
                                 struct wb_diagnostic_list *list, struct wb_error *err);

/* One run of one program. */
struct wb_check_run {
    struct wb_lsp *lsp;
    struct wb_call *call;
    const struct wb_check_row *row;
    const char *const *argv;
    const char *const *env;
    struct wb_check_paths paths; /* it runs in paths.cwd */
    bool quiet;                  /* its output is not told as progress */
};

/* The row's environment as NAME=value, NULL-terminated, with placeholders filled in. */
const char *const *wb_check_env(struct wb_arena *arena, const struct wb_check_row *row,
                                const char *root, const char *cache);
/* text with {root} and {cache} filled in. */
const char *wb_check_expand(struct wb_arena *arena, const char *text, const char *root,
                            const char *cache);

/* Runs it to its end, adds what it found to the list, and says in *ret how the check went; the name
 * in *ret is not touched. -1: cancelled. Any thread; arena is the caller's own. */
WB_MUST_CHECK int wb_check_run(const struct wb_check_run *run, struct wb_arena *arena,
                               struct wb_diagnostic_list *list, struct wb_server_answer *ret,
                               struct wb_error *err);

/* The built-in check: each entry of the plan's database with -fsyntax-only. As wb_check_run. */
WB_MUST_CHECK int wb_check_compile_commands(struct wb_lsp *lsp, struct wb_call *call,
                                            const struct wb_check_plan *plan,
                                            struct wb_diagnostic_list *list,
                                            struct wb_server_answer *ret, struct wb_error *err);

#endif

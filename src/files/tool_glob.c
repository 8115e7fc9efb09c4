/* glob: files by their names. */
#include "run/search.h"
#include "sys/path.h"

#define PATHS_SHOWN_MAX 500
#define PATHS_MAX 100000

struct glob_args {
    struct wb_span pattern, path;
};

static const struct wb_arg table[] = {
    {"pattern", WB_ARG_STRING, offsetof(struct glob_args, pattern), .required = true, .min = 1,
     .max = 4095,
     .doc = "for example *.c (at any depth), src/**/*.{c,h}, test_?.py; * and ? stay within a "
            "name, ** crosses folders"},
    {"path", WB_ARG_PATH, offsetof(struct glob_args, path),
     .doc = "folder to look in; default the workspace"},
};

struct found {
    struct wb_call *call;
    const char **paths;
    size_t n, capacity;
    size_t total; /* also those beyond PATHS_MAX */
};

static bool note_path(void *ctx, const char *path, const char *shown)
{
    struct found *found = ctx;
    (void)path;
    if (found->total++ < PATHS_MAX) {
        *WB_ARENA_PUSH(found->call->arena, found->paths, found->n, found->capacity) =
            wb_arena_strdup(found->call->arena, shown);
    }
    return true;
}

static void put_data(struct wb_result *result, const struct found *found)
{
    struct wb_json_writer w;
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_key(&w, "paths");
    wb_json_begin_array(&w);
    for (size_t i = 0; i < found->n; i++) {
        wb_json_put_str(&w, found->paths[i]);
    }
    wb_json_end_array(&w);
    wb_json_member_int(&w, "total", (int64_t)found->total);
    wb_json_end_object(&w);
}

static void tell(struct wb_text *out, const char *pattern, const struct wb_search *search,
                 const struct found *found)
{
    size_t n_shown = WB_MIN(found->n, PATHS_SHOWN_MAX);
    for (size_t i = 0; i < n_shown; i++) {
        wb_text_printf(out, "%s\n", found->paths[i]);
    }
    if (found->total == 0) {
        wb_text_printf(out, "No file fits %s among %zu files (hidden and ignored ones aside).\n",
                       pattern, search->counts.files);
    } else if (n_shown < found->total) {
        wb_text_printf(out, "[%zu of %zu files shown: narrow the pattern or the path]\n", n_shown,
                       found->total);
    } else {
        wb_text_printf(out, "[%zu file%s]\n", found->total, found->total == 1 ? "" : "s");
    }
    if (search->counts.unreadable != 0) {
        wb_text_printf(out, "[%zu folder%s that cannot be read left out]\n",
                       search->counts.unreadable, search->counts.unreadable == 1 ? "" : "s");
    }
    if (search->n_ruled_out != 0) {
        wb_text_printf(out, "[%zu file%s that a guard rule governs left out]\n",
                       search->n_ruled_out, search->n_ruled_out == 1 ? "" : "s");
    }
    if (search->n_outside != 0) {
        wb_text_printf(out, "[%zu symlinks that lead out of the workspace left out]\n",
                       search->n_outside);
    }
}

static int call_glob(struct wb_call *call, const void *args, struct wb_result *result,
                     struct wb_error *err)
{
    const struct glob_args *a = args;
    struct found found = {.call = call};
    struct wb_search search = {
        .call = call, .glob = a->pattern.ptr, .visit = note_path, .ctx = &found};
    if (wb_search_files(&search, a->path, err) != 0) {
        return -1;
    }
    put_data(result, &found);
    tell(&result->text, a->pattern.ptr, &search, &found);
    return 0;
}

const struct wb_tool wb_tool_glob = {
    .name = "glob",
    .tier = WB_TIER_READ,
    .parallel_safe = true,
    .summary = "Find files by name",
    .description =
        "Lists the files of the workspace whose paths fit a glob, sorted. A pattern without a "
        "slash is compared with the last part of the path. What .gitignore and .ignore exclude is "
        "left out, and hidden files unless the pattern names them.",
    .args = {table, WB_COUNT(table), sizeof(struct glob_args), NULL, 0},
    .call = call_glob,
};

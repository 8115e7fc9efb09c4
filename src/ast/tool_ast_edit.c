/* ast_edit: a structural rewrite, staged. Nothing is written here. */
#include <inttypes.h>
#include <stdio.h>

#include "ast/ast.h"
#include "ast/rewrite.h"
#include "base/map.h"
#include "run/run.h"
#include "run/staging.h"

#define REWRITE_BYTES_MAX (64 * 1024)
#define PREVIEW_LINES_MAX 80
#define PREVIEW_LINE_BYTES_MAX 200
#define LEFT_OUT_SHOWN_MAX 20
#define BYTES_MAX (256 * WB_MIB) /* old and new content of one change */

struct ast_edit_args {
    struct wb_span pattern, rewrite, path, language;
};

static const struct wb_arg table[] = {
    {"pattern", WB_ARG_STRING, offsetof(struct ast_edit_args, pattern), .required = true, .min = 1,
     .max = WB_PATTERN_BYTES_MAX, .doc = "what to find, as for ast_grep"},
    {"rewrite", WB_ARG_STRING, offsetof(struct ast_edit_args, rewrite), .required = true,
     .max = REWRITE_BYTES_MAX,
     .doc = "what each match becomes; $NAME and $$$NAME of the pattern go into it"},
    {"path", WB_ARG_PATH, offsetof(struct ast_edit_args, path),
     .doc = "file or folder; default the workspace"},
    {"language", WB_ARG_STRING, offsetof(struct ast_edit_args, language), .min = 1, .max = 64,
     .doc = "the pattern's language (dart, python, rust, c, ...); not needed where path is a file"},
};

struct left_out {
    const char *shown;
    size_t line;
    const char *reason;
};

struct ast_edit {
    struct wb_call *call;
    const struct wb_template *template;
    struct wb_text preview;
    size_t n_preview_lines, n_preview_cut;
    struct wb_staged_file *files;
    size_t n_files, files_capacity;
    struct left_out *left_out;
    size_t n_left_out, left_out_capacity;
    size_t n_replacements, bytes;
    struct wb_map inodes;  /* of the files */
    struct wb_error error; /* too much: the first */
};

/* --- the preview --- */

/* One line of the difference; of a long one what is around `at`. */
static void put_line(struct ast_edit *edit, char mark, struct wb_span line, size_t at)
{
    struct wb_text *out = &edit->preview;
    size_t skip = line.len > PREVIEW_LINE_BYTES_MAX && at > PREVIEW_LINE_BYTES_MAX / 2
                      ? wb_utf8_cut(line, WB_MIN(at, line.len) - PREVIEW_LINE_BYTES_MAX / 4)
                      : 0;
    struct wb_span shown = {line.ptr + skip, line.len - skip};
    shown.len = wb_utf8_cut(shown, PREVIEW_LINE_BYTES_MAX);
    wb_text_add_char(out, mark);
    wb_text_add_str(out, skip > 0 ? "..." : "");
    wb_text_add_utf8(out, shown);
    wb_text_add_str(out, skip + shown.len < line.len ? "...\n" : "\n");
    edit->n_preview_lines++;
}

/* at: the offset of what changes first. */
static void put_lines(struct ast_edit *edit, char mark, struct wb_span text, size_t at)
{
    struct wb_span line;
    bool is_cut = false;
    while (text.len > 0 && !is_cut) {
        const char *begin = text.ptr;
        wb_span_next_line(&text, &line);
        is_cut = edit->n_preview_lines >= PREVIEW_LINES_MAX;
        if (is_cut) {
            wb_text_printf(&edit->preview, "%c...\n", mark);
        } else {
            put_line(edit, mark, line, at);
            at -= WB_MIN(at, (size_t)(text.ptr - begin));
        }
    }
}

static size_t line_start(struct wb_span source, size_t at)
{
    while (at > 0 && source.ptr[at - 1] != '\n') {
        at--;
    }
    return at;
}

static size_t line_end(struct wb_span source, size_t at)
{
    const char *end = at < source.len ? memchr(source.ptr + at, '\n', source.len - at) : NULL;
    return end != NULL ? (size_t)(end - source.ptr) : source.len;
}

/* Replacements first to before `behind` touch the same lines: those lines before and after. */
static void put_hunk(struct ast_edit *edit, const struct wb_rewritten *r, size_t first,
                     size_t behind)
{
    WB_AUTO(wb_text_done) struct wb_text after = {0};
    struct wb_span source = r->old_content;
    size_t start = line_start(source, r->replacements[first].start);
    size_t end = line_end(source, r->replacements[behind - 1].end), at = start;
    for (size_t i = first; i < behind; i++) {
        wb_text_add(&after, source.ptr + at, r->replacements[i].start - at);
        wb_text_add_span(&after, r->replacements[i].text);
        at = r->replacements[i].end;
    }
    wb_text_add(&after, source.ptr + at, end - at);
    size_t changed = r->replacements[first].start - start;
    put_lines(edit, '-', (struct wb_span){source.ptr + start, end - start}, changed);
    put_lines(edit, '+', wb_text_span(&after), changed);
}

static void put_preview(struct ast_edit *edit, const char *shown, const struct wb_rewritten *r)
{
    struct wb_line_counter lines = {r->old_content, 0, 1};
    for (size_t i = 0, j; i < r->n_replacements; i = j) {
        if (edit->n_preview_lines >= PREVIEW_LINES_MAX) {
            edit->n_preview_cut += r->n_replacements - i;
            return;
        }
        size_t end = line_end(r->old_content, r->replacements[i].end);
        for (j = i + 1; j < r->n_replacements && r->replacements[j].start <= end; j++) {
            if (r->replacements[j].end > end) {
                end = line_end(r->old_content, r->replacements[j].end);
            }
        }
        wb_text_printf(&edit->preview, "@@ %s:%zu\n", shown,
                       wb_line_of(&lines, r->replacements[i].start));
        put_hunk(edit, r, i, j);
    }
}

/* --- the files --- */

static void *visit(void *ctx, const struct wb_scan_file *file, size_t *ret_n)
{
    const struct ast_edit *edit = ctx;
    struct wb_rewritten *rewritten = wb_rewrite_file(edit->template, file);
    *ret_n = rewritten != NULL ? rewritten->n_changes : 0;
    return rewritten;
}

static void drop(void *results)
{
    wb_rewritten_free(results);
}

static void add_left_out(struct ast_edit *edit, const char *shown, const struct wb_rewritten *r)
{
    for (size_t i = 0; i < r->n_left_out; i++) {
        *WB_ARENA_PUSH(edit->call->arena, edit->left_out, edit->n_left_out,
                       edit->left_out_capacity) =
            (struct left_out){shown, WB_MAX(r->left_out[i].line, (size_t)1), r->left_out[i].reason};
    }
}

static void add_file(struct ast_edit *edit, const char *path, const struct wb_rewritten *r)
{
    *WB_ARENA_PUSH(edit->call->arena, edit->files, edit->n_files, edit->files_capacity) =
        (struct wb_staged_file){
            .path = wb_arena_strdup(edit->call->arena, path),
            .old_content = r->old_content,
            .new_content = r->new_content,
            .n_replacements = r->n_changes,
        };
    edit->n_replacements += r->n_changes;
    edit->bytes += r->old_content.len + r->new_content.len;
    if (edit->bytes > BYTES_MAX && edit->error.code == WB_ERROR_NONE) {
        wb_error_set(&edit->error, WB_ERROR_LIMIT,
                     "The change is too large to be staged at once (over 256 MiB of files): narrow "
                     "the path and take it in parts");
    }
}

/* A file with several names (hard links) is written once. */
static bool is_new(struct ast_edit *edit, const char *path)
{
    struct wb_file_stamp stamp;
    char key[64];
    if (wb_file_kind(path, &stamp) != WB_FILE_REGULAR) {
        return true; /* gone meanwhile: resolve says so */
    }
    snprintf(key, sizeof(key), "%" PRIx64 ":%" PRIx64, stamp.device, stamp.inode);
    return wb_map_set(&edit->inodes, key, edit) == NULL;
}

static void take(void *ctx, const char *path, const char *shown, void *results, size_t n)
{
    struct ast_edit *edit = ctx;
    struct wb_rewritten *r = results;
    (void)n;
    if (edit->bytes <= BYTES_MAX && is_new(edit, path)) {
        const char *name = wb_arena_strdup(edit->call->arena, shown);
        add_left_out(edit, name, r);
        if (r->n_replacements > 0) {
            put_preview(edit, name, r);
            add_file(edit, path, r);
        }
        wb_arena_adopt(edit->call->arena, &r->arena); /* the contents, until they are staged */
    }
    wb_rewritten_free(r);
}

/* --- the answer --- */

static void tell_left_out(const struct ast_edit *edit, struct wb_text *out)
{
    if (edit->n_left_out == 0) {
        return;
    }
    wb_text_printf(out, "left out: %zu\n", edit->n_left_out);
    for (size_t i = 0; i < edit->n_left_out && i < LEFT_OUT_SHOWN_MAX; i++) {
        wb_text_printf(out, "  %s:%zu: %s\n", edit->left_out[i].shown, edit->left_out[i].line,
                       edit->left_out[i].reason);
    }
    if (edit->n_left_out > LEFT_OUT_SHOWN_MAX) {
        wb_text_printf(out, "  [%d of %zu shown]\n", LEFT_OUT_SHOWN_MAX, edit->n_left_out);
    }
}

static void put_data(const struct ast_edit *edit, const char *id, struct wb_result *result)
{
    struct wb_json_writer w;
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "edit_id", id);
    wb_json_member_int(&w, "replacements", (int64_t)edit->n_replacements);
    wb_json_key(&w, "files");
    wb_json_begin_array(&w);
    for (size_t i = 0; i < edit->n_files; i++) {
        wb_json_put_str(&w, wb_call_relative(edit->call, edit->files[i].path));
    }
    wb_json_end_array(&w);
    wb_json_key(&w, "left_out");
    wb_json_begin_array(&w);
    for (size_t i = 0; i < edit->n_left_out; i++) {
        wb_json_begin_object(&w);
        wb_json_member_str(&w, "path", edit->left_out[i].shown);
        wb_json_member_int(&w, "line", (int64_t)edit->left_out[i].line);
        wb_json_member_str(&w, "reason", edit->left_out[i].reason);
        wb_json_end_object(&w);
    }
    wb_json_end_array(&w);
    wb_json_end_object(&w);
}

static void tell_nothing(const struct ast_edit *edit, const struct wb_scan *scan,
                         struct wb_text *out)
{
    wb_text_add_str(out, edit->n_left_out > 0 ? "Nothing is staged: no match can be rewritten ("
                                              : "Nothing is staged: nothing matches, or all of it "
                                                "reads like the rewrite already (");
    wb_ast_tell_files(scan, out);
    wb_text_add_str(out, ")\n");
    tell_left_out(edit, out);
}

static void tell_staged(const struct ast_edit *edit, const struct wb_scan *scan, const char *id,
                        struct wb_text *out)
{
    wb_text_printf(out,
                   "(proposed) %zu replacement%s in %zu file%s; nothing is written yet: call "
                   "resolve with edit_id \"%s\" and action accept or discard\n[",
                   edit->n_replacements, edit->n_replacements == 1 ? "" : "s", edit->n_files,
                   edit->n_files == 1 ? "" : "s", id);
    wb_ast_tell_files(scan, out);
    wb_text_add_str(out, "]\n");
    tell_left_out(edit, out);
    wb_text_add_span(out, wb_text_span(&edit->preview));
    if (edit->n_preview_cut > 0) {
        wb_text_printf(out, "[%zu more replacement%s not shown]\n", edit->n_preview_cut,
                       edit->n_preview_cut == 1 ? " is" : "s are");
    }
}

static int stage(struct ast_edit *edit, const struct wb_scan *scan, struct wb_span pattern,
                 struct wb_result *result, struct wb_error *err)
{
    const struct wb_stager *stager = wb_run_resource(edit->call->run, WB_RESOURCE_STAGING);
    char id[WB_STAGED_ID_BYTES];
    const char *what =
        wb_arena_printf(edit->call->arena, "%.*s", (int)wb_utf8_cut(pattern, 60), pattern.ptr);
    if (stager->stage(stager->ctx, what, edit->files, edit->n_files, id, err) != 0) {
        return -1;
    }
    tell_staged(edit, scan, id, &result->text);
    put_data(edit, id, result);
    return 0;
}

static int run(struct ast_edit *edit, struct wb_scan *scan, const struct ast_edit_args *args,
               struct wb_result *result, struct wb_error *err)
{
    if (wb_scan_run(scan, err) != 0) {
        return -1;
    }
    if (edit->error.code != WB_ERROR_NONE) {
        *err = edit->error;
        return -1;
    }
    if (edit->n_files == 0) {
        tell_nothing(edit, scan, &result->text);
        put_data(edit, NULL, result);
        return 0;
    }
    return stage(edit, scan, args->pattern, result, err);
}

static int call_ast_edit(struct wb_call *call, const void *args, struct wb_result *result,
                         struct wb_error *err)
{
    const struct ast_edit_args *a = args;
    struct wb_ast_query query;
    if (wb_ast_query(call, a->pattern, a->path, a->language, &query, err) != 0) {
        return -1;
    }
    struct ast_edit edit = {.call = call};
    struct wb_parser *parser = wb_parser_new();
    edit.template = wb_template_compile(call->arena, parser, query.pattern, a->rewrite, err);
    wb_parser_free(parser);
    if (edit.template == NULL) {
        return -1;
    }
    struct wb_scan scan = {
        .call = call,
        .cache = query.cache,
        .languages = query.languages,
        .pattern = query.pattern,
        .path = a->path,
        .stop_after = SIZE_MAX,
        .visit = visit,
        .take = take,
        .drop = drop,
        .ctx = &edit,
    };
    wb_map_init(&edit.inodes);
    int status = run(&edit, &scan, a, result, err);
    wb_map_done(&edit.inodes);
    wb_text_done(&edit.preview);
    return status;
}

static bool is_available(const struct wb_run *run)
{
    return wb_ast_available(run) && wb_run_resource(run, WB_RESOURCE_STAGING) != NULL;
}

const struct wb_tool wb_tool_ast_edit = {
    .name = "ast_edit",
    .tier = WB_TIER_WRITE,
    .parallel_safe = true,
    .summary = "Rewrite code by its structure, as a staged change",
    .description =
        "Finds code as ast_grep does and rewrites every match by a template with the pattern's "
        "metavariables. Nothing is written: the answer says (proposed), shows the difference and an "
        "edit_id for resolve. Comments and tokens that the pattern does not mention are kept, or "
        "the match is left out and listed with the reason. A file that would get new syntax errors "
        "is left out.",
    .args = {table, WB_COUNT(table), sizeof(struct ast_edit_args), NULL, 0},
    .available = is_available,
    .call = call_ast_edit,
};

/* ast_grep: code by its shape. */
#include <stdlib.h>

#include "ast/ast.h"
#include "run/run.h"

#define RESULTS_DEFAULT 50
#define RESULTS_MAX 10000
#define LINE_SHOWN_BYTES_MAX 300     /* of a source line; longer ones are cut around the match */
#define CAPTURE_SHOWN_BYTES_MAX 60   /* in the text; the data has them whole */
#define TEXT_BYTES_MAX (64 * WB_KIB) /* of one match in the data */

struct ast_grep_args {
    struct wb_span pattern, path, language;
    int64_t max_results;
};

static const struct wb_arg table[] = {
    {"pattern", WB_ARG_STRING, offsetof(struct ast_grep_args, pattern), .required = true, .min = 1,
     .max = WB_PATTERN_BYTES_MAX,
     .doc =
         "a piece of code with $NAME for a node, $$$NAME for a run of nodes, $_ and $$$ for ones "
         "without a name; a name that comes twice must be the same code"},
    {"path", WB_ARG_PATH, offsetof(struct ast_grep_args, path),
     .doc = "file or folder to search; default the workspace"},
    {"language", WB_ARG_STRING, offsetof(struct ast_grep_args, language), .min = 1, .max = 64,
     .doc = "the pattern's language (dart, python, rust, c, ...); not needed where path is a file"},
    {"max_results", WB_ARG_INT, offsetof(struct ast_grep_args, max_results),
     .otherwise = RESULTS_DEFAULT, .min = 1, .max = RESULTS_MAX,
     .doc = "how many matches are enough; default 50"},
};

/* The matches of one file, made on a worker's thread. */
struct found {
    size_t line, end_line;
    struct wb_span text;          /* the match, or its beginning */
    size_t bytes;                 /* of the whole match */
    struct wb_span before, after; /* the rest of its first line */
    struct wb_span *captures;     /* ptr NULL: not bound */
};

struct found_file {
    struct wb_arena arena;
    struct found *items;
    size_t count, capacity;
};

struct ast_grep {
    const struct wb_pattern *pattern;
    struct wb_text *text;
    struct wb_json_writer data;
    size_t n_shown, max_results;
};

/* --- on a worker's thread --- */

static struct wb_span keep(struct wb_arena *arena, struct wb_span s, size_t max)
{
    s.len = wb_utf8_cut(s, max);
    return wb_arena_span(arena, s);
}

static bool is_inside_character(struct wb_span s, size_t at)
{
    return at < s.len && (s.ptr[at] & 0xc0) == 0x80;
}

/* What is on the match's first line besides it, as far as it may be shown. */
static void keep_line(struct wb_arena *arena, struct wb_span source, const struct wb_match *match,
                      struct found *ret)
{
    size_t start = match->start, end = match->end;
    while (start > 0 && source.ptr[start - 1] != '\n' &&
           match->start - start < LINE_SHOWN_BYTES_MAX) {
        start--;
    }
    while (is_inside_character(source, start)) {
        start++;
    }
    while (end < source.len && source.ptr[end] != '\n' && end - match->end < LINE_SHOWN_BYTES_MAX) {
        end++;
    }
    ret->before = wb_arena_span(arena, (struct wb_span){source.ptr + start, match->start - start});
    ret->after = keep(arena, (struct wb_span){source.ptr + match->end, source.len - match->end},
                      end - match->end);
}

static void keep_match(const struct ast_grep *grep, struct found_file *found, struct wb_span source,
                       const struct wb_match *match, struct wb_line_counter *lines)
{
    struct found *item = WB_ARENA_PUSH(&found->arena, found->items, found->count, found->capacity);
    const struct wb_span text = {source.ptr + match->start, match->end - match->start};
    item->line = wb_line_of(lines, match->start);
    struct wb_line_counter behind = *lines;
    item->end_line = wb_line_of(&behind, match->end);
    item->text = keep(&found->arena, text, TEXT_BYTES_MAX);
    item->bytes = text.len;
    keep_line(&found->arena, source, match, item);
    item->captures = wb_arena_alloc_array(&found->arena, grep->pattern->n_variables + 1,
                                          sizeof(*item->captures));
    for (size_t i = 0; i < grep->pattern->n_variables; i++) {
        const struct wb_capture *capture = &match->captures[i];
        if (capture->is_bound) {
            const struct wb_span bytes = {source.ptr + capture->start,
                                          capture->end - capture->start};
            item->captures[i] = keep(&found->arena, bytes, TEXT_BYTES_MAX);
        }
    }
}

static void *visit(void *ctx, const struct wb_scan_file *file, size_t *ret_n)
{
    const struct ast_grep *grep = ctx;
    struct wb_line_counter lines = {file->source, 0, 1};
    struct found_file *found = NULL;
    struct wb_match match;
    while (wb_matcher_next(file->matcher, &match)) {
        if (found == NULL) {
            found = wb_alloc(sizeof(*found));
            wb_arena_init(&found->arena);
        }
        if (found->count < grep->max_results) {
            keep_match(grep, found, file->source, &match, &lines);
        }
        (*ret_n)++; /* those that are not shown too */
    }
    return found;
}

static void drop(void *results)
{
    struct found_file *found = results;
    wb_arena_done(&found->arena);
    free(found);
}

/* --- in order --- */

/* On one line: a line end and the blanks behind it become one blank. */
static void put_flat(struct wb_text *out, struct wb_span s, size_t max)
{
    struct wb_span rest = {s.ptr, wb_utf8_cut(s, max)}, line;
    const char *between = "";
    while (wb_span_next_line(&rest, &line)) {
        line = between[0] != '\0' ? wb_span_trim(line) : line;
        if (line.len > 0) {
            wb_text_add_str(out, between);
            wb_text_add_utf8(out, line);
        }
        between = " ";
    }
    wb_text_add_str(out, s.len > max ? "..." : "");
}

static struct wb_span first_line(struct wb_span text)
{
    const char *end = text.len > 0 ? memchr(text.ptr, '\n', text.len) : NULL;
    return (struct wb_span){text.ptr, end != NULL ? (size_t)(end - text.ptr) : text.len};
}

/* The source line; a long one as a window around the match. */
static void put_line(struct wb_text *out, const struct found *item)
{
    WB_AUTO(wb_text_done) struct wb_text line = {0};
    struct wb_span first = first_line(item->text);
    struct wb_span before = item->before;
    if (before.len + first.len > LINE_SHOWN_BYTES_MAX) {
        size_t keep_bytes = first.len < LINE_SHOWN_BYTES_MAX / 2 ? LINE_SHOWN_BYTES_MAX / 4 : 0;
        size_t cut = before.len > keep_bytes ? before.len - keep_bytes : 0;
        while (is_inside_character(before, cut)) {
            cut++;
        }
        wb_text_add_str(&line, cut > 0 ? "..." : "");
        before.ptr += cut;
        before.len -= cut;
    }
    wb_text_add_span(&line, before);
    wb_text_add_span(&line, first);
    if (first.len == item->text.len) {
        wb_text_add_span(&line, item->after);
    }
    struct wb_span shown = wb_span_trim(wb_text_span(&line));
    size_t len = wb_utf8_cut(shown, LINE_SHOWN_BYTES_MAX);
    wb_text_add_utf8(out, (struct wb_span){shown.ptr, len});
    if (len < shown.len) {
        wb_text_printf(out, "... (%zu bytes cut)", shown.len - len);
    }
    if (item->end_line > item->line) {
        wb_text_printf(out, " ... (to line %zu)", item->end_line);
    }
}

static void put_captures(const struct ast_grep *grep, const struct found *item)
{
    const char *between = "  [";
    for (size_t i = 0; i < grep->pattern->n_variables; i++) {
        if (item->captures[i].ptr != NULL) {
            wb_text_printf(grep->text, "%s%s = ", between, grep->pattern->variables[i]);
            put_flat(grep->text, item->captures[i], CAPTURE_SHOWN_BYTES_MAX);
            between = ", ";
        }
    }
    if (between[0] == ',') {
        wb_text_add_char(grep->text, ']');
    }
}

static void put_match(struct ast_grep *grep, const char *shown, const struct found *item)
{
    struct wb_json_writer *w = &grep->data;
    wb_text_printf(grep->text, "%s:%zu: ", shown, item->line);
    put_line(grep->text, item);
    put_captures(grep, item);
    wb_text_add_char(grep->text, '\n');
    wb_json_begin_object(w);
    wb_json_member_str(w, "path", shown);
    wb_json_member_int(w, "line", (int64_t)item->line);
    wb_json_member_int(w, "end_line", (int64_t)item->end_line);
    wb_json_member_span(w, "text", item->text);
    if (item->bytes > item->text.len) {
        wb_json_member_int(w, "text_bytes", (int64_t)item->bytes); /* the text is cut */
    }
    wb_json_key(w, "captures");
    wb_json_begin_object(w);
    for (size_t i = 0; i < grep->pattern->n_variables; i++) {
        if (item->captures[i].ptr != NULL) {
            wb_json_member_span(w, grep->pattern->variables[i], item->captures[i]);
        }
    }
    wb_json_end_object(w);
    wb_json_end_object(w);
}

static void take(void *ctx, const char *path, const char *shown, void *results, size_t n)
{
    struct ast_grep *grep = ctx;
    struct found_file *found = results;
    (void)path;
    (void)n;
    for (size_t i = 0; i < found->count && grep->n_shown < grep->max_results; i++) {
        put_match(grep, shown, &found->items[i]);
        grep->n_shown++;
    }
    drop(found);
}

/* --- the end of the text --- */

static bool looks_like_regex(struct wb_span pattern)
{
    static const char *const signs[] = {".*", ".+", "\\w", "\\s", "\\d", "\\b", "[^", "(?", "\\("};
    for (size_t i = 0; i < WB_COUNT(signs); i++) {
        if (wb_span_find(pattern, wb_span(signs[i]), 0) != SIZE_MAX) {
            return true;
        }
    }
    return false;
}

static void tell(const struct ast_grep *grep, const struct wb_scan *scan, struct wb_span pattern)
{
    struct wb_text *out = grep->text;
    const char *more = scan->stopped_at != NULL ? " or more" : "";
    if (scan->n_files == 0) {
        wb_text_printf(out, "[no %s file is here", scan->pattern->grammar->language->name);
    } else if (scan->n_results == 0) {
        wb_text_add_str(out, "[no match: ");
        wb_ast_tell_files(scan, out);
    } else if (grep->n_shown < scan->n_results || scan->stopped_at != NULL) {
        wb_text_printf(out, "[%zu of %zu%s matches shown; ", grep->n_shown, scan->n_results, more);
        wb_ast_tell_files(scan, out);
    } else {
        wb_text_printf(out, "[%zu match%s; ", scan->n_results, scan->n_results == 1 ? "" : "es");
        wb_ast_tell_files(scan, out);
    }
    if (scan->stopped_at != NULL) {
        wb_text_printf(out, "; the search stopped at %s: raise max_results or narrow the path",
                       scan->stopped_at);
    }
    if (scan->n_results == 0 && looks_like_regex(pattern)) {
        wb_text_add_str(out, ". The pattern looks like a regular expression; this tool takes code "
                             "with $NAME, grep takes regular expressions");
    }
    wb_text_add_str(out, "]\n");
}

static int run(struct ast_grep *grep, struct wb_scan *scan, const struct ast_grep_args *args,
               struct wb_result *result, struct wb_error *err)
{
    struct wb_json_writer *w = &grep->data;
    wb_result_data(result, w);
    wb_json_begin_object(w);
    wb_json_key(w, "matches");
    wb_json_begin_array(w);
    int status = wb_scan_run(scan, err);
    if (status != 0) {
        wb_text_clear(&result->data);
        return status;
    }
    wb_json_end_array(w);
    wb_json_member_int(w, "total", (int64_t)scan->n_results);
    wb_json_member_bool(w, "complete", scan->stopped_at == NULL);
    wb_json_member_int(w, "files_searched", (int64_t)scan->n_searched);
    wb_json_member_int(w, "files_skipped",
                       (int64_t)(scan->n_binary + scan->n_large + scan->n_unreadable +
                                 scan->n_slow));
    wb_json_end_object(w);
    tell(grep, scan, args->pattern);
    return 0;
}

static int call_ast_grep(struct wb_call *call, const void *args, struct wb_result *result,
                         struct wb_error *err)
{
    const struct ast_grep_args *a = args;
    struct wb_ast_query query;
    if (wb_ast_query(call, a->pattern, a->path, a->language, &query, err) != 0) {
        return -1;
    }
    struct ast_grep grep = {
        .pattern = query.pattern, .text = &result->text, .max_results = (size_t)a->max_results};
    struct wb_scan scan = {
        .call = call,
        .cache = query.cache,
        .languages = query.languages,
        .pattern = query.pattern,
        .path = a->path,
        .stop_after = (size_t)a->max_results,
        .visit = visit,
        .take = take,
        .drop = drop,
        .ctx = &grep,
    };
    return run(&grep, &scan, a, result, err);
}

const struct wb_tool wb_tool_ast_grep = {
    .name = "ast_grep",
    .tier = WB_TIER_READ,
    .parallel_safe = true,
    .summary = "Search code by its structure",
    .description =
        "Finds code by shape, not by text: the pattern is a piece of code of the language, with "
        "$NAME for any one node and $$$NAME for a run of nodes (arguments, statements). "
        "`dispose($X)` finds the call however it is spaced or wrapped, and never in strings or "
        "comments. A name that comes twice must be the same code: `if ($X != null) $X.dispose()`. "
        "Every named part of the code has to be in the pattern: use $$$ for the rest of a list or "
        "body. Gives path:line: text, 50 at most unless max_results says otherwise.",
    .args = {table, WB_COUNT(table), sizeof(struct ast_grep_args), NULL, 0},
    .available = wb_ast_available,
    .call = call_ast_grep,
};

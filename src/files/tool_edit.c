/* edit: replaces a piece of text in a file. The text must be there exactly once, unless all of it
 * shall be replaced. Line ends are the file's: a text with LF fits a file with CRLF. */
#include "base/limits.h"
#include "files/subject.h"

#define LINES_NAMED_MAX 10

struct args {
    struct wb_span path, old_text, new_text;
    bool replace_all;
};

static const struct wb_arg table[] = {
    {"path", WB_ARG_PATH, offsetof(struct args, path), .required = true,
     .doc = "the file, relative to the workspace"},
    {"old_text", WB_ARG_STRING, offsetof(struct args, old_text), .required = true, .min = 1,
     .max = WB_FILE_BYTES_MAX,
     .doc = "the text to be replaced, exactly as it is in the file, with enough around it to be "
            "the only such place"},
    {"new_text", WB_ARG_STRING, offsetof(struct args, new_text), .required = true,
     .max = WB_FILE_BYTES_MAX, .doc = "what takes its place"},
    {"replace_all", WB_ARG_BOOL, offsetof(struct args, replace_all),
     .doc = "replace every such place"},
};

/* The text with each LF that has no CR before it as CRLF. */
static struct wb_span with_crlf(struct wb_arena *arena, struct wb_span text)
{
    struct wb_text out;
    wb_text_init(&out);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\n' && (i == 0 || text.ptr[i - 1] != '\r')) {
            wb_text_add_char(&out, '\r');
        }
        wb_text_add_char(&out, text.ptr[i]);
    }
    struct wb_span copy = wb_arena_span(arena, wb_text_span(&out));
    wb_text_done(&out);
    return copy;
}

static size_t count_places(struct wb_span content, struct wb_span old_text)
{
    size_t n = 0;
    for (size_t at = 0; (at = wb_span_find(content, old_text, at)) != SIZE_MAX;
         at += old_text.len) {
        n++;
    }
    return n;
}

static void list_lines(struct wb_span content, struct wb_span old_text, struct wb_text *out)
{
    size_t line = 1, from = 0, n = 0;
    for (size_t at = 0;
         n < LINES_NAMED_MAX && (at = wb_span_find(content, old_text, at)) != SIZE_MAX;
         at += old_text.len, n++) {
        for (; from < at; from++) {
            line += content.ptr[from] == '\n';
        }
        wb_text_printf(out, "%s%zu", n > 0 ? ", " : "", line);
    }
}

/* Where the first line of the text stands, as a hint: often only the rest differs. */
static void hint(struct wb_span content, struct wb_span old_text, struct wb_text *out)
{
    struct wb_span rest = old_text, first;
    while (wb_span_next_line(&rest, &first)) {
        first = wb_span_trim(first);
        if (first.len > 0) {
            break;
        }
    }
    size_t n = first.len > 0 ? count_places(content, first) : 0;
    if (n > 0) {
        wb_text_add_str(out, "; its first line stands on line ");
        list_lines(content, first, out);
        wb_text_add_str(out, ", so the rest or the indentation differs");
    }
}

static int check_places(const struct wb_subject *file, const struct args *args,
                        struct wb_span old_text, size_t n, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text text;
    wb_text_init(&text);
    if (n == 0) {
        hint(file->content, old_text, &text);
        return wb_error_set(err, WB_ERROR_NOT_FOUND,
                            "old_text is not in %s%s; read the file and send it as it is there",
                            file->shown, wb_text_cstr(&text));
    }
    if (n > 1 && !args->replace_all) {
        list_lines(file->content, old_text, &text);
        return wb_error_set(err, WB_ERROR_INVALID,
                            "old_text stands %zu times in %s (lines %s%s); add lines around it, or "
                            "send replace_all",
                            n, file->shown, wb_text_cstr(&text),
                            n > LINES_NAMED_MAX ? ", ..." : "");
    }
    return 0;
}

static struct wb_span replace(struct wb_arena *arena, struct wb_span content,
                              struct wb_span old_text, struct wb_span new_text)
{
    struct wb_text out;
    wb_text_init(&out);
    size_t from = 0;
    for (size_t at; (at = wb_span_find(content, old_text, from)) != SIZE_MAX;
         from = at + old_text.len) {
        wb_text_add(&out, content.ptr + from, at - from);
        wb_text_add_span(&out, new_text);
    }
    wb_text_add(&out, content.ptr + from, content.len - from);
    struct wb_span copy = wb_arena_span(arena, wb_text_span(&out));
    wb_text_done(&out);
    return copy;
}

static void report(const struct wb_subject *file, size_t n, struct wb_result *result)
{
    wb_text_printf(&result->text, "Edited %s: %zu place%s.\n", file->shown, n, n == 1 ? "" : "s");
    struct wb_json_writer w;
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "path", file->shown);
    wb_json_member_int(&w, "replacements", (int64_t)n);
    wb_json_end_object(&w);
}

static int call_edit(struct wb_call *call, const void *opaque, struct wb_result *result,
                     struct wb_error *err)
{
    const struct args *args = opaque;
    struct wb_subject file;
    if (wb_subject_read(call, args->path, &file, err) < 0) {
        return -1;
    }
    struct wb_span old_text = args->old_text, new_text = args->new_text;
    if (wb_file_line_end(file.content) == WB_LINE_CRLF) {
        old_text = with_crlf(call->arena, old_text);
        new_text = with_crlf(call->arena, new_text);
    }
    if (wb_span_equal(old_text, new_text)) {
        return wb_error_set(err, WB_ERROR_INVALID, "old_text and new_text are the same");
    }
    size_t n = count_places(file.content, old_text);
    if (check_places(&file, args, old_text, n, err) < 0 ||
        wb_subject_write(call, &file, replace(call->arena, file.content, old_text, new_text),
                         result, err) < 0) {
        return -1;
    }
    report(&file, n, result);
    return 0;
}

const struct wb_tool wb_tool_edit = {
    .name = "edit",
    .tier = WB_TIER_WRITE,
    .parallel_safe = false,
    .summary = "Replace a piece of text in a file",
    .description = "Replaces old_text by new_text in a file. old_text must be in the file exactly "
                   "once; replace_all replaces every place. The result carries the diagnostics "
                   "that newly arose.",
    .args = {table, WB_COUNT(table), sizeof(struct args), NULL, 0},
    .call = call_edit,
};

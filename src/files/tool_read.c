/* read: a text file, whole or some of its lines.
 *
 * The model gets plain text without line numbers, because it will quote it back to edit. What does
 * not fit is cut at a line, and the last line says how to go on; programs get everything. */
#include "files/content.h"

#define LINES_MAX 2000
#define LINE_BYTES_MAX 2000
#define TEXT_BYTES_MAX ((size_t)48 * 1024) /* leaves room for what observers add */

struct read_args {
    struct wb_span path;
    int64_t offset, limit;
};

static const struct wb_arg table[] = {
    {"path", WB_ARG_PATH, offsetof(struct read_args, path), .required = true,
     .doc = "the file, relative to the workspace"},
    {"offset", WB_ARG_INT, offsetof(struct read_args, offset), .otherwise = 1, .min = 1,
     .max = INT32_MAX, .doc = "1-based line to begin at; default 1"},
    {"limit", WB_ARG_INT, offsetof(struct read_args, limit), .otherwise = 0, .min = 1,
     .max = INT32_MAX, .doc = "how many lines; default as many as fit"},
};

/* Drops lines from the front. */
static struct wb_span skip_lines(struct wb_span rest, int64_t n)
{
    struct wb_span line;
    while (n > 0 && wb_span_next_line(&rest, &line)) {
        n--;
    }
    return rest;
}

/* Appends lines of rest while they fit; returns their number. */
static int64_t add_lines(struct wb_text *out, struct wb_span rest, int64_t limit)
{
    int64_t n = 0;
    struct wb_span line;
    while (n < WB_MIN(limit, LINES_MAX) && wb_span_next_line(&rest, &line) &&
           out->len + WB_MIN(line.len, LINE_BYTES_MAX) < TEXT_BYTES_MAX) {
        wb_content_add_line(out, line, LINE_BYTES_MAX);
        wb_text_add_char(out, '\n');
        n++;
    }
    return n;
}

static void put_data(struct wb_result *result, struct wb_span content)
{
    struct wb_json_writer w;
    wb_result_data(result, &w);
    wb_json_put_span(&w, content);
}

static int call_read(struct wb_call *call, const void *args, struct wb_result *result,
                     struct wb_error *err)
{
    const struct read_args *a = args;
    struct wb_content content;
    if (wb_content_load(call, a->path, &content, err) != 0) {
        return -1;
    }
    int64_t n_lines = (int64_t)wb_content_count_lines(content.bytes);
    if (a->offset > WB_MAX(n_lines, 1)) {
        return wb_error_set(err, WB_ERROR_INVALID, "%s has %lld lines; line %lld is behind its end",
                            content.shown, (long long)n_lines, (long long)a->offset);
    }
    int64_t limit = a->limit != 0 ? a->limit : n_lines;
    struct wb_span rest = skip_lines(content.bytes, a->offset - 1);
    struct wb_span behind = skip_lines(rest, limit);
    put_data(result, (struct wb_span){rest.ptr, rest.len - behind.len});

    int64_t n = add_lines(&result->text, rest, limit);
    if (n_lines == 0) {
        wb_text_printf(&result->text, "[%s is empty]\n", content.shown);
    } else if (n < n_lines) {
        wb_text_printf(&result->text, "[lines %lld-%lld of %lld", (long long)a->offset,
                       (long long)(a->offset + n - 1), (long long)n_lines);
        if (a->offset + n <= n_lines) {
            wb_text_printf(&result->text, "; go on with offset %lld", (long long)(a->offset + n));
        }
        wb_text_add_str(&result->text, "]\n");
    }
    return 0;
}

const struct wb_tool wb_tool_read = {
    .name = "read",
    .tier = WB_TIER_READ,
    .parallel_safe = true,
    .summary = "Read a text file, or some of its lines",
    .description =
        "Reads a text file of the workspace, as plain text without line numbers. Long files are "
        "cut, and the last line then says which lines these are and the offset to go on with; "
        "offset and limit choose lines. Binary files are refused.",
    .args = {table, WB_COUNT(table), sizeof(struct read_args), NULL, 0},
    .call = call_read,
};

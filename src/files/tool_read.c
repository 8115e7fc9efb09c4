/* read: a text file, or some of its lines. */
#include "files/subject.h"

#define LINES_DEFAULT 2000
#define LINE_SHOWN_BYTES 2000

struct args {
    struct wb_span path;
    int64_t offset, limit;
};

static const struct wb_arg table[] = {
    {"path", WB_ARG_PATH, offsetof(struct args, path), .required = true,
     .doc = "the file, relative to the workspace"},
    {"offset", WB_ARG_INT, offsetof(struct args, offset), .otherwise = 1, .min = 1,
     .max = INT32_MAX, .doc = "1-based line to begin with"},
    {"limit", WB_ARG_INT, offsetof(struct args, limit), .otherwise = LINES_DEFAULT, .min = 1,
     .max = INT32_MAX, .doc = "how many lines at most; 2000 when not given"},
};

/* The lines asked for, with their line ends, and how many the file has. */
struct selection {
    struct wb_span text;
    int64_t first, last, total;
};

static struct selection select_lines(struct wb_span content, int64_t offset, int64_t limit)
{
    struct selection selection = {.text = {content.ptr + content.len, 0}, .first = offset};
    struct wb_span rest = content, line;
    for (;;) {
        const char *start = rest.ptr;
        if (!wb_span_next_line(&rest, &line)) {
            return selection;
        }
        selection.total++;
        if (selection.total >= offset && selection.total - offset < limit) {
            if (selection.total == offset) {
                selection.text.ptr = start;
            }
            selection.text.len = (size_t)(rest.ptr - selection.text.ptr);
            selection.last = selection.total;
        }
    }
}

/* Long lines are cut, invalid bytes replaced: text is for the model. */
static void show_lines(struct wb_text *out, struct wb_span text)
{
    struct wb_span line;
    size_t n_cut = 0;
    while (wb_span_next_line(&text, &line)) {
        size_t kept = wb_utf8_cut(line, LINE_SHOWN_BYTES);
        wb_text_add_utf8(out, (struct wb_span){line.ptr, kept});
        if (kept < line.len) {
            wb_text_printf(out, "... (%zu bytes more on this line)", line.len - kept);
            n_cut++;
        }
        wb_text_add_char(out, '\n');
    }
    if (n_cut > 0) {
        wb_text_printf(out, "(%zu long line%s cut; data has them whole)\n", n_cut,
                       n_cut == 1 ? " was" : "s were");
    }
}

static void put_data(struct wb_result *result, struct wb_span text)
{
    struct wb_json_writer w;
    wb_result_data(result, &w);
    wb_json_put_span(&w, text);
}

static int call_read(struct wb_call *call, const void *opaque, struct wb_result *result,
                     struct wb_error *err)
{
    const struct args *args = opaque;
    struct wb_subject file;
    if (wb_subject_read(call, args->path, &file, err) < 0) {
        return -1;
    }
    struct selection lines = select_lines(file.content, args->offset, args->limit);
    if (lines.last == 0 && args->offset > 1) {
        return wb_error_set(err, WB_ERROR_INVALID, "%s has %lld line%s; offset %lld is behind them",
                            file.shown, (long long)lines.total, lines.total == 1 ? "" : "s",
                            (long long)args->offset);
    }
    show_lines(&result->text, lines.text);
    if (lines.total == 0) {
        wb_text_printf(&result->text, "(%s is empty)\n", file.shown);
    } else if (lines.first > 1 || lines.last < lines.total) {
        wb_text_printf(&result->text, "(lines %lld-%lld of %lld; offset and limit choose others)\n",
                       (long long)lines.first, (long long)lines.last, (long long)lines.total);
    }
    put_data(result, lines.text);
    return 0;
}

const struct wb_tool wb_tool_read = {
    .name = "read",
    .tier = WB_TIER_READ,
    .parallel_safe = true,
    .summary = "Read a text file, or some of its lines",
    .description =
        "Reads a text file. offset and limit choose lines of a long one. Lines are given "
        "as they are, without numbers.",
    .args = {table, WB_COUNT(table), sizeof(struct args), NULL, 0},
    .call = call_read,
};

/* write: a whole file, new or in the place of an old one. */
#include "base/limits.h"
#include "files/content.h"
#include "sys/file.h"

struct write_args {
    struct wb_span path, content;
};

static const struct wb_arg table[] = {
    {"path", WB_ARG_PATH, offsetof(struct write_args, path), .required = true,
     .doc = "the file, relative to the workspace; missing folders are made"},
    {"content", WB_ARG_STRING, offsetof(struct write_args, content), .required = true,
     .max = WB_FILE_BYTES_MAX, .doc = "the whole new content"},
};

static void put_data(struct wb_result *result, const char *shown, const struct wb_commit_op *op)
{
    struct wb_json_writer w;
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "path", shown);
    wb_json_member_bool(&w, "created", !op->must_exist);
    wb_json_member_int(&w, "bytes", (int64_t)op->new_content.len);
    wb_json_end_object(&w);
}

static int call_write(struct wb_call *call, const void *args, struct wb_result *result,
                      struct wb_error *err)
{
    const struct write_args *a = args;
    const char *path = wb_call_path(call, a->path, err);
    if (path == NULL) {
        return -1;
    }
    struct wb_commit_op op = {
        .kind = WB_COMMIT_WRITE, .path = path, .new_content = a->content, .must_exist = true};
    switch (wb_file_kind(path, NULL)) {
    case WB_FILE_MISSING:
        op.must_exist = false;
        break;
    case WB_FILE_FOLDER:
        return wb_error_set(err, WB_ERROR_INVALID, "%s is a folder; name a file in it",
                            wb_call_relative(call, path));
    default:
        if (wb_file_read_real(call->arena, path, WB_FILE_BYTES_MAX, &op.old_content, NULL, err) !=
            0) {
            return -1;
        }
    }
    const char *shown = wb_call_relative(call, path);
    if (wb_call_write(call, &op, 1, result, err) != 0) {
        return -1;
    }
    put_data(result, shown, &op);
    if (op.must_exist && wb_span_equal(op.old_content, op.new_content)) {
        wb_text_printf(&result->text, "%s had exactly this content already.\n", shown);
    } else {
        size_t n_lines = wb_content_count_lines(a->content);
        wb_text_printf(&result->text, "%s %s (%zu line%s, %zu bytes).\n",
                       op.must_exist ? "Wrote" : "Created", shown, n_lines, n_lines == 1 ? "" : "s",
                       a->content.len);
    }
    return 0;
}

const struct wb_tool wb_tool_write = {
    .name = "write",
    .tier = WB_TIER_WRITE,
    .parallel_safe = false,
    .summary = "Write a whole file",
    .description =
        "Writes a file with exactly this content: creates it and its folders, or replaces what is "
        "there (its permissions stay). To change a part of a file use edit. New errors that the "
        "language servers find afterwards are part of the result.",
    .args = {table, WB_COUNT(table), sizeof(struct write_args), NULL, 0},
    .call = call_write,
};

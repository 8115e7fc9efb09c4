/* write: a whole file, new or in place of what was there. */
#include "base/limits.h"
#include "files/subject.h"

struct args {
    struct wb_span path, content;
};

static const struct wb_arg table[] = {
    {"path", WB_ARG_PATH, offsetof(struct args, path), .required = true,
     .doc = "the file, relative to the workspace; missing folders are made"},
    {"content", WB_ARG_STRING, offsetof(struct args, content), .required = true,
     .max = WB_FILE_BYTES_MAX, .doc = "all of its text"},
};

/* The file as it is now; the write is bound to it. */
static int plan_write(struct wb_call *call, const struct args *args, struct wb_commit_op *op,
                      struct wb_error *err)
{
    op->path = wb_call_path(call, args->path, err);
    if (op->path == NULL) {
        return -1;
    }
    enum wb_file_kind kind = wb_file_kind(op->path, NULL);
    if (kind == WB_FILE_FOLDER || kind == WB_FILE_OTHER) {
        return wb_error_set(err, WB_ERROR_INVALID, "%s is %s", wb_call_relative(call, op->path),
                            kind == WB_FILE_FOLDER ? "a folder" : "no regular file");
    }
    op->must_exist = kind == WB_FILE_REGULAR;
    return op->must_exist
               ? wb_file_read(call->arena, op->path, WB_FILE_BYTES_MAX, &op->old_content, NULL, err)
               : 0;
}

static int call_write(struct wb_call *call, const void *opaque, struct wb_result *result,
                      struct wb_error *err)
{
    const struct args *args = opaque;
    struct wb_commit_op op = {.kind = WB_COMMIT_WRITE, .new_content = args->content};
    if (plan_write(call, args, &op, err) < 0 || wb_call_write(call, &op, 1, result, err) < 0) {
        return -1;
    }
    const char *shown = wb_call_relative(call, op.path);
    wb_text_printf(&result->text, "%s %s (%zu bytes).\n", op.must_exist ? "Wrote" : "Created",
                   shown, args->content.len);
    struct wb_json_writer w;
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "path", shown);
    wb_json_member_bool(&w, "created", !op.must_exist);
    wb_json_member_int(&w, "bytes", (int64_t)args->content.len);
    wb_json_end_object(&w);
    return 0;
}

const struct wb_tool wb_tool_write = {
    .name = "write",
    .tier = WB_TIER_WRITE,
    .parallel_safe = false,
    .summary = "Write a whole file",
    .description =
        "Writes a file: creates it, with its folders, or replaces all of its content. "
        "The result carries the diagnostics that newly arose. Use edit to change a part.",
    .args = {table, WB_COUNT(table), sizeof(struct args), NULL, 0},
    .call = call_write,
};

/* edit: a part of a file, named by its exact text. */
#include "files/content.h"
#include "files/replace.h"

struct edit_args {
    struct wb_span path, old_text, new_text;
    bool replace_all;
};

static const struct wb_arg table[] = {
    {"path", WB_ARG_PATH, offsetof(struct edit_args, path), .required = true,
     .doc = "the file, relative to the workspace"},
    {"old_text", WB_ARG_STRING, offsetof(struct edit_args, old_text), .required = true, .min = 1,
     .doc = "the exact text that is there now; it must occur once, white space included"},
    {"new_text", WB_ARG_STRING, offsetof(struct edit_args, new_text), .required = true,
     .doc = "what takes its place; empty removes it"},
    {"replace_all", WB_ARG_BOOL, offsetof(struct edit_args, replace_all), .otherwise = false,
     .doc = "replace every occurrence"},
};

static void put_data(struct wb_result *result, const char *shown, const struct wb_replacement *made)
{
    struct wb_json_writer w;
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "path", shown);
    wb_json_member_int(&w, "replacements", (int64_t)made->count);
    wb_json_end_object(&w);
}

static void tell(struct wb_text *out, const char *shown, const struct wb_replacement *made)
{
    if (made->count == 1) {
        wb_text_printf(out, "Edited %s at line %zu.\n", shown, made->lines[0]);
        return;
    }
    wb_text_printf(out, "Replaced %zu occurrences in %s, lines ", made->count, shown);
    for (size_t i = 0; i < WB_MIN(made->count, WB_REPLACE_LINES_TOLD); i++) {
        wb_text_printf(out, "%s%zu", i != 0 ? ", " : "", made->lines[i]);
    }
    wb_text_add_str(out, made->count > WB_REPLACE_LINES_TOLD ? ", ...\n" : ".\n");
}

static int call_edit(struct wb_call *call, const void *args, struct wb_result *result,
                     struct wb_error *err)
{
    const struct edit_args *a = args;
    struct wb_content content;
    struct wb_replacement made;
    if (wb_span_equal(a->old_text, a->new_text)) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "old_text and new_text are the same: there is nothing to change");
    }
    if (wb_content_load(call, a->path, &content, err) != 0 ||
        wb_replace_text(call->arena, content.bytes, content.shown, a->old_text, a->new_text,
                        a->replace_all, &made, err) != 0) {
        return -1;
    }
    const struct wb_commit_op op = {
        .kind = WB_COMMIT_WRITE,
        .path = content.path,
        .must_exist = true,
        .old_content = content.bytes,
        .new_content = made.content,
    };
    if (wb_call_write(call, &op, 1, result, err) != 0) {
        return -1;
    }
    put_data(result, content.shown, &made);
    tell(&result->text, content.shown, &made);
    return 0;
}

const struct wb_tool wb_tool_edit = {
    .name = "edit",
    .tier = WB_TIER_WRITE,
    .parallel_safe = false,
    .summary = "Replace a piece of text in a file",
    .description =
        "Replaces old_text by new_text in a file. old_text must be quoted exactly as it stands in "
        "the file and occur once; with replace_all every occurrence is replaced. Line ends, byte "
        "order mark and the end of the last line stay as they are. New errors that the language "
        "servers find afterwards are part of the result.",
    .args = {table, WB_COUNT(table), sizeof(struct edit_args), NULL, 0},
    .call = call_edit,
};

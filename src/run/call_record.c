/* call_record: see the header. Members are written without the braces around them, as
 * wb_transcript_add takes them. */
#include "run/call_record.h"

#include "run/run.h"

struct members {
    struct wb_text text;
    struct wb_json_writer w;
};

static void begin_members(struct members *m, const struct wb_call *call, const char *tool_name)
{
    wb_text_init(&m->text);
    wb_json_writer_init(&m->w, &m->text);
    wb_json_begin_object(&m->w);
    wb_json_member_int(&m->w, "call", (int64_t)call->id);
    wb_json_member_str(&m->w, "tool", tool_name);
}

static void add_event(struct members *m, const struct wb_call *call, const char *kind)
{
    wb_json_end_object(&m->w);
    struct wb_span inner = {m->text.ptr + 1, m->text.len - 2};
    wb_transcript_add(wb_run_transcript(call->run), wb_run_id(call->run), kind, inner);
    wb_text_done(&m->text);
}

void wb_call_record_begin(const struct wb_call *call, const char *tool_name,
                          const struct wb_json *json, struct wb_span arguments_json)
{
    struct members m;
    if (call->id == 1) {
        begin_members(&m, call, NULL);
        wb_json_member_str(&m.w, "workspace", wb_run_workspace(call->run));
        add_event(&m, call, "run");
    }
    begin_members(&m, call, tool_name);
    if (call->options->origin != NULL) {
        wb_json_member_str(&m.w, "origin", call->options->origin);
    }
    if (json != NULL && arguments_json.len <= WB_TRANSCRIPT_FIELD_BYTES_MAX) {
        wb_json_key(&m.w, "arguments");
        wb_json_put_value(&m.w, json);
    } else {
        size_t len = wb_utf8_cut(arguments_json, WB_TRANSCRIPT_FIELD_BYTES_MAX);
        wb_json_member_span(&m.w, "arguments_text", (struct wb_span){arguments_json.ptr, len});
        wb_json_member_int(&m.w, "arguments_bytes", (int64_t)arguments_json.len);
    }
    add_event(&m, call, "call");
}

void wb_call_record_write(const struct wb_call *call, const struct wb_commit *commit, bool written)
{
    static const char *const kinds[] = {
        [WB_COMMIT_WRITE] = "write",
        [WB_COMMIT_DELETE] = "delete",
        [WB_COMMIT_RENAME] = "rename",
    };
    struct members m;
    begin_members(&m, call, call->tool->name);
    wb_json_member_bool(&m.w, "written", written);
    wb_json_key(&m.w, "files");
    wb_json_begin_array(&m.w);
    for (size_t i = 0; i < commit->n_ops; i++) {
        const struct wb_commit_op *op = &commit->ops[i];
        wb_json_begin_object(&m.w);
        wb_json_member_str(&m.w, "change", kinds[op->kind]);
        wb_json_member_str(&m.w, "path", wb_call_relative(call, op->path));
        if (op->kind == WB_COMMIT_RENAME) {
            wb_json_member_str(&m.w, "new_path", wb_call_relative(call, op->new_path));
        }
        wb_json_end_object(&m.w);
    }
    wb_json_end_array(&m.w);
    add_event(&m, call, "write");
}

void wb_call_record_diagnostics(const struct wb_call *call, struct wb_span json)
{
    struct members m;
    begin_members(&m, call, call->tool != NULL ? call->tool->name : NULL);
    wb_json_key(&m.w, "found");
    wb_json_put_raw(&m.w, json);
    add_event(&m, call, "diagnostics");
}

static void put_attachments(struct members *m, const struct wb_call *call,
                            const struct wb_result *result)
{
    wb_json_key(&m->w, "attachments");
    wb_json_begin_array(&m->w);
    for (size_t i = 0; i < result->n_attachments; i++) {
        const struct wb_attachment *attachment = &result->attachments[i];
        wb_json_begin_object(&m->w);
        wb_json_member_str(&m->w, "mime", attachment->mime);
        wb_json_member_str(&m->w, "file",
                           wb_transcript_keep(wb_run_transcript(call->run), call->arena,
                                              attachment->mime, attachment->bytes));
        wb_json_end_object(&m->w);
    }
    wb_json_end_array(&m->w);
}

void wb_call_record_end(const struct wb_call *call, const char *tool_name,
                        const struct wb_result *result, int64_t took_us)
{
    struct members m;
    begin_members(&m, call, tool_name);
    wb_json_member_bool(&m.w, "is_error", result->is_error);
    if (result->code != WB_ERROR_NONE) {
        wb_json_member_str(&m.w, "code", wb_error_code_name(result->code));
    }
    wb_json_member_span(&m.w, "text", wb_text_span(&result->text));
    if (result->n_attachments > 0) {
        put_attachments(&m, call, result);
    }
    wb_json_member_int(&m.w, "took_us", took_us);
    add_event(&m, call, "result");
}

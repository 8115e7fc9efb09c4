/* result: text for the model, data for programs, attachments. Knows no tool and no surface. */
#include "run/result.h"

void wb_result_init(struct wb_result *result)
{
    *result = (struct wb_result){0};
    wb_arena_init(&result->arena);
    wb_text_init(&result->text);
    wb_text_init(&result->data);
    wb_text_init(&result->notes);
    wb_text_init(&result->members);
}

void wb_result_done(struct wb_result *result)
{
    wb_text_done(&result->text);
    wb_text_done(&result->data);
    wb_text_done(&result->notes);
    wb_text_done(&result->members);
    wb_arena_done(&result->arena);
}

static void end_line(struct wb_text *text)
{
    if (text->len > 0 && text->ptr[text->len - 1] != '\n') {
        wb_text_add_char(text, '\n');
    }
}

void wb_result_fail(struct wb_result *result, const struct wb_error *err)
{
    end_line(&result->text);
    wb_text_add_str(&result->text, err->message);
    result->is_error = true;
    result->code = err->code;
}

void wb_result_data(struct wb_result *result, struct wb_json_writer *w)
{
    wb_text_clear(&result->data);
    wb_json_writer_init(w, &result->data);
}

void wb_result_attach(struct wb_result *result, const char *mime, struct wb_span bytes)
{
    struct wb_attachment *attachment =
        WB_ARENA_PUSH(&result->arena, result->attachments, result->n_attachments,
                      result->attachments_capacity);
    attachment->mime = wb_arena_strdup(&result->arena, mime);
    attachment->bytes = wb_arena_span(&result->arena, bytes);
}

void wb_result_add_member(struct wb_result *result, const char *key, struct wb_span json)
{
    struct wb_json_writer w;
    if (result->members.len > 0) {
        wb_text_add_char(&result->members, ',');
    }
    wb_json_writer_init(&w, &result->members);
    wb_json_put_str(&w, key);
    wb_text_add_char(&result->members, ':');
    wb_text_add_span(&result->members, json);
}

static void merge_members(struct wb_result *result)
{
    struct wb_span data = wb_span_trim(wb_text_span(&result->data));
    if (result->members.len == 0) {
        return;
    }
    if (data.len == 0) {
        data = WB_SPAN("{}");
    }
    if (data.ptr[0] == '{') {
        WB_AUTO(wb_text_done) struct wb_text merged = {0};
        bool is_empty = wb_span_trim((struct wb_span){data.ptr + 1, data.len - 2}).len == 0;
        wb_text_add(&merged, data.ptr, data.len - 1);
        wb_text_add_str(&merged, is_empty ? "" : ",");
        wb_text_add_span(&merged, wb_text_span(&result->members));
        wb_text_add_char(&merged, '}');
        struct wb_text old = result->data;
        result->data = merged;
        merged = old;
    }
    wb_text_clear(&result->members);
}

void wb_result_finish(struct wb_result *result)
{
    if (result->notes.len > 0) {
        end_line(&result->text);
        wb_text_add_span(&result->text, wb_text_span(&result->notes));
        wb_text_clear(&result->notes);
    }
    merge_members(result);
    wb_result_bound(result);
}

void wb_result_bound(struct wb_result *result)
{
    WB_AUTO(wb_text_done) struct wb_text whole = {0};
    struct wb_text *text = &result->text;
    if (text->len <= WB_RESULT_TEXT_BYTES_MAX) {
        return;
    }
    whole = *text;
    wb_text_init(text);
    /* The end says most of a program's output; the head says what it was. */
    size_t head = wb_utf8_cut(wb_text_span(&whole), WB_RESULT_TEXT_BYTES_MAX / 2);
    size_t tail = whole.len - (WB_RESULT_TEXT_BYTES_MAX / 2 - 256);
    while (tail < whole.len && ((unsigned char)whole.ptr[tail] & 0xC0) == 0x80) {
        tail++;
    }
    wb_text_add(text, whole.ptr, head);
    wb_text_printf(text,
                   "\n... %zu of %zu bytes cut here; `data` is whole; ask for less to see "
                   "all of the text ...\n",
                   tail - head, whole.len);
    wb_text_add(text, whole.ptr + tail, whole.len - tail);
}

void wb_attachment_base64(struct wb_text *out, const struct wb_attachment *attachment)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *in = (const unsigned char *)attachment->bytes.ptr;
    size_t len = attachment->bytes.len;
    wb_text_reserve(out, (len + 2) / 3 * 4);
    for (size_t i = 0; i < len; i += 3) {
        uint32_t group = (uint32_t)in[i] << 16;
        group |= i + 1 < len ? (uint32_t)in[i + 1] << 8 : 0;
        group |= i + 2 < len ? (uint32_t)in[i + 2] : 0;
        char quad[4] = {digits[group >> 18], digits[group >> 12 & 63],
                        i + 1 < len ? digits[group >> 6 & 63] : '=',
                        i + 2 < len ? digits[group & 63] : '='};
        wb_text_add(out, quad, sizeof(quad));
    }
}

void wb_result_put_data(struct wb_json_writer *w, const struct wb_result *result)
{
    if (result->data.len > 0) {
        wb_json_put_raw(w, wb_text_span(&result->data));
    } else {
        wb_json_put_null(w);
    }
}

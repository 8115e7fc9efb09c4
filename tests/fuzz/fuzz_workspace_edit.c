/* fuzz_workspace_edit: lsp/workspace_edit.h. The first byte chooses the encoding, and whether the rest
 * is the JSON of an edit or is read as a list of operations on few names, from which the JSON is made.
 * A plan that is not refused is carried out on a workspace in memory, where each operation must find
 * what it says. */
#include <stdint.h>

#include "../unit/lsp/edit_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
    const char *path, *content;
} base_files[] = {
    {"/w/a.c", "int foo;\r\nfoo();\r\n"},
    {"/w/d/b.c", "\xEF\xBB\xBF"
                 "\xF0\x9F\x8E\x89 foo\n\xC3\xA4\rfoo"},
    {"/w/d/e/c.c", "one\ntwo\r\n"},
    {"/w/f.c", ""},
};

/* Names that operations choose from. */
static const char *const names[] = {"a.c", "d", "d/b.c", "d/e", "d/e/c.c", "n", "n/x.c", "f.c"};

static void put_uri(struct wb_json_writer *w, const char *key, uint8_t choice)
{
    wb_json_key(w, key);
    wb_json_put_printf(w, "file:///w/%s", names[choice % WB_COUNT(names)]);
}

static void put_options(struct wb_json_writer *w, uint8_t choice)
{
    wb_json_key(w, "options");
    wb_json_begin_object(w);
    wb_json_member_bool(w, "overwrite", choice & 1);
    wb_json_member_bool(w, "ignoreIfExists", choice & 2);
    wb_json_member_bool(w, "ignoreIfNotExists", choice & 2);
    wb_json_member_bool(w, "recursive", !(choice & 4));
    wb_json_end_object(w);
}

static void put_edits(struct wb_json_writer *w, const uint8_t op[4])
{
    static const char *const texts[] = {"", "x", "\n", "a\r\nb\n"};

    wb_json_key(w, "textDocument");
    wb_json_begin_object(w);
    put_uri(w, "uri", op[1]);
    wb_json_end_object(w);
    wb_json_key(w, "edits");
    wb_json_begin_array(w);
    for (int i = 2; i < 4; i++) {
        wb_json_begin_object(w);
        wb_json_member_str(w, "newText", texts[op[i] % WB_COUNT(texts)]);
        wb_json_key(w, "range");
        wb_json_begin_object(w);
        wb_json_key(w, "start");
        wb_position_write(w, (struct wb_position){op[i] >> 7, op[i] >> 2 & 3});
        wb_json_key(w, "end");
        wb_position_write(w, (struct wb_position){op[i] >> 6 & 1, op[i] >> 4 & 3});
        wb_json_end_object(w);
        wb_json_end_object(w);
    }
    wb_json_end_array(w);
}

/* Four bytes an entry of documentChanges. */
static void write_edit(struct wb_text *out, struct wb_span bytes)
{
    static const char *const kinds[] = {"create", "rename", "delete"};
    struct wb_json_writer w;

    wb_json_writer_init(&w, out);
    wb_json_begin_object(&w);
    wb_json_key(&w, "documentChanges");
    wb_json_begin_array(&w);
    for (size_t at = 0; at + 4 <= bytes.len; at += 4) {
        const uint8_t *op = (const uint8_t *)bytes.ptr + at;

        wb_json_begin_object(&w);
        if (op[0] % 5 < WB_COUNT(kinds)) {
            wb_json_member_str(&w, "kind", kinds[op[0] % 5]);
            put_uri(&w, "uri", op[1]);
            put_uri(&w, "oldUri", op[1]);
            put_uri(&w, "newUri", op[2]);
            put_options(&w, op[3]);
        } else {
            put_edits(&w, op);
        }
        wb_json_end_object(&w);
    }
    wb_json_end_array(&w);
    wb_json_end_object(&w);
}

static void carry_out(struct model *model, const struct wb_edit_plan *plan)
{
    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct wb_commit_op *op = &plan->ops[i];
        const struct model_file *file = model_find(model, op->path);

        /* Whether the folder is empty is the commit's question. */
        if (op->kind == WB_COMMIT_DELETE && file != NULL && file->is_folder && !op->recursive) {
            return;
        }
        if (!model_apply(model, op)) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    WB_AUTO(wb_text_done) struct wb_text json = {0};
    struct model model = {.arena = &arena};
    struct wb_edit_source source = {.workspace = "/w", .look = model_look, .ctx = &model};
    struct wb_edit_plan plan;
    struct wb_error err;

    if (size == 0) {
        return 0;
    }
    source.encoding = (enum wb_position_encoding)(data[0] % 3);
    for (size_t i = 0; i < WB_COUNT(base_files); i++) {
        model_add(&model, base_files[i].path, wb_span(base_files[i].content));
    }
    struct wb_span bytes = {(const char *)data + 1, size - 1};
    if (data[0] < 0x80) {
        wb_text_add_span(&json, bytes);
    } else {
        write_edit(&json, bytes);
    }
    const struct wb_json *edit = wb_json_parse(&arena, wb_text_span(&json), NULL);
    if (wb_workspace_edit_plan(&arena, edit, &source, &plan, &err) == 0) {
        carry_out(&model, &plan);
    } else if (err.code == WB_ERROR_NONE || !wb_utf8_valid(wb_span(err.message))) {
        abort();
    }
    return 0;
}

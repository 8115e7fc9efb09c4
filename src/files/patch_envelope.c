/* patch_envelope: the "*** Begin Patch" form. */
#include "files/patch_internal.h"

static const char *take_path(const struct wb_patch *patch, struct wb_span text)
{
    text = wb_span_trim(text);
    return wb_arena_strndup(patch->arena, text.ptr, text.len);
}

static void parse_added_lines(struct wb_patch *patch, struct wb_patch_reader *reader,
                              struct wb_patch_file *file)
{
    struct wb_patch_hunk *hunk = wb_patch_add_hunk(patch, file, reader->number);
    struct wb_span text;
    while (wb_patch_reader_at(reader, "+", &text)) {
        wb_patch_add_line(patch, hunk, '+', text);
        wb_patch_reader_next(reader);
    }
}

static void parse_anchors(struct wb_patch *patch, struct wb_patch_reader *reader,
                          struct wb_patch_hunk *hunk)
{
    struct wb_span text;
    while (wb_patch_reader_at(reader, "@@", &text)) {
        if (wb_span_trim(text).len != 0) {
            text = wb_span_starts(text, WB_SPAN(" ")) ? (struct wb_span){text.ptr + 1, text.len - 1}
                                                      : text;
            *WB_ARENA_PUSH(patch->arena, hunk->anchors, hunk->n_anchors, hunk->anchors_capacity) =
                text;
        }
        wb_patch_reader_next(reader);
    }
}

/* True while the line belongs to the hunk. */
static bool parse_hunk_line(struct wb_patch *patch, struct wb_patch_reader *reader,
                            struct wb_patch_hunk *hunk)
{
    struct wb_span line = reader->line;
    if (reader->at_end || wb_patch_reader_at(reader, "@@", NULL) ||
        wb_patch_reader_at(reader, "***", NULL)) {
        return false;
    }
    if (line.len == 0) {
        wb_patch_add_line(patch, hunk, ' ', line)->is_bare = true;
        return true;
    }
    if (line.ptr[0] != ' ' && line.ptr[0] != '-' && line.ptr[0] != '+') {
        return false;
    }
    wb_patch_add_line(patch, hunk, line.ptr[0], (struct wb_span){line.ptr + 1, line.len - 1});
    return true;
}

/* Empty lines behind a hunk are layout, not context. */
static void drop_blank_end(struct wb_patch_hunk *hunk)
{
    while (hunk->n_lines != 0 && hunk->lines[hunk->n_lines - 1].is_bare) {
        hunk->n_lines--;
    }
}

static int parse_hunk(struct wb_patch *patch, struct wb_patch_reader *reader,
                      struct wb_patch_file *file, struct wb_error *err)
{
    struct wb_patch_hunk *hunk = wb_patch_add_hunk(patch, file, reader->number);
    parse_anchors(patch, reader, hunk);
    while (parse_hunk_line(patch, reader, hunk)) {
        wb_patch_reader_next(reader);
    }
    drop_blank_end(hunk);
    if (hunk->n_lines == 0) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "Line %zu of the patch: a hunk's lines begin with a blank (context), - "
                            "or +, not with \"%.*s\"",
                            reader->number, (int)WB_MIN(reader->line.len, 40), reader->line.ptr);
    }
    if (wb_patch_reader_at(reader, "*** End of File", NULL)) {
        hunk->is_end = true;
        wb_patch_reader_next(reader);
    }
    return 0;
}

/* Lines of a file's section go on until the next section's header. */
static bool is_section_end(const struct wb_patch_reader *reader)
{
    return reader->at_end || wb_patch_reader_at(reader, "*** ", NULL);
}

static int parse_update(struct wb_patch *patch, struct wb_patch_reader *reader,
                        struct wb_patch_file *file, struct wb_error *err)
{
    struct wb_span text;
    if (wb_patch_reader_at(reader, "*** Move to:", &text)) {
        file->new_path = take_path(patch, text);
        wb_patch_reader_next(reader);
    }
    while (!is_section_end(reader)) {
        if (parse_hunk(patch, reader, file, err) != 0) {
            return -1;
        }
    }
    if (file->n_hunks == 0 && file->new_path == NULL) {
        return wb_error_set(err, WB_ERROR_INVALID, "Line %zu of the patch: %s has no hunks",
                            file->at_line, file->path);
    }
    return 0;
}

static int parse_section(struct wb_patch *patch, struct wb_patch_reader *reader,
                         struct wb_error *err)
{
    static const struct {
        const char *header;
        enum wb_patch_action action;
    } kinds[] = {
        {"*** Add File:", WB_PATCH_ADD},
        {"*** Update File:", WB_PATCH_UPDATE},
        {"*** Delete File:", WB_PATCH_DELETE},
    };

    for (size_t i = 0; i < WB_COUNT(kinds); i++) {
        struct wb_span text;
        if (!wb_patch_reader_at(reader, kinds[i].header, &text)) {
            continue;
        }
        struct wb_patch_file *file =
            wb_patch_add_file(patch, kinds[i].action, take_path(patch, text), reader->number);
        wb_patch_reader_next(reader);
        if (kinds[i].action == WB_PATCH_UPDATE) {
            return parse_update(patch, reader, file, err);
        }
        if (kinds[i].action == WB_PATCH_ADD) {
            parse_added_lines(patch, reader, file);
        }
        return 0;
    }
    return wb_error_set(
        err, WB_ERROR_INVALID,
        "Line %zu of the patch: expected \"*** Add File: \", \"*** Update File: \", "
        "\"*** Delete File: \" or \"*** End Patch\", not \"%.*s\"",
        reader->number, (int)WB_MIN(reader->line.len, 40), reader->line.ptr);
}

int wb_patch_parse_envelope(struct wb_patch *patch, struct wb_patch_reader *reader,
                            struct wb_error *err)
{
    wb_patch_reader_next(reader);
    while (!wb_patch_reader_at(reader, "*** End Patch", NULL)) {
        if (reader->at_end) {
            return wb_error_set(err, WB_ERROR_INVALID,
                                "The patch ends without \"*** End Patch\": a part of it may be "
                                "missing");
        }
        if (wb_span_trim(reader->line).len == 0) {
            wb_patch_reader_next(reader);
        } else if (parse_section(patch, reader, err) != 0) {
            return -1;
        }
    }
    return 0;
}

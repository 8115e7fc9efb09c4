/* patch: decides which form a patch has, and the pieces that both parsers use. */
#include "files/patch.h"

#include "files/patch_internal.h"
#include "sys/file.h"

void wb_patch_reader_init(struct wb_patch_reader *reader, struct wb_span text)
{
    *reader = (struct wb_patch_reader){.rest = text};
    wb_patch_reader_next(reader);
}

void wb_patch_reader_next(struct wb_patch_reader *reader)
{
    /* Only LF ends a line of a patch: the CR of a file with CRLF is part of its text. */
    struct wb_span *rest = &reader->rest;
    reader->at_end = rest->len == 0;
    if (reader->at_end) {
        reader->line = (struct wb_span){0};
        return;
    }
    const char *end = memchr(rest->ptr, '\n', rest->len);
    size_t len = end != NULL ? (size_t)(end - rest->ptr) : rest->len;
    reader->line = (struct wb_span){rest->ptr, len};
    reader->number++;
    size_t taken = len + (end != NULL);
    *rest = (struct wb_span){rest->ptr + taken, rest->len - taken};
}

bool wb_patch_reader_at(const struct wb_patch_reader *reader, const char *prefix,
                        struct wb_span *ret_behind)
{
    size_t len = strlen(prefix);
    if (reader->at_end || !wb_span_starts(reader->line, wb_span(prefix))) {
        return false;
    }
    if (ret_behind != NULL) {
        *ret_behind = (struct wb_span){reader->line.ptr + len, reader->line.len - len};
    }
    return true;
}

struct wb_patch_file *wb_patch_add_file(struct wb_patch *patch, enum wb_patch_action action,
                                        const char *path, size_t at_line)
{
    struct wb_patch_file *file =
        WB_ARENA_PUSH(patch->arena, patch->files, patch->n_files, patch->files_capacity);
    *file = (struct wb_patch_file){.action = action, .path = path, .at_line = at_line};
    return file;
}

struct wb_patch_hunk *wb_patch_add_hunk(struct wb_patch *patch, struct wb_patch_file *file,
                                        size_t at_line)
{
    struct wb_patch_hunk *hunk =
        WB_ARENA_PUSH(patch->arena, file->hunks, file->n_hunks, file->hunks_capacity);
    *hunk = (struct wb_patch_hunk){.at_line = at_line};
    return hunk;
}

struct wb_patch_line *wb_patch_add_line(struct wb_patch *patch, struct wb_patch_hunk *hunk,
                                        char kind, struct wb_span text)
{
    struct wb_patch_line *line =
        WB_ARENA_PUSH(patch->arena, hunk->lines, hunk->n_lines, hunk->lines_capacity);
    *line = (struct wb_patch_line){.kind = kind, .text = text};
    return line;
}

static int check_paths(const struct wb_patch *patch, struct wb_error *err)
{
    if (patch->n_files == 0) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "The patch names no file. Send \"*** Begin Patch\" with \"*** Update "
                            "File: PATH\", or a unified diff with \"--- PATH\" and \"+++ PATH\"");
    }
    if (patch->n_files > WB_PATCH_FILES_MAX) {
        return wb_error_set(err, WB_ERROR_LIMIT, "The patch has %zu files, more than %d: split it",
                            patch->n_files, WB_PATCH_FILES_MAX);
    }
    for (size_t i = 0; i < patch->n_files; i++) {
        const struct wb_patch_file *file = &patch->files[i];
        if (file->path[0] == '\0' || (file->new_path != NULL && file->new_path[0] == '\0')) {
            return wb_error_set(err, WB_ERROR_INVALID, "Line %zu of the patch names no file",
                                file->at_line);
        }
    }
    return 0;
}

/* A patch that was sent with CRLF throughout means LF. */
static struct wb_span unify_line_ends(struct wb_arena *arena, struct wb_span text)
{
    if (wb_file_line_end(text) != WB_LINE_CRLF) {
        return text;
    }
    char *out = wb_arena_alloc(arena, text.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '\r' || i + 1 == text.len || text.ptr[i + 1] != '\n') {
            out[n++] = text.ptr[i];
        }
    }
    return (struct wb_span){out, n};
}

int wb_patch_parse(struct wb_arena *arena, struct wb_span text, struct wb_patch *ret,
                   struct wb_error *err)
{
    struct wb_patch patch = {.arena = arena};
    struct wb_patch_reader reader;
    wb_patch_reader_init(&reader, unify_line_ends(arena, text));
    while (!reader.at_end && wb_span_trim(reader.line).len == 0) {
        wb_patch_reader_next(&reader);
    }
    int parsed = wb_patch_reader_at(&reader, "*** Begin Patch", NULL)
                     ? wb_patch_parse_envelope(&patch, &reader, err)
                     : wb_patch_parse_unified(&patch, &reader, err);
    if (parsed != 0 || check_paths(&patch, err) != 0) {
        return -1;
    }
    *ret = patch;
    return 0;
}

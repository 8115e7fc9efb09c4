/* content: see the header. */
#include "files/content.h"

#include "base/limits.h"
#include "sys/file.h"

int wb_content_load(struct wb_call *call, struct wb_span path, struct wb_content *ret,
                    struct wb_error *err)
{
    struct wb_content content = {.path = wb_call_path(call, path, err)};
    if (content.path == NULL) {
        return -1;
    }
    content.shown = wb_call_relative(call, content.path);
    switch (wb_file_kind(content.path, NULL)) {
    case WB_FILE_MISSING:
        return wb_error_set(err, WB_ERROR_NOT_FOUND,
                            "There is no file %s. `glob` finds files by a part of their name.",
                            content.shown);
    case WB_FILE_FOLDER:
        return wb_error_set(err, WB_ERROR_INVALID,
                            "%s is a folder. `glob` with this path lists its files.",
                            content.shown);
    default:
        break;
    }
    if (wb_file_read_real(call->arena, content.path, WB_FILE_BYTES_MAX, &content.bytes, NULL,
                          err) != 0) {
        return -1;
    }
    if (wb_file_is_binary(content.bytes)) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "%s is a binary file (%zu bytes): the file tools work on text only",
                            content.shown, content.bytes.len);
    }
    *ret = content;
    return 0;
}

size_t wb_content_count_lines(struct wb_span bytes)
{
    size_t lines = bytes.len != 0 && bytes.ptr[bytes.len - 1] != '\n';
    return lines + (wb_content_line_of(bytes, bytes.len) - 1);
}

size_t wb_content_line_of(struct wb_span bytes, size_t offset)
{
    size_t line = 1;
    const char *at = bytes.ptr, *end = bytes.ptr + offset;
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        line++;
        at++;
    }
    return line;
}

void wb_content_add_line(struct wb_text *out, struct wb_span line, size_t max_bytes)
{
    if (line.len <= max_bytes) {
        wb_text_add_utf8(out, line);
        return;
    }
    size_t kept = wb_utf8_cut(line, max_bytes);
    wb_text_add_utf8(out, (struct wb_span){line.ptr, kept});
    wb_text_printf(out, "... [%zu bytes of this line cut]", line.len - kept);
}

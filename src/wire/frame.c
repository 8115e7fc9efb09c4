/* frame: see frame.h. One buffer; bodies are given as borrowed parts of it.
 *
 * Both framings are read by lines, so `scanned` is all that a step must remember to look at each
 * byte once. The header is read line by line and not as a block, because servers print log lines
 * in front of it. Knows nothing of JSON. */
#include "wire/frame.h"

#include <stdio.h>
#include <strings.h>

#include "base/limits.h"

#define LENGTH_HEADER WB_SPAN("Content-Length:")
/* A buffer that one large message blew up is given back when it is empty. */
#define BUFFER_KEPT_BYTES WB_MIB

void wb_frame_reader_init(struct wb_frame_reader *reader, enum wb_framing framing)
{
    *reader = (struct wb_frame_reader){
        .framing = framing, .announced_bytes = SIZE_MAX, .body_bytes = SIZE_MAX};
    wb_text_init(&reader->buffer);
}

void wb_frame_reader_done(struct wb_frame_reader *reader)
{
    wb_text_done(&reader->buffer);
}

static size_t unread_bytes(const struct wb_frame_reader *reader)
{
    return reader->buffer.len - reader->start;
}

/* Moves the unread bytes to the front, but only where at least as many were read before them:
 * then every byte that is moved is paid for by one that was read. */
static void compact_buffer(struct wb_frame_reader *reader)
{
    size_t unread = unread_bytes(reader);

    if (unread > reader->start) {
        return;
    }
    if (unread == 0 && reader->buffer.capacity > BUFFER_KEPT_BYTES) {
        wb_text_done(&reader->buffer);
        wb_text_init(&reader->buffer);
    } else {
        wb_text_remove_head(&reader->buffer, reader->start);
    }
    reader->scanned -= reader->start;
    reader->start = 0;
}

void wb_frame_feed(struct wb_frame_reader *reader, const char *ptr, size_t len)
{
    if (reader->broken) {
        return;
    }
    if (reader->start != 0) {
        compact_buffer(reader);
    }
    wb_text_add(&reader->buffer, ptr, len);
}

/* Takes the next line off the buffer, without its line end. */
static bool take_line(struct wb_frame_reader *reader, struct wb_span *ret_line)
{
    size_t unscanned = reader->buffer.len - reader->scanned;
    const char *feed =
        unscanned != 0 ? memchr(reader->buffer.ptr + reader->scanned, '\n', unscanned) : NULL;

    if (feed == NULL) {
        reader->scanned = reader->buffer.len;
        return false;
    }
    const char *begin = reader->buffer.ptr + reader->start;
    *ret_line = (struct wb_span){begin, (size_t)(feed - begin)};
    if (ret_line->len != 0 && feed[-1] == '\r') {
        ret_line->len--;
    }
    reader->start += (size_t)(feed - begin) + 1;
    reader->scanned = reader->start;
    return true;
}

/* Where the length header begins in the line, or SIZE_MAX. Not always at 0: a server may have
 * printed something without a line end. */
static size_t find_length_header(struct wb_span line)
{
    const struct wb_span name = LENGTH_HEADER;

    for (size_t at = 0; at + name.len <= line.len; at++) {
        if (strncasecmp(line.ptr + at, name.ptr, name.len) == 0) {
            bool longer_name = at != 0 && line.ptr[at - 1] == '-';
            return longer_name ? SIZE_MAX : at;
        }
    }
    return SIZE_MAX;
}

/* 1: the line is the length header and announced_bytes is set. 0: it is another line. -1: the
 * length is unusable. */
static int read_length_header(struct wb_frame_reader *reader, struct wb_span line,
                              struct wb_error *err)
{
    size_t at = find_length_header(line);
    int64_t length;

    if (at == SIZE_MAX) {
        return 0;
    }
    size_t value_at = at + LENGTH_HEADER.len;
    struct wb_span value = wb_span_trim((struct wb_span){line.ptr + value_at, line.len - value_at});
    bool is_length = wb_span_int64(value, &length) && length >= 0;
    if (is_length && length <= (int64_t)WB_FRAME_BODY_BYTES_MAX) {
        reader->announced_bytes = (size_t)length;
        return 1;
    }
    if (at != 0) {
        return 0; /* a log line that speaks of a length */
    }
    if (is_length) {
        return wb_error_set(err, WB_ERROR_LIMIT,
                            "The other side announced a message of %.*s bytes; the limit is %zu",
                            (int)WB_MIN(value.len, 32), value.ptr, WB_FRAME_BODY_BYTES_MAX);
    }
    return wb_error_set(err, WB_ERROR_PROTOCOL,
                        "The other side sent a message header with the length \"%.*s\"",
                        (int)WB_MIN(value.len, 32), value.ptr);
}

static int refuse_junk(struct wb_error *err)
{
    return wb_error_set(err, WB_ERROR_PROTOCOL,
                        "The other side wrote more than %zu bytes that are no message",
                        WB_FRAME_JUNK_BYTES_MAX);
}

/* 1: the header is complete. */
static int step_header(struct wb_frame_reader *reader, struct wb_error *err)
{
    struct wb_span line;

    while (take_line(reader, &line)) {
        if (line.len == 0 && reader->announced_bytes != SIZE_MAX) {
            reader->body_bytes = reader->announced_bytes;
            reader->announced_bytes = SIZE_MAX;
            reader->junk_bytes = 0;
            return 1;
        }
        int is_length = read_length_header(reader, line, err);
        if (is_length < 0) {
            return -1;
        }
        reader->junk_bytes += is_length ? 0 : line.len + 1;
        if (reader->junk_bytes > WB_FRAME_JUNK_BYTES_MAX) {
            return refuse_junk(err);
        }
    }
    return reader->junk_bytes + unread_bytes(reader) > WB_FRAME_JUNK_BYTES_MAX ? refuse_junk(err)
                                                                               : 0;
}

static int step_headers(struct wb_frame_reader *reader, struct wb_span *ret_body,
                        struct wb_error *err)
{
    if (reader->body_bytes == SIZE_MAX) {
        int complete = step_header(reader, err);
        if (complete <= 0) {
            return complete;
        }
    }
    if (unread_bytes(reader) < reader->body_bytes) {
        return 0;
    }
    *ret_body = (struct wb_span){reader->buffer.ptr + reader->start, reader->body_bytes};
    reader->start += reader->body_bytes;
    reader->scanned = reader->start;
    reader->body_bytes = SIZE_MAX;
    return 1;
}

static int step_lines(struct wb_frame_reader *reader, struct wb_span *ret_body,
                      struct wb_error *err)
{
    struct wb_span line = {0};
    bool whole = take_line(reader, &line);

    while (whole && wb_span_trim(line).len == 0) {
        whole = take_line(reader, &line);
    }
    if (WB_MAX(line.len, whole ? 0 : unread_bytes(reader)) > WB_FRAME_LINE_BYTES_MAX) {
        return wb_error_set(err, WB_ERROR_LIMIT,
                            "The other side wrote a line of more than %zu bytes, which is the "
                            "limit of a message",
                            WB_FRAME_LINE_BYTES_MAX);
    }
    *ret_body = line;
    return whole ? 1 : 0;
}

int wb_frame_step(struct wb_frame_reader *reader, struct wb_span *ret_body, struct wb_error *err)
{
    if (reader->broken) {
        return wb_error_set(err, WB_ERROR_PROTOCOL, "The stream cannot be understood any more");
    }
    int step = reader->framing == WB_FRAMING_HEADERS ? step_headers(reader, ret_body, err)
                                                     : step_lines(reader, ret_body, err);
    reader->broken = step < 0;
    return step;
}

bool wb_frame_unfinished(const struct wb_frame_reader *reader)
{
    return unread_bytes(reader) != 0 || reader->body_bytes != SIZE_MAX ||
           reader->announced_bytes != SIZE_MAX;
}

void wb_frame_head(enum wb_framing framing, size_t body_bytes, char out[64])
{
    if (framing == WB_FRAMING_HEADERS) {
        snprintf(out, 64, "Content-Length: %zu\r\n\r\n", body_bytes);
    } else {
        out[0] = '\0';
    }
}

const char *wb_frame_tail(enum wb_framing framing)
{
    return framing == WB_FRAMING_LINES ? "\n" : "";
}

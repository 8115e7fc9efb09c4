/* frame: message boundaries on a byte stream, as steps on memory. No descriptors, no threads.
 *
 * Two framings: headers (LSP 3.17 "Base Protocol", DAP: Content-Length) and lines (MCP stdio,
 * ACP: one JSON text a line). A reader is fed bytes as they come and gives whole bodies. */
#ifndef WB_WIRE_FRAME_H
#define WB_WIRE_FRAME_H

#include "base/error.h"
#include "base/text.h"

enum wb_framing { WB_FRAMING_HEADERS, WB_FRAMING_LINES };

struct wb_frame_reader {
    enum wb_framing framing;
    struct wb_text buffer;  /* bytes not given yet start at `start` */
    size_t start, scanned;  /* scanned: no line feed between start and it */
    size_t announced_bytes; /* by the header being read; SIZE_MAX: nothing yet */
    size_t body_bytes;      /* of the message being read; SIZE_MAX while in the header */
    size_t junk_bytes;      /* skipped in a row (log lines before a header, other headers) */
    bool broken;
};

void wb_frame_reader_init(struct wb_frame_reader *reader, enum wb_framing framing);
void wb_frame_reader_done(struct wb_frame_reader *reader);
/* Costs linear time over the whole stream, however small the pieces. */
void wb_frame_feed(struct wb_frame_reader *reader, const char *ptr, size_t len);
/* 1: *ret_body is a whole body, valid until the next feed. 0: more bytes are needed.
 * -1: the stream cannot be understood any more (no usable length, one over the limit, too much
 * junk); stays so. Header names are case-insensitive, line ends LF or CRLF, unknown headers are
 * skipped. Lines that are no header before a header are junk and skipped up to
 * WB_FRAME_JUNK_BYTES_MAX; junk without a line end of its own may touch the header. Empty lines
 * between lines are skipped; the last line counts only with its line feed. */
int wb_frame_step(struct wb_frame_reader *reader, struct wb_span *ret_body, struct wb_error *err);
/* Bytes of an unfinished message are waiting: the stream ended in the middle. */
bool wb_frame_unfinished(const struct wb_frame_reader *reader);

/* The header for a body, or "" for lines; and what follows the body ("" or a line feed). */
void wb_frame_head(enum wb_framing framing, size_t body_bytes, char out[64]);
const char *wb_frame_tail(enum wb_framing framing);

#endif

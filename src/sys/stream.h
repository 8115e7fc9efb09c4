/* stream: a pair of descriptors (a child's stdout and stdin, our own stdin and stdout, a socket)
 * read by the loop and written by anybody.
 *
 * Reading: the loop thread calls on_data with borrowed bytes as they arrive, then on_end exactly
 * once (end of file, error, or close). Writing: wb_stream_write writes directly on the calling
 * thread when nothing is queued, without blocking; what the descriptor does not take is queued and
 * written by the loop. So a reader never waits for a writer and no pipe can deadlock. The queue is
 * bounded by WB_STREAM_QUEUE_BYTES_MAX: beyond it the write is refused with WB_ERROR_LIMIT. */
#ifndef WB_SYS_STREAM_H
#define WB_SYS_STREAM_H

#include "sys/loop.h"

struct wb_stream;

struct wb_stream_handler {
    void (*on_data)(void *ctx, const char *ptr, size_t len); /* loop thread */
    void (*on_end)(void *ctx); /* loop thread, once; no on_data after it */
    void *ctx;
};

/* Takes both descriptors (sets them non-blocking; equal for a socket; write_fd -1: read only;
 * read_fd -1: write only). Reading starts at once, so the handler must be ready. */
struct wb_stream *wb_stream_open_take(struct wb_loop *loop, int read_fd, int write_fd,
                                      const struct wb_stream_handler *handler);
/* Writes all spans as one unit: units of different threads never mix. */
WB_MUST_CHECK int wb_stream_write(struct wb_stream *stream, const struct wb_span *spans, size_t n,
                                  struct wb_error *err);
/* Bytes queued and not yet taken. */
size_t wb_stream_queued(struct wb_stream *stream);
/* Waits until everything queued is written, the peer is gone, or the deadline. */
bool wb_stream_flush(struct wb_stream *stream, int64_t deadline_ms);
/* Closes the writing side (the child sees end of file) after what is queued, reading goes on. */
void wb_stream_close_write(struct wb_stream *stream);
/* Reads what is there now, then ends as at end of file: for a pipe whose writers are known to be
 * gone, though a stranger may hold its other end. Loop thread. */
void wb_stream_drain(struct wb_stream *stream);
/* Stops reading and writing and frees. Afterwards no callback runs or is running; on_end is called
 * first if it was not yet. On the loop thread it returns at once. NULL is allowed. */
void wb_stream_free(struct wb_stream *stream);

#endif

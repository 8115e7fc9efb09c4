/* stream: reading on the loop thread, writing on any, a queue between.
 *
 *   reading: open --end of file, error, free--> ended (on_end, descriptor closed)
 *   writing: open --close_write--> closing --queue empty--> closed
 *             +--the peer is gone--> broken (queue dropped, further writes refused)
 *
 * The loop polls for writing only while something is queued. A descriptor that libuv has polled is
 * closed on the loop thread alone, after its handle: libuv removes a closed handle's number from
 * epoll, and it must not be somebody else's by then. Must not know what the bytes mean. */
#include "sys/stream.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/text.h"
#include "sys/loop_uv.h"

#define READ_BYTES_FIRST (64 * WB_KIB)
#define READ_BYTES_MAX (1 * WB_MIB) /* and a pipe's size once it was full: Linux's own limit */
#define READS_PER_TURN 8            /* then the other streams have their turn */
#define READS_TO_DRAIN 64
#define WRITE_BYTES_PER_TURN (1 * WB_MIB)
#define SPANS_PER_WRITE 16

/* A descriptor, and the flags that it came with. */
struct end {
    int fd; /* -1: none, or closed */
    int flags;
    bool polled; /* poll is initialised */
    uv_poll_t poll;
};

struct wb_stream {
    struct wb_loop *loop;
    struct wb_stream_handler handler;

    /* Loop thread. */
    struct end in;
    size_t read_bytes;
    bool ended, freed;
    uv_idle_t pump; /* reads what cannot be polled: files, /dev/null */

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t moved; /* the queue became empty or the peer went away */
    struct end out;       /* its poll: loop thread */
    struct wb_text queue;
    size_t queue_taken; /* bytes at its head that are written already */
    bool broken, closing;
    bool posted;      /* a tend_queue is under way to the loop */
    unsigned holders; /* open handles and posted functions; the last frees */
};

static void end_init(struct end *end, int fd)
{
    end->fd = fd;
    end->flags = fd >= 0 ? fcntl(fd, F_GETFL) : -1;
    if (end->flags >= 0 && (end->flags & O_NONBLOCK) == 0) {
        fcntl(fd, F_SETFL, end->flags | O_NONBLOCK);
    }
}

static void let_go(struct wb_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    unsigned left = --stream->holders;
    pthread_mutex_unlock(&stream->lock);
    if (left == 0) {
        pthread_cond_destroy(&stream->moved);
        pthread_mutex_destroy(&stream->lock);
        wb_text_done(&stream->queue);
        free(stream);
    }
}

static void on_handle_closed(uv_handle_t *handle)
{
    let_go(handle->data);
}

/* Loop thread. A terminal or a pipe that we were started with is given back as it was. */
static void end_close(struct end *end)
{
    if (end->polled) {
        end->polled = false;
        uv_close((uv_handle_t *)&end->poll, on_handle_closed);
    }
    if (end->fd >= 0) {
        if (end->flags >= 0 && (end->flags & O_NONBLOCK) == 0) {
            fcntl(end->fd, F_SETFL, end->flags);
        }
        close(end->fd);
        end->fd = -1;
    }
}

/* Loop thread, under the lock for the writing end. False: this descriptor cannot be polled. */
static bool end_poll(struct wb_stream *stream, struct end *end, int events, uv_poll_cb on_event)
{
    if (!end->polled) {
        if (uv_poll_init(wb_loop_uv(stream->loop), &end->poll, end->fd) != 0) {
            return false;
        }
        end->poll.data = stream;
        end->polled = true;
        stream->holders++;
    }
    return uv_poll_start(&end->poll, events, on_event) == 0;
}

static void finish_reading(struct wb_stream *stream)
{
    if (stream->ended) {
        return;
    }
    stream->ended = true;
    uv_idle_stop(&stream->pump);
    end_close(&stream->in);
    if (stream->handler.on_end != NULL) {
        stream->handler.on_end(stream->handler.ctx);
    }
}

/* A full read asks for larger ones, from a larger pipe: a child that has much to say says it in
 * fewer turns. */
static void grow_reads(struct wb_stream *stream)
{
    if (stream->read_bytes == READ_BYTES_FIRST) {
        fcntl(stream->in.fd, F_SETPIPE_SZ, (int)READ_BYTES_MAX);
    }
    stream->read_bytes = WB_MIN(stream->read_bytes * 2, READ_BYTES_MAX);
}

/* One read. False when nothing more is there now, or ever. The handler may free the stream. */
static bool read_once(struct wb_stream *stream)
{
    char *buffer = wb_loop_buffer(stream->loop, stream->read_bytes);
    ssize_t n = read(stream->in.fd, buffer, stream->read_bytes);
    /* A peer that left without reading all is told once, before what it wrote itself is read. */
    if (n < 0 && (errno == EINTR || errno == ECONNRESET)) {
        return true;
    }
    if (n < 0 && errno == EAGAIN) {
        return false;
    }
    if (n <= 0) {
        finish_reading(stream);
        return false;
    }
    bool full = (size_t)n == stream->read_bytes;
    if (full) {
        grow_reads(stream);
    }
    stream->handler.on_data(stream->handler.ctx, buffer, (size_t)n);
    return full && !stream->ended;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct wb_stream *stream = poll->data;
    (void)events;
    for (int i = 0; i < READS_PER_TURN && read_once(stream); i++) {
    }
    /* libuv has stopped polling after an error that read did not confirm. */
    if (status < 0 && !stream->ended) {
        uv_poll_start(&stream->in.poll, UV_READABLE, on_readable);
    }
}

static void on_pump(uv_idle_t *pump)
{
    read_once(pump->data);
}

static void start_reading(void *ctx)
{
    struct wb_stream *stream = ctx;
    uv_idle_init(wb_loop_uv(stream->loop), &stream->pump);
    stream->pump.data = stream;
    if (stream->in.fd < 0) {
        return;
    }
    pthread_mutex_lock(&stream->lock);
    bool polls = end_poll(stream, &stream->in, UV_READABLE, on_readable);
    pthread_mutex_unlock(&stream->lock);
    if (!polls) {
        uv_idle_start(&stream->pump, on_pump);
    }
}

struct wb_stream *wb_stream_open_take(struct wb_loop *loop, int read_fd, int write_fd,
                                      const struct wb_stream_handler *handler)
{
    struct wb_stream *stream = wb_alloc(sizeof(*stream));
    stream->loop = loop;
    stream->handler = *handler;
    stream->read_bytes = READ_BYTES_FIRST;
    stream->holders = 1; /* the pump */
    pthread_mutex_init(&stream->lock, NULL);
    wb_cond_init(&stream->moved);
    wb_text_init(&stream->queue);
    /* A socket is polled for both directions: a number each. */
    bool socket = read_fd >= 0 && read_fd == write_fd;
    end_init(&stream->in, read_fd);
    end_init(&stream->out, socket ? fcntl(read_fd, F_DUPFD_CLOEXEC, 0) : write_fd);
    if (socket) {
        stream->in.flags = -1; /* shared by both numbers: nothing to give back */
    }
    if (wb_loop_is_current(loop)) {
        start_reading(stream);
    } else {
        wb_loop_post(loop, start_reading, stream);
    }
    return stream;
}

/* writev without SIGPIPE, whose disposition is the embedder's. */
static ssize_t write_quietly(int fd, const struct iovec *parts, int n)
{
    sigset_t pipe_only, before;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    ssize_t written;
    do {
        written = writev(fd, parts, n);
    } while (written < 0 && errno == EINTR);
    int error = errno;
    if (written < 0 && error == EPIPE) {
        sigtimedwait(&pipe_only, NULL, &(struct timespec){0});
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}

/* Under the lock. */
static size_t queued_bytes(const struct wb_stream *stream)
{
    return stream->queue.len - stream->queue_taken;
}

/* Under the lock. */
static void drop_queue(struct wb_stream *stream)
{
    wb_text_done(&stream->queue);
    stream->queue_taken = 0;
    pthread_cond_broadcast(&stream->moved);
}

/* Under the lock. Bytes that the descriptor took; a failed write breaks the stream. */
static size_t write_parts(struct wb_stream *stream, const struct iovec *parts, int n)
{
    ssize_t written = write_quietly(stream->out.fd, parts, n);
    if (written >= 0) {
        return (size_t)written;
    }
    if (errno != EAGAIN) {
        stream->broken = true;
        drop_queue(stream);
    }
    return 0;
}

/* Under the lock, with an empty queue: what the descriptor takes at once. */
static size_t write_spans(struct wb_stream *stream, const struct wb_span *spans, size_t n)
{
    size_t total = 0;
    for (size_t at = 0; at < n; at += SPANS_PER_WRITE) {
        struct iovec parts[SPANS_PER_WRITE];
        int n_parts = (int)WB_MIN(n - at, (size_t)SPANS_PER_WRITE);
        size_t wanted = 0;
        for (int i = 0; i < n_parts; i++) {
            parts[i] = (struct iovec){(void *)spans[at + (size_t)i].ptr, spans[at + (size_t)i].len};
            wanted += parts[i].iov_len;
        }
        size_t written = write_parts(stream, parts, n_parts);
        total += written;
        if (written < wanted) {
            break;
        }
    }
    return total;
}

/* Under the lock: all but the first `skip` bytes. */
static void enqueue(struct wb_stream *stream, const struct wb_span *spans, size_t n, size_t skip)
{
    /* Moved to the front when at least half is done: each byte moves once on average. */
    if (stream->queue_taken > stream->queue.len / 2) {
        wb_text_remove_head(&stream->queue, stream->queue_taken);
        stream->queue_taken = 0;
    }
    for (size_t i = 0; i < n; i++) {
        size_t skipped = WB_MIN(skip, spans[i].len);
        skip -= skipped;
        wb_text_add(&stream->queue, spans[i].ptr + skipped, spans[i].len - skipped);
    }
}

static void on_writable(uv_poll_t *poll, int status, int events);

/* Loop thread, under the lock: writes what is queued, then polls for more or closes. */
static void tend_queue(struct wb_stream *stream)
{
    if (stream->out.fd < 0) {
        return;
    }
    if (queued_bytes(stream) != 0) {
        struct iovec part = {stream->queue.ptr + stream->queue_taken,
                             WB_MIN(queued_bytes(stream), WRITE_BYTES_PER_TURN)};
        stream->queue_taken += write_parts(stream, &part, 1);
    }
    if (queued_bytes(stream) != 0) {
        if (!end_poll(stream, &stream->out, UV_WRITABLE, on_writable)) {
            stream->broken = true;
            drop_queue(stream);
        }
        return;
    }
    drop_queue(stream);
    if (stream->closing) {
        shutdown(stream->out.fd, SHUT_WR); /* sockets; others refuse */
        end_close(&stream->out);
    } else if (stream->out.polled) {
        uv_poll_stop(&stream->out.poll);
    }
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    struct wb_stream *stream = poll->data;
    (void)status; /* an error shows in the write */
    (void)events;
    pthread_mutex_lock(&stream->lock);
    tend_queue(stream);
    pthread_mutex_unlock(&stream->lock);
}

static void run_tend_queue(void *ctx)
{
    struct wb_stream *stream = ctx;
    pthread_mutex_lock(&stream->lock);
    stream->posted = false;
    if (!stream->freed) {
        tend_queue(stream);
    }
    pthread_mutex_unlock(&stream->lock);
    let_go(stream);
}

/* Under the lock. */
static void post_tend_queue(struct wb_stream *stream)
{
    if (!stream->posted) {
        stream->posted = true;
        stream->holders++;
        wb_loop_post(stream->loop, run_tend_queue, stream);
    }
}

/* Under the lock. */
static int write_or_enqueue(struct wb_stream *stream, const struct wb_span *spans, size_t n,
                            struct wb_error *err)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        total += spans[i].len;
    }
    if (stream->out.fd < 0 || stream->closing || stream->broken) {
        return wb_error_set(err, WB_ERROR_CLOSED, "the pipe to the other side is closed");
    }
    if (total > WB_STREAM_QUEUE_BYTES_MAX - queued_bytes(stream)) {
        return wb_error_set(err, WB_ERROR_LIMIT,
                            "the other side does not read: %zu bytes wait for it already, and "
                            "%zu more are over the limit of %zu",
                            queued_bytes(stream), total, WB_STREAM_QUEUE_BYTES_MAX);
    }
    size_t written = queued_bytes(stream) == 0 ? write_spans(stream, spans, n) : 0;
    if (stream->broken) {
        return wb_error_set(err, WB_ERROR_CLOSED, "the other side has closed the pipe");
    }
    if (written < total) {
        enqueue(stream, spans, n, written);
        post_tend_queue(stream);
    }
    return 0;
}

int wb_stream_write(struct wb_stream *stream, const struct wb_span *spans, size_t n,
                    struct wb_error *err)
{
    pthread_mutex_lock(&stream->lock);
    int result = write_or_enqueue(stream, spans, n, err);
    pthread_mutex_unlock(&stream->lock);
    return result;
}

size_t wb_stream_queued(struct wb_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    size_t bytes = queued_bytes(stream);
    pthread_mutex_unlock(&stream->lock);
    return bytes;
}

bool wb_stream_flush(struct wb_stream *stream, int64_t deadline_ms)
{
    assert(!wb_loop_is_current(stream->loop));
    pthread_mutex_lock(&stream->lock);
    while (queued_bytes(stream) != 0 && wb_cond_wait(&stream->moved, &stream->lock, deadline_ms)) {
    }
    bool written = queued_bytes(stream) == 0 && !stream->broken;
    pthread_mutex_unlock(&stream->lock);
    return written;
}

void wb_stream_close_write(struct wb_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    if (!stream->closing && stream->out.fd >= 0) {
        stream->closing = true;
        post_tend_queue(stream);
    }
    pthread_mutex_unlock(&stream->lock);
}

void wb_stream_drain(struct wb_stream *stream)
{
    assert(wb_loop_is_current(stream->loop));
    for (int i = 0; i < READS_TO_DRAIN && !stream->ended && read_once(stream); i++) {
    }
    finish_reading(stream);
}

static void close_all(void *ctx)
{
    struct wb_stream *stream = ctx;
    finish_reading(stream);
    pthread_mutex_lock(&stream->lock);
    stream->freed = true;
    drop_queue(stream);
    end_close(&stream->out);
    pthread_mutex_unlock(&stream->lock);
    uv_close((uv_handle_t *)&stream->pump, on_handle_closed);
}

void wb_stream_free(struct wb_stream *stream)
{
    if (stream != NULL) {
        wb_loop_run_sync(stream->loop, close_all, stream);
    }
}

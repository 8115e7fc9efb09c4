/* Tests of sys/stream: what cannot be polled, units that do not mix, gone peers, the queue's end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/text.h"
#include "sys/stream.h"

struct reader {
    pthread_mutex_t lock;
    pthread_cond_t woken;
    struct wb_text text;
    int n_ends;
    struct wb_stream *free_on_data; /* in its own handler */
};

static void on_data(void *ctx, const char *ptr, size_t len)
{
    struct reader *reader = ctx;
    pthread_mutex_lock(&reader->lock);
    assert_int_equal(reader->n_ends, 0);
    wb_text_add(&reader->text, ptr, len);
    struct wb_stream *stream = WB_STEAL(reader->free_on_data);
    pthread_mutex_unlock(&reader->lock);
    wb_stream_free(stream);
}

static void on_end(void *ctx)
{
    struct reader *reader = ctx;
    pthread_mutex_lock(&reader->lock);
    reader->n_ends++;
    pthread_cond_broadcast(&reader->woken);
    pthread_mutex_unlock(&reader->lock);
}

static struct wb_stream_handler reader_init(struct reader *reader)
{
    *reader = (struct reader){0};
    pthread_mutex_init(&reader->lock, NULL);
    wb_cond_init(&reader->woken);
    return (struct wb_stream_handler){on_data, on_end, reader};
}

static void reader_await_end(struct reader *reader)
{
    int64_t deadline_ms = wb_clock_deadline(60000);
    pthread_mutex_lock(&reader->lock);
    while (reader->n_ends == 0 && wb_cond_wait(&reader->woken, &reader->lock, deadline_ms)) {
    }
    assert_int_equal(reader->n_ends, 1);
    pthread_mutex_unlock(&reader->lock);
}

static struct wb_loop *loop;

static int set_up(void **state)
{
    (void)state;
    loop = wb_loop_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    wb_loop_free(loop);
    return 0;
}

static void open_pipe(int fds[2])
{
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
}

static int file_with(const char *text, size_t len)
{
    char path[] = "/tmp/wb-stream-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(write(fd, text, len), len);
    lseek(fd, 0, SEEK_SET);
    return fd;
}

/* `werkbank serve < file` */
static void files_and_devices_are_read_to_their_end(void **state)
{
    WB_AUTO(wb_free_p) char *big = wb_alloc(3000000);
    (void)state;
    memset(big, 'a', 3000000);

    const struct {
        int fd;
        size_t len;
    } rows[] = {
        {file_with("line\n", 5), 5},
        {file_with(big, 3000000), 3000000},
        {file_with("", 0), 0},
        {open("/dev/null", O_RDONLY | O_CLOEXEC), 0},
        {open("/tmp", O_RDONLY | O_CLOEXEC), 0},
    };

    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        struct reader reader;
        struct wb_stream_handler handler = reader_init(&reader);
        struct wb_stream *stream = wb_stream_open_take(loop, rows[i].fd, -1, &handler);
        reader_await_end(&reader);
        wb_stream_free(stream);
        assert_int_equal(reader.text.len, rows[i].len);
        assert_int_equal(reader.n_ends, 1);
        wb_text_done(&reader.text);
    }
}

static void write_all(struct wb_stream *stream, const char *a, const char *b)
{
    struct wb_error err;
    struct wb_span spans[] = {wb_span(a), wb_span(b)};
    assert_int_equal(wb_stream_write(stream, spans, 2, &err), 0);
}

static void file_takes_all(void **state)
{
    struct reader reader;
    struct wb_stream_handler handler = reader_init(&reader);
    char content[8] = "";
    (void)state;
    int fd = file_with("", 0), copy = dup(fd);
    struct wb_stream *stream = wb_stream_open_take(loop, -1, fd, &handler);
    write_all(stream, "one", "two");
    assert_true(wb_stream_flush(stream, wb_clock_deadline(60000)));
    wb_stream_free(stream);
    assert_int_equal(reader.n_ends, 1);
    assert_int_equal(pread(copy, content, 7, 0), 6);
    assert_string_equal(content, "onetwo");
    close(copy);
}

/* Both directions of a socket; closing one leaves the other open. */
static void socket_is_duplex(void **state)
{
    struct reader a, b;
    struct wb_stream_handler handler_a = reader_init(&a), handler_b = reader_init(&b);
    int fds[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    struct wb_stream *left = wb_stream_open_take(loop, fds[0], fds[0], &handler_a);
    struct wb_stream *right = wb_stream_open_take(loop, fds[1], fds[1], &handler_b);
    write_all(left, "to ", "right");
    wb_stream_close_write(left);
    reader_await_end(&b);
    write_all(right, "to ", "left");
    wb_stream_close_write(right);
    reader_await_end(&a);
    wb_stream_free(left);
    wb_stream_free(right);
    assert_string_equal(wb_text_cstr(&b.text), "to right");
    assert_string_equal(wb_text_cstr(&a.text), "to left");
    wb_text_done(&a.text);
    wb_text_done(&b.text);
}

#define WRITERS 4
#define UNITS 400

struct writer {
    struct wb_stream *stream;
    char letter;
};

/* Units from one byte to more than a pipe holds: "<letter><digits> " and that many letters. */
static void *write_units(void *ctx)
{
    struct writer *writer = ctx;
    static const size_t sizes[] = {1, 100, 4096, 70000};
    WB_AUTO(wb_free_p) char *body = wb_alloc(70000);
    memset(body, writer->letter, 70000);
    for (int i = 0; i < UNITS; i++) {
        char head[16];
        size_t size = sizes[i % 4];
        snprintf(head, sizeof(head), "%c%06zu ", writer->letter, size);
        struct wb_span spans[] = {wb_span(head), {body, size / 2}, {body, size - size / 2}};
        struct wb_error err;
        assert_int_equal(wb_stream_write(writer->stream, spans, 3, &err), 0);
    }
    return NULL;
}

static void check_units(struct wb_span text)
{
    int n = 0;
    while (text.len != 0) {
        assert_true(text.len > 8);
        char letter = text.ptr[0];
        size_t size = strtoul(text.ptr + 1, NULL, 10);
        assert_true(text.len >= 8 + size);
        for (size_t i = 0; i < size; i++) {
            if (text.ptr[8 + i] != letter) {
                fail_msg("a unit of %c is mixed", letter);
            }
        }
        text.ptr += 8 + size;
        text.len -= 8 + size;
        n++;
    }
    assert_int_equal(n, WRITERS * UNITS);
}

static void units_of_threads_do_not_mix(void **state)
{
    struct reader reader, unused;
    struct wb_stream_handler handler = reader_init(&reader), none = reader_init(&unused);
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS];
    int fds[2];
    (void)state;
    open_pipe(fds);
    struct wb_stream *in = wb_stream_open_take(loop, fds[0], -1, &handler);
    struct wb_stream *out = wb_stream_open_take(loop, -1, fds[1], &none);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){out, (char)('a' + i)};
        pthread_create(&threads[i], NULL, write_units, &writers[i]);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
    wb_stream_close_write(out); /* after what is queued */
    reader_await_end(&reader);
    wb_stream_free(out);
    wb_stream_free(in);
    check_units(wb_text_span(&reader.text));
    wb_text_done(&reader.text);
}

/* With SIGPIPE at its default, an unguarded write ends this very process. */
static void gone_reader_is_an_error(void **state)
{
    struct reader unused;
    struct wb_stream_handler none = reader_init(&unused);
    struct wb_error err;
    struct wb_span word = WB_SPAN("word");
    sigset_t pending;
    int fds[2];
    (void)state;
    assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    open_pipe(fds);
    struct wb_stream *out = wb_stream_open_take(loop, -1, fds[1], &none);
    assert_int_equal(wb_stream_write(out, &word, 1, &err), 0);
    close(fds[0]);
    assert_int_equal(wb_stream_write(out, &word, 1, &err), -1);
    assert_int_equal(err.code, WB_ERROR_CLOSED);
    assert_int_equal(wb_stream_write(out, &word, 1, &err), -1);
    assert_int_equal(err.code, WB_ERROR_CLOSED);
    sigpending(&pending);
    assert_false(sigismember(&pending, SIGPIPE));
    wb_stream_free(out);
}

/* Queued, and then the reader goes away. */
static void queue_of_gone_reader_is_dropped(void **state)
{
    struct reader unused;
    struct wb_stream_handler none = reader_init(&unused);
    WB_AUTO(wb_free_p) char *bytes = wb_alloc(WB_MIB);
    struct wb_span span = {bytes, WB_MIB};
    struct wb_error err;
    int fds[2];
    (void)state;
    open_pipe(fds);
    struct wb_stream *out = wb_stream_open_take(loop, -1, fds[1], &none);
    assert_int_equal(wb_stream_write(out, &span, 1, &err), 0);
    assert_true(wb_stream_queued(out) > 0);
    assert_false(wb_stream_flush(out, wb_clock_deadline(20)));
    close(fds[0]);
    assert_false(wb_stream_flush(out, wb_clock_deadline(60000)));
    assert_int_equal(wb_stream_queued(out), 0);
    wb_stream_free(out);
}

static void full_queue_refuses_whole_units(void **state)
{
    struct reader unused;
    struct wb_stream_handler none = reader_init(&unused);
    WB_AUTO(wb_free_p) char *bytes = wb_alloc(WB_MIB);
    struct wb_error err;
    int fds[2];
    (void)state;
    open_pipe(fds);
    struct wb_stream *out = wb_stream_open_take(loop, -1, fds[1], &none);
    struct wb_span span = {bytes, WB_MIB};
    assert_int_equal(wb_stream_write(out, &span, 1, &err), 0);
    size_t queued = wb_stream_queued(out);
    span.len = WB_STREAM_QUEUE_BYTES_MAX - queued + 1;
    assert_int_equal(wb_stream_write(out, &span, 1, &err), -1);
    assert_int_equal(err.code, WB_ERROR_LIMIT);
    assert_int_equal(wb_stream_queued(out), queued);
    wb_stream_free(out);
    close(fds[0]);
}

static void nothing_is_written_after_close_write(void **state)
{
    struct reader unused;
    struct wb_stream_handler none = reader_init(&unused);
    struct wb_span word = WB_SPAN("word");
    struct wb_error err;
    char buffer[8];
    int fds[2];
    (void)state;
    open_pipe(fds);
    struct wb_stream *out = wb_stream_open_take(loop, -1, fds[1], &none);
    wb_stream_close_write(out);
    wb_stream_close_write(out);
    assert_int_equal(wb_stream_write(out, &word, 1, &err), -1);
    assert_int_equal(err.code, WB_ERROR_CLOSED);
    assert_int_equal(read(fds[0], buffer, sizeof(buffer)), 0);
    wb_stream_free(out);
    close(fds[0]);
}

static void handler_may_free_its_stream(void **state)
{
    struct reader reader;
    struct wb_stream_handler handler = reader_init(&reader);
    int fds[2];
    (void)state;
    open_pipe(fds);
    pthread_mutex_lock(&reader.lock);
    reader.free_on_data = wb_stream_open_take(loop, fds[0], -1, &handler);
    pthread_mutex_unlock(&reader.lock);
    assert_int_equal(write(fds[1], "x", 1), 1);
    reader_await_end(&reader);
    assert_string_equal(wb_text_cstr(&reader.text), "x");
    wb_text_done(&reader.text);
    close(fds[1]);
}

static void free_ends_reading_first(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct reader reader;
        struct wb_stream_handler handler = reader_init(&reader);
        int fds[2];
        open_pipe(fds);
        struct wb_stream *stream = wb_stream_open_take(loop, fds[0], fds[1], &handler);
        write_all(stream, "some", "thing");
        wb_stream_free(stream);
        assert_int_equal(reader.n_ends, 1);
        wb_text_done(&reader.text);
    }
    wb_stream_free(NULL);
}

static void drain(void *ctx)
{
    wb_stream_drain(ctx);
}

/* Somebody else still holds the pipe's other end. */
static void drain_takes_what_is_there(void **state)
{
    struct reader reader;
    struct wb_stream_handler handler = reader_init(&reader);
    int fds[2];
    (void)state;
    open_pipe(fds);
    struct wb_stream *stream = wb_stream_open_take(loop, fds[0], -1, &handler);
    assert_int_equal(write(fds[1], "last words", 10), 10);
    wb_loop_run_sync(loop, drain, stream);
    assert_int_equal(reader.n_ends, 1);
    assert_string_equal(wb_text_cstr(&reader.text), "last words");
    wb_stream_free(stream);
    wb_text_done(&reader.text);
    close(fds[1]);
}

/* A shell's terminal must not stay non-blocking behind us. */
static void flags_are_given_back(void **state)
{
    struct reader reader;
    struct wb_stream_handler handler = reader_init(&reader);
    int in[2], out[2];
    (void)state;
    open_pipe(in);
    open_pipe(out);
    int in_copy = dup(in[0]), out_copy = dup(out[1]);
    struct wb_stream *stream = wb_stream_open_take(loop, in[0], out[1], &handler);
    assert_true((fcntl(in_copy, F_GETFL) & O_NONBLOCK) != 0);
    assert_true((fcntl(out_copy, F_GETFL) & O_NONBLOCK) != 0);
    wb_stream_free(stream);
    assert_int_equal(fcntl(in_copy, F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(fcntl(out_copy, F_GETFL) & O_NONBLOCK, 0);
    close(in_copy);
    close(out_copy);
    close(in[1]);
    close(out[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_and_devices_are_read_to_their_end),
        cmocka_unit_test(file_takes_all),
        cmocka_unit_test(socket_is_duplex),
        cmocka_unit_test(units_of_threads_do_not_mix),
        cmocka_unit_test(gone_reader_is_an_error),
        cmocka_unit_test(queue_of_gone_reader_is_dropped),
        cmocka_unit_test(full_queue_refuses_whole_units),
        cmocka_unit_test(nothing_is_written_after_close_write),
        cmocka_unit_test(handler_may_free_its_stream),
        cmocka_unit_test(free_ends_reading_first),
        cmocka_unit_test(drain_takes_what_is_there),
        cmocka_unit_test(flags_are_given_back),
    };
    return cmocka_run_group_tests_name("stream", tests, set_up, tear_down);
}

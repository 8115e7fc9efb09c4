/* Tests of wire/frame.h: both framings, whole and split at every byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/limits.h"
#include "wire/frame.h"

/* What a reader makes of the bytes: "[body][body]", then "!" if it broke, "~" if it ended inside a
 * message. */
static void take_bodies(struct wb_frame_reader *reader, struct wb_text *out)
{
    struct wb_error err;
    struct wb_span body;
    int step;

    while ((step = wb_frame_step(reader, &body, &err)) == 1) {
        wb_text_printf(out, "[" WB_SPAN_FMT "]", WB_SPAN_ARG(body));
    }
    if (step < 0 && !wb_span_ends(wb_text_span(out), WB_SPAN("!"))) {
        assert_true(err.code == WB_ERROR_PROTOCOL || err.code == WB_ERROR_LIMIT);
        wb_text_add_char(out, '!');
    }
}

static void read_pieces(enum wb_framing framing, struct wb_span first, struct wb_span second,
                        size_t piece_bytes, struct wb_text *out)
{
    struct wb_frame_reader reader;

    wb_frame_reader_init(&reader, framing);
    for (struct wb_span part = first; part.ptr != NULL; part = second, second.ptr = NULL) {
        for (size_t at = 0; at < part.len; at += piece_bytes) {
            wb_frame_feed(&reader, part.ptr + at, WB_MIN(piece_bytes, part.len - at));
            take_bodies(&reader, out);
        }
    }
    if (!reader.broken && wb_frame_unfinished(&reader)) {
        wb_text_add_char(out, '~');
    }
    wb_frame_reader_done(&reader);
}

/* Whole, byte by byte, and cut in two at every place: always the same. */
static void expect_bodies(enum wb_framing framing, const char *input, const char *expected)
{
    struct wb_span all = wb_span(input);

    for (size_t cut = 0; cut <= all.len; cut++) {
        WB_AUTO(wb_text_done) struct wb_text out = {0};
        struct wb_span first = {all.ptr, cut};
        struct wb_span second = {all.ptr + cut, all.len - cut};

        read_pieces(framing, first, second, cut == 0 ? 1 : SIZE_MAX / 2, &out);
        assert_string_equal(wb_text_cstr(&out), expected);
    }
}

struct row {
    const char *input, *expected;
};

static void test_headers(void **state)
{
    static const struct row rows[] = {
        {"", ""},
        {"Content-Length: 2\r\n\r\n{}", "[{}]"},
        {"Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\nabc", "[{}][abc]"},
        {"Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\nx", "[][x]"},
        {"content-length: 2\r\n\r\n{}", "[{}]"},
        {"CONTENT-LENGTH:2\r\n\r\n{}", "[{}]"},
        {"Content-Length: \t 2 \r\n\r\n{}", "[{}]"},
        {"Content-Length: 2\n\n{}", "[{}]"},
        {"Content-Length: 2\r\n\n{}Content-Length: 2\n\r\n{}", "[{}][{}]"},
        {"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{}",
         "[{}]"},
        {"Content-Type: x\r\nContent-Length: 2\r\nX-Trace: Content\r\n\r\n{}", "[{}]"},
        {"X-Content-Length: 9\r\nContent-Length: 2\r\n\r\n{}", "[{}]"},
        /* The last length before the empty line is the one that is meant. */
        {"Content-Length: 99\r\nContent-Length: 2\r\n\r\n{}", "[{}]"},
        /* A body is bytes: it may end in a character and hold what looks like a header. */
        {"Content-Length: 3\r\n\r\n\xC3\xA4\n", "[\xC3\xA4\n]"},
        {"Content-Length: 21\r\n\r\nContent-Length: 9\r\n\r\n", "[Content-Length: 9\r\n\r\n]"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        expect_bodies(WB_FRAMING_HEADERS, rows[i].input, rows[i].expected);
    }
}

static void test_junk_before_headers(void **state)
{
    static const struct row rows[] = {
        {"starting up\nContent-Length: 2\r\n\r\n{}", "[{}]"},
        {"[info] root: /x\r\n\r\n\r\nContent-Length: 2\r\n\r\n{}", "[{}]"},
        {"Content-Length: 2\r\n\r\n{}bye\nContent-Length: 1\r\n\r\nx", "[{}][x]"},
        {"loading...Content-Length: 2\r\n\r\n{}", "[{}]"},
        {"Content-Length: 2\r\nwarning: in between\r\n\r\n{}", "[{}]"},
        {"no Content-Length: given\nContent-Length: 2\r\n\r\n{}", "[{}]"},
        {"\xFF\xFE\x01\nContent-Length: 2\r\n\r\n{}", "[{}]"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        expect_bodies(WB_FRAMING_HEADERS, rows[i].input, rows[i].expected);
    }
}

static void test_broken_headers(void **state)
{
    static const struct row rows[] = {
        {"Content-Length: -5\r\n\r\n{}", "!"},
        {"Content-Length: many\r\n\r\n{}", "!"},
        {"Content-Length:\r\n\r\n{}", "!"},
        {"Content-Length: 0x2\r\n\r\n{}", "!"},
        {"Content-Length: 2.0\r\n\r\n{}", "!"},
        {"Content-Length: 2 2\r\n\r\n{}", "!"},
        {"Content-Length: 2147483647\r\n\r\n{}", "!"},
        {"Content-Length: 9223372036854775807\r\n\r\n{}", "!"},
        {"Content-Length: 18446744073709551617\r\n\r\n{}", "!"},
        {"Content-Length: 99999999999999999999999999\r\n\r\n{}", "!"},
        {"Content-Length: 2\r\n\r\n{}Content-Length: x\r\n\r\nContent-Length: 2\r\n\r\n{}",
         "[{}]!"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        expect_bodies(WB_FRAMING_HEADERS, rows[i].input, rows[i].expected);
    }
}

static void test_unfinished(void **state)
{
    static const struct row rows[] = {
        {"Content-Len", "~"},
        {"Content-Length: 2\r\n", "~"},
        {"Content-Length: 2\r\n\r\n", "~"},
        {"Content-Length: 2\r\n\r\n{", "~"},
        {"Content-Length: 2\r\n\r\n{}C", "[{}]~"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        expect_bodies(WB_FRAMING_HEADERS, rows[i].input, rows[i].expected);
    }
}

static void test_lines(void **state)
{
    static const struct row rows[] = {
        {"", ""},
        {"{}\n", "[{}]"},
        {"{}\r\n", "[{}]"},
        {"{}\n[]\n", "[{}][[]]"},
        {"\n\r\n  \t\n{}\n\n", "[{}]"},
        {" {} \n", "[ {} ]"},
        {"{}", "~"},
        {"{}\n{", "[{}]~"},
        {"a\rb\n", "[a\rb]"},
        {"\xC3\xA4\n", "[\xC3\xA4]"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        expect_bodies(WB_FRAMING_LINES, rows[i].input, rows[i].expected);
    }
}

static void feed_repeated(struct wb_frame_reader *reader, char c, size_t bytes)
{
    static char block[4096];

    memset(block, c, sizeof(block));
    while (bytes != 0) {
        size_t piece = WB_MIN(bytes, sizeof(block));

        wb_frame_feed(reader, block, piece);
        bytes -= piece;
    }
}

static void feed_text(struct wb_frame_reader *reader, const char *text)
{
    wb_frame_feed(reader, text, strlen(text));
}

static void test_junk_limit(void **state)
{
    struct wb_frame_reader reader;
    struct wb_span body;
    struct wb_error err;

    (void)state;
    wb_frame_reader_init(&reader, WB_FRAMING_HEADERS);
    /* As much as is allowed, twice: a message in between starts the count anew. */
    for (int i = 0; i < 2; i++) {
        feed_repeated(&reader, '\n', WB_FRAME_JUNK_BYTES_MAX);
        assert_int_equal(wb_frame_step(&reader, &body, &err), 0);
        feed_text(&reader, "Content-Length: 2\r\n\r\n{}");
        assert_int_equal(wb_frame_step(&reader, &body, &err), 1);
    }
    /* One byte more, as lines. */
    feed_repeated(&reader, '\n', WB_FRAME_JUNK_BYTES_MAX + 1);
    assert_int_equal(wb_frame_step(&reader, &body, &err), -1);
    assert_int_equal(err.code, WB_ERROR_PROTOCOL);
    /* And it stays so. */
    feed_text(&reader, "Content-Length: 2\r\n\r\n{}");
    assert_int_equal(wb_frame_step(&reader, &body, NULL), -1);
    wb_frame_reader_done(&reader);

    /* The same without any line end. */
    wb_frame_reader_init(&reader, WB_FRAMING_HEADERS);
    feed_repeated(&reader, 'x', WB_FRAME_JUNK_BYTES_MAX);
    assert_int_equal(wb_frame_step(&reader, &body, &err), 0);
    feed_text(&reader, "x");
    assert_int_equal(wb_frame_step(&reader, &body, &err), -1);
    wb_frame_reader_done(&reader);
}

static void test_line_limit(void **state)
{
    struct wb_frame_reader reader;
    struct wb_span body;
    struct wb_error err;

    (void)state;
    wb_frame_reader_init(&reader, WB_FRAMING_LINES);
    feed_repeated(&reader, 'x', WB_FRAME_LINE_BYTES_MAX);
    assert_int_equal(wb_frame_step(&reader, &body, &err), 0);
    feed_text(&reader, "\n");
    assert_int_equal(wb_frame_step(&reader, &body, &err), 1);
    assert_int_equal(body.len, WB_FRAME_LINE_BYTES_MAX);
    feed_repeated(&reader, 'x', WB_FRAME_LINE_BYTES_MAX + 1);
    assert_int_equal(wb_frame_step(&reader, &body, &err), -1);
    assert_int_equal(err.code, WB_ERROR_LIMIT);
    wb_frame_reader_done(&reader);
}

/* A stream that never pauses at a message's end must not grow the buffer. */
static void test_memory_is_bounded(void **state)
{
    static const char message[] = "Content-Length: 2\r\n\r\n{}";
    struct wb_frame_reader reader;
    struct wb_span body;
    size_t n_bodies = 0;

    (void)state;
    wb_frame_reader_init(&reader, WB_FRAMING_HEADERS);
    feed_text(&reader, "Con");
    for (size_t i = 0; i < 100000; i++) {
        feed_text(&reader, message + 3);
        wb_frame_feed(&reader, message, 3);
        while (wb_frame_step(&reader, &body, NULL) == 1) {
            n_bodies++;
        }
    }
    assert_int_equal(n_bodies, 100000);
    assert_true(reader.buffer.capacity < 1024);
    wb_frame_reader_done(&reader);
}

static void test_large_body_is_given_back(void **state)
{
    struct wb_frame_reader reader;
    struct wb_span body;

    (void)state;
    wb_frame_reader_init(&reader, WB_FRAMING_HEADERS);
    feed_text(&reader, "Content-Length: 20000000\r\n\r\n");
    feed_repeated(&reader, 'x', 20000000);
    assert_int_equal(wb_frame_step(&reader, &body, NULL), 1);
    assert_int_equal(body.len, 20000000);
    feed_text(&reader, "Content-Length: 1\r\n\r\nx");
    assert_int_equal(wb_frame_step(&reader, &body, NULL), 1);
    assert_true(reader.buffer.capacity < 1024);
    wb_frame_reader_done(&reader);
}

static void test_head_and_tail(void **state)
{
    char head[64];

    (void)state;
    wb_frame_head(WB_FRAMING_HEADERS, 17, head);
    assert_string_equal(head, "Content-Length: 17\r\n\r\n");
    assert_string_equal(wb_frame_tail(WB_FRAMING_HEADERS), "");
    wb_frame_head(WB_FRAMING_LINES, 17, head);
    assert_string_equal(head, "");
    assert_string_equal(wb_frame_tail(WB_FRAMING_LINES), "\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_junk_before_headers),
        cmocka_unit_test(test_broken_headers),
        cmocka_unit_test(test_unfinished),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_junk_limit),
        cmocka_unit_test(test_line_limit),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_large_body_is_given_back),
        cmocka_unit_test(test_head_and_tail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

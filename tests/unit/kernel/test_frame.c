/* Frames and marks: every cut of a stream gives the same, what breaks a rule is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernel/frame.h"

#define NONCE "0123abcd"
#define BANNER "werkbank-kernel " NONCE "\n"

/* The frames as text, in steps of piece_bytes; "!" when the stream is refused. */
static void read_stream(struct wb_span bytes, size_t piece_bytes, struct wb_text *out)
{
    struct wb_kernel_reader *reader = wb_kernel_reader_new(NONCE);
    struct wb_kernel_frame frame;
    struct wb_error err;
    int step = 0;
    for (size_t at = 0; at < bytes.len && step >= 0; at += piece_bytes) {
        wb_kernel_reader_feed(reader, bytes.ptr + at, WB_MIN(piece_bytes, bytes.len - at));
        while ((step = wb_kernel_reader_next(reader, &frame, &err)) > 0) {
            wb_text_printf(out, "%d/%u/%u/%zu=", (int)frame.type, frame.cell, frame.call,
                           frame.payload.len);
            wb_text_add(out, frame.payload.ptr, WB_MIN(frame.payload.len, 8));
            wb_text_add_char(out, ';');
        }
    }
    if (step < 0) {
        wb_text_add_char(out, '!');
        assert_int_equal(wb_kernel_reader_next(reader, &frame, &err), -1);
    }
    wb_kernel_reader_free(reader);
}

static void expect_stream(const struct wb_text *stream, const char *expected)
{
    for (size_t piece_bytes = 1; piece_bytes <= stream->len; piece_bytes++) {
        struct wb_text seen = {0};
        read_stream(wb_text_span(stream), piece_bytes, &seen);
        assert_string_equal(wb_text_cstr(&seen), expected);
        wb_text_done(&seen);
    }
}

static void frames_come_whole_however_they_are_cut(void **state)
{
    (void)state;
    struct wb_text stream = {0};
    wb_text_add_str(&stream, "a prefix says hello\nwerkbank-kernel 0000\n" BANNER);
    wb_kernel_frame_put(&stream, WB_KERNEL_HELLO, 0, 0, WB_SPAN("{}"));
    wb_kernel_frame_put(&stream, WB_KERNEL_TOOL_CALL, 7, 3, WB_SPAN("{\"tool\""));
    wb_kernel_frame_put(&stream, WB_KERNEL_DONE, 7, 0, WB_SPAN(""));
    expect_stream(&stream, "16/0/0/2={};20/7/3/7={\"tool\";22/7/0/0=;");
    wb_text_done(&stream);
}

/* A frame by hand. */
static void put_raw(struct wb_text *out, uint32_t bytes, int type, int flags, int reserved,
                    uint32_t cell)
{
    char header[16] = {(char)bytes, (char)(bytes >> 8), (char)(bytes >> 16), (char)(bytes >> 24),
                       (char)type,  (char)flags,        (char)reserved,      0,
                       (char)cell};
    wb_text_add(out, header, sizeof(header));
}

static void a_message_in_several_frames_is_one(void **state)
{
    (void)state;
    struct wb_text stream = {0};
    wb_text_add_str(&stream, BANNER);
    put_raw(&stream, 2, WB_KERNEL_ERROR, WB_KERNEL_FRAME_MORE, 0, 1);
    wb_text_add_str(&stream, "ab");
    put_raw(&stream, 0, WB_KERNEL_ERROR, WB_KERNEL_FRAME_MORE, 0, 1);
    put_raw(&stream, 1, WB_KERNEL_ERROR, 0, 0, 1);
    wb_text_add_str(&stream, "c");
    put_raw(&stream, 1, WB_KERNEL_ERROR, 0, 0, 1);
    wb_text_add_str(&stream, "d");
    expect_stream(&stream, "19/1/0/3=abc;19/1/0/1=d;");
    wb_text_done(&stream);
}

static void broken_frames_are_refused(void **state)
{
    static const struct {
        uint32_t bytes;
        int type, flags, reserved;
    } cases[] = {
        {0, 0, 0, 0},
        {0, WB_KERNEL_EXEC, 0, 0},
        {0, 23, 0, 0},
        {0, WB_KERNEL_DONE, 2, 0},
        {0, 255, 0, 0},
        {0, WB_KERNEL_DONE, 0, 1},
        {0xffffffffU, WB_KERNEL_DONE, 0, 0},
        {WB_KERNEL_FRAME_BYTES_MAX + 1, WB_KERNEL_DONE, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        struct wb_text stream = {0};
        wb_text_add_str(&stream, BANNER);
        put_raw(&stream, cases[i].bytes, cases[i].type, cases[i].flags, cases[i].reserved, 1);
        expect_stream(&stream, "!");
        wb_text_done(&stream);
    }
}

static void nothing_comes_between_the_frames_of_a_message(void **state)
{
    (void)state;
    struct wb_text stream = {0};
    wb_text_add_str(&stream, BANNER);
    put_raw(&stream, 0, WB_KERNEL_ERROR, WB_KERNEL_FRAME_MORE, 0, 1);
    put_raw(&stream, 0, WB_KERNEL_ERROR, 0, 0, 2);
    expect_stream(&stream, "!");
    wb_text_done(&stream);
}

static void a_long_payload_is_split_and_joined(void **state)
{
    (void)state;
    size_t len = WB_KERNEL_FRAME_BYTES_MAX + 5;
    char *payload = wb_alloc(len);
    struct wb_text stream = {0}, seen = {0};
    memset(payload, 'x', len);
    wb_text_add_str(&stream, BANNER);
    wb_kernel_frame_put(&stream, WB_KERNEL_RESULT, 1, 0, (struct wb_span){payload, len});
    assert_int_equal(stream.len, strlen(BANNER) + 2 * WB_KERNEL_HEADER_BYTES + len);
    read_stream(wb_text_span(&stream), 100001, &seen);
    assert_string_equal(wb_text_cstr(&seen), "18/1/0/8388613=xxxxxxxx;");
    wb_text_done(&stream);
    wb_text_done(&seen);
    free(payload);
}

static void a_message_over_the_limit_is_refused(void **state)
{
    (void)state;
    struct wb_text stream = {0}, seen = {0};
    char *payload = wb_alloc(WB_KERNEL_FRAME_BYTES_MAX);
    wb_text_add_str(&stream, BANNER);
    for (int i = 0; i < 9; i++) {
        put_raw(&stream, WB_KERNEL_FRAME_BYTES_MAX, WB_KERNEL_RESULT, WB_KERNEL_FRAME_MORE, 0, 1);
        wb_text_add(&stream, payload, WB_KERNEL_FRAME_BYTES_MAX);
    }
    read_stream(wb_text_span(&stream), 1 << 20, &seen);
    assert_string_equal(wb_text_cstr(&seen), "!");
    wb_text_done(&stream);
    wb_text_done(&seen);
    free(payload);
}

static void noise_is_bounded_and_its_end_kept(void **state)
{
    (void)state;
    struct wb_kernel_reader *reader = wb_kernel_reader_new(NONCE);
    struct wb_kernel_frame frame;
    struct wb_error err;
    char noise[1000];
    int step = 0;
    memset(noise, 'n', sizeof(noise));
    noise[sizeof(noise) - 1] = '\n';
    for (int i = 0; i < 100; i++) {
        wb_kernel_reader_feed(reader, noise, sizeof(noise));
        assert_int_equal(wb_kernel_reader_next(reader, &frame, &err), 0);
    }
    assert_int_equal(wb_kernel_reader_noise(reader).len, 4096);
    for (int i = 0; i < 2000 && step == 0; i++) {
        wb_kernel_reader_feed(reader, noise, sizeof(noise));
        step = wb_kernel_reader_next(reader, &frame, &err);
    }
    assert_int_equal(step, -1);
    wb_kernel_reader_free(reader);
}

static void write_text(void *ctx, const char *ptr, size_t len)
{
    wb_text_add(ctx, ptr, len);
}

static void write_mark(void *ctx, uint64_t mark)
{
    wb_text_printf(ctx, "<%llu>", (unsigned long long)mark);
}

static void marks_are_told_from_text(void **state)
{
#define M "\x1eWB" NONCE ":"

    static const struct {
        const char *stream, *expected;
    } cases[] = {
        {"", ""},
        {"text", "text"},
        {M "1\x1e", "<1>"},
        {"a" M "12\x1e" M "13\x1e"
         "b",
         "a<12><13>b"},
        {"\x1e\x1e" M "5\x1e", "\x1e\x1e<5>"},
        {"\x1eWB" M "5\x1e", "\x1eWB<5>"},
        {M "\x1e"
           "x",
         M "\x1e"
           "x"},
        {M "1a\x1e"
           "x",
         M "1a\x1e"
           "x"},
        {M "1\x1e"
           "WB" NONCE ":2",
         "<1>WB" NONCE ":2"},
        {M "999999999999999999\x1e", "<999999999999999999>"},
        {M "9999999999999999999\x1e"
           "x",
         M "9999999999999999999\x1e"
           "x"},
        {"\x1eWB0123abce:1\x1e"
         "x",
         "\x1eWB0123abce:1\x1e"
         "x"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        size_t len = strlen(cases[i].stream);
        for (size_t piece = 1; piece <= len + 1; piece++) {
            struct wb_kernel_marks *marks = wb_kernel_marks_new(NONCE);
            struct wb_text seen = {0};
            for (size_t at = 0; at < len; at += piece) {
                wb_kernel_marks_feed(marks, cases[i].stream + at, WB_MIN(piece, len - at),
                                     write_text, write_mark, &seen);
            }
            assert_string_equal(wb_text_cstr(&seen), cases[i].expected);
            wb_text_done(&seen);
            wb_kernel_marks_free(marks);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_whole_however_they_are_cut),
        cmocka_unit_test(a_message_in_several_frames_is_one),
        cmocka_unit_test(broken_frames_are_refused),
        cmocka_unit_test(nothing_comes_between_the_frames_of_a_message),
        cmocka_unit_test(a_long_payload_is_split_and_joined),
        cmocka_unit_test(a_message_over_the_limit_is_refused),
        cmocka_unit_test(noise_is_bounded_and_its_end_kept),
        cmocka_unit_test(marks_are_told_from_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

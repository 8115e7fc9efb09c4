/* Tests of lsp/position.h: lines, and positions in the three encodings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lsp/position.h"

#define BOM "\xEF\xBB\xBF"
#define PARTY "\xF0\x9F\x8E\x89" /* U+1F389: 4 bytes, 2 UTF-16 units */
#define UMLAUT "\xC3\xA4"        /* U+00E4: 2 bytes */
#define COMBINING "e\xCC\x81"    /* e and U+0301 */
#define EURO "\xE2\x82\xAC"      /* U+20AC: 3 bytes */

enum { U8 = WB_POSITION_UTF8, U16 = WB_POSITION_UTF16, U32 = WB_POSITION_UTF32 };

static void test_lines(void **state)
{
    static const struct {
        const char *text, *lines; /* each line in brackets */
        size_t visible;
    } rows[] = {
        {"", "[]", 0},
        {"a", "[a]", 1},
        {"a\n", "[a][]", 1},
        {"a\nb", "[a][b]", 2},
        {"a\r\nb\r\n", "[a][b][]", 2},
        {"a\rb\r", "[a][b][]", 2},
        {"\n", "[][]", 1},
        {"\n\n", "[][][]", 2},
        {"\r\n\r\n", "[][][]", 2},
        {"\r\r\n\n", "[][][][]", 3},
        {"a\r\r\nb", "[a][][b]", 3},
        {"a\nb\rc\r\nd", "[a][b][c][d]", 4},
        {"\n\r", "[][][]", 2},
        {"a\r", "[a][]", 1},
        {BOM, "[]", 0},
        {BOM "a\n" BOM, "[a][" BOM "]", 2},
        {"a" UMLAUT "\xE2\x80\xA8"
         "b",
         "[a" UMLAUT "\xE2\x80\xA8"
         "b]",
         1}, /* U+2028 is none */
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
        WB_AUTO(wb_text_done) struct wb_text shown = {0};
        struct wb_line_index index;

        wb_line_index_init(&arena, wb_span(rows[i].text), &index);
        for (size_t line = 0; line < index.count; line++) {
            struct wb_span text = wb_line_index_line(&index, line);

            wb_text_printf(&shown, "[" WB_SPAN_FMT "]", WB_SPAN_ARG(text));
        }
        assert_string_equal(wb_text_cstr(&shown), rows[i].lines);
        assert_int_equal(wb_line_index_visible(&index), rows[i].visible);
        assert_int_equal(wb_line_index_line(&index, index.count).len, 0);
        assert_int_equal(wb_line_index_line(&index, SIZE_MAX).len, 0);
    }
}

/* Behind a line end that servers count differently no place is named. */
static void test_disputed(void **state)
{
    static const struct {
        const char *text;
        size_t disputed;
        const char *told; /* in the sentence about the place behind it */
    } rows[] = {
        {"", SIZE_MAX, NULL},
        {"a\r\nb\n", SIZE_MAX, NULL},
        {"a\nb\rc\r\nd", 3, "line 2 has a carriage return"},
        {"a\r", 1, "line 1 has a carriage return"},
        {"a\r\r\nb", 1, "line 1 has a carriage return"},
        {"\xE2\x80\x9C quoted \xE2\x80", SIZE_MAX, NULL},
        {"a\n\xE2\x80\xA8x\ry", 2, "line 2 has a Unicode line"},
        {"\r\xE2\x80\xA9", 0, "line 1 has a carriage return"},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
        struct wb_line_index index;
        struct wb_error err;

        wb_line_index_init(&arena, wb_span(rows[i].text), &index);
        assert_true(index.disputed == rows[i].disputed);
        assert_int_equal(wb_line_index_check(&index, WB_MIN(index.disputed, index.text.len), &err),
                         0);
        if (rows[i].told != NULL) {
            assert_int_equal(wb_line_index_check(&index, index.disputed + 1, &err), -1);
            assert_non_null(strstr(err.message, rows[i].told));
        }
    }
}

static void test_line_of_an_offset(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    static const size_t lines[] = {0, 0, 0, 1, 1, 2, 2, 3, 3};
    struct wb_line_index index;

    (void)state;
    wb_line_index_init(&arena, wb_span("a\r\nb\nc\r"), &index);
    for (size_t offset = 0; offset < WB_COUNT(lines); offset++) {
        assert_int_equal(wb_line_index_find(&index, offset), lines[offset]);
    }
    assert_int_equal(wb_line_index_find(&index, SIZE_MAX), 3);
}

static void test_position_to_offset(void **state)
{
    static const struct {
        const char *text;
        int encoding;
        uint32_t line, character;
        size_t offset;
    } rows[] = {
        {"abc\ndef", U16, 0, 0, 0},
        {"abc\ndef", U16, 1, 2, 6},
        /* Past the end of a line, of the last line, of the file. */
        {"abc\ndef", U16, 0, 4, 3},
        {"abc\ndef", U8, 0, UINT32_MAX, 3},
        {"abc\r\ndef", U32, 0, 4, 3},
        {"abc\rdef", U16, 0, 9, 3},
        {"abc\ndef", U16, 1, 9, 7},
        {"abc\ndef", U16, 2, 0, 7},
        {"abc\ndef\n", U16, 2, 0, 8},
        {"abc\ndef\n", U16, UINT32_MAX, UINT32_MAX, 8},
        {"", U16, 0, 0, 0},
        {"", U16, 3, 3, 0},
        /* Units before and behind a character, and inside it. */
        {PARTY "x", U8, 0, 4, 4},
        {PARTY "x", U16, 0, 2, 4},
        {PARTY "x", U32, 0, 1, 4},
        {PARTY "x", U8, 0, 1, 0},
        {PARTY "x", U8, 0, 3, 0},
        {PARTY "x", U16, 0, 1, 0},
        {PARTY "x", U16, 0, 3, 5},
        {"a" UMLAUT "b", U8, 0, 2, 1},
        {"a" UMLAUT "b", U8, 0, 3, 3},
        {"a" UMLAUT "b", U16, 0, 2, 3},
        {COMBINING "x", U16, 0, 1, 1},
        {COMBINING "x", U16, 0, 2, 3},
        {COMBINING "x", U32, 0, 3, 4},
        {"\t\tx", U16, 0, 2, 2},
        {EURO EURO "x", U16, 0, 2, 6},
        {"12345678" PARTY "12345678" UMLAUT "x", U16, 0, 19, 22},
        {"12345678" PARTY "12345678" UMLAUT "x", U32, 0, 18, 22},
        /* A byte order mark is not part of the first line. */
        {BOM "abc\nd", U16, 0, 0, 3},
        {BOM "abc\nd", U8, 0, 1, 4},
        {BOM "abc\nd", U32, 1, 0, 7},
        {BOM, U16, 0, 5, 3},
        /* Invalid bytes count one each. */
        {"\xFF\xFEx", U16, 0, 2, 2},
        {"\xE2\x82x", U8, 0, 2, 2},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
        struct wb_line_index index;
        struct wb_position position = {rows[i].line, rows[i].character};

        wb_line_index_init(&arena, wb_span(rows[i].text), &index);
        size_t offset =
            wb_position_to_offset(&index, (enum wb_position_encoding)rows[i].encoding, position);
        if (offset != rows[i].offset) {
            fail_msg("row %zu: %zu, not %zu", i, offset, rows[i].offset);
        }
    }
}

static void test_position_from_offset(void **state)
{
    static const struct {
        const char *text;
        int encoding;
        size_t offset;
        uint32_t line, character;
    } rows[] = {
        {"abc\ndef", U16, 6, 1, 2},
        {"abc\ndef", U16, 7, 1, 3},
        {"abc\ndef", U16, 99, 1, 3},
        {"abc\r\ndef", U16, 3, 0, 3},
        {"abc\r\ndef", U16, 4, 0, 3}, /* between CR and LF */
        {"abc\r\ndef", U16, 5, 1, 0},
        {"abc\n", U16, 4, 1, 0},
        {"", U16, 0, 0, 0},
        {PARTY UMLAUT "x", U8, 6, 0, 6},
        {PARTY UMLAUT "x", U16, 6, 0, 3},
        {PARTY UMLAUT "x", U32, 6, 0, 2},
        {PARTY UMLAUT "x", U8, 2, 0, 0}, /* inside characters */
        {PARTY UMLAUT "x", U16, 5, 0, 2},
        {PARTY UMLAUT "x", U32, 5, 0, 1},
        {BOM "x", U16, 0, 0, 0},
        {BOM "x", U16, 2, 0, 0},
        {BOM "x", U16, 4, 0, 1},
        {COMBINING "\tx", U16, 4, 0, 3},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
        struct wb_line_index index;

        wb_line_index_init(&arena, wb_span(rows[i].text), &index);
        struct wb_position position =
            wb_position_from_offset(&index, (enum wb_position_encoding)rows[i].encoding,
                                    rows[i].offset);
        if (position.line != rows[i].line || position.character != rows[i].character) {
            fail_msg("row %zu: %u:%u", i, position.line, position.character);
        }
    }
}

static void test_long_line(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    struct wb_line_index index;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        wb_text_add_str(&text, "0123456789" PARTY UMLAUT);
    }
    wb_line_index_init(&arena, wb_text_span(&text), &index);
    for (size_t i = 0; i < 10000; i += 777) {
        struct wb_position position = {0, (uint32_t)(i * 13)};

        assert_int_equal(wb_position_to_offset(&index, WB_POSITION_UTF16, position), i * 16);
        assert_int_equal(wb_position_from_offset(&index, WB_POSITION_UTF16, i * 16).character,
                         i * 13);
    }
}

static void test_json(void **state)
{
    static const struct {
        const char *json;
        bool readable;
        uint32_t line, character;
    } rows[] = {
        {"{\"line\":3,\"character\":4}", true, 3, 4},
        {"{\"line\":3.0,\"character\":0}", true, 3, 0},
        {"{\"line\":4294967295,\"character\":4294967296}", true, UINT32_MAX, UINT32_MAX},
        {"{\"line\":1.7976931348623157e308,\"character\":9007199254740991}", true, UINT32_MAX,
         UINT32_MAX},
        {"{\"line\":123456789012345678901234567890,\"character\":1}", true, UINT32_MAX, 1},
        {"{\"line\":-1,\"character\":0}", false, 0, 0},
        {"{\"line\":0,\"character\":-1}", false, 0, 0},
        {"{\"line\":\"0\",\"character\":0}", false, 0, 0},
        {"{\"line\":0}", false, 0, 0},
        {"[]", false, 0, 0},
        {"null", false, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
        WB_AUTO(wb_text_done) struct wb_text range = {0};
        struct wb_position position = {77, 77};
        struct wb_range whole;

        const struct wb_json *value = wb_json_parse(&arena, wb_span(rows[i].json), NULL);
        assert_non_null(value);
        assert_int_equal(wb_position_read(value, &position), rows[i].readable);
        assert_int_equal(position.line, rows[i].readable ? rows[i].line : 77);
        assert_int_equal(position.character, rows[i].readable ? rows[i].character : 77);
        wb_text_printf(&range, "{\"start\":{\"line\":0,\"character\":1},\"end\":%s}", rows[i].json);
        value = wb_json_parse(&arena, wb_text_span(&range), NULL);
        assert_int_equal(wb_range_read(value, &whole), rows[i].readable);
    }
}

static void test_json_is_written(void **state)
{
    WB_AUTO(wb_text_done) struct wb_text out = {0};
    struct wb_json_writer w;

    (void)state;
    wb_json_writer_init(&w, &out);
    wb_position_write(&w, (struct wb_position){7, UINT32_MAX});
    assert_string_equal(wb_text_cstr(&out), "{\"line\":7,\"character\":4294967295}");
}

static void test_encoding_names(void **state)
{
    enum wb_position_encoding encoding;

    (void)state;
    for (int i = U8; i <= U32; i++) {
        const char *name = wb_position_encoding_name((enum wb_position_encoding)i);

        assert_true(wb_position_encoding_parse(name, &encoding));
        assert_int_equal(encoding, i);
    }
    assert_false(wb_position_encoding_parse("utf-7", &encoding));
    assert_false(wb_position_encoding_parse("", &encoding));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_disputed),
        cmocka_unit_test(test_line_of_an_offset),
        cmocka_unit_test(test_position_to_offset),
        cmocka_unit_test(test_position_from_offset),
        cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_is_written),
        cmocka_unit_test(test_encoding_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

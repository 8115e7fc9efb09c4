/* Tests of base/json: reading, getters, equality. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"

#define FFFD "\xEF\xBF\xBD"

static const struct wb_json *parse(struct wb_arena *arena, const char *text)
{
    struct wb_error err;
    const struct wb_json *value = wb_json_parse(arena, wb_span(text), &err);

    if (value == NULL) {
        fail_msg("%s: %s", text, err.message);
    }
    return value;
}

/* What is accepted, and how it is written again. */
static const struct {
    const char *text, *written;
} accepted[] = {
    {"null", "null"},
    {" true\r\n", "true"},
    {"\t-0", "0"},
    {"\"\"", "\"\""},
    {"[]", "[]"},
    {"{}", "{}"},
    {"[ 1 , [ ] , { } ]", "[1,[],{}]"},
    {"{\"b\":1,\"a\":2}", "{\"b\":1,\"a\":2}"}, /* order is kept */
    {"{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":2}"},
    {"\xEF\xBB\xBF{\"bom\":1}", "{\"bom\":1}"},
    {"9007199254740993", "9007199254740993"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"18446744073709551615", "18446744073709551615"},
    {"18446744073709551616", "18446744073709551616"}, /* no digit is lost */
    {"[-9223372036854775809]", "[-9223372036854775809]"},
    {"[1e400,-1e400]", "[1e400,-1e400]"},
    {"1e-400", "0.0"},
    {"[0.1,1E2,5e-324]", "[0.1,100.0,5e-324]"},
    {"\"\\u0000\\u001f\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\u0000\\u001F\\\"\\\\/\\b\\f\\n\\r\\t\""},
    {"\"\\u00e4\\u20AC\\ud83d\\ude00\"", "\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\""},
    {"\"\xE2\x80\xA8\"", "\"\xE2\x80\xA8\""},
    /* Lone surrogates, invalid UTF-8. */
    {"\"\\ud83d\"", "\"" FFFD "\""},
    {"\"\\ude00\"", "\"" FFFD "\""},
    {"\"\\ud83dx\"", "\"" FFFD "x\""},
    {"\"\\ud83d\\n\"", "\"" FFFD "\\n\""},
    {"\"\\ude00\\ud83d\"", "\"" FFFD FFFD "\""},
    {"\"\\ud83d\\ud83d\\ude00\"", "\"" FFFD "\xF0\x9F\x98\x80\""},
    {"\"\\\\ud83d\"", "\"\\\\ud83d\""}, /* an escaped backslash, no surrogate */
    {"[\"\\ud83d\", \"\\\\ud83d\"]", "[\"" FFFD "\",\"\\\\ud83d\"]"},
    {"{\"\\ud800\":\"a\xFF\"}", "{\"" FFFD "\":\"a" FFFD "\"}"},
    {"\"\xED\xA0\xBD\xED\xB8\x80\"", "\"" FFFD FFFD FFFD FFFD FFFD FFFD "\""},
    {"\"\xC3\"", "\"" FFFD "\""},
};

static void parse_accepts(void **state)
{
    (void)state;
    for (size_t i = 0; i < WB_COUNT(accepted); i++) {
        WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
        const struct wb_json *value = parse(&arena, accepted[i].text);
        struct wb_span written = wb_json_write(&arena, value);

        assert_string_equal(written.ptr, accepted[i].written);
        assert_int_equal(written.len, strlen(accepted[i].written));
    }
}

/* What is refused, and the beginning of what the error says. */
static const struct {
    struct wb_span text;
    const char *message;
} refused[] = {
    {WB_SPAN(""), "Invalid JSON: the text is empty."},
    {WB_SPAN("\xEF\xBB\xBF"), "Invalid JSON: the text is empty."},
    {WB_SPAN(" \n\t "), "Invalid JSON at line 1, column 1: "},
    {WB_SPAN("[1,]"), "Invalid JSON at line 1, column 3: "},
    {WB_SPAN("{\n  \"a\": 1,\n}"), "Invalid JSON at line 2, column 9: "},
    {WB_SPAN("[1] x"), "Invalid JSON at line 1, column 5: "},
    {WB_SPAN("[1][2]"), "Invalid JSON at line 1, column 4: "},
    {WB_SPAN("1\0"), "Invalid JSON at line 1, column 2: "},
    {WB_SPAN("\"a\0b\""), "Invalid JSON at line 1, column 3: "},
    {WB_SPAN("\"a\nb\""), "Invalid JSON at line 1, column 3: "},
    {WB_SPAN("[1 /* c */]"), "Invalid JSON at line 1, column 4: "},
    {WB_SPAN("[// c\n1]"), "Invalid JSON at line 1, column 2: "},
    {WB_SPAN("{a:1}"), "Invalid JSON at line 1, column 2: "},
    {WB_SPAN("'a'"), "Invalid JSON at line 1, column 1: "},
    {WB_SPAN("[\"\xC3\xA4\", x]"), "Invalid JSON at line 1, column 7: "},
    {WB_SPAN("[01]"), "Invalid JSON at line 1, column 2: "},
    {WB_SPAN("[1.]"), "Invalid JSON at line 1, column 4: "},
    {WB_SPAN("[+1]"), "Invalid JSON at line 1, column 2: "},
    {WB_SPAN("NaN"), "Invalid JSON at line 1, column 1: "},
    {WB_SPAN("-Infinity"), "Invalid JSON at line 1, column 2: "},
    {WB_SPAN("tru"), "Invalid JSON at line 1, column 4: "},
    {WB_SPAN("\"\\x\""), "Invalid JSON at line 1, column 3: "},
    {WB_SPAN("\"\\u12g4\""), "Invalid JSON at line 1, column 2: "},
    {WB_SPAN("[\"abc"), "Invalid JSON at line 1, column 6: "},
    {WB_SPAN("[\"abc\\"), "Invalid JSON at line 1, column 7: "},
    {WB_SPAN("{\"a\":"), "Invalid JSON at line 1, column 6: "},
    {WB_SPAN("[\xFF]"), "Invalid JSON at line 1, column 2: "},
    {WB_SPAN("]"), "Invalid JSON at line 1, column 1: "},
};

static void parse_refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < WB_COUNT(refused); i++) {
        WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
        struct wb_error err = {0};

        if (wb_json_parse(&arena, refused[i].text, &err) != NULL) {
            fail_msg("accepted: %s", refused[i].text.ptr);
        }
        assert_int_equal(err.code, WB_ERROR_INVALID);
        if (!wb_str_starts(err.message, refused[i].message)) {
            fail_msg("%s: %s", refused[i].text.ptr, err.message);
        }
        assert_null(wb_json_parse(&arena, refused[i].text, NULL));
    }
}

/* `[{"":[{"": ... }]}]`, depth brackets deep. */
static void add_nested(struct wb_text *text, size_t depth)
{
    for (size_t i = 0; i < depth; i++) {
        wb_text_add_str(text, i % 2 == 0 ? "[" : "{\"\":");
    }
    wb_text_add_str(text, "0");
    for (size_t i = depth; i-- > 0;) {
        wb_text_add_str(text, i % 2 == 0 ? "]" : "}");
    }
}

static void depth_is_limited(void **state)
{
    static const struct {
        size_t depth;
        bool ok;
    } cases[] = {
        {WB_JSON_DEPTH_MAX - 1, true},
        {WB_JSON_DEPTH_MAX, true},
        {WB_JSON_DEPTH_MAX + 1, false},
        {1000000, false},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
        WB_AUTO(wb_text_done) struct wb_text text = {0};
        struct wb_error err = {0};

        add_nested(&text, cases[i].depth);
        const struct wb_json *value = wb_json_parse(&arena, wb_text_span(&text), &err);
        assert_int_equal(value != NULL, cases[i].ok);
        assert_int_equal(err.code, cases[i].ok ? WB_ERROR_NONE : WB_ERROR_LIMIT);
        assert_true(wb_json_equal(value, value));
    }
}

static void brackets_in_strings_are_no_depth(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    WB_AUTO(wb_text_done) struct wb_text text = {0};

    (void)state;
    wb_text_add_str(&text, "[\"\\\"");
    for (int i = 0; i < 1000; i++) {
        wb_text_add_str(&text, "[{");
    }
    wb_text_add_str(&text, "\\\\\"");
    for (int i = 0; i < 1000; i++) {
        wb_text_add_str(&text, ",[],{}"); /* many, but never deep */
    }
    wb_text_add_str(&text, "]");
    assert_int_equal(wb_json_count(parse(&arena, wb_text_cstr(&text))), 2001);
}

static void size_is_limited(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    struct wb_error err = {0};
    struct wb_span text = {"1", WB_JSON_BYTES_MAX + 1}; /* refused before it is looked at */

    (void)state;
    assert_null(wb_json_parse(&arena, text, &err));
    assert_int_equal(err.code, WB_ERROR_LIMIT);
}

static void source_text_may_go_away(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    char source[] = "[\"abc\", \"\\ud800\", 1e999]";
    const struct wb_json *value = parse(&arena, source);

    (void)state;
    memset(source, 'x', sizeof(source));
    assert_string_equal(wb_json_write(&arena, value).ptr, "[\"abc\",\"" FFFD "\",1e999]");
}

static void getters_take_anything(void **state)
{
    static const char *const others[] = {"null", "true", "1", "\"s\"", "[1]", "{\"x\":1}"};
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    int64_t number;

    (void)state;
    for (size_t i = 0; i <= WB_COUNT(others); i++) {
        const struct wb_json *v = i < WB_COUNT(others) ? parse(&arena, others[i]) : NULL;
        enum wb_json_type type = wb_json_type(v);

        assert_null(wb_json_get(v, "a"));
        assert_null(wb_json_path(v, "a.b"));
        assert_null(wb_json_at(v, 7));
        assert_int_equal(wb_json_at(v, 0) != NULL, type == WB_JSON_ARRAY);
        assert_int_equal(wb_json_count(v), type == WB_JSON_ARRAY || type == WB_JSON_OBJECT);
        assert_int_equal(wb_json_is_null(v), type == WB_JSON_NULL || type == WB_JSON_NONE);
        assert_int_equal(wb_json_bool(v, false), type == WB_JSON_BOOL);
        assert_int_equal(wb_json_int(v, &number), type == WB_JSON_NUMBER);
        assert_int_equal(wb_json_int_or(v, 9), type == WB_JSON_NUMBER ? 1 : 9);
        assert_true(wb_json_double_or(v, 9) == (type == WB_JSON_NUMBER ? 1 : 9));
        assert_int_equal(wb_json_str(v) != NULL, type == WB_JSON_STRING);
        assert_int_equal(wb_json_span(v).len, type == WB_JSON_STRING);
        assert_string_equal(wb_json_str_or(v, "o"), type == WB_JSON_STRING ? "s" : "o");
        for (struct wb_json_iter it = wb_json_iter(v); wb_json_next(&it);) {
            assert_int_equal(wb_json_int_or(it.value, 0), 1);
        }
    }
    assert_string_equal(wb_json_type_name(WB_JSON_OBJECT), "object");
}

static void members_are_found(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    const struct wb_json *v =
        parse(&arena, "{\"a\":{\"b\":{\"c\":5}},\"k\":1,\"k\":[2],\"k\":3,\"\":4,\"k\\u0000\":6}");

    (void)state;
    assert_int_equal(wb_json_int_or(wb_json_path(v, "a.b.c"), 0), 5);
    assert_int_equal(wb_json_int_or(wb_json_get(v, "k"), 0), 3); /* the last of equal keys */
    assert_int_equal(wb_json_int_or(wb_json_get(v, ""), 0), 4);
    assert_null(wb_json_get(v, "a.b"));
    assert_null(wb_json_path(v, "a.b."));
    assert_null(wb_json_path(v, "a.x.c"));
    assert_int_equal(wb_json_count(v), 6);
}

static void iteration_is_in_document_order(void **state)
{
    static const char *const keys[] = {"z", "a", "m"};
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    const struct wb_json *object = parse(&arena, "{\"z\":[[0],0],\"a\":{\"x\":{}},\"m\":\"s\"}");
    const struct wb_json *array = parse(&arena, "[[1,2],{\"a\":3},\"x\",4]");
    size_t n = 0;

    (void)state;
    for (struct wb_json_iter it = wb_json_iter(object); wb_json_next(&it); n++) {
        assert_int_equal(it.index, n);
        assert_int_equal(it.count, 3);
        assert_string_equal(it.key, keys[n]);
        assert_ptr_equal(it.value, wb_json_get(object, keys[n]));
    }
    assert_int_equal(n, 3);
    n = 0;
    for (struct wb_json_iter it = wb_json_iter(array); wb_json_next(&it); n++) {
        assert_null(it.key);
        assert_ptr_equal(it.value, wb_json_at(array, n));
    }
    assert_int_equal(n, 4);
}

static void integers_keep_every_bit(void **state)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } cases[] = {
        {"9007199254740993", true, 9007199254740993},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"-0", true, 0},
        {"-0.0", true, 0},
        {"3.0", true, 3},
        {"1e3", true, 1000},
        {"-9223372036854775808.0", true, INT64_MIN},
        {"9223372036854775807.0", false, 0}, /* is 2^63 */
        {"9223372036854775808", false, 0},
        {"18446744073709551615", false, 0},
        {"99999999999999999999", false, 0},
        {"1.5", false, 0},
        {"1e300", false, 0},
        {"1e400", false, 0},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
        const struct wb_json *value = parse(&arena, cases[i].text);
        int64_t number = 42;

        assert_int_equal(wb_json_type(value), WB_JSON_NUMBER);
        assert_int_equal(wb_json_int(value, &number), cases[i].ok);
        assert_true(number == (cases[i].ok ? cases[i].value : 42));
    }
}

static void doubles_are_read(void **state)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"1", 1},
        {"-1", -1},
        {"0.1", 0.1},
        {"18446744073709551615", 0x1p64},
        {"18446744073709551616", 0x1p64},
        {"-99999999999999999999", -1e20},
        {"1e400", 7}, /* no double: not there */
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        WB_AUTO(wb_arena_done) struct wb_arena arena = {0};

        assert_true(wb_json_double_or(parse(&arena, cases[i].text), 7) == cases[i].value);
    }
}

static void strings_may_hold_nul(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    struct wb_span s = wb_json_span(parse(&arena, "\"a\\u0000b\""));

    (void)state;
    assert_int_equal(s.len, 3);
    assert_memory_equal(s.ptr, "a\0b", 4);
}

static void equality(void **state)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"null", "null", true},
        {"null", "false", false},
        {"true", "false", false},
        {"1", "1.0", true},
        {"0", "-0.0", true},
        {"1", "1.5", false},
        {"9007199254740993", "9007199254740992.0", false},
        {"18446744073709551615", "18446744073709551615", true},
        {"18446744073709551615", "18446744073709551614", false},
        {"1e400", "1e400", true},
        {"1e400", "1e401", false},
        {"1e300", "1e300", true},
        {"\"a\"", "\"\\u0061\"", true},
        {"\"a\"", "\"a\\u0000\"", false},
        {"[1,2]", "[1,2]", true},
        {"[1,2]", "[2,1]", false},
        {"[1,2]", "[1,2,3]", false},
        {"[1]", "{\"0\":1}", false},
        {"{\"a\":1,\"b\":[2]}", "{\"b\":[2.0],\"a\":1}", true},
        {"{\"a\":1,\"b\":2}", "{\"b\":1,\"a\":2}", false},
        {"{\"a\":1}", "{\"a\":1,\"b\":null}", false},
        {"{\"a\":1,\"a\":2}", "{\"a\":2}", true}, /* the last of equal keys wins */
        {"{\"a\":1,\"a\":2}", "{\"a\":1}", false},
        {"{\"a\":1,\"ab\":2,\"\":3}", "{\"\":3,\"ab\":2,\"a\":1}", true},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
        const struct wb_json *a = parse(&arena, cases[i].a);
        const struct wb_json *b = parse(&arena, cases[i].b);

        if (wb_json_equal(a, b) != cases[i].equal || wb_json_equal(b, a) != cases[i].equal) {
            fail_msg("%s and %s", cases[i].a, cases[i].b);
        }
        assert_false(wb_json_equal(a, NULL));
    }
    assert_true(wb_json_equal(NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse_accepts),
        cmocka_unit_test(parse_refuses),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(brackets_in_strings_are_no_depth),
        cmocka_unit_test(size_is_limited),
        cmocka_unit_test(source_text_may_go_away),
        cmocka_unit_test(getters_take_anything),
        cmocka_unit_test(members_are_found),
        cmocka_unit_test(iteration_is_in_document_order),
        cmocka_unit_test(integers_keep_every_bit),
        cmocka_unit_test(doubles_are_read),
        cmocka_unit_test(strings_may_hold_nul),
        cmocka_unit_test(equality),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

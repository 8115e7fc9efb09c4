/* Fuzzes base/json: what is parsed, written and parsed again is an equal value; so is what the
 * writer's own calls make of it; and all output is valid UTF-8 on one line. */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Writes a value member by member. Keys are cut at a NUL, as the writer takes them. */
static void rebuild(struct wb_json_writer *w, const struct wb_json *value)
{
    struct wb_json_iter it = wb_json_iter(value);

    switch (wb_json_type(value)) {
    case WB_JSON_STRING:
        wb_json_put_span(w, wb_json_span(value));
        break;
    case WB_JSON_ARRAY:
        wb_json_begin_array(w);
        while (wb_json_next(&it)) {
            rebuild(w, it.value);
        }
        wb_json_end_array(w);
        break;
    case WB_JSON_OBJECT:
        wb_json_begin_object(w);
        while (wb_json_next(&it)) {
            wb_json_key(w, it.key);
            rebuild(w, it.value);
        }
        wb_json_end_object(w);
        break;
    default:
        wb_json_put_value(w, value);
        break;
    }
}

static const struct wb_json *parse_own(struct wb_arena *arena, struct wb_span json)
{
    struct wb_error err;
    const struct wb_json *value = wb_json_parse(arena, json, &err);

    REQUIRE(wb_utf8_valid(json));
    REQUIRE(value != NULL);
    return value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    struct wb_error err = {0};
    struct wb_json_writer w;
    const struct wb_json *value =
        wb_json_parse(&arena, (struct wb_span){(const char *)data, size}, &err);

    if (value == NULL) {
        REQUIRE(err.code != WB_ERROR_NONE && err.message[0] != '\0');
        return 0;
    }
    struct wb_span written = wb_json_write(&arena, value);
    REQUIRE(memchr(written.ptr, '\n', written.len) == NULL);
    REQUIRE(wb_json_equal(value, parse_own(&arena, written)));
    REQUIRE(wb_json_equal(value, parse_own(&arena, wb_json_write_pretty(&arena, value))));

    wb_json_writer_init(&w, &text);
    rebuild(&w, value);
    REQUIRE(memchr(text.ptr, '\n', text.len) == NULL);
    const struct wb_json *rebuilt = parse_own(&arena, wb_text_span(&text));
    REQUIRE(memmem(written.ptr, written.len, "\\u0000", 6) != NULL ||
            wb_json_equal(value, rebuilt));
    return 0;
}

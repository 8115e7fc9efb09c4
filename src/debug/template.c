/* template: see template.h. */
#include "debug/template.h"

#include <stdio.h>

#define NAME_BYTES_MAX 32

/* What a placeholder stands for. */
enum value_kind { VALUE_NONE, VALUE_TEXT, VALUE_NUMBER, VALUE_BOOL, VALUE_WORDS, VALUE_OBJECT };

struct value {
    enum value_kind kind;
    const char *text; /* in every kind but words and object: as it stands inside a longer string */
    int64_t number;
    const char *const *words;
    const struct wb_json *object;
};

/* In single quotes where a shell would take it apart. */
static void add_quoted(struct wb_text *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./=:,+@%";
    if (*word != '\0' && strspn(word, plain) == strlen(word)) {
        wb_text_add_str(out, word);
        return;
    }
    wb_text_add_char(out, '\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            wb_text_add_str(out, "'\\''");
        } else {
            wb_text_add_char(out, *word);
        }
    }
    wb_text_add_char(out, '\'');
}

static const char *one_line(struct wb_arena *arena, const char *const *words)
{
    WB_AUTO(wb_text_done) struct wb_text line = {0};
    for (size_t i = 0; words[i] != NULL; i++) {
        if (i > 0) {
            wb_text_add_char(&line, ' ');
        }
        add_quoted(&line, words[i]);
    }
    return wb_arena_strdup(arena, wb_text_cstr(&line));
}

static const char *const *assignments(struct wb_arena *arena, const struct wb_json *env)
{
    const char **words = wb_arena_alloc_array(arena, wb_json_count(env) + 1, sizeof(*words));
    for (struct wb_json_iter it = wb_json_iter(env); wb_json_next(&it);) {
        words[it.index] = wb_arena_printf(arena, "%s=%s", it.key, wb_json_str_or(it.value, ""));
    }
    return words;
}

static struct value text_value(const char *text)
{
    return (struct value){.kind = text != NULL ? VALUE_TEXT : VALUE_NONE, .text = text};
}

static struct value number_value(struct wb_arena *arena, int64_t number)
{
    return (struct value){.kind = number != 0 ? VALUE_NUMBER : VALUE_NONE,
                          .number = number,
                          .text = wb_arena_printf(arena, "%lld", (long long)number)};
}

static struct value words_value(const char *const *words)
{
    return (struct value){.kind = words != NULL ? VALUE_WORDS : VALUE_NONE, .words = words};
}

static struct value look_up(struct wb_arena *arena, const struct wb_template_values *values,
                            const char *name)
{
    static const struct {
        const char *name;
        size_t offset;
    } texts[] = {
        {"program", offsetof(struct wb_template_values, program)},
        {"folder", offsetof(struct wb_template_values, folder)},
        {"cwd", offsetof(struct wb_template_values, cwd)},
        {"cwd_given", offsetof(struct wb_template_values, cwd_given)},
        {"root", offsetof(struct wb_template_values, root)},
        {"interpreter", offsetof(struct wb_template_values, interpreter)},
        {"core", offsetof(struct wb_template_values, core)},
        {"scratch", offsetof(struct wb_template_values, scratch)},
    };

    for (size_t i = 0; i < WB_COUNT(texts); i++) {
        if (wb_str_equal(texts[i].name, name)) {
            return text_value(*(const char *const *)((const char *)values + texts[i].offset));
        }
    }
    if (wb_str_equal(name, "port") || wb_str_equal(name, "pid")) {
        return number_value(arena, wb_str_equal(name, "port") ? values->port : values->pid);
    }
    if (wb_str_equal(name, "stop_on_entry")) {
        return (struct value){.kind = VALUE_BOOL, .number = values->stop_on_entry, .text = ""};
    }
    if (wb_str_equal(name, "args")) {
        return words_value(values->args);
    }
    if (wb_str_equal(name, "args_line") && values->args != NULL) {
        return text_value(one_line(arena, values->args));
    }
    if (wb_str_equal(name, "env") && values->env != NULL) {
        return (struct value){.kind = VALUE_OBJECT, .object = values->env};
    }
    if (wb_str_equal(name, "env_list") && values->env != NULL) {
        return words_value(assignments(arena, values->env));
    }
    return (struct value){0};
}

/* "{name}" at the beginning of text; its length, or 0. "${name}" is the adapter's own. */
static size_t placeholder_at(const char *text, char name[NAME_BYTES_MAX])
{
    size_t len = 0;
    if (*text != '{') {
        return 0;
    }
    while (len + 1 < NAME_BYTES_MAX &&
           ((text[len + 1] >= 'a' && text[len + 1] <= 'z') || text[len + 1] == '_')) {
        name[len] = text[len + 1];
        len++;
    }
    name[len] = '\0';
    return len > 0 && text[len + 1] == '}' ? len + 2 : 0;
}

/* The value of a string that is one placeholder and nothing else. */
static bool is_alone(struct wb_arena *arena, const struct wb_template_values *values,
                     const char *text, struct value *ret)
{
    char name[NAME_BYTES_MAX];
    size_t len = placeholder_at(text, name);
    if (len == 0 || text[len] != '\0') {
        return false;
    }
    *ret = look_up(arena, values, name);
    return true;
}

/* Inside a longer string. NULL: one of the placeholders has no value. */
static const char *fill_text(struct wb_arena *arena, const struct wb_template_values *values,
                             const char *text)
{
    WB_AUTO(wb_text_done) struct wb_text filled = {0};
    char name[NAME_BYTES_MAX];
    for (const char *at = text; *at != '\0';) {
        size_t len = at > text && at[-1] == '$' ? 0 : placeholder_at(at, name);
        if (len == 0) {
            wb_text_add_char(&filled, *at++);
            continue;
        }
        struct value value = look_up(arena, values, name);
        if (value.kind == VALUE_NONE || value.text == NULL) {
            return NULL;
        }
        wb_text_add_str(&filled, value.text);
        at += len;
    }
    return wb_arena_strdup(arena, wb_text_cstr(&filled));
}

static void put_value(struct wb_json_writer *w, const struct value *value)
{
    switch (value->kind) {
    case VALUE_TEXT:
        wb_json_put_str(w, value->text);
        break;
    case VALUE_NUMBER:
        wb_json_put_int(w, value->number);
        break;
    case VALUE_BOOL:
        wb_json_put_bool(w, value->number != 0);
        break;
    case VALUE_WORDS:
        wb_json_begin_array(w);
        for (size_t i = 0; value->words[i] != NULL; i++) {
            wb_json_put_str(w, value->words[i]);
        }
        wb_json_end_array(w);
        break;
    case VALUE_OBJECT:
        wb_json_put_value(w, value->object);
        break;
    case VALUE_NONE:
        wb_json_put_null(w);
        break;
    }
}

/* What the template's string becomes; VALUE_NONE: it is left out. */
static struct value fill_string(struct wb_arena *arena, const struct wb_template_values *values,
                                const char *text)
{
    struct value value;
    return is_alone(arena, values, text, &value) ? value
                                                 : text_value(fill_text(arena, values, text));
}

static void put_filled(struct wb_arena *arena, struct wb_json_writer *w, const struct wb_json *node,
                       const struct wb_template_values *values);

static void put_array(struct wb_arena *arena, struct wb_json_writer *w, const struct wb_json *array,
                      const struct wb_template_values *values)
{
    wb_json_begin_array(w);
    for (struct wb_json_iter it = wb_json_iter(array); wb_json_next(&it);) {
        const char *text = wb_json_str(it.value);
        struct value value = text != NULL ? fill_string(arena, values, text) : (struct value){0};
        if (text == NULL) {
            put_filled(arena, w, it.value, values);
        } else if (value.kind == VALUE_WORDS) { /* spliced */
            for (size_t i = 0; value.words[i] != NULL; i++) {
                wb_json_put_str(w, value.words[i]);
            }
        } else if (value.kind != VALUE_NONE) {
            put_value(w, &value);
        }
    }
    wb_json_end_array(w);
}

static void put_object(struct wb_arena *arena, struct wb_json_writer *w,
                       const struct wb_json *object, const struct wb_template_values *values)
{
    wb_json_begin_object(w);
    for (struct wb_json_iter it = wb_json_iter(object); wb_json_next(&it);) {
        const char *text = wb_json_str(it.value);
        struct value value = text != NULL ? fill_string(arena, values, text) : (struct value){0};
        if (text == NULL) {
            wb_json_key(w, it.key);
            put_filled(arena, w, it.value, values);
        } else if (value.kind != VALUE_NONE) {
            wb_json_key(w, it.key);
            put_value(w, &value);
        }
    }
    wb_json_end_object(w);
}

/* Recursion: templates are a few levels deep. */
static void put_filled(struct wb_arena *arena, struct wb_json_writer *w, const struct wb_json *node,
                       const struct wb_template_values *values)
{
    switch (wb_json_type(node)) {
    case WB_JSON_OBJECT:
        put_object(arena, w, node, values);
        break;
    case WB_JSON_ARRAY:
        put_array(arena, w, node, values);
        break;
    default:
        wb_json_put_value(w, node);
        break;
    }
}

struct wb_span wb_template_fill(struct wb_arena *arena, const struct wb_json *arguments,
                                const struct wb_template_values *values)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    struct wb_json_writer w;
    wb_json_writer_init(&w, &text);
    put_filled(arena, &w, arguments, values);
    return wb_arena_span(arena, wb_text_span(&text));
}

bool wb_template_asks(struct wb_arena *arena, const struct wb_json *arguments,
                      const char *placeholder)
{
    struct wb_span text = wb_json_write(arena, arguments);
    return wb_span_find(text, wb_span(placeholder), 0) != SIZE_MAX;
}

const char *const *wb_template_words(struct wb_arena *arena, const char *const *words,
                                     const struct wb_template_values *values)
{
    const char **filled = NULL;
    size_t n = 0, capacity = 0;
    for (; *words != NULL; words++) {
        struct value value = fill_string(arena, values, *words);
        for (size_t i = 0; value.kind == VALUE_WORDS && value.words[i] != NULL; i++) {
            *WB_ARENA_PUSH(arena, filled, n, capacity) = value.words[i];
        }
        if (value.kind != VALUE_WORDS && value.kind != VALUE_NONE) {
            *WB_ARENA_PUSH(arena, filled, n, capacity) = value.text;
        }
    }
    *WB_ARENA_PUSH(arena, filled, n, capacity) = NULL;
    return filled;
}

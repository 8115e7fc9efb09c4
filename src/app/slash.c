/* slash: see the header. */
#include "app/slash.h"

#include <ctype.h>

/* One line being read. given[i]: argument i has a value. order: the arguments that words fill. */
struct slash {
    struct wb_arena *arena;
    const struct wb_args *args;
    struct wb_json_writer *w;
    struct wb_span rest;
    bool given[64];
    size_t order[64], n_order;
};

struct word {
    struct wb_span text;  /* without its quotes */
    struct wb_span after; /* what is left of the line, and from the word on: */
    struct wb_span from;
    bool quoted;
};

static struct wb_span skip_blanks(struct wb_span s)
{
    while (s.len > 0 && isspace((unsigned char)s.ptr[0])) {
        s.ptr++;
        s.len--;
    }
    return s;
}

static bool is_json(const char *ptr)
{
    return *ptr == '{' || *ptr == '[';
}

/* Where the JSON value at the front ends: its brackets are closed. */
static size_t json_length(struct wb_span s)
{
    size_t depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < s.len; i++) {
        if (in_string) {
            i += s.ptr[i] == '\\';
            in_string = i >= s.len || s.ptr[i] != '"' || s.ptr[i - 1] == '\\';
        } else if (s.ptr[i] == '"') {
            in_string = true;
        } else if (s.ptr[i] == '{' || s.ptr[i] == '[') {
            depth++;
        } else if ((s.ptr[i] == '}' || s.ptr[i] == ']') && --depth == 0) {
            return i + 1;
        }
    }
    return s.len;
}

/* A word ends at a blank outside quotes; backslashes are left alone: they belong to patterns. */
static int read_word(struct slash *slash, struct wb_span line, struct word *ret,
                     struct wb_error *err)
{
    struct wb_text text = {0};
    char quote = '\0';
    size_t i = 0;
    *ret = (struct word){.from = line};
    if (is_json(line.ptr)) {
        i = json_length(line);
        wb_text_add(&text, line.ptr, i);
    }
    for (; i < line.len && (quote != '\0' || !isspace((unsigned char)line.ptr[i])); i++) {
        char c = line.ptr[i];
        if (quote == '\0' && (c == '"' || c == '\'')) {
            quote = c;
            ret->quoted = true;
        } else if (quote == c) {
            quote = '\0';
        } else {
            wb_text_add_char(&text, c);
            if (quote == '\0' && c == '=' && i + 1 < line.len && is_json(line.ptr + i + 1)) {
                size_t len = json_length((struct wb_span){line.ptr + i + 1, line.len - i - 1});
                wb_text_add(&text, line.ptr + i + 1, len);
                i += len;
            }
        }
    }
    ret->text = wb_arena_span(slash->arena, wb_text_span(&text));
    ret->after = skip_blanks((struct wb_span){line.ptr + i, line.len - i});
    wb_text_done(&text);
    return quote == '\0' ? 0
                         : wb_error_set(err, WB_ERROR_INVALID,
                                        "The quote %c is not closed: close it, or put the word in "
                                        "the other kind of quotes",
                                        quote);
}

/* --- the order of arguments --- */

static size_t find_key(const struct wb_args *args, struct wb_span key)
{
    for (size_t i = 0; i < args->n; i++) {
        if (wb_span_is(key, args->table[i].key)) {
            return i;
        }
    }
    return SIZE_MAX;
}

static void add_order(struct slash *slash, size_t i)
{
    if (i < slash->args->n && !slash->given[i] && slash->n_order < WB_COUNT(slash->order)) {
        slash->order[slash->n_order++] = i;
    }
}

/* "file line|lines symbol" */
static void add_keys(struct slash *slash, const char *keys)
{
    while (*keys != '\0') {
        size_t len = strcspn(keys, " |");
        add_order(slash, find_key(slash->args, (struct wb_span){keys, len}));
        keys += len + (keys[len] != '\0');
    }
}

static void order_by_table(struct slash *slash)
{
    for (int required = 1; required >= 0; required--) {
        for (size_t i = 0; i < slash->args->n; i++) {
            if (slash->args->table[i].required == (required == 1)) {
                add_order(slash, i);
            }
        }
    }
}

static const struct wb_arg_rule *rule_of(const struct wb_args *args, struct wb_span choice)
{
    for (size_t i = 0; i < args->n_rules; i++) {
        if (wb_span_is(choice, args->rules[i].choice)) {
            return &args->rules[i];
        }
    }
    return NULL;
}

/* The argument that selects the operation: the table's first ENUM, when there are rules. */
static size_t selector_of(const struct wb_args *args)
{
    for (size_t i = 0; args->rules != NULL && i < args->n; i++) {
        if (args->table[i].kind == WB_ARG_ENUM) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* --- values --- */

static void put_value(struct slash *slash, size_t i, struct wb_span text, bool quoted)
{
    const struct wb_arg *arg = &slash->args->table[i];
    int64_t number;
    bool is_list = arg->kind == WB_ARG_STRINGS || arg->kind == WB_ARG_OBJECTS;
    struct wb_error ignored;
    slash->given[i] = true;
    if ((is_list || arg->kind == WB_ARG_OBJECT) && !quoted && text.len > 0 && is_json(text.ptr)) {
        const struct wb_json *value = wb_json_parse(slash->arena, text, &ignored);
        if (value != NULL) {
            wb_json_put_value(slash->w, value);
            return;
        }
    }
    if (arg->kind == WB_ARG_INT && wb_span_int64(text, &number)) {
        wb_json_put_int(slash->w, number);
    } else if (arg->kind == WB_ARG_BOOL &&
               (wb_span_is(text, "true") || wb_span_is(text, "false"))) {
        wb_json_put_bool(slash->w, wb_span_is(text, "true"));
    } else {
        wb_json_put_span(slash->w, text);
    }
}

static void put_member(struct slash *slash, size_t i, struct wb_span text, bool quoted)
{
    wb_json_key(slash->w, slash->args->table[i].key);
    put_value(slash, i, text, quoted);
}

/* A list takes all words that are left. */
static int put_list(struct slash *slash, size_t i, struct word word, struct wb_error *err)
{
    bool is_json_list = !word.quoted && word.text.len > 0 && word.text.ptr[0] == '[';
    slash->given[i] = true;
    if (is_json_list) {
        put_member(slash, i, word.text, false);
        slash->rest = word.after;
        return 0;
    }
    wb_json_key(slash->w, slash->args->table[i].key);
    wb_json_begin_array(slash->w);
    for (;;) {
        int64_t number;
        if (slash->args->table[i].kind != WB_ARG_STRINGS && wb_span_int64(word.text, &number)) {
            wb_json_put_int(slash->w, number);
        } else {
            wb_json_put_span(slash->w, word.text);
        }
        slash->rest = word.after;
        if (slash->rest.len == 0) {
            break;
        }
        if (read_word(slash, slash->rest, &word, err) != 0) {
            return -1;
        }
    }
    wb_json_end_array(slash->w);
    return 0;
}

/* "src/a.c:42" where a line comes next: the path alone, and the line is filled in. */
static struct wb_span take_line(struct slash *slash, size_t i, struct wb_span text)
{
    size_t colon = text.len;
    int64_t line;
    while (colon > 0 && text.ptr[colon - 1] != ':') {
        colon--;
    }
    struct wb_span digits = {text.ptr + colon, text.len - colon};
    size_t next = i + 1 < slash->n_order ? slash->order[i + 1] : SIZE_MAX;
    if (colon < 2 || next == SIZE_MAX || !wb_span_int64(digits, &line)) {
        return text;
    }
    const struct wb_arg *arg = &slash->args->table[next];
    if (slash->given[next] ||
        (!wb_str_equal(arg->key, "line") && !wb_str_equal(arg->key, "lines"))) {
        return text;
    }
    wb_json_key(slash->w, arg->key);
    if (arg->kind == WB_ARG_INT) {
        wb_json_put_int(slash->w, line);
    } else {
        wb_json_begin_array(slash->w);
        wb_json_put_int(slash->w, line);
        wb_json_end_array(slash->w);
    }
    slash->given[next] = true;
    text.len = colon - 1;
    return text;
}

/* lsp's file may be "*" and so is text in the table. */
static bool is_path(const struct wb_arg *arg)
{
    return arg->kind == WB_ARG_PATH || wb_str_equal(arg->key, "file");
}

/* Does the argument at place i of the order take the rest of the line? No text may come behind. */
static bool takes_rest(const struct slash *slash, size_t i)
{
    const struct wb_arg *taker = &slash->args->table[slash->order[i]];
    if (taker->kind != WB_ARG_STRING || is_path(taker)) {
        return false;
    }
    for (size_t j = i + 1; j < slash->n_order; j++) {
        const struct wb_arg *arg = &slash->args->table[slash->order[j]];
        if (!slash->given[slash->order[j]] && arg->kind != WB_ARG_INT && arg->kind != WB_ARG_BOOL &&
            arg->kind != WB_ARG_ENUM) {
            return false;
        }
    }
    return true;
}

/* KEY=VALUE of an argument that exists and has no value yet; SIZE_MAX: the word is none. */
static size_t named_argument(const struct slash *slash, struct wb_span *text)
{
    size_t len = 0;
    while (len < text->len && (isalnum((unsigned char)text->ptr[len]) || text->ptr[len] == '_')) {
        len++;
    }
    if (len == 0 || len == text->len || text->ptr[len] != '=') {
        return SIZE_MAX;
    }
    size_t i = find_key(slash->args, (struct wb_span){text->ptr, len});
    if (i == SIZE_MAX || slash->given[i]) {
        return SIZE_MAX;
    }
    text->ptr += len + 1;
    text->len -= len + 1;
    return i;
}

/* All that is left is one word in quotes. */
static bool is_wholly_quoted(const struct word *word)
{
    return word->after.len == 0 && word->text.len + 2 == word->from.len &&
           (word->from.ptr[0] == '"' || word->from.ptr[0] == '\'');
}

static int fill_next(struct slash *slash, struct word *word, struct wb_error *err)
{
    size_t place = 0;
    while (place < slash->n_order && slash->given[slash->order[place]]) {
        place++;
    }
    if (place == slash->n_order) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "There is no argument left for `%s`: quote words that belong together, "
                            "or name the argument: KEY=VALUE",
                            word->text.ptr);
    }
    size_t i = slash->order[place];
    enum wb_arg_kind kind = slash->args->table[i].kind;
    if (kind != WB_ARG_STRING && kind != WB_ARG_PATH && kind != WB_ARG_INT && kind != WB_ARG_BOOL &&
        kind != WB_ARG_ENUM && kind != WB_ARG_OBJECT) {
        return put_list(slash, i, *word, err);
    }
    if (!is_wholly_quoted(word) && takes_rest(slash, place)) {
        put_member(slash, i, wb_span_trim(word->from), true);
        slash->rest = (struct wb_span){word->from.ptr + word->from.len, 0};
        return 0;
    }
    struct wb_span text = word->text;
    if (is_path(&slash->args->table[i])) {
        text = take_line(slash, place, text);
    }
    put_member(slash, i, text, word->quoted);
    slash->rest = word->after;
    return 0;
}

static int fill_word(struct slash *slash, struct word *word, struct wb_error *err)
{
    struct wb_span text = word->text;
    size_t named =
        word->quoted && word->from.ptr[0] != text.ptr[0] ? SIZE_MAX : named_argument(slash, &text);
    if (named == SIZE_MAX) {
        return fill_next(slash, word, err);
    }
    put_member(slash, named, text, word->quoted);
    slash->rest = word->after;
    return 0;
}

/* The operation is the first word; it decides the order of the rest. */
static int fill_selector(struct slash *slash, size_t selector, struct wb_error *err)
{
    struct word word;
    if (read_word(slash, slash->rest, &word, err) != 0) {
        return -1;
    }
    put_member(slash, selector, word.text, false);
    slash->rest = word.after;
    const struct wb_arg_rule *rule = rule_of(slash->args, word.text);
    if (rule != NULL) {
        add_keys(slash, rule->needs);
        add_keys(slash, rule->takes);
    }
    return 0;
}

static int fill(struct slash *slash, struct wb_error *err)
{
    size_t selector = selector_of(slash->args);
    if (selector != SIZE_MAX) {
        if (slash->rest.len > 0 && fill_selector(slash, selector, err) != 0) {
            return -1;
        }
    } else {
        order_by_table(slash);
    }
    while (slash->rest.len > 0) {
        struct word word;
        if (read_word(slash, slash->rest, &word, err) != 0 || fill_word(slash, &word, err) != 0) {
            return -1;
        }
    }
    return 0;
}

int wb_slash_arguments(struct wb_arena *arena, const struct wb_tool *tool, struct wb_span line,
                       struct wb_span *ret_json, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text json = {0};
    struct wb_json_writer w;
    struct slash slash = {
        .arena = arena, .args = &tool->args, .w = &w, .rest = skip_blanks(wb_span_trim(line))};
    if (slash.rest.len > 0 && slash.rest.ptr[0] == '{') {
        *ret_json = slash.rest; /* the arguments as they are sent */
        return 0;
    }
    wb_json_writer_init(&w, &json);
    wb_json_begin_object(&w);
    if (fill(&slash, err) != 0) {
        return -1;
    }
    wb_json_end_object(&w);
    *ret_json = wb_arena_span(arena, wb_text_span(&json));
    return 0;
}

/* --- completion --- */

static void add_candidate(struct wb_arena *arena, struct wb_slash_completion *ret,
                          const char *candidate)
{
    if (wb_span_starts(wb_span(candidate), ret->word)) {
        *WB_ARENA_PUSH(arena, ret->candidates, ret->count, ret->capacity) = candidate;
    }
}

static void complete_value(struct wb_arena *arena, const struct wb_arg *arg,
                           struct wb_slash_completion *ret)
{
    if (is_path(arg)) {
        ret->is_path = true;
    }
    for (size_t i = 0; arg->kind == WB_ARG_ENUM && arg->choices[i] != NULL; i++) {
        add_candidate(arena, ret, arg->choices[i]);
    }
    if (arg->kind == WB_ARG_BOOL) {
        add_candidate(arena, ret, "true");
        add_candidate(arena, ret, "false");
    }
}

/* The word under the cursor begins behind the last blank. */
static struct wb_span split_word(struct wb_span *line)
{
    size_t start = line->len;
    while (start > 0 && !isspace((unsigned char)line->ptr[start - 1])) {
        start--;
    }
    struct wb_span word = {line->ptr + start, line->len - start};
    line->len = start;
    return word;
}

static size_t next_argument(const struct slash *slash)
{
    for (size_t i = 0; i < slash->n_order; i++) {
        if (!slash->given[slash->order[i]]) {
            return slash->order[i];
        }
    }
    return SIZE_MAX;
}

void wb_slash_complete(struct wb_arena *arena, const struct wb_tool *tool, struct wb_span line,
                       struct wb_slash_completion *ret)
{
    WB_AUTO(wb_text_done) struct wb_text json = {0};
    struct wb_json_writer w;
    struct wb_error ignored;
    struct wb_span word = split_word(&line);
    struct slash slash = {
        .arena = arena, .args = &tool->args, .w = &w, .rest = skip_blanks(wb_span_trim(line))};
    *ret = (struct wb_slash_completion){.word = word};
    wb_json_writer_init(&w, &json);
    wb_json_begin_object(&w);
    size_t selector = selector_of(&tool->args);
    if (selector != SIZE_MAX && slash.rest.len == 0) {
        complete_value(arena, &tool->args.table[selector], ret);
        return;
    }
    if (fill(&slash, &ignored) != 0) {
        return;
    }
    size_t named = named_argument(&slash, &ret->word);
    size_t next = named != SIZE_MAX ? named : next_argument(&slash);
    if (next != SIZE_MAX) {
        complete_value(arena, &tool->args.table[next], ret);
    }
    for (size_t i = 0; named == SIZE_MAX && word.len > 0 && i < slash.n_order; i++) {
        const struct wb_arg *arg = &tool->args.table[slash.order[i]];
        if (!slash.given[slash.order[i]] && !arg->required) {
            add_candidate(arena, ret, wb_arena_printf(arena, "%s=", arg->key));
        }
    }
}

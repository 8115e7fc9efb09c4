/* pattern_text: metavariables in a pattern's text, and the placeholders that stand for them while it
 * is parsed. Knows no tree. */
#include <ctype.h>

#include "ast/pattern_internal.h"

/* --- metavariables --- */

static size_t name_length(struct wb_span text)
{
    size_t len = 0;
    if (text.len == 0 || (!isupper((unsigned char)text.ptr[0]) && text.ptr[0] != '_')) {
        return 0;
    }
    while (len < text.len && (isupper((unsigned char)text.ptr[len]) || text.ptr[len] == '_' ||
                              isdigit((unsigned char)text.ptr[len]))) {
        len++;
    }
    /* $Name is the language's own: a metavariable has no small letters behind it. */
    return len < text.len && islower((unsigned char)text.ptr[len]) ? 0 : len;
}

static bool is_literal(const struct wb_grammar *grammar, struct wb_span name)
{
    for (size_t i = 0; grammar->literals != NULL && grammar->literals[i] != NULL; i++) {
        if (wb_span_is(name, grammar->literals[i])) {
            return true;
        }
    }
    return false;
}

size_t wb_metavariable_read(const struct wb_grammar *grammar, struct wb_span text,
                            struct wb_span *ret_name, bool *ret_many)
{
    size_t dollars = 0;
    while (dollars < text.len && dollars < 3 && text.ptr[dollars] == '$') {
        dollars++;
    }
    if (dollars != 1 && dollars != 3) {
        return 0;
    }
    struct wb_span name = {text.ptr + dollars, text.len - dollars};
    name.len = name_length(name);
    *ret_many = dollars == 3;
    if (dollars == 1 && (name.len == 0 || is_literal(grammar, name))) {
        return 0;
    }
    size_t length = dollars + name.len;
    if (name.len > 0 && name.ptr[0] == '_') {
        name.len = 0; /* $_ and $_NAME bind nothing */
    }
    *ret_name = name;
    return length;
}

/* --- the text in parts --- */

static void add_literal(struct wb_arena *arena, struct wb_pattern_text *text, const char *source,
                        size_t start, size_t end)
{
    if (end > start) {
        *WB_ARENA_PUSH(arena, text->parts, text->n_parts, text->parts_capacity) =
            (struct wb_pattern_part){.literal = {source + start, end - start}, .at = start};
    }
}

static uint16_t add_variable(struct wb_arena *arena, struct wb_pattern_text *text,
                             struct wb_span name)
{
    *WB_ARENA_PUSH(arena, text->variables, text->n_variables, text->variables_capacity) =
        wb_arena_strndup(arena, name.ptr, name.len);
    return (uint16_t)(text->n_variables - 1);
}

/* The placeholder of a name that has one, or a new one. */
static size_t placeholder_of(struct wb_arena *arena, struct wb_pattern_text *text,
                             struct wb_span name, bool is_many)
{
    for (size_t i = 0; name.len > 0 && i < text->n_placeholders; i++) {
        uint16_t variable = text->placeholders[i].variable;
        if (variable != WB_PATTERN_UNBOUND && wb_span_is(name, text->variables[variable])) {
            return i;
        }
    }
    if (text->n_placeholders == WB_PATTERN_VARIABLES_MAX) {
        return SIZE_MAX;
    }
    text->placeholders[text->n_placeholders].variable =
        name.len > 0 ? add_variable(arena, text, name) : WB_PATTERN_UNBOUND;
    text->placeholders[text->n_placeholders].is_many = is_many;
    return text->n_placeholders++;
}

static int add_metavariable(struct wb_arena *arena, struct wb_pattern_text *text,
                            struct wb_span name, bool is_many, size_t at, struct wb_error *err)
{
    size_t placeholder = placeholder_of(arena, text, name, is_many);
    if (placeholder == SIZE_MAX) {
        return wb_error_set(err, WB_ERROR_LIMIT, "The pattern has more than %d metavariables",
                            WB_PATTERN_VARIABLES_MAX);
    }
    if (text->placeholders[placeholder].is_many != is_many) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "The pattern has both $" WB_SPAN_FMT " and $$$" WB_SPAN_FMT
                            ": a name is one node or a run, not both",
                            WB_SPAN_ARG(name), WB_SPAN_ARG(name));
    }
    *WB_ARENA_PUSH(arena, text->parts, text->n_parts, text->parts_capacity) =
        (struct wb_pattern_part){.is_metavariable = true, .placeholder = placeholder, .at = at};
    return 0;
}

/* A letter such that "wb" and it do not come in the text. */
static char choose_letter(struct wb_span text)
{
    static const char letters[] = "zqxjvkwyhgfmtpn";
    for (const char *letter = letters; *letter != '\0'; letter++) {
        char upper[] = {'W', 'b', *letter, '\0'}, lower[] = {'w', 'b', *letter, '\0'};
        if (wb_span_find(text, wb_span(lower), 0) == SIZE_MAX &&
            wb_span_find(text, wb_span(upper), 0) == SIZE_MAX) {
            return *letter;
        }
    }
    return '\0';
}

int wb_pattern_text_read(struct wb_arena *arena, const struct wb_grammar *grammar,
                         struct wb_span text, struct wb_pattern_text *ret, struct wb_error *err)
{
    *ret = (struct wb_pattern_text){.letter = choose_letter(text)};
    if (ret->letter == '\0') {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "The pattern uses every name that could stand for its metavariables");
    }
    size_t done = 0;
    for (size_t at = 0; at < text.len;) {
        struct wb_span name, rest = {text.ptr + at, text.len - at};
        bool is_many;
        bool is_escape = grammar->has_escape && wb_span_starts(rest, WB_SPAN("\\$"));
        size_t length = is_escape ? 0 : wb_metavariable_read(grammar, rest, &name, &is_many);
        if (!is_escape && length == 0) {
            at++;
            continue;
        }
        add_literal(arena, ret, text.ptr, done, at);
        if (length > 0) {
            if (add_metavariable(arena, ret, name, is_many, at, err) != 0) {
                return -1;
            }
            wb_pattern_part_spell(arena, grammar, text, at, at + length, is_many,
                                  &ret->parts[ret->n_parts - 1]);
        }
        done = at + (is_escape ? 1 : length);
        at = is_escape ? at + 2 : done;
    }
    add_literal(arena, ret, text.ptr, done, text.len);
    return 0;
}

/* --- placeholders --- */

/* Letters only, no vowel but these: no keyword of any language. */
static const char *placeholder_name(struct wb_arena *arena, const struct wb_pattern_text *text,
                                    size_t index, enum wb_placeholder style)
{
    static const char *const around[WB_PLACEHOLDER_STYLES][2] = {
        [WB_PLACEHOLDER_BARE] = {"w", ""},
        [WB_PLACEHOLDER_UPPER] = {"W", ""},
        [WB_PLACEHOLDER_DOLLAR] = {"$w", ""},
        [WB_PLACEHOLDER_QUOTED] = {"\"w", "\""},
    };
    const char *const *ends = around[style];
    return wb_arena_printf(arena, "%sb%c%c%cz%s", ends[0], text->letter, (int)('a' + index / 26),
                           (int)('a' + index % 26), ends[1]);
}

static struct wb_span put_part(struct wb_arena *arena, const struct wb_pattern_text *text,
                               const struct wb_pattern_part *part)
{
    if (!part->is_metavariable) {
        return part->literal;
    }
    const struct wb_pattern_spelling *spelling = &part->spellings[part->spelling];
    const char *name = placeholder_name(arena, text, part->placeholder, spelling->style);
    if (spelling->body == NULL) {
        return wb_span(name);
    }
    int before = (int)strcspn(spelling->body, "%");
    const char *after = spelling->body + before;
    return wb_span(wb_arena_printf(arena, "%.*s%s%s", before, spelling->body, name,
                                   after[0] == '%' ? after + 1 : after));
}

void wb_pattern_text_put(struct wb_arena *arena, struct wb_pattern_text *text, struct wb_text *out)
{
    for (size_t i = 0; i < text->n_parts; i++) {
        text->parts[i].put = put_part(arena, text, &text->parts[i]);
        wb_text_add_span(out, text->parts[i].put);
    }
}

bool wb_pattern_text_respell(struct wb_pattern_text *text)
{
    for (size_t i = 0; i < text->n_parts; i++) {
        struct wb_pattern_part *part = &text->parts[i];
        if (++part->spelling < part->n_spellings) {
            return true;
        }
        part->spelling = 0;
    }
    return false;
}

void wb_pattern_text_reset(struct wb_pattern_text *text)
{
    for (size_t i = 0; i < text->n_parts; i++) {
        text->parts[i].spelling = 0;
    }
}

size_t wb_pattern_text_place(const struct wb_pattern_text *text, size_t offset)
{
    size_t place = 0;
    for (size_t i = 0; i < text->n_parts; i++) {
        const struct wb_pattern_part *part = &text->parts[i];
        if (offset < part->put.len) {
            return part->at + (part->is_metavariable ? 0 : offset);
        }
        offset -= part->put.len;
        place = part->at + part->put.len;
    }
    return place;
}

/* "wbzaaz" at ptr, six bytes. */
static size_t read_placeholder(const struct wb_pattern_text *text, const char *ptr)
{
    if ((ptr[0] != 'w' && ptr[0] != 'W') || ptr[1] != 'b' || ptr[2] != text->letter ||
        ptr[5] != 'z') {
        return SIZE_MAX;
    }
    size_t index = (size_t)(ptr[3] - 'a') * 26 + (size_t)(ptr[4] - 'a');
    return index < text->n_placeholders ? index : SIZE_MAX;
}

size_t wb_pattern_text_find(const struct wb_pattern_text *text, struct wb_span s, size_t *ret_at)
{
    for (size_t i = 0; i + WB_PLACEHOLDER_NAME_BYTES <= s.len; i++) {
        size_t index = read_placeholder(text, s.ptr + i);
        if (index != SIZE_MAX) {
            *ret_at = i;
            return index;
        }
    }
    return SIZE_MAX;
}

/* Some grammars have the semicolon or comma beside the member, others in it. */
static struct wb_span without_end(struct wb_span text)
{
    text.len -= text.len > 0 && (text.ptr[text.len - 1] == ';' || text.ptr[text.len - 1] == ',');
    return wb_span_trim(text);
}

size_t wb_pattern_text_whole(const struct wb_pattern_text *text, struct wb_span s)
{
    for (size_t i = 0; i < text->n_parts; i++) {
        const struct wb_pattern_part *part = &text->parts[i];
        struct wb_span put = wb_span_trim(part->put);
        if (part->is_metavariable &&
            (wb_span_equal(put, s) || (part->spellings[part->spelling].body != NULL &&
                                       wb_span_equal(without_end(put), without_end(s))))) {
            return part->placeholder;
        }
    }
    return SIZE_MAX;
}

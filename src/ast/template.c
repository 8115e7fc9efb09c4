/* template: see the header. */
#include "ast/template.h"

#include <ctype.h>

#include "ast/rewrite.h"

struct part {
    struct wb_span literal;
    size_t variable; /* SIZE_MAX: literal text */
};

struct wb_template {
    const struct wb_pattern *pattern;
    struct part *parts;
    size_t n_parts, capacity;
};

const struct wb_pattern *wb_template_pattern(const struct wb_template *template)
{
    return template->pattern;
}

bool wb_template_uses(const struct wb_template *template, size_t variable)
{
    for (size_t i = 0; i < template->n_parts; i++) {
        if (template->parts[i].variable == variable) {
            return true;
        }
    }
    return false;
}

const char *wb_template_last(const struct wb_template *template)
{
    if (template->n_parts == 0 || template->parts[template->n_parts - 1].variable != SIZE_MAX) {
        return NULL;
    }
    struct wb_span last = wb_span_trim(template->parts[template->n_parts - 1].literal);
    return last.len > 0 ? last.ptr + last.len - 1 : NULL;
}

/* --- compiling --- */

static int refuse_name(const struct wb_pattern *pattern, struct wb_span name, bool is_many,
                       struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text names = {0};
    for (size_t i = 0; i < pattern->n_variables; i++) {
        wb_text_printf(&names, "%s%s%s", i > 0 ? ", " : "", pattern->is_many[i] ? "$$$" : "$",
                       pattern->variables[i]);
    }
    if (name.len == 0) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "The rewrite has a metavariable without a name, which stands for "
                            "nothing: name it in the pattern and here");
    }
    return wb_error_set(err, WB_ERROR_INVALID,
                        "The rewrite has %s" WB_SPAN_FMT ", which the pattern does not bind; it "
                        "binds %s. A $ that is meant as one is written \\$",
                        is_many ? "$$$" : "$", WB_SPAN_ARG(name),
                        names.len > 0 ? wb_text_cstr(&names) : "nothing");
}

static void add_part(struct wb_arena *arena, struct wb_template *template, struct wb_span literal,
                     size_t variable)
{
    if (literal.len > 0 || variable != SIZE_MAX) {
        *WB_ARENA_PUSH(arena, template->parts, template->n_parts, template->capacity) =
            (struct part){wb_arena_span(arena, literal), variable};
    }
}

static int read_parts(struct wb_arena *arena, struct wb_template *template, struct wb_span text,
                      struct wb_error *err)
{
    size_t done = 0;
    for (size_t at = 0; at < text.len;) {
        struct wb_span name, rest = {text.ptr + at, text.len - at};
        bool is_many, is_escape = rest.len > 1 && rest.ptr[0] == '\\' && rest.ptr[1] == '$';
        size_t length =
            is_escape ? 0 : wb_metavariable_read(template->pattern->grammar, rest, &name, &is_many);
        if (!is_escape && length == 0) {
            at++;
            continue;
        }
        add_part(arena, template, (struct wb_span){text.ptr + done, at - done}, SIZE_MAX);
        done = at + (is_escape ? 1 : length);
        at += is_escape ? 2 : length;
        if (!is_escape) {
            size_t variable =
                name.len > 0 ? wb_pattern_variable(template->pattern, name) : SIZE_MAX;
            if (variable == SIZE_MAX) {
                return refuse_name(template->pattern, name, is_many, err);
            }
            add_part(arena, template, (struct wb_span){NULL, 0}, variable);
        }
    }
    add_part(arena, template, (struct wb_span){text.ptr + done, text.len - done}, SIZE_MAX);
    return 0;
}

const struct wb_template *wb_template_compile(struct wb_arena *arena,
                                              const struct wb_pattern *pattern, struct wb_span text,
                                              struct wb_error *err)
{
    struct wb_template *template = WB_ARENA_NEW(arena, struct wb_template);
    template->pattern = pattern;
    return read_parts(arena, template, text, err) == 0 ? template : NULL;
}

/* --- layout --- */

void wb_layout_read(struct wb_layout *ret, const struct wb_flat_tree *tree, struct wb_span source)
{
    size_t n_tabs = 0, n_blanks = 0, n_crlf = 0, n_lines = 0;
    struct wb_span rest = source, line;
    *ret = (struct wb_layout){.tree = tree, .source = source};
    while (rest.len > 0) {
        const char *begin = rest.ptr;
        wb_span_next_line(&rest, &line);
        n_tabs += line.len > 0 && line.ptr[0] == '\t';
        n_blanks += line.len > 1 && line.ptr[0] == ' ' && line.ptr[1] == ' ';
        n_crlf += begin[line.len] == '\r' && rest.ptr == begin + line.len + 2;
        n_lines++;
    }
    ret->has_tabs = n_tabs > n_blanks;
    ret->has_crlf = n_crlf * 2 > n_lines;
}

/* The blanks in front of the line that an offset is on. */
static struct wb_span indentation_at(struct wb_span source, size_t at)
{
    size_t start = at, end;
    while (start > 0 && source.ptr[start - 1] != '\n') {
        start--;
    }
    for (end = start; end < at && (source.ptr[end] == ' ' || source.ptr[end] == '\t'); end++) {
    }
    return (struct wb_span){source.ptr + start, end - start};
}

static void add_line_end(const struct wb_layout *layout, struct wb_text *out)
{
    wb_text_add_str(out, layout->has_crlf ? "\r\n" : "\n");
}

/* The template's own indentation in the file's style: where the file has tabs, each four blanks (or
 * two, if the template moves by two) are one. */
static size_t put_indentation(const struct wb_layout *layout, struct wb_span literal, size_t at,
                              struct wb_text *out)
{
    size_t end = at;
    while (end < literal.len && literal.ptr[end] == ' ') {
        end++;
    }
    size_t n = end - at, unit = n % 4 == 0 ? 4 : 2;
    if (layout->has_tabs && n >= 2) {
        for (size_t i = 0; i < n / unit; i++) {
            wb_text_add_char(out, '\t');
        }
        n %= unit;
    }
    for (size_t i = 0; i < n; i++) {
        wb_text_add_char(out, ' ');
    }
    return end;
}

static bool is_blank_line(struct wb_span text, size_t at)
{
    while (at < text.len && (text.ptr[at] == ' ' || text.ptr[at] == '\t')) {
        at++;
    }
    return at == text.len || text.ptr[at] == '\n' || text.ptr[at] == '\r';
}

/* Text of the template: behind each line end comes the place's indentation. *now: that of the line
 * which the template is on. */
static void put_literal(const struct wb_layout *layout, struct wb_span literal,
                        struct wb_span indentation, bool is_last, struct wb_text *out,
                        struct wb_text *now)
{
    for (size_t i = 0; i < literal.len;) {
        if (literal.ptr[i] == '\r' && i + 1 < literal.len && literal.ptr[i + 1] == '\n') {
            i++;
        } else if (literal.ptr[i] != '\n') {
            wb_text_add_char(out, literal.ptr[i++]);
        } else {
            add_line_end(layout, out);
            i++;
            bool blank = is_blank_line(literal, i) && (i < literal.len || is_last);
            if (!blank) {
                size_t start = out->len;
                wb_text_add_span(out, indentation);
                i = put_indentation(layout, literal, i, out);
                wb_text_clear(now);
                wb_text_add(now, out->ptr + start, out->len - start);
            }
        }
    }
}

/* --- captures --- */

/* Does a token of several lines have this offset inside it? */
static bool is_inside_token(const struct wb_layout *layout, uint32_t offset)
{
    const struct wb_flat_node *nodes = layout->tree->nodes;
    for (uint32_t i = 0; i < layout->tree->count;) {
        if (nodes[i].end <= offset) {
            i += nodes[i].size;
        } else if (nodes[i].start >= offset) {
            return false;
        } else if (nodes[i].size == 1) {
            return true;
        } else {
            i++;
        }
    }
    return false;
}

/* A run of lines: those behind the first move by the difference of the indentations. Where matches
 * inside were rewritten, the lines' places in the source are not known any more: all of them move. */
static void put_splice(const struct wb_layout *layout, const struct wb_splice *splice,
                       struct wb_span to, struct wb_text *out)
{
    struct wb_span from = indentation_at(layout->source, splice->start), text = splice->text;
    bool is_source = text.len == splice->end - splice->start &&
                     memcmp(text.ptr, layout->source.ptr + splice->start, text.len) == 0;
    if (wb_span_equal(from, to) || memchr(text.ptr, '\n', text.len) == NULL) {
        wb_text_add_span(out, text);
        return;
    }
    for (size_t i = 0; i < text.len;) {
        wb_text_add_char(out, text.ptr[i]);
        if (text.ptr[i++] != '\n') {
            continue;
        }
        struct wb_span line = {text.ptr + i, text.len - i};
        if (wb_span_starts(line, from) && !is_blank_line(text, i) &&
            !(is_source && is_inside_token(layout, splice->start + (uint32_t)i))) {
            wb_text_add_span(out, to);
            i += from.len;
        }
    }
}

/* --- putting --- */

static bool is_separator(char c)
{
    return c == ',' || c == ';' || c == '|' || c == '&';
}

/* Takes the separator in front of an empty $$$ away again; false: there is none. */
static bool take_separator_before(struct wb_text *out, size_t floor)
{
    size_t len = out->len;
    while (len > floor && isspace((unsigned char)out->ptr[len - 1])) {
        len--;
    }
    if (len == floor || !is_separator(out->ptr[len - 1])) {
        return false;
    }
    wb_text_cut(out, len - 1);
    return true;
}

static struct wb_span without_separator(struct wb_span literal)
{
    size_t i = 0;
    while (i < literal.len && isspace((unsigned char)literal.ptr[i])) {
        i++;
    }
    if (i == literal.len || !is_separator(literal.ptr[i])) {
        return literal;
    }
    for (i++; i < literal.len && literal.ptr[i] == ' '; i++) {
    }
    return (struct wb_span){literal.ptr + i, literal.len - i};
}

void wb_template_put(const struct wb_template *template, const struct wb_layout *layout,
                     uint32_t start, const struct wb_splice *splices, struct wb_text *out)
{
    struct wb_span indentation = indentation_at(layout->source, start);
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    WB_AUTO(wb_text_done) struct wb_text now = {0};
    bool drop_separator = false;
    wb_text_add_span(&now, indentation);
    for (size_t i = 0; i < template->n_parts; i++) {
        const struct part *part = &template->parts[i];
        if (part->variable == SIZE_MAX) {
            struct wb_span literal =
                drop_separator ? without_separator(part->literal) : part->literal;
            put_literal(layout, literal, indentation, i + 1 == template->n_parts, &text, &now);
            drop_separator = false;
        } else if (splices[part->variable].text.len == 0 &&
                   template->pattern->is_many[part->variable]) {
            drop_separator = !take_separator_before(&text, 0);
        } else {
            put_splice(layout, &splices[part->variable], wb_text_span(&now), &text);
            drop_separator = false;
        }
    }
    wb_text_add_span(out, wb_text_span(&text));
}

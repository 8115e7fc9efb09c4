/* template: see the header. */
#include "ast/template.h"

struct part {
    struct wb_span literal;
    size_t variable; /* SIZE_MAX: literal text */
};

struct wb_template {
    const struct wb_pattern *pattern;
    struct wb_span text;
    struct part *parts;
    size_t n_parts, capacity;
    unsigned unit;      /* blanks of one level of its indentation; 0: it has none */
    bool is_ended;      /* see wb_template_is_ended */
    const char **fixed; /* where its lines begin that are inside strings */
    size_t n_fixed, fixed_capacity;
};

const struct wb_pattern *wb_template_pattern(const struct wb_template *template)
{
    return template->pattern;
}

bool wb_template_is_empty(const struct wb_template *template)
{
    return wb_span_trim(template->text).len == 0;
}

bool wb_template_is_ended(const struct wb_template *template)
{
    return template->is_ended;
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

/* --- compiling: the parts --- */

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
            (struct part){literal, variable};
    }
}

static int read_parts(struct wb_arena *arena, struct wb_template *template, struct wb_error *err)
{
    struct wb_span text = template->text;
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

/* --- compiling: what it is as code --- */

static bool ends_with(struct wb_span text, char c)
{
    text = wb_span_trim(text);
    return text.len > 0 && text.ptr[text.len - 1] == c;
}

/* The lines of the template that a token of several lines has. In the pattern it has lost the blanks
 * around it. */
static void fix_lines(struct wb_arena *arena, struct wb_template *template, struct wb_span token)
{
    struct wb_span text = template->text;
    size_t at = token.len > 0 && memchr(token.ptr, '\n', token.len) != NULL
                    ? wb_span_find(text, token, 0)
                    : SIZE_MAX;
    if (at == SIZE_MAX) {
        return;
    }
    size_t end = at + token.len;
    while (at > 0 && wb_is_blank(text.ptr[at - 1])) {
        at--;
    }
    while (end < text.len && wb_is_blank(text.ptr[end])) {
        end++;
    }
    for (; at < end; at++) {
        if (text.ptr[at] == '\n') {
            *WB_ARENA_PUSH(arena, template->fixed, template->n_fixed, template->fixed_capacity) =
                text.ptr + at + 1;
        }
    }
}

/* Parsed like a pattern, which it need not be: then it ends as its last character says. */
static void read_code(struct wb_arena *arena, struct wb_parser *parser,
                      struct wb_template *template)
{
    struct wb_error ignored;
    const struct wb_grammar *grammar = template->pattern->grammar;
    const struct wb_pattern *code =
        wb_pattern_compile(arena, parser, grammar, template->text, &ignored);
    template->is_ended =
        ends_with(template->text, ';') ||
        (ends_with(template->text, '}') &&
         (code == NULL || (!code->rungs[0].is_lent &&
                           wb_str_equal(code->rungs[0].context, grammar->contexts[0].name))));
    for (uint32_t i = 0; code != NULL && i < code->rungs[0].count; i++) {
        const struct wb_pattern_node *node = &code->rungs[0].nodes[i];
        if (node->what == WB_PATTERN_LEAF) {
            fix_lines(arena, template, node->text);
        }
        for (const struct wb_pattern_piece *piece = node->pieces; piece != NULL;
             piece = piece->is_last ? NULL : piece + 1) {
            fix_lines(arena, template, piece->literal);
        }
    }
}

static bool is_fixed(const struct wb_template *template, const char *line)
{
    for (size_t i = 0; i < template->n_fixed; i++) {
        if (template->fixed[i] == line) {
            return true;
        }
    }
    return false;
}

static size_t count_char(struct wb_span text, size_t at, char c)
{
    size_t n = 0;
    while (at + n < text.len && text.ptr[at + n] == c) {
        n++;
    }
    return n;
}

/* The greatest step that all its lines go in by. */
static void read_unit(struct wb_template *template)
{
    struct wb_span text = template->text;
    for (size_t i = 0; i < text.len; i++) {
        size_t n = text.ptr[i] == '\n' ? count_char(text, i + 1, ' ') : 0;
        if (n > 0 && !is_fixed(template, text.ptr + i + 1)) {
            unsigned a = template->unit, b = (unsigned)n;
            while (b != 0) {
                unsigned rest = a % b;
                a = b;
                b = rest;
            }
            template->unit = a;
        }
    }
}

const struct wb_template *wb_template_compile(struct wb_arena *arena, struct wb_parser *parser,
                                              const struct wb_pattern *pattern, struct wb_span text,
                                              struct wb_error *err)
{
    struct wb_template *template = WB_ARENA_NEW(arena, struct wb_template);
    template->pattern = pattern;
    template->text = wb_arena_span(arena, text);
    if (read_parts(arena, template, err) != 0) {
        return NULL;
    }
    read_code(arena, parser, template);
    read_unit(template);
    return template;
}

/* --- putting --- */

/* What is made for one match. */
struct maker {
    const struct wb_template *template;
    const struct wb_layout *layout;
    struct wb_span indentation; /* of the place */
    struct wb_text now;         /* of the template's line at hand */
    struct wb_block *out;
};

static bool is_blank_line(struct wb_span text, size_t at, bool is_last)
{
    while (at < text.len && (text.ptr[at] == ' ' || text.ptr[at] == '\t')) {
        at++;
    }
    return at == text.len ? is_last : text.ptr[at] == '\n' || text.ptr[at] == '\r';
}

/* The template's own indentation in the file's style. Returns where it ends. */
static size_t put_indentation(struct maker *maker, struct wb_span literal, size_t at)
{
    size_t n_tabs = count_char(literal, at, '\t');
    size_t n_blanks = count_char(literal, at + n_tabs, ' ');
    bool has_style = maker->layout->has_tabs || maker->layout->unit > 0;
    unsigned unit = maker->template->unit > 1 ? maker->template->unit : 4;
    size_t end = at + n_tabs + n_blanks;
    if (has_style) {
        wb_block_add_levels(maker->out, maker->layout, n_tabs + n_blanks / unit);
        at = end - n_blanks % unit;
    }
    wb_text_add(&maker->out->text, literal.ptr + at, end - at);
    return end;
}

/* A line of the template begins at `at`. Returns where it goes on. */
static size_t begin_line(struct maker *maker, struct wb_span literal, size_t at, bool is_last)
{
    struct wb_text *text = &maker->out->text;
    size_t start = text->len;
    if (is_fixed(maker->template, literal.ptr + at)) {
        wb_block_fix_line(maker->out);
        return at;
    }
    if (is_blank_line(literal, at, is_last)) {
        return at;
    }
    wb_text_add_span(text, maker->indentation);
    at = put_indentation(maker, literal, at);
    wb_text_clear(&maker->now);
    wb_text_add(&maker->now, text->ptr + start, text->len - start);
    return at;
}

static void put_literal(struct maker *maker, struct wb_span literal, bool is_last)
{
    for (size_t i = 0; i < literal.len;) {
        if (literal.ptr[i] == '\r' && i + 1 < literal.len && literal.ptr[i + 1] == '\n') {
            i++;
        } else if (literal.ptr[i] != '\n') {
            wb_text_add_char(&maker->out->text, literal.ptr[i++]);
        } else {
            wb_block_add_line_end(maker->out, maker->layout);
            i = begin_line(maker, literal, i + 1, is_last);
        }
    }
}

/* --- an empty $$$ takes one comma --- */

static bool is_closing(char c)
{
    return c == ')' || c == ']' || c == '}' || c == '>';
}

static size_t skip_blanks(struct wb_span text, size_t at)
{
    while (at < text.len && wb_is_blank(text.ptr[at])) {
        at++;
    }
    return at;
}

/* Behind the offset: blanks, a comma, blanks, a closing bracket. Returns the bracket's place, with
 * or without a comma; SIZE_MAX: something else is there. */
static size_t find_closing(struct wb_span source, size_t at, bool *ret_comma)
{
    at = skip_blanks(source, at);
    *ret_comma = at < source.len && source.ptr[at] == ',';
    at = *ret_comma ? skip_blanks(source, at + 1) : at;
    return at < source.len && is_closing(source.ptr[at]) ? at : SIZE_MAX;
}

/* `(1,)` is not `(1)`: a comma that stood there for nothing else stays. */
static bool keeps_comma(const struct maker *maker, const struct wb_splice *splice,
                        struct wb_span next)
{
    bool has_comma;
    size_t at = skip_blanks(next, 0);
    return at < next.len && is_closing(next.ptr[at]) &&
           find_closing(maker->layout->source, splice->start, &has_comma) != SIZE_MAX && has_comma;
}

/* False: there is no comma in front. */
static bool take_comma_before(struct wb_text *out, size_t floor, bool keep)
{
    size_t len = out->len;
    while (len > floor && wb_is_blank(out->ptr[len - 1])) {
        len--;
    }
    if (len == floor || out->ptr[len - 1] != ',') {
        return false;
    }
    wb_text_cut(out, keep ? len : len - 1);
    return true;
}

static struct wb_span without_comma(struct wb_span literal)
{
    size_t i = skip_blanks(literal, 0);
    if (i == literal.len || literal.ptr[i] != ',') {
        return literal;
    }
    i += 1 + count_char(literal, i + 1, ' ');
    return (struct wb_span){literal.ptr + i, literal.len - i};
}

/* --- a run on lines of its own --- */

static bool is_opening(char c)
{
    return c == '(' || c == '{' || c == '[' || c == ',' || c == ';';
}

static bool is_on_first_line(const struct maker *maker)
{
    return wb_span_equal(wb_text_span(&maker->now), maker->indentation);
}

/* The blanks that stood before the run, where the template has it behind a bracket or a separator and
 * no line end of its own: they go in instead of the template's blanks. */
static bool put_blanks_before(struct maker *maker, const struct wb_splice *splice, size_t floor)
{
    struct wb_text *text = &maker->out->text;
    struct wb_span blanks = wb_layout_blanks_before(maker->layout, splice->start);
    size_t len = text->len;
    while (len > floor && text->ptr[len - 1] == ' ') {
        len--;
    }
    if (len == floor || !is_opening(text->ptr[len - 1]) || !is_on_first_line(maker) ||
        memchr(blanks.ptr, '\n', blanks.len) == NULL) {
        return false;
    }
    wb_text_cut(text, len);
    wb_text_add_span(text, blanks);
    return true;
}

/* What stood between the run and the closing bracket, where the template has one there too: it goes in
 * instead of the template's blanks. *rest: the template's text behind the run. */
static bool put_blanks_behind(struct maker *maker, const struct wb_splice *splice,
                              struct wb_span *rest)
{
    struct wb_span source = maker->layout->source;
    bool has_comma;
    size_t bracket = find_closing(source, splice->end, &has_comma);
    size_t n_blanks = count_char(*rest, 0, ' ');
    if (bracket == SIZE_MAX || n_blanks == rest->len || !is_closing(rest->ptr[n_blanks])) {
        return false;
    }
    bool has_line_end = memchr(source.ptr + splice->end, '\n', bracket - splice->end) != NULL;
    if (has_line_end ? !is_on_first_line(maker) : !has_comma) {
        return false;
    }
    wb_text_add(&maker->out->text, source.ptr + splice->end, bracket - splice->end);
    *rest = (struct wb_span){rest->ptr + n_blanks, rest->len - n_blanks};
    return true;
}

/* A comment to the end of its line must not swallow what the template goes on with. */
static void end_line(struct maker *maker, struct wb_span rest, struct wb_span indentation)
{
    if (rest.len > 0 && rest.ptr[0] != '\n' && rest.ptr[0] != '\r') {
        wb_block_add_line_end(maker->out, maker->layout);
        wb_text_add_span(&maker->out->text, indentation);
    }
}

/* Arguments that hang below the first one are lined up with it where it begins a line of the
 * template: their lines are counted from the least of their indentations. */
static struct wb_span hanging_indentation(const struct maker *maker, const struct wb_splice *splice,
                                          struct wb_span from)
{
    const struct wb_text *text = &maker->out->text;
    struct wb_span hanging = wb_block_hanging_indentation(&splice->block);
    size_t len = text->len;
    while (len > 0 && (text->ptr[len - 1] == ' ' || text->ptr[len - 1] == '\t')) {
        len--;
    }
    bool begins_line = len > 0 && text->ptr[len - 1] == '\n';
    return begins_line && hanging.ptr != NULL && wb_span_starts(hanging, from) ? hanging : from;
}

/* An empty $$$: with one comma, and not with a blank on both sides. */
static struct wb_span put_nothing(struct maker *maker, const struct wb_splice *splice,
                                  struct wb_span rest, size_t floor)
{
    struct wb_text *text = &maker->out->text;
    bool keep = keeps_comma(maker, splice, rest);
    rest = take_comma_before(text, floor, keep) ? rest : without_comma(rest);
    bool is_double =
        text->len > floor && text->ptr[text->len - 1] == ' ' && rest.len > 0 && rest.ptr[0] == ' ';
    return (struct wb_span){rest.ptr + is_double, rest.len - is_double};
}

/* rest: the literal behind the variable. Returns what of it is still to be put. */
static struct wb_span put_splice(struct maker *maker, const struct wb_splice *splice, bool is_many,
                                 struct wb_span rest, size_t floor)
{
    if (is_many && splice->block.text.len == 0) {
        return put_nothing(maker, splice, rest, floor);
    }
    struct wb_span from = wb_layout_indentation(maker->layout, splice->start);
    struct wb_span to = wb_text_span(&maker->now);
    if (is_many && put_blanks_before(maker, splice, floor)) {
        to = from;
    } else if (is_many) {
        from = hanging_indentation(maker, splice, from);
    }
    wb_block_add_moved(maker->out, &splice->block, from, to);
    if (!(is_many && put_blanks_behind(maker, splice, &rest)) && splice->ends_line) {
        end_line(maker, rest, to);
    }
    return rest;
}

void wb_template_put(const struct wb_template *template, const struct wb_layout *layout,
                     uint32_t start, const struct wb_splice *splices, struct wb_block *out)
{
    struct maker maker = {
        .template = template,
        .layout = layout,
        .indentation = wb_layout_indentation(layout, start),
        .out = out,
    };
    size_t floor = out->text.len;
    wb_text_add_span(&maker.now, maker.indentation);
    struct wb_span literal = {"", 0}; /* in front of the part at hand, not put yet */
    for (size_t i = 0; i < template->n_parts; i++) {
        const struct part *part = &template->parts[i];
        bool is_last = i + 1 == template->n_parts;
        if (part->variable == SIZE_MAX) {
            put_literal(&maker, literal, false);
            literal = part->literal;
        } else {
            struct wb_span next = is_last ? (struct wb_span){"", 0} : part[1].literal;
            bool has_next = !is_last && part[1].variable == SIZE_MAX;
            put_literal(&maker, literal, false);
            literal = put_splice(&maker, &splices[part->variable],
                                 template->pattern->is_many[part->variable],
                                 has_next ? next : (struct wb_span){"", 0}, floor);
            i += has_next;
        }
    }
    put_literal(&maker, literal, true);
    wb_text_done(&maker.now);
}

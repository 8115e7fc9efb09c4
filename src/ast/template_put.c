/* template_put: a template's text and layout for one match. See template.h. */
#include "ast/template_internal.h"

/* What is made for one match. */
struct maker {
    const struct wb_template *template;
    const struct wb_layout *layout;
    const struct wb_token_places *places; /* of the pattern's tokens; NULL: not known */
    const struct wb_splice *splices;
    struct wb_span indentation; /* of the place */
    struct wb_text base;        /* of the line that the template has begun last */
    struct wb_text now;         /* of the line at hand */
    struct wb_block *out;
    size_t floor;   /* where the template begins in it */
    bool has_lines; /* the template has begun a line of its own */
    bool has_gap;   /* what stands in front of the next token was put already */
    bool has_next;  /* and the next token too, which is a comma */
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
    size_t n_tabs = wb_count_char(literal, at, '\t');
    size_t n_blanks = wb_count_char(literal, at + n_tabs, ' ');
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
    if (wb_template_is_fixed(maker->template, literal.ptr + at)) {
        wb_block_fix_line(maker->out);
        return at;
    }
    if (is_blank_line(literal, at, is_last)) {
        return at;
    }
    maker->has_lines = true;
    wb_text_add_span(text, maker->indentation);
    at = put_indentation(maker, literal, at);
    wb_text_clear(&maker->base);
    wb_text_add(&maker->base, text->ptr + start, text->len - start);
    wb_text_clear(&maker->now);
    wb_text_add_span(&maker->now, wb_text_span(&maker->base));
    return at;
}

/* Blanks of the template. */
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

/* What the source has there. Its lines go in as before, seen from the template's line. */
static void put_kept(struct maker *maker, struct wb_range kept)
{
    wb_block_add_gap(maker->out, maker->layout, kept.start, kept.end, maker->indentation,
                     wb_text_span(&maker->base));
    wb_block_line_indentation(maker->out, maker->floor, &maker->now);
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

static bool has_line_end(struct wb_span text)
{
    return memchr(text.ptr, '\n', text.len) != NULL;
}

static const struct wb_token *next_of(const struct maker *maker, size_t i)
{
    const struct wb_tokens *tokens = &maker->template->tokens;
    return i + 1 < tokens->count ? &tokens->items[i + 1] : NULL;
}

static bool is_text(const struct wb_token *token, const char *text)
{
    return token != NULL && token->variable == SIZE_MAX && wb_span_is(token->text, text);
}

static bool is_bracket(const struct wb_token *token)
{
    return token != NULL && token->variable == SIZE_MAX && is_closing(token->text.ptr[0]);
}

/* What the source says of a comma of the template. */
enum comma { NO_COMMA, COMMA_THERE, COMMA_MISSING, COMMA_NEW };

static enum comma comma_at(const struct maker *maker, size_t i)
{
    const struct wb_tokens *tokens = &maker->template->tokens;
    if (i >= tokens->count || !is_text(&tokens->items[i], ",")) {
        return NO_COMMA;
    }
    size_t p = maker->template->aligned.same[i];
    if (maker->places == NULL || p == SIZE_MAX) {
        return COMMA_NEW;
    }
    return maker->places->items[p].start != UINT32_MAX ? COMMA_THERE : COMMA_MISSING;
}

/* `(1,)` is not `(1)`: where the $$$ is in front of a bracket, a comma that stood there for nothing
 * else stays. */
static bool has_trailing_comma(const struct maker *maker, size_t i, const struct wb_splice *splice)
{
    bool has_comma;
    return is_bracket(next_of(maker, i)) &&
           find_closing(maker->layout->source, splice->start, &has_comma) != SIZE_MAX && has_comma;
}

static void take_blanks_before(struct maker *maker)
{
    struct wb_text *out = &maker->out->text;
    size_t len = out->len;
    while (len > maker->floor && out->ptr[len - 1] == ' ') {
        len--;
    }
    wb_text_cut(out, len);
}

static void take_comma_before(struct maker *maker)
{
    struct wb_text *out = &maker->out->text;
    size_t len = out->len;
    while (len > maker->floor && wb_is_blank(out->ptr[len - 1])) {
        len--;
    }
    if (len > maker->floor && out->ptr[len - 1] == ',') {
        wb_text_cut(out, len - 1);
        take_blanks_before(maker);
    }
}

/* An empty $$$ at i. A comma of the pattern's is there if the source has it; of the template's own
 * commas one goes, and so does one of two blanks. */
static void put_nothing(struct maker *maker, size_t i, const struct wb_splice *splice)
{
    struct wb_text *text = &maker->out->text;
    enum comma before = i > 0 ? comma_at(maker, i - 1) : NO_COMMA, behind = comma_at(maker, i + 1);
    if (before == COMMA_MISSING || (before == COMMA_NEW && !has_trailing_comma(maker, i, splice))) {
        take_comma_before(maker);
    }
    maker->has_next = behind == COMMA_MISSING || (behind == COMMA_NEW && before == NO_COMMA);
    size_t last = maker->has_next ? i + 1 : i;
    const struct wb_token *next = next_of(maker, last);
    struct wb_range kept;
    if (wb_template_find_kept(maker->template, maker->places, last + 1, maker->layout->source,
                              &kept)) {
        return;
    }
    if (next == NULL || has_line_end(next->gap)) {
        take_blanks_before(maker);
        return;
    }
    bool has_blank = text->len == maker->floor || wb_is_blank(text->ptr[text->len - 1]);
    maker->has_gap = next->gap.len > 0 && next->gap.ptr[0] == ' ' &&
                     (has_blank || (maker->has_next && before == NO_COMMA));
}

/* --- a run on lines of its own --- */

static bool is_opening(char c)
{
    return c == '(' || c == '{' || c == '[' || c == ',' || c == ';';
}

/* The blanks that stood before the run, where the template has it behind a bracket or a separator and
 * no line end of its own: they go in instead of the template's blanks. */
static bool put_blanks_before(struct maker *maker, const struct wb_splice *splice)
{
    struct wb_text *text = &maker->out->text;
    struct wb_span blanks = wb_layout_blanks_before(maker->layout, splice->start);
    size_t len = text->len;
    while (len > maker->floor && text->ptr[len - 1] == ' ') {
        len--;
    }
    if (len == maker->floor || !is_opening(text->ptr[len - 1]) || maker->has_lines ||
        memchr(blanks.ptr, '\n', blanks.len) == NULL) {
        return false;
    }
    wb_text_cut(text, len);
    wb_text_add_span(text, blanks);
    return true;
}

/* What stood between the run and the closing bracket, where the template has one there too: it goes in
 * instead of the template's blanks. */
static bool put_blanks_behind(struct maker *maker, size_t i, const struct wb_splice *splice)
{
    struct wb_span source = maker->layout->source;
    const struct wb_token *next = next_of(maker, i);
    bool has_comma;
    size_t bracket = find_closing(source, splice->end, &has_comma);
    if (bracket == SIZE_MAX || !is_bracket(next) || has_line_end(next->gap)) {
        return false;
    }
    struct wb_span blanks = {source.ptr + splice->end, bracket - splice->end};
    if (has_line_end(blanks) ? maker->has_lines : !has_comma) {
        return false;
    }
    wb_text_add_span(&maker->out->text, blanks);
    return true;
}

/* Arguments that hang below the first one are lined up with it where it begins a line of the
 * template: their lines are counted from the least of their indentations. */
static struct wb_span hanging_indentation(const struct maker *maker, const struct wb_splice *splice,
                                          struct wb_span from)
{
    const struct wb_text *text = &maker->out->text;
    struct wb_span hanging = wb_block_hanging_indentation(&splice->block);
    struct wb_span blanks = wb_layout_blanks_before(maker->layout, splice->start);
    size_t len = text->len;
    while (len > 0 && (text->ptr[len - 1] == ' ' || text->ptr[len - 1] == '\t')) {
        len--;
    }
    bool begins_line = len > 0 && text->ptr[len - 1] == '\n';
    bool began_line = has_line_end(blanks) || blanks.ptr == maker->layout->source.ptr;
    return begins_line && !began_line && hanging.ptr != NULL && wb_span_starts(hanging, from)
               ? hanging
               : from;
}

/* A comment to the end of its line must not swallow what the template goes on with. */
static bool end_line(struct maker *maker, size_t i)
{
    const struct wb_token *next = next_of(maker, i);
    if (next == NULL || has_line_end(next->gap)) {
        return false;
    }
    wb_block_add_line_end(maker->out, maker->layout);
    wb_text_add_span(&maker->out->text, wb_text_span(&maker->now));
    return true;
}

/* --- the whole --- */

static void put_splice(struct maker *maker, size_t i, bool is_kept)
{
    const struct wb_token *token = &maker->template->tokens.items[i];
    const struct wb_splice *splice = &maker->splices[token->variable];
    bool is_many = maker->template->pattern->is_many[token->variable];
    struct wb_range kept;
    if (is_many && splice->block.text.len == 0) {
        put_nothing(maker, i, splice);
        return;
    }
    struct wb_span from = wb_layout_indentation(maker->layout, splice->start);
    struct wb_span to = wb_text_span(&maker->now);
    if (is_many && !is_kept && put_blanks_before(maker, splice)) {
        to = from;
    } else if (is_many) {
        from = hanging_indentation(maker, splice, from);
    }
    wb_block_add_moved(maker->out, &splice->block, from, to);
    wb_block_line_indentation(maker->out, maker->floor, &maker->now);
    if (!wb_template_find_kept(maker->template, maker->places, i + 1, maker->layout->source,
                               &kept)) {
        maker->has_gap = (is_many && put_blanks_behind(maker, i, splice)) ||
                         (splice->ends_line && end_line(maker, i));
    }
}

/* The token as the source spells it, which may be in capitals. */
static struct wb_span own_text(const struct maker *maker, size_t i)
{
    size_t p = maker->template->aligned.same[i];
    const struct wb_range *at =
        maker->places != NULL && p != SIZE_MAX ? &maker->places->items[p] : NULL;
    return at != NULL && at->start != UINT32_MAX
               ? (struct wb_span){maker->layout->source.ptr + at->start, at->end - at->start}
               : maker->template->tokens.items[i].text;
}

static void put_token(struct maker *maker, size_t i)
{
    const struct wb_token *token = &maker->template->tokens.items[i];
    struct wb_range kept;
    bool is_kept =
        wb_template_find_kept(maker->template, maker->places, i, maker->layout->source, &kept);
    bool has_gap = maker->has_gap && !maker->has_next;
    if (maker->has_next) {
        maker->has_next = false; /* the comma */
        return;
    }
    maker->has_gap = false;
    if (is_kept && !has_gap) {
        put_kept(maker, kept);
    } else if (!has_gap) {
        put_literal(maker, token->gap, false);
    }
    if (token->variable != SIZE_MAX) {
        put_splice(maker, i, is_kept);
    } else {
        wb_text_add_span(&maker->out->text, own_text(maker, i));
    }
}

void wb_template_put(const struct wb_template *template, const struct wb_layout *layout,
                     uint32_t start, const struct wb_splice *splices,
                     const struct wb_token_places *places, struct wb_block *out)
{
    struct maker maker = {
        .template = template,
        .layout = layout,
        .places = places,
        .splices = splices,
        .indentation = wb_layout_indentation(layout, start),
        .out = out,
        .floor = out->text.len,
    };
    wb_text_add_span(&maker.base, maker.indentation);
    wb_text_add_span(&maker.now, maker.indentation);
    for (size_t i = 0; i < template->tokens.count; i++) {
        put_token(&maker, i);
    }
    put_literal(&maker, template->tokens.tail, true);
    wb_text_done(&maker.base);
    wb_text_done(&maker.now);
}

/* template: compiling. See the header. */
#include "ast/template_internal.h"

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
    for (size_t i = 0; i < template->tokens.count; i++) {
        if (template->tokens.items[i].variable == variable) {
            return true;
        }
    }
    return false;
}

/* --- compiling: the names --- */

static int refuse_name(const struct wb_pattern *pattern, struct wb_span bad, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text names = {0};
    for (size_t i = 0; i < pattern->n_variables; i++) {
        wb_text_printf(&names, "%s%s%s", i > 0 ? ", " : "", pattern->is_many[i] ? "$$$" : "$",
                       pattern->variables[i]);
    }
    if (wb_span_is(bad, "$$$") || wb_span_starts(bad, WB_SPAN("$_")) ||
        wb_span_starts(bad, WB_SPAN("$$$_"))) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "The rewrite has a metavariable without a name, " WB_SPAN_FMT
                            ", which stands for nothing: name it in the pattern and here",
                            WB_SPAN_ARG(bad));
    }
    return wb_error_set(err, WB_ERROR_INVALID,
                        "The rewrite has " WB_SPAN_FMT ", which the pattern does not bind; it "
                        "binds %s. A $ that is meant as one is written \\$",
                        WB_SPAN_ARG(bad), names.len > 0 ? wb_text_cstr(&names) : "nothing");
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

bool wb_template_is_fixed(const struct wb_template *template, const char *line)
{
    for (size_t i = 0; i < template->n_fixed; i++) {
        if (template->fixed[i] == line) {
            return true;
        }
    }
    return false;
}

/* The greatest step that all its lines go in by. */
static void read_unit(struct wb_template *template)
{
    struct wb_span text = template->text;
    for (size_t i = 0; i < text.len; i++) {
        size_t n = text.ptr[i] == '\n' ? wb_count_char(text, i + 1, ' ') : 0;
        if (n > 0 && !wb_template_is_fixed(template, text.ptr + i + 1)) {
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
    struct wb_span bad;
    template->pattern = pattern;
    template->text = wb_arena_span(arena, text);
    if (!wb_tokens_read(arena, pattern, template->text, &template->tokens, &bad)) {
        refuse_name(pattern, bad, err);
        return NULL;
    }
    wb_tokens_read(arena, pattern, pattern->text, &template->of_pattern, &bad);
    template->aligned = wb_tokens_align(arena, &template->of_pattern, &template->tokens);
    read_code(arena, parser, template);
    read_unit(template);
    return template;
}

/* --- what stays between tokens --- */

const struct wb_tokens *wb_template_pattern_tokens(const struct wb_template *template)
{
    return &template->of_pattern;
}

/* Blanks, and a comma at most. */
static bool is_layout(struct wb_span source, struct wb_range range)
{
    size_t n_commas = 0;
    for (uint32_t at = range.start; at < range.end; at++) {
        n_commas += source.ptr[at] == ',';
        if (!wb_is_blank(source.ptr[at]) && source.ptr[at] != ',') {
            return false;
        }
    }
    return n_commas <= 1;
}

bool wb_template_find_kept(const struct wb_template *template, const struct wb_token_places *places,
                           size_t i, struct wb_span source, struct wb_range *ret)
{
    size_t p = i < template->tokens.count ? template->aligned.gaps[i] : SIZE_MAX;
    if (places == NULL || p == SIZE_MAX) {
        return false;
    }
    const struct wb_range *before = &places->items[p - 1], *at = &places->items[p];
    if (before->start == UINT32_MAX && i > 1 && p > 1 && template->aligned.same[i - 1] == p - 1 &&
        template->aligned.same[i - 2] == p - 2) {
        before--; /* a comma that is not there: what stands around it does */
    }
    *ret = (struct wb_range){before->end, at->start};
    if (before->start == UINT32_MAX || at->start == UINT32_MAX || ret->start > ret->end) {
        return false;
    }
    return !template->aligned.is_layout[i] || is_layout(source, *ret);
}

bool wb_template_keeps(const struct wb_template *template, const struct wb_token_places *places,
                       struct wb_span source, uint32_t start, uint32_t end)
{
    struct wb_range kept;
    for (size_t i = 1; i < template->tokens.count; i++) {
        if (wb_template_find_kept(template, places, i, source, &kept) && start >= kept.start &&
            end <= kept.end) {
            return true;
        }
    }
    return false;
}

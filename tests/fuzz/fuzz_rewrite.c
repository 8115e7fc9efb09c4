/* Fuzzes templates and rewriting. Input: a byte that chooses the language, a pattern up to a NUL, a
 * template up to a NUL, a source. The replacements are in order and in bounds, the new content is the
 * old one with them, and it parses no worse. */
#include <stdlib.h>

#include "ast/rewrite.h"
#include "base/clock.h"

#define SOURCE_MAX 4096 /* more of it is slow and finds nothing new */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct wb_grammars *grammars;
static struct wb_parser *parser;

static void load(void)
{
    static struct wb_arena arena;
    struct wb_error err;
    wb_arena_init(&arena);
    const struct wb_languages *languages = wb_languages_load(&arena, NULL, &err);
    grammars = wb_grammars_load(languages, &err);
    parser = wb_parser_new();
    if (grammars == NULL) {
        abort();
    }
}

static const struct wb_grammar *choose(uint8_t byte)
{
    const struct wb_grammar *grammar = NULL;
    size_t cursor = 0;
    for (size_t i = 0; i <= byte; i++) {
        grammar = wb_grammars_next(grammars, &cursor);
        if (grammar == NULL) {
            cursor = 0;
            grammar = wb_grammars_next(grammars, &cursor);
        }
    }
    return grammar;
}

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_content(const struct wb_rewritten *r, struct wb_span source)
{
    WB_AUTO(wb_text_done) struct wb_text content = {0};
    uint32_t at = 0;
    check(wb_span_equal(r->old_content, source));
    for (size_t i = 0; i < r->n_replacements; i++) {
        const struct wb_replacement *replacement = &r->replacements[i];
        check(replacement->start >= at && replacement->end >= replacement->start &&
              replacement->end <= source.len);
        wb_text_add(&content, source.ptr + at, replacement->start - at);
        wb_text_add_span(&content, replacement->text);
        at = replacement->end;
    }
    wb_text_add(&content, source.ptr + at, source.len - at);
    check(wb_span_equal(wb_text_span(&content), r->new_content));
}

static void check_rewritten(const struct wb_rewritten *r, const struct wb_grammar *grammar,
                            const struct wb_flat_tree *tree, struct wb_span source)
{
    WB_AUTO(wb_flat_tree_done) struct wb_flat_tree after = {0};
    struct wb_error err;
    for (size_t i = 0; i < r->n_left_out; i++) {
        check(r->left_out[i].reason != NULL);
    }
    if (r->n_replacements > 0) {
        check_content(r, source);
        if (wb_parser_parse(parser, grammar, r->new_content, wb_clock_deadline(2000), NULL, &after,
                            &err) == 0) {
            check(tree->n_errors > 0 || after.n_errors == 0);
        }
    }
}

static void rewrite(struct wb_arena *arena, const struct wb_grammar *grammar,
                    struct wb_span pattern_text, struct wb_span template_text,
                    struct wb_span source)
{
    WB_AUTO(wb_flat_tree_done) struct wb_flat_tree tree = {0};
    struct wb_error err;
    const struct wb_pattern *pattern =
        wb_pattern_compile(arena, parser, grammar, pattern_text, &err);
    const struct wb_template *template =
        pattern != NULL ? wb_template_compile(arena, parser, pattern, template_text, &err) : NULL;
    if (template == NULL ||
        wb_parser_parse(parser, grammar, source, wb_clock_deadline(2000), NULL, &tree, &err) != 0) {
        return;
    }
    struct wb_matcher *matcher = wb_matcher_new(pattern);
    wb_matcher_start(matcher, &tree, source);
    const struct wb_scan_file file = {
        .tree = &tree, .source = source, .matcher = matcher, .parser = parser};
    struct wb_rewritten *rewritten = wb_rewrite_file(template, &file);
    if (rewritten != NULL) {
        check_rewritten(rewritten, grammar, &tree, source);
    }
    wb_rewritten_free(rewritten);
    wb_matcher_free(matcher);
}

static struct wb_span take_part(struct wb_span *rest)
{
    const char *end = rest->len > 0 ? memchr(rest->ptr, '\0', rest->len) : NULL;
    struct wb_span part = {rest->ptr, end != NULL ? (size_t)(end - rest->ptr) : rest->len};
    size_t skip = part.len + (end != NULL);
    *rest = (struct wb_span){rest->ptr + skip, rest->len - skip};
    return part;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    if (grammars == NULL) {
        load();
    }
    if (size == 0 || size > SOURCE_MAX) {
        return 0;
    }
    wb_arena_init(&arena);
    struct wb_span rest = {(const char *)data + 1, size - 1};
    struct wb_span pattern = take_part(&rest);
    struct wb_span template = take_part(&rest);
    rewrite(&arena, choose(data[0]), pattern, template, rest);
    return 0;
}

/* Fuzzes the pattern compiler and the matcher behind it. Input: a byte that chooses the language, a
 * pattern up to a NUL, a source. */
#include <stdlib.h>

#include "ast/matcher.h"
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

static void check_capture(const struct wb_capture *capture, const struct wb_match *match,
                          struct wb_span source)
{
    if (capture->is_bound &&
        (capture->start > capture->end || capture->end > source.len || match->end > source.len)) {
        abort();
    }
}

static void check_match(const struct wb_pattern *pattern, const struct wb_match *match,
                        const struct wb_flat_tree *tree, struct wb_span source)
{
    if (match->start > match->end || match->end > source.len || match->last >= tree->count ||
        match->first > match->last) {
        abort();
    }
    for (size_t i = 0; i < pattern->n_variables; i++) {
        check_capture(&match->captures[i], match, source);
    }
    for (size_t i = 0; i < match->n_unmentioned; i++) {
        if (match->unmentioned[i] < match->first || match->unmentioned[i] >= tree->count) {
            abort();
        }
    }
}

/* Every text that is required must be in the range of every match. */
static void check_required(const struct wb_pattern *pattern, const struct wb_match *match,
                           struct wb_span source)
{
    struct wb_span range = {source.ptr + match->start, match->end - match->start};
    for (size_t i = 0; i < pattern->n_required; i++) {
        if (wb_span_find(range, pattern->required[i], 0) == SIZE_MAX) {
            abort();
        }
    }
}

static void search(const struct wb_pattern *pattern, struct wb_span source)
{
    WB_AUTO(wb_flat_tree_done) struct wb_flat_tree tree = {0};
    struct wb_error err;
    struct wb_match match;
    if (wb_parser_parse(parser, pattern->grammar, source, wb_clock_deadline(1000), NULL, &tree,
                        &err) != 0) {
        return;
    }
    struct wb_matcher *matcher = wb_matcher_new(pattern);
    wb_matcher_start(matcher, &tree, source);
    for (size_t i = 0; i < 1000 && wb_matcher_next(matcher, &match); i++) {
        check_match(pattern, &match, &tree, source);
        check_required(pattern, &match, source);
    }
    wb_matcher_free(matcher);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (grammars == NULL) {
        load();
    }
    if (size < 2 || size > SOURCE_MAX) {
        return 0;
    }
    struct wb_span text = {(const char *)data + 1, size - 1}, source = {text.ptr + text.len, 0};
    const char *nul = memchr(text.ptr, '\0', text.len);
    if (nul != NULL) {
        source = (struct wb_span){nul + 1, text.len - (size_t)(nul + 1 - text.ptr)};
        text.len = (size_t)(nul - text.ptr);
    }
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct wb_error err;
    wb_arena_init(&arena);
    const struct wb_pattern *pattern =
        wb_pattern_compile(&arena, parser, choose(data[0]), text, &err);
    if (pattern != NULL) {
        search(pattern, source);
        search(pattern, text);
    }
    return 0;
}

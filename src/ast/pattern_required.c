/* pattern_required: the texts that a file must hold for the pattern to match in it. */
#include <stdlib.h>

#include "ast/pattern_internal.h"

#define REQUIRED_MAX 8

struct required {
    struct wb_span text;
    bool is_word;
    size_t at; /* in the order of the program */
};

static bool is_word(struct wb_span text)
{
    uint32_t c;
    for (size_t i = 0, n; i < text.len; i += n) {
        n = wb_utf8_decode(text.ptr + i, text.len - i, &c);
        if (n == 0 || !wb_utf8_is_word(c)) {
            return false;
        }
    }
    return text.len > 0;
}

/* A token without a name is compared by kind: its text counts only where it is its kind. */
static bool is_fixed(const struct wb_pattern *pattern, const struct wb_pattern_node *node)
{
    const char *name = ts_language_symbol_name(pattern->grammar->parser, node->kind);
    if (name == NULL) {
        return false;
    }
    if (pattern->grammar->ignores_case && (!node->is_named || wb_str_starts(name, "keyword")) &&
        is_word(node->text)) {
        return false;
    }
    return node->is_named || wb_span_is(node->text, name);
}

static void add(struct required *set, size_t *n, size_t max, struct wb_span text, bool word)
{
    if (text.len == 0 || *n == max || memchr(text.ptr, '\n', text.len) != NULL) {
        return;
    }
    for (size_t i = 0; i < *n; i++) {
        if (wb_span_equal(set[i].text, text)) {
            set[i].is_word = set[i].is_word || word;
            return;
        }
    }
    set[*n] = (struct required){text, word, *n};
    ++*n;
}

static size_t collect(const struct wb_pattern *pattern, const struct wb_pattern_rung *rung,
                      struct required *set, size_t max)
{
    size_t n = 0;
    for (uint32_t i = 0; i < rung->count; i++) {
        const struct wb_pattern_node *node = &rung->nodes[i];
        if (node->what == WB_PATTERN_LEAF && is_fixed(pattern, node)) {
            add(set, &n, max, node->text, is_word(node->text));
        }
        for (const struct wb_pattern_piece *piece = node->pieces; piece != NULL;
             piece = piece->is_last ? NULL : piece + 1) {
            add(set, &n, max, piece->literal, false);
        }
    }
    return n;
}

static size_t keep_common(struct required *set, size_t n, const struct required *other,
                          size_t n_other)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n_other; j++) {
            if (wb_span_equal(set[i].text, other[j].text)) {
                set[i].is_word = set[i].is_word && other[j].is_word;
                set[kept++] = set[i];
                break;
            }
        }
    }
    return kept;
}

static int by_length(const void *a, const void *b)
{
    const struct required *x = a, *y = b;
    if (x->text.len != y->text.len) {
        return x->text.len < y->text.len ? 1 : -1;
    }
    return (x->at > y->at) - (x->at < y->at);
}

void wb_pattern_find_required(struct wb_arena *arena, struct wb_pattern *pattern)
{
    struct required set[64], other[64];
    size_t n = collect(pattern, &pattern->rungs[0], set, WB_COUNT(set));
    for (size_t i = 1; i < pattern->n_rungs; i++) {
        size_t n_other = collect(pattern, &pattern->rungs[i], other, WB_COUNT(other));
        n = keep_common(set, n, other, n_other);
    }
    qsort(set, n, sizeof(set[0]), by_length);
    n = WB_MIN(n, (size_t)REQUIRED_MAX);
    struct wb_span *texts = wb_arena_alloc_array(arena, n + 1, sizeof(*texts));
    bool *words = wb_arena_alloc_array(arena, n + 1, sizeof(*words));
    for (size_t i = 0; i < n; i++) {
        texts[i] = set[i].text;
        words[i] = set[i].is_word;
    }
    pattern->required = texts;
    pattern->required_is_word = words;
    pattern->n_required = n;
}

/* Fuzzes the matcher on trees and patterns that no grammar has made: any shape, any flags, any
 * separators. Input: bytes that are read as choices. It must end, in bounds. */
#include <stdlib.h>

#include "ast/matcher.h"

#define NODES_MAX 200
#define VARIABLES 3
#define KINDS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *data;
    size_t size, at;
};

static unsigned choose(struct input *input, unsigned n)
{
    return input->at < input->size ? input->data[input->at++] % n : 0;
}

struct sample {
    struct wb_flat_node nodes[NODES_MAX];
    char text[NODES_MAX];
    uint32_t count, text_len;
    struct wb_pattern_node program[NODES_MAX];
    uint32_t n_program;
};

static void make_node(struct sample *s, struct input *input, unsigned depth)
{
    uint32_t at = s->count++, start = s->text_len;
    uint16_t flags = (uint16_t)choose(input, 16);
    TSSymbol kind = (TSSymbol)choose(input, KINDS);
    unsigned n = depth < 40 ? choose(input, 6) : 0;
    if (n == 0 && choose(input, 8) != 0) {
        s->text[s->text_len++] = "xy,;# \n\xff"[choose(input, 8)];
    }
    for (; n > 0 && s->count < NODES_MAX; n--) {
        make_node(s, input, depth + 1);
    }
    s->nodes[at] = (struct wb_flat_node){
        .start = start, .end = s->text_len, .size = s->count - at, .kind = kind, .flags = flags};
}

static void make_pattern(struct sample *s, struct input *input, unsigned depth)
{
    static const struct wb_span texts[] = {{"x", 1}, {"y", 1}, {",", 1}, {";", 1}};
    static const struct wb_pattern_piece pieces[] = {{.literal = {"x", 1}, .variable = 2},
                                                     {.literal = {"", 0}, .is_last = true}};
    uint32_t at = s->n_program++;
    struct wb_pattern_node node = {.what = (uint8_t)choose(input, 5),
                                   .is_named = choose(input, 2),
                                   .is_separated = choose(input, 2),
                                   .kind = (TSSymbol)choose(input, KINDS)};
    bool is_variable = node.what == WB_PATTERN_ONE || node.what == WB_PATTERN_MANY;
    node.is_named = node.is_named || is_variable;
    node.kind = node.what == WB_PATTERN_MANY && choose(input, 4) != 0 ? 0 : node.kind;
    node.variable = (uint16_t)choose(input, VARIABLES + 1);
    node.variable = node.variable == VARIABLES ? WB_PATTERN_UNBOUND : node.variable;
    node.separator_before = (TSSymbol)choose(input, KINDS);
    node.separator_after = node.separator_before == 0 ? (TSSymbol)choose(input, KINDS) : 0;
    node.text = texts[choose(input, WB_COUNT(texts))];
    node.pieces = pieces;
    for (unsigned n = node.what == WB_PATTERN_NODE && depth < 6 ? choose(input, 5) : 0;
         n > 0 && s->n_program < NODES_MAX; n--) {
        make_pattern(s, input, depth + 1);
    }
    node.size = s->n_program - at;
    s->program[at] = node;
}

static void check(const struct sample *s, const struct wb_match *match)
{
    if (match->first > match->last || match->last >= s->count || match->start > match->end ||
        match->end > s->text_len) {
        abort();
    }
    for (size_t i = 0; i < VARIABLES; i++) {
        const struct wb_capture *capture = &match->captures[i];
        if (capture->is_bound && (capture->start > capture->end || capture->end > s->text_len)) {
            abort();
        }
    }
    for (size_t i = 1; i < match->n_unmentioned; i++) {
        if (match->unmentioned[i] <= match->unmentioned[i - 1]) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[VARIABLES] = {"A", "B", "C"};
    static struct sample s;
    static const TSSymbol postfix[] = {1}, clauses[] = {2}, optional[] = {3};
    struct input input = {data, size, 0};
    s.count = s.text_len = s.n_program = 0;
    struct wb_grammar grammar = {.postfix = {postfix, choose(&input, 2)},
                                 .clauses = {clauses, choose(&input, 2)},
                                 .optional = {optional, choose(&input, 2)}};
    struct wb_pattern_rung rung = {.nodes = s.program, .n_roots = 1 + choose(&input, 3)};
    for (uint32_t i = 0; i < rung.n_roots && s.n_program < NODES_MAX; i++) {
        make_pattern(&s, &input, 0);
    }
    rung.count = s.n_program;
    make_node(&s, &input, 0);
    struct wb_pattern pattern = {.grammar = &grammar,
                                 .rungs = &rung,
                                 .n_rungs = 1,
                                 .variables = names,
                                 .n_variables = VARIABLES};
    struct wb_flat_tree tree = {.nodes = s.nodes, .count = s.count};
    struct wb_matcher *matcher = wb_matcher_new(&pattern);
    struct wb_match match;
    wb_matcher_start(matcher, &tree, (struct wb_span){s.text, s.text_len});
    while (wb_matcher_next(matcher, &match)) {
        check(&s, &match);
    }
    wb_matcher_free(matcher);
    return 0;
}

/* The matcher against a simple one: random trees and patterns without any grammar behind them, and a
 * reference that tries every way in which a pattern can fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* cmocka wants these before it */
#include <cmocka.h>

#include "ast/matcher.h"

#define ROUNDS 60000
#define NODES_MAX 64
#define VARIABLES 2

enum { LEAF = 1, INNER, OTHER, POSTFIX, CLAUSE, COMMA, PLUS, COMMENT };

static const TSSymbol postfix[] = {POSTFIX}, clauses[] = {CLAUSE};

/* --- random trees --- */

struct random {
    uint64_t state;
};

static unsigned roll(struct random *random, unsigned sides)
{
    random->state = random->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random->state >> 33) % sides;
}

struct sample {
    struct wb_flat_node nodes[NODES_MAX];
    char text[NODES_MAX];
    struct wb_flat_tree tree;
    struct wb_pattern_node program[NODES_MAX];
    uint32_t n_program;
    struct wb_pattern_rung rung;
    struct wb_grammar grammar;
    struct wb_pattern pattern;
    uint32_t text_len;
};

static void add_leaf(struct sample *s, TSSymbol kind, uint16_t flags, char text)
{
    s->text[s->text_len] = text;
    s->nodes[s->tree.count++] = (struct wb_flat_node){
        .start = s->text_len, .end = s->text_len + 1, .size = 1, .kind = kind, .flags = flags};
    s->text_len++;
}

static void grow_tree(struct sample *s, struct random *random, unsigned depth)
{
    switch (depth > 3 ? 2 + roll(random, 6) : roll(random, 9)) {
    case 2:
    case 3:
        add_leaf(s, LEAF, WB_FLAT_NAMED, (char)('x' + roll(random, 2)));
        return;
    case 4:
        add_leaf(s, COMMA, 0, ',');
        return;
    case 5:
        add_leaf(s, PLUS, 0, '+');
        return;
    case 6:
        add_leaf(s, COMMENT, WB_FLAT_NAMED | WB_FLAT_EXTRA, '#');
        return;
    case 7:
        add_leaf(s, POSTFIX, WB_FLAT_NAMED, 'p');
        return;
    default:
        break;
    }
    uint32_t at = s->tree.count++, start = s->text_len;
    for (unsigned n = 1 + roll(random, 4); n > 0 && s->tree.count < NODES_MAX - 8; n--) {
        grow_tree(s, random, depth + 1);
    }
    static const TSSymbol kinds[] = {INNER, INNER, OTHER, CLAUSE};
    if (s->tree.count == at + 1) {
        s->tree.count--;
        add_leaf(s, LEAF, WB_FLAT_NAMED, 'x');
        return;
    }
    s->nodes[at] = (struct wb_flat_node){.start = start,
                                         .end = s->text_len,
                                         .size = s->tree.count - at,
                                         .kind = kinds[roll(random, WB_COUNT(kinds))],
                                         .flags = WB_FLAT_NAMED};
}

/* --- random patterns --- */

static uint16_t pick_variable(struct random *random, bool is_many)
{
    return roll(random, 3) == 0 ? WB_PATTERN_UNBOUND : is_many;
}

static struct wb_pattern_node make_many(struct random *random)
{
    struct wb_pattern_node node = {.what = WB_PATTERN_MANY, .is_named = true, .size = 1};
    node.variable = pick_variable(random, true);
    switch (roll(random, 4)) {
    case 0:
        node.separator_before = COMMA;
        break;
    case 1:
        node.separator_after = COMMA;
        break;
    default:
        break;
    }
    return node;
}

static void grow_pattern(struct sample *s, struct random *random, unsigned depth)
{
    uint32_t at = s->n_program++;
    struct wb_pattern_node *node = &s->program[at];
    *node = (struct wb_pattern_node){.what = WB_PATTERN_LEAF, .is_named = true, .size = 1};
    switch (roll(random, depth > 2 ? 6 : 8)) {
    case 0:
    case 1:
        node->kind = LEAF;
        node->text = roll(random, 2) == 0 ? WB_SPAN("x") : WB_SPAN("y");
        return;
    case 2:
    case 3:
        node->what = WB_PATTERN_ONE;
        node->variable = pick_variable(random, false);
        return;
    case 4:
        *node = make_many(random);
        return;
    case 5:
        node->is_named = false;
        node->kind = roll(random, 2) == 0 ? PLUS : COMMA;
        node->text = node->kind == PLUS ? WB_SPAN("+") : WB_SPAN(",");
        return;
    default:
        break;
    }
    node->what = WB_PATTERN_NODE;
    node->kind = roll(random, 3) == 0 ? OTHER : INNER;
    for (unsigned n = 1 + roll(random, 3); n > 0 && s->n_program < NODES_MAX - 4; n--) {
        grow_pattern(s, random, depth + 1);
    }
    s->program[at].size = s->n_program - at;
}

static void make_sample(struct sample *s, struct random *random)
{
    static const char *const names[VARIABLES] = {"ONE", "MANY"};
    memset(s, 0, sizeof(*s));
    s->tree.nodes = s->nodes;
    s->tree.count = 1;
    while (s->tree.count < 8 + roll(random, 24)) {
        grow_tree(s, random, 0);
    }
    s->nodes[0] = (struct wb_flat_node){
        .end = s->text_len, .size = s->tree.count, .kind = INNER, .flags = WB_FLAT_NAMED};
    for (unsigned n = 1 + roll(random, 3); n > 0; n--) {
        grow_pattern(s, random, 0);
        s->rung.n_roots++;
    }
    s->rung.nodes = s->program;
    s->rung.count = s->n_program;
    s->grammar.clauses = (struct wb_kinds){clauses, WB_COUNT(clauses)};
    s->grammar.postfix = (struct wb_kinds){postfix, roll(random, 2)};
    s->pattern = (struct wb_pattern){.grammar = &s->grammar,
                                     .rungs = &s->rung,
                                     .n_rungs = 1,
                                     .variables = names,
                                     .is_many = {false, true},
                                     .n_variables = VARIABLES};
}

/* --- the reference --- */

/* A list of pattern siblings that shall fit a list of tree siblings, and what is to fit afterwards. */
struct goal {
    uint32_t p, p_end, t, t_end;
    bool is_root;
    const struct goal *next;
    uint32_t p_first; /* where the list of pattern siblings began */
};

/* What the variables stand for, as the text of the leaves that are no comments. */
struct binding {
    bool is_bound;
    char text[NODES_MAX + 1];
};

struct state {
    struct binding bindings[VARIABLES];
    uint32_t root_last;
};

struct reference {
    const struct sample *sample;
    bool ends[NODES_MAX + 1]; /* ends of the matches that were found, in bytes */
    bool found;
};

static void solve(struct reference *r, const struct state *state, const struct goal *goal);

static const struct wb_flat_node *tree_node(const struct reference *r, uint32_t t)
{
    return &r->sample->nodes[t];
}

static bool is_extra(const struct reference *r, uint32_t t)
{
    return (tree_node(r, t)->flags & WB_FLAT_EXTRA) != 0;
}

static bool is_token(const struct reference *r, uint32_t t)
{
    return (tree_node(r, t)->flags & WB_FLAT_NAMED) == 0;
}

static bool is_postfix(const struct reference *r, uint32_t t)
{
    return r->sample->grammar.postfix.n > 0 && tree_node(r, t)->kind == POSTFIX;
}

static uint32_t behind(const struct reference *r, uint32_t t)
{
    return t + tree_node(r, t)->size;
}

/* Binds to the nodes from first to before end; false: it is bound to something else. */
static bool bind(const struct reference *r, struct state *state, uint16_t variable, uint32_t first,
                 uint32_t end)
{
    struct binding binding = {.is_bound = true};
    size_t n = 0;
    for (uint32_t t = first; t < end; t++) {
        if (tree_node(r, t)->size == 1 && !is_extra(r, t)) {
            binding.text[n++] = r->sample->text[tree_node(r, t)->start];
        }
    }
    if (variable == WB_PATTERN_UNBOUND) {
        return true;
    }
    if (state->bindings[variable].is_bound) {
        return wb_str_equal(state->bindings[variable].text, binding.text);
    }
    state->bindings[variable] = binding;
    return true;
}

/* Goes on behind the goal's first pattern node with the tree at t; last: the last node it took. */
static void go_on(struct reference *r, struct state state, const struct goal *goal, uint32_t t,
                  uint32_t last)
{
    struct goal rest = *goal;
    rest.p += r->sample->program[goal->p].size;
    rest.t = t;
    if (goal->is_root && last != UINT32_MAX) {
        state.root_last = last;
    }
    solve(r, &state, &rest);
}

/* A word or operator between what the pattern names and its $X. */
static bool is_another(const struct reference *r, const struct goal *goal, uint32_t t)
{
    bool passes_plus = false;
    for (uint32_t i = goal->t; i < t; i = behind(r, i)) {
        passes_plus = passes_plus || tree_node(r, i)->kind == PLUS;
    }
    return passes_plus && goal->p > goal->p_first &&
           r->sample->program[goal->p - 1].what != WB_PATTERN_MANY;
}

static void solve_one(struct reference *r, const struct state *state, const struct goal *goal,
                      uint32_t t)
{
    if (t >= goal->t_end || is_token(r, t) || is_postfix(r, t) || is_another(r, goal, t)) {
        return;
    }
    for (uint32_t end = behind(r, t), last = t;; end = behind(r, end)) {
        struct state bound = *state;
        if (!is_extra(r, last) &&
            bind(r, &bound, r->sample->program[goal->p].variable, t, behind(r, last))) {
            go_on(r, bound, goal, behind(r, last), last);
        }
        if (end >= goal->t_end || (!is_postfix(r, end) && !is_extra(r, end))) {
            return;
        }
        last = end;
    }
}

/* Behind a comma that is the next but for comments; UINT32_MAX: there is none. */
static uint32_t behind_comma(const struct reference *r, uint32_t t, uint32_t t_end)
{
    while (t < t_end && is_extra(r, t)) {
        t = behind(r, t);
    }
    return t < t_end && tree_node(r, t)->kind == COMMA ? behind(r, t) : UINT32_MAX;
}

/* The first node at or after t, or the comments right in front of it. */
static uint32_t first_of_run(const struct reference *r, uint32_t t)
{
    uint32_t first = UINT32_MAX;
    for (;; t = behind(r, t)) {
        first = is_token(r, t) ? UINT32_MAX : first == UINT32_MAX ? t : first;
        if (!is_token(r, t) && !is_extra(r, t)) {
            return first;
        }
    }
}

static void solve_many(struct reference *r, const struct state *state, const struct goal *goal)
{
    const struct wb_pattern_node *p = &r->sample->program[goal->p];
    struct state none = *state;
    if (bind(r, &none, p->variable, 0, 0)) {
        go_on(r, none, goal, goal->t, UINT32_MAX);
    }
    uint32_t start = p->separator_before != 0 ? behind_comma(r, goal->t, goal->t_end) : goal->t;
    bool may_end = false; /* with a node, or with comments right behind it */
    for (uint32_t t = start; t < goal->t_end; t = behind(r, t)) {
        struct state bound = *state;
        bool is_member = !is_token(r, t) && !is_extra(r, t);
        if (is_member && tree_node(r, t)->kind == CLAUSE) {
            return;
        }
        may_end = is_member || (may_end && is_extra(r, t));
        if (!may_end) {
            continue;
        }
        uint32_t first = first_of_run(r, start);
        uint32_t end = behind(r, t);
        end = p->separator_after != 0 ? behind_comma(r, end, goal->t_end) : end;
        if (end != UINT32_MAX && bind(r, &bound, p->variable, first, behind(r, t))) {
            go_on(r, bound, goal, end, t);
        }
    }
}

static void solve_node(struct reference *r, const struct state *state, const struct goal *goal,
                       uint32_t t)
{
    const struct wb_pattern_node *p = &r->sample->program[goal->p];
    if (t >= goal->t_end || tree_node(r, t)->kind != p->kind) {
        return;
    }
    if (p->what == WB_PATTERN_LEAF) {
        if (!p->is_named || p->text.ptr[0] == r->sample->text[tree_node(r, t)->start]) {
            go_on(r, *state, goal, behind(r, t), t);
        }
        return;
    }
    struct state inner = *state;
    struct goal rest = *goal;
    rest.p += p->size;
    rest.t = behind(r, t);
    inner.root_last = goal->is_root ? t : state->root_last;
    struct goal children = {goal->p + 1, goal->p + p->size, t + 1, behind(r, t), false,
                            &rest,       goal->p + 1};
    solve(r, &inner, &children);
}

/* Tokens and comments may be passed over, but for the token that the pattern wants. */
static uint32_t pass(const struct reference *r, const struct goal *goal)
{
    const struct wb_pattern_node *p = &r->sample->program[goal->p];
    uint32_t t = goal->t;
    while (t < goal->t_end &&
           (is_extra(r, t) || (is_token(r, t) && (goal->p == goal->p_end || p->is_named ||
                                                  tree_node(r, t)->kind != p->kind)))) {
        t = behind(r, t);
    }
    return t;
}

static void solve(struct reference *r, const struct state *state, const struct goal *goal)
{
    if (goal->p < goal->p_end) {
        switch (r->sample->program[goal->p].what) {
        case WB_PATTERN_ONE:
            solve_one(r, state, goal, pass(r, goal));
            return;
        case WB_PATTERN_MANY:
            solve_many(r, state, goal);
            return;
        default:
            solve_node(r, state, goal, pass(r, goal));
            return;
        }
    }
    if (goal->is_root) {
        r->ends[tree_node(r, state->root_last)->end] = r->found = true;
    } else if (pass(r, goal) == goal->t_end) {
        solve(r, state, goal->next);
    }
}

/* All ends of matches that begin with node t of a list that ends at t_end. */
static void find_all(struct reference *r, uint32_t t, uint32_t t_end)
{
    const struct wb_pattern_node *p = &r->sample->program[0];
    bool is_free = p->what == WB_PATTERN_ONE || p->what == WB_PATTERN_MANY;
    struct state state = {.root_last = t};
    struct goal goal = {0, r->sample->n_program, t, t_end, true, NULL, 0};
    memset(r->ends, 0, sizeof(r->ends));
    r->found = false;
    if (is_free ? (t > 0 && !is_token(r, t) && !is_extra(r, t))
                : (tree_node(r, t)->kind == p->kind)) {
        solve(r, &state, &goal);
    }
}

/* --- the comparison --- */

static uint32_t list_end(const struct sample *s, uint32_t node)
{
    uint32_t end = s->tree.count;
    for (uint32_t i = 0; i < node; i++) {
        uint32_t its = i + s->nodes[i].size;
        end = its > node && its < end ? its : end;
    }
    return end;
}

static void explain(const struct sample *s, uint32_t node, const char *what)
{
    print_error("%s at node %u of:\n", what, node);
    for (uint32_t i = 0; i < s->tree.count; i++) {
        print_error("  %u: kind %u size %u %.*s\n", i, s->nodes[i].kind, s->nodes[i].size,
                    (int)(s->nodes[i].end - s->nodes[i].start), s->text + s->nodes[i].start);
    }
    for (uint32_t i = 0; i < s->n_program; i++) {
        print_error("  pattern %u: what %u kind %u size %u variable %u separators %u %u %.*s\n", i,
                    s->program[i].what, s->program[i].kind, s->program[i].size,
                    s->program[i].variable, s->program[i].separator_before,
                    s->program[i].separator_after, WB_SPAN_ARG(s->program[i].text));
    }
    fail();
}

struct result {
    uint32_t first, start, end;
};

static size_t run_matcher(struct sample *s, struct result *results)
{
    struct wb_matcher *matcher = wb_matcher_new(&s->pattern);
    struct wb_match match;
    size_t n = 0;
    wb_matcher_start(matcher, &s->tree, (struct wb_span){s->text, s->text_len});
    while (wb_matcher_next(matcher, &match)) {
        assert_true(n < NODES_MAX);
        results[n++] = (struct result){match.first, match.start, match.end};
    }
    assert_int_equal(wb_matcher_given_up(matcher), 0);
    wb_matcher_free(matcher);
    return n;
}

/* Is the match at node t of the range that a result has, or the rest of it behind a $$$ in front? */
static bool is_given(const struct sample *s, const struct reference *r, uint32_t t,
                     const struct result *result)
{
    bool is_rest = s->program[0].what == WB_PATTERN_MANY && result->start < s->nodes[t].start;
    return (is_rest || result->start == s->nodes[t].start) && r->ends[result->end];
}

/* Each match is one that the reference has, and where the reference has one there is a match: at that
 * node, or one that has its range. */
static size_t compare(struct sample *s)
{
    struct result results[NODES_MAX];
    struct reference r = {.sample = s};
    size_t n = run_matcher(s, results), at = 0;
    for (uint32_t t = 0; t < s->tree.count; t++) {
        bool has_match = false;
        find_all(&r, t, list_end(s, t));
        for (; at < n && results[at].first == t; at++) {
            has_match = true;
            if (!r.ends[results[at].end]) {
                explain(s, t, "a match that the reference has not");
            }
        }
        for (size_t i = 0; i < at; i++) {
            has_match = has_match || is_given(s, &r, t, &results[i]);
        }
        if (r.found && !has_match) {
            explain(s, t, "the reference's match is missing");
        }
    }
    assert_int_equal(at, n);
    return n;
}

static void matcher_is_the_reference(void **state)
{
    static struct sample sample;
    struct random random = {20240601};
    size_t n_matches = 0;
    (void)state;
    for (size_t i = 0; i < ROUNDS; i++) {
        make_sample(&sample, &random);
        n_matches += compare(&sample);
    }
    assert_true(n_matches > ROUNDS / 2); /* else it has compared nothing with nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(matcher_is_the_reference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* pattern: the ladder of contexts. See the header. */
#include "ast/pattern.h"

#include <stdlib.h>

#include "ast/pattern_internal.h"
#include "base/clock.h"

#define COMPILE_MS 3000  /* for all parses of a pattern: they take 0.1 on average */
#define SPELLINGS_MAX 64 /* combinations in one context */

struct ladder {
    struct wb_arena *arena;
    struct wb_parser *parser;
    const struct wb_grammar *grammar;
    struct wb_span source; /* the pattern */
    struct wb_pattern_text text;
    struct wb_pattern_rung *rungs;
    size_t n_rungs, rungs_capacity;
    struct wb_text failures; /* "statement (column 4)", ... */
    int64_t deadline_ms;
};

/* Where a context failed: the offset in the pattern, or SIZE_MAX when all of it parses and is no node
 * of its own. */
struct failure {
    size_t at;
};

/* --- the fragment in its scaffold --- */

static bool find_error(const struct wb_flat_tree *tree, size_t *ret_at)
{
    for (uint32_t i = 0; tree->n_errors > 0 && i < tree->count; i++) {
        if ((tree->nodes[i].flags & (WB_FLAT_ERROR | WB_FLAT_MISSING)) != 0) {
            *ret_at = tree->nodes[i].start;
            return true;
        }
    }
    return false;
}

/* Down to the node that says something: one with more than one child, or a metavariable. */
static uint32_t unwrap(const struct ladder *ladder, const struct wb_flat_tree *tree,
                       struct wb_span source, uint32_t node)
{
    const struct wb_flat_node *nodes = tree->nodes;
    while (nodes[node].size > 1 && nodes[node + 1].size == nodes[node].size - 1 &&
           nodes[node + 1].start == nodes[node].start && nodes[node + 1].end == nodes[node].end &&
           (nodes[node + 1].flags & WB_FLAT_NAMED) != 0 &&
           wb_pattern_text_whole(&ladder->text, wb_flat_text(&nodes[node], source)) == SIZE_MAX) {
        node++;
    }
    return node;
}

/* Some nodes have the end of their line in them. */
static bool ends_at(const struct wb_flat_node *node, struct wb_span source, uint32_t end)
{
    struct wb_span rest = {source.ptr + end, node->end > end ? node->end - end : 0};
    return node->end >= end && wb_span_trim(rest).len == 0;
}

/* The children of `parent` that begin at start and end at end; false: there are none such. */
static bool find_run(const struct wb_flat_tree *tree, struct wb_span source, uint32_t parent,
                     uint32_t start, uint32_t end, uint32_t *ret_first, uint32_t *ret_last)
{
    const struct wb_flat_node *nodes = tree->nodes;
    uint32_t stop = parent + nodes[parent].size;
    *ret_first = UINT32_MAX;
    for (uint32_t child = parent + 1; child < stop; child += nodes[child].size) {
        if (nodes[child].start == start && *ret_first == UINT32_MAX &&
            nodes[child].end > nodes[child].start) {
            *ret_first = child;
        }
        if (*ret_first != UINT32_MAX && ends_at(&nodes[child], source, end)) {
            *ret_last = child;
            return true;
        }
    }
    return false;
}

/* One node becomes what it is made of where that says the same: statements that follow one another
 * may do so in any list. */
static void narrow(const struct ladder *ladder, const struct wb_flat_tree *tree,
                   struct wb_span source, uint32_t end, uint32_t *first, uint32_t *last)
{
    bool is_list = true;
    while (is_list && *first == *last) {
        *first = *last = unwrap(ladder, tree, source, *first);
        is_list = wb_kinds_have(ladder->grammar->lists, tree->nodes[*first].kind) &&
                  find_run(tree, source, *first, tree->nodes[*first].start, end, first, last);
    }
}

/* The node below which the range lies whole, and the run of its children that is exactly it. */
static bool find_cover(const struct ladder *ladder, const struct wb_flat_tree *tree,
                       struct wb_span source, uint32_t start, uint32_t end, uint32_t *ret_first,
                       uint32_t *ret_last)
{
    const struct wb_flat_node *nodes = tree->nodes;
    if (nodes[0].start == start && nodes[0].end == end && nodes[0].size == 1) {
        *ret_first = *ret_last = 0;
        return true;
    }
    for (uint32_t parent = 0;;) {
        if (find_run(tree, source, parent, start, end, ret_first, ret_last)) {
            narrow(ladder, tree, source, end, ret_first, ret_last);
            return true;
        }
        uint32_t stop = parent + nodes[parent].size, inner = UINT32_MAX;
        for (uint32_t child = parent + 1; child < stop; child += nodes[child].size) {
            if (nodes[child].start <= start && nodes[child].end >= end) {
                inner = child;
            }
        }
        if (inner == UINT32_MAX) {
            return false;
        }
        parent = inner;
    }
}

static bool has_token(const struct wb_flat_tree *tree, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i <= last; i += tree->nodes[i].size) {
        if ((tree->nodes[i].flags & WB_FLAT_NAMED) == 0) {
            return true;
        }
    }
    return false;
}

/* The nodes of the fragment. A statement may be written without its end, which the scaffold lends:
 * *lent_end becomes 0 when it was not needed. */
static bool find_range(const struct ladder *ladder, const struct wb_flat_tree *tree,
                       struct wb_span source, uint32_t start, uint32_t end, uint32_t *lent_end,
                       uint32_t *first, uint32_t *last)
{
    uint32_t lent_first, lent_last;
    bool fits = find_cover(ladder, tree, source, start, end, first, last);
    if (fits && (*first == *last || !has_token(tree, *first, *last))) {
        *lent_end = 0;
        return true;
    }
    if (*lent_end > 0 &&
        find_cover(ladder, tree, source, start, *lent_end, &lent_first, &lent_last) &&
        (!fits || lent_first == lent_last)) {
        *first = lent_first;
        *last = lent_last;
        return true;
    }
    *lent_end = 0;
    return fits;
}

/* Is there something in it that has to fit? A metavariable alone matches everything. */
static bool says_something(const struct wb_pattern_rung *rung)
{
    for (uint32_t i = 0; i < rung->count; i++) {
        if (rung->nodes[i].what != WB_PATTERN_ONE && rung->nodes[i].what != WB_PATTERN_MANY) {
            return true;
        }
    }
    return false;
}

/* --- a context --- */

static bool accept_tree(struct ladder *ladder, const struct wb_context *context,
                        const struct wb_flat_tree *tree, struct wb_span source,
                        struct wb_pattern_rung *ret, struct failure *failure)
{
    uint32_t start = (uint32_t)strlen(context->prefix), first, last;
    uint32_t end = (uint32_t)(source.len - strlen(context->suffix));
    size_t error_at;
    if (find_error(tree, &error_at)) {
        size_t at = WB_MIN(WB_MAX(error_at, (size_t)start), (size_t)end) - start;
        failure->at = wb_pattern_text_place(&ladder->text, at);
        return false;
    }
    failure->at = SIZE_MAX;
    ret->context = context->name;
    uint32_t lent_end = context->suffix[0] == ';' ? end + 1 : 0;
    if (!find_range(ladder, tree, source, start, end, &lent_end, &first, &last) ||
        (context->is_single && first != last)) {
        return false;
    }
    ret->is_lent = lent_end != 0;
    return wb_pattern_convert(ladder->arena, ladder->grammar, &ladder->text, tree, source, first,
                              last, lent_end, ret);
}

static bool try_spelling(struct ladder *ladder, const struct wb_context *context,
                         struct wb_pattern_rung *ret, struct failure *failure)
{
    WB_AUTO(wb_text_done) struct wb_text source = {0};
    WB_AUTO(wb_flat_tree_done) struct wb_flat_tree tree = {0};
    struct wb_error ignored;
    wb_text_add_str(&source, context->prefix);
    wb_pattern_text_put(ladder->arena, &ladder->text, &source);
    wb_text_add_str(&source, context->suffix);
    failure->at = 0;
    return wb_parser_parse(ladder->parser, ladder->grammar, wb_text_span(&source),
                           ladder->deadline_ms, NULL, &tree, &ignored) == 0 &&
           accept_tree(ladder, context, &tree, wb_text_span(&source), ret, failure);
}

static bool is_same(const struct wb_pattern_rung *a, const struct wb_pattern_rung *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        const struct wb_pattern_node *x = &a->nodes[i], *y = &b->nodes[i];
        if (x->what != y->what || x->kind != y->kind || x->size != y->size ||
            x->variable != y->variable || !wb_span_equal(x->text, y->text)) {
            return false;
        }
    }
    return true;
}

static void add_rung(struct ladder *ladder, const struct wb_pattern_rung *rung)
{
    for (size_t i = 0; i < ladder->n_rungs; i++) {
        if (is_same(&ladder->rungs[i], rung)) {
            return;
        }
    }
    *WB_ARENA_PUSH(ladder->arena, ladder->rungs, ladder->n_rungs, ladder->rungs_capacity) = *rung;
}

static void tell_failure(struct ladder *ladder, const struct wb_context *context,
                         const struct failure *failure)
{
    struct wb_text *out = &ladder->failures;
    wb_text_printf(out, "%s%s", out->len > 0 ? ", " : "", context->name);
    if (failure->at == SIZE_MAX) {
        wb_text_add_str(out, " (no node of its own)");
        return;
    }
    size_t line = 1, column = 1;
    for (size_t i = 0; i < failure->at && i < ladder->source.len; i++) {
        column = ladder->source.ptr[i] == '\n' ? 1 : column + 1;
        line += ladder->source.ptr[i] == '\n';
    }
    if (line > 1) {
        wb_text_printf(out, " (line %zu, column %zu)", line, column);
    } else {
        wb_text_printf(out, " (column %zu)", column);
    }
}

/* All spellings of the placeholders, the likeliest first. */
static bool try_context(struct ladder *ladder, const struct wb_context *context,
                        struct wb_pattern_rung *ret)
{
    struct failure failure, farthest = {0};
    bool has_next = true;
    for (size_t i = 0; has_next && i < SPELLINGS_MAX; i++) {
        if (try_spelling(ladder, context, ret, &failure)) {
            wb_pattern_text_reset(&ladder->text);
            return true;
        }
        farthest.at = WB_MAX(farthest.at, failure.at);
        has_next = wb_pattern_text_respell(&ladder->text);
    }
    wb_pattern_text_reset(&ladder->text);
    tell_failure(ladder, context, &farthest);
    return false;
}

/* The other readings of a pattern that the context `first` has accepted. */
static void try_joins(struct ladder *ladder, size_t first, const struct wb_pattern_rung *rung)
{
    const struct wb_grammar *grammar = ladder->grammar;
    for (size_t i = 0; i < grammar->n_joins; i++) {
        const struct wb_join *join = &grammar->joins[i];
        struct wb_pattern_rung other = {0};
        if (join->first == first &&
            (join->kinds.n == 0 ||
             (rung->n_roots == 1 && wb_kinds_have(join->kinds, rung->nodes[0].kind))) &&
            try_context(ladder, &grammar->contexts[join->also], &other)) {
            add_rung(ladder, &other);
        }
    }
}

/* Is a name in it a keyword elsewhere? `import x;` may be read as a declaration of the type `import`. */
static bool is_doubtful(const struct ladder *ladder, const struct wb_pattern_rung *rung)
{
    const TSLanguage *parser = ladder->grammar->parser;
    for (uint32_t i = 0; i < rung->count; i++) {
        const struct wb_pattern_node *node = &rung->nodes[i];
        const char *kind = ts_language_symbol_name(parser, node->kind);
        if (node->what == WB_PATTERN_LEAF && kind != NULL &&
            (wb_str_equal(kind, "identifier") || wb_str_equal(kind, "type_identifier")) &&
            ts_language_symbol_for_name(parser, node->text.ptr, (uint32_t)node->text.len, false) !=
                0) {
            return true;
        }
    }
    return false;
}

/* The first context that accepts, and where that is a doubtful reading the first that is none. */
static void climb(struct ladder *ladder)
{
    bool done = false;
    for (size_t i = 0; i < ladder->grammar->n_contexts && !done; i++) {
        struct wb_pattern_rung rung = {0};
        const struct wb_context *context = &ladder->grammar->contexts[i];
        if (!context->is_only_joined && try_context(ladder, context, &rung)) {
            done = !is_doubtful(ladder, &rung);
            if (done || ladder->n_rungs == 0) {
                add_rung(ladder, &rung);
                try_joins(ladder, i, &rung);
            }
        }
    }
}

/* --- the whole --- */

static int check_rungs(const struct ladder *ladder, struct wb_error *err)
{
    const char *name = ladder->grammar->language->name;
    if (ladder->n_rungs == 0) {
        return wb_error_set(
            err, WB_ERROR_INVALID,
            "The pattern does not parse as %s in any context; where each fails: %s. A pattern is a "
            "whole piece of code (a call, a statement, a declaration) with $NAME for a node and "
            "$$$NAME for a run of nodes",
            name, wb_text_cstr(&ladder->failures));
    }
    if (!says_something(&ladder->rungs[0])) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "The pattern is nothing but metavariables and would match everything: "
                            "put some code around them");
    }
    return 0;
}

static const struct wb_pattern *make_pattern(const struct ladder *ladder)
{
    struct wb_pattern *pattern = WB_ARENA_NEW(ladder->arena, struct wb_pattern);
    *pattern = (struct wb_pattern){
        .grammar = ladder->grammar,
        .text = ladder->source,
        .rungs = ladder->rungs,
        .n_rungs = ladder->n_rungs,
        .variables = ladder->text.variables,
        .n_variables = ladder->text.n_variables,
    };
    for (size_t i = 0; i < ladder->text.n_placeholders; i++) {
        uint16_t variable = ladder->text.placeholders[i].variable;
        if (variable != WB_PATTERN_UNBOUND) {
            pattern->is_many[variable] = ladder->text.placeholders[i].is_many;
        }
    }
    wb_pattern_find_required(ladder->arena, pattern);
    return pattern;
}

const struct wb_pattern *wb_pattern_compile(struct wb_arena *arena, struct wb_parser *parser,
                                            const struct wb_grammar *grammar, struct wb_span text,
                                            struct wb_error *err)
{
    struct ladder ladder = {.arena = arena,
                            .parser = parser,
                            .grammar = grammar,
                            .source = wb_span_trim(text),
                            .deadline_ms = wb_clock_deadline(COMPILE_MS)};
    if (ladder.source.len == 0 || ladder.source.len > WB_PATTERN_BYTES_MAX) {
        wb_error_set(err, WB_ERROR_INVALID,
                     ladder.source.len == 0 ? "The pattern is empty"
                                            : "The pattern is over 64 KiB: search for less");
        return NULL;
    }
    if (wb_pattern_text_read(arena, grammar, ladder.source, &ladder.text, err) != 0) {
        return NULL;
    }
    climb(&ladder);
    int status = check_rungs(&ladder, err);
    wb_text_done(&ladder.failures);
    return status == 0 ? make_pattern(&ladder) : NULL;
}

size_t wb_pattern_variable(const struct wb_pattern *pattern, struct wb_span name)
{
    for (size_t i = 0; i < pattern->n_variables; i++) {
        if (wb_span_is(name, pattern->variables[i])) {
            return i;
        }
    }
    return SIZE_MAX;
}

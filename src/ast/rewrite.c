/* rewrite: see the header. */
#include "ast/rewrite_internal.h"

#include <stdlib.h>

#include "base/clock.h"

#define NESTING_MAX 200

/* --- the matches --- */

static void add_place(struct wb_rewriter *r, const struct wb_match *match, size_t n_variables)
{
    struct wb_arena *arena = &r->ret->arena;
    struct wb_place *place = WB_ARENA_PUSH(arena, r->places, r->n_places, r->places_capacity);
    place->start = match->start;
    place->end = match->end;
    place->captures = wb_arena_alloc_array(arena, n_variables + 1, sizeof(*place->captures));
    memcpy(place->captures, match->captures, n_variables * sizeof(*place->captures));
    wb_rewrite_examine(r, match, place);
}

static int by_position(const void *a, const void *b)
{
    const struct wb_place *x = a, *y = b;
    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    return (x->end < y->end) - (x->end > y->end);
}

/* Without what they do not mention, two matches may be one. */
static void drop_same(struct wb_rewriter *r)
{
    size_t n = 1;
    for (size_t i = 1; i < r->n_places; i++) {
        if (by_position(&r->places[n - 1], &r->places[i]) != 0) {
            r->places[n++] = r->places[i];
        }
    }
    r->n_places = n;
}

static void find_places(struct wb_rewriter *r)
{
    size_t n_variables = wb_template_pattern(r->template)->n_variables;
    struct wb_match match;
    while (wb_matcher_next(r->file->matcher, &match)) {
        if (r->ret == NULL) {
            r->ret = wb_alloc(sizeof(*r->ret));
            wb_arena_init(&r->ret->arena);
        }
        add_place(r, &match, n_variables);
    }
    if (r->n_places > 0) {
        qsort(r->places, r->n_places, sizeof(*r->places), by_position);
        drop_same(r);
    }
}

/* --- deleting --- */

/* Alone on its lines: they go whole. */
static bool widen_to_lines(const struct wb_rewriter *r, struct wb_place *place, uint32_t end)
{
    uint32_t start = place->start;
    while (start > 0 && wb_is_one_of(wb_rewrite_char(r, start - 1), " \t")) {
        start--;
    }
    while (wb_is_one_of(wb_rewrite_char(r, end), " \t\r")) {
        end++;
    }
    if ((start > 0 && wb_rewrite_char(r, start - 1) != '\n') ||
        (end < r->file->source.len && wb_rewrite_char(r, end) != '\n')) {
        return false;
    }
    place->start = start;
    place->end = WB_MIN(end + 1, (uint32_t)r->file->source.len);
    return true;
}

/* The comma in front of the place, or of the deleted item in front of it which took the one between. */
static bool widen_back(const struct wb_rewriter *r, struct wb_place *place, struct wb_place *before)
{
    uint32_t floor = before != NULL ? before->end : 0;
    uint32_t start = wb_rewrite_skip_back(r, place->start, floor);
    if (start > floor && wb_rewrite_char(r, start - 1) == ',') {
        place->start = start - 1;
        return true;
    }
    if (before == NULL || start > floor) {
        return false;
    }
    start = wb_rewrite_skip_back(r, before->start, 0);
    if (start > 0 && wb_rewrite_char(r, start - 1) == ',') {
        before->start = start - 1;
        return true;
    }
    return false;
}

static void widen(const struct wb_rewriter *r, struct wb_place *place, struct wb_place *before)
{
    uint32_t behind = wb_rewrite_skip(r, place->end);
    uint32_t front = wb_rewrite_skip_back(r, place->start, 0);
    char opening = front > 0 ? wb_rewrite_char(r, front - 1) : '\0';
    if (wb_rewrite_char(r, behind) == ',' && wb_is_one_of(opening, "([{<,")) {
        if (!widen_to_lines(r, place, behind + 1)) {
            for (place->end = behind + 1; wb_is_one_of(wb_rewrite_char(r, place->end), " \t");) {
                place->end++;
            }
        }
        return;
    }
    bool is_last = wb_is_one_of(wb_rewrite_char(r, behind), ")]}>");
    if ((is_last && widen_back(r, place, before)) || widen_to_lines(r, place, place->end)) {
        return;
    }
    while (front != place->start && wb_is_one_of(wb_rewrite_char(r, place->end), " \t")) {
        place->end++; /* one of the blanks around it is enough */
    }
}

static void widen_all(struct wb_rewriter *r)
{
    struct wb_place *before = NULL;
    for (size_t i = 0; i < r->n_places; i++) {
        struct wb_place *place = &r->places[i];
        if (place->refusal == NULL && (before == NULL || place->start >= before->end)) {
            widen(r, place, before);
            before = place;
        }
    }
}

/* --- text --- */

static void rewrite_range(struct wb_rewriter *r, uint32_t start, uint32_t end, unsigned depth,
                          struct wb_block *out);

/* A capture's text with the matches inside it rewritten. */
static void make_splice(struct wb_rewriter *r, const struct wb_capture *capture, unsigned depth,
                        struct wb_splice *ret)
{
    if (!capture->is_bound) {
        return;
    }
    ret->start = capture->start;
    ret->end = capture->end;
    if (capture->last != UINT32_MAX) {
        const struct wb_flat_node *last = &r->file->tree->nodes[capture->last];
        ret->ends_line = (last->flags & WB_FLAT_EXTRA) != 0 &&
                         wb_is_one_of(wb_rewrite_char(r, capture->end), "\r\n");
    }
    rewrite_range(r, capture->start, capture->end, depth + 1, &ret->block);
}

static void rewrite_place(struct wb_rewriter *r, struct wb_place *place, unsigned depth,
                          struct wb_block *out)
{
    const struct wb_pattern *pattern = wb_template_pattern(r->template);
    struct wb_splice *splices =
        wb_arena_alloc_array(&r->ret->arena, pattern->n_variables + 1, sizeof(*splices));
    place->is_done = true;
    for (size_t i = 0; i < pattern->n_variables; i++) {
        if (wb_template_uses(r->template, i)) {
            make_splice(r, &place->captures[i], depth, &splices[i]);
        }
    }
    wb_template_put(r->template, &r->layout, place->start, splices, place->tokens, out);
    for (size_t i = 0; i < pattern->n_variables; i++) {
        wb_block_done(&splices[i].block);
    }
    r->ret->n_changes++;
}

/* The first place at or after index i that lies in the range and may be rewritten. */
static struct wb_place *next_place(struct wb_rewriter *r, size_t *i, uint32_t start, uint32_t end)
{
    for (; *i < r->n_places; (*i)++) {
        struct wb_place *place = &r->places[*i];
        if (place->start >= end) {
            return NULL;
        }
        if (place->start >= start && place->end <= end && !place->is_done &&
            place->refusal == NULL) {
            return place;
        }
    }
    return NULL;
}

static size_t first_from(const struct wb_rewriter *r, uint32_t start)
{
    size_t low = 0, high = r->n_places;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (r->places[middle].start < start) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void rewrite_range(struct wb_rewriter *r, uint32_t start, uint32_t end, unsigned depth,
                          struct wb_block *out)
{
    uint32_t at = start;
    size_t i = first_from(r, start);
    struct wb_place *place;
    while (depth < NESTING_MAX && (place = next_place(r, &i, at, end)) != NULL) {
        uint32_t place_end = place->end;
        wb_block_add_source(out, &r->layout, at, place->start);
        rewrite_place(r, place, depth, out);
        at = place_end;
    }
    wb_block_add_source(out, &r->layout, at, end);
}

/* --- the file --- */

static void leave_out(struct wb_rewriter *r)
{
    struct wb_line_counter lines = {r->file->source, 0, 1};
    struct wb_rewritten *ret = r->ret;
    for (size_t i = 0; i < r->n_places; i++) {
        const struct wb_place *place = &r->places[i];
        if (!place->is_done) {
            *WB_ARENA_PUSH(&ret->arena, ret->left_out, ret->n_left_out, ret->left_out_capacity) =
                (struct wb_left_out){wb_line_of(&lines, place->start),
                                     place->refusal != NULL
                                         ? place->refusal
                                         : "it lies in or across another match: run it again"};
        }
    }
}

/* The outermost matches become replacements; those inside are rewritten on the way. */
static void replace_all(struct wb_rewriter *r)
{
    struct wb_rewritten *ret = r->ret;
    uint32_t at = 0;
    size_t i = 0;
    struct wb_place *place;
    while ((place = next_place(r, &i, at, UINT32_MAX)) != NULL) {
        WB_AUTO(wb_block_done) struct wb_block block = {.fixed = NULL};
        uint32_t start = place->start, end = place->end;
        size_t n_changes = ret->n_changes;
        rewrite_place(r, place, 0, &block);
        struct wb_span text = wb_text_span(&block.text);
        at = end;
        if (wb_span_equal(text, wb_rewrite_span(r, start, end))) {
            ret->n_changes = n_changes; /* it is so already */
            continue;
        }
        *WB_ARENA_PUSH(&ret->arena, ret->replacements, ret->n_replacements,
                       ret->replacements_capacity) =
            (struct wb_replacement){start, end, wb_arena_span(&ret->arena, text)};
    }
    leave_out(r);
}

static void apply(struct wb_rewriter *r)
{
    struct wb_rewritten *ret = r->ret;
    WB_AUTO(wb_text_done) struct wb_text content = {0};
    uint32_t at = 0;
    for (size_t i = 0; i < ret->n_replacements; i++) {
        wb_text_add_span(&content, wb_rewrite_span(r, at, ret->replacements[i].start));
        wb_text_add_span(&content, ret->replacements[i].text);
        at = ret->replacements[i].end;
    }
    wb_text_add_span(&content, wb_rewrite_span(r, at, (uint32_t)r->file->source.len));
    ret->old_content = wb_arena_span(&ret->arena, r->file->source);
    ret->new_content = wb_arena_span(&ret->arena, wb_text_span(&content));
}

/* --- parsing again --- */

/* A body of nothing is one too: some grammars let Python's pass. */
static bool is_error(const struct wb_grammar *grammar, const struct wb_flat_node *node)
{
    if ((node->flags & (WB_FLAT_ERROR | WB_FLAT_MISSING)) != 0) {
        return true;
    }
    const char *kind = node->start == node->end && (node->flags & WB_FLAT_NAMED) != 0
                           ? ts_language_symbol_name(grammar->parser, node->kind)
                           : NULL;
    return kind != NULL && (wb_str_ends(kind, "block") || wb_str_ends(kind, "body"));
}

static size_t count_errors(const struct wb_grammar *grammar, const struct wb_flat_tree *tree,
                           uint32_t start, uint32_t end)
{
    size_t n = 0;
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct wb_flat_node *node = &tree->nodes[i];
        n += node->start <= end && node->end >= start && is_error(grammar, node);
    }
    return n;
}

/* The first replacement at whose place there is an error where there was none; NULL: none. */
static const struct wb_replacement *find_new_error(const struct wb_rewriter *r,
                                                   const struct wb_grammar *grammar,
                                                   const struct wb_flat_tree *tree)
{
    int64_t moved = 0;
    for (size_t i = 0; i < r->ret->n_replacements; i++) {
        const struct wb_replacement *replacement = &r->ret->replacements[i];
        uint32_t start = (uint32_t)(replacement->start + moved);
        moved += (int64_t)replacement->text.len - (replacement->end - replacement->start);
        uint32_t end = (uint32_t)(replacement->end + moved);
        if (count_errors(grammar, tree, start, end) > 0 &&
            count_errors(grammar, r->file->tree, replacement->start, replacement->end) == 0) {
            return replacement;
        }
    }
    return NULL;
}

/* Does the new content parse no worse than the old? *ret_bad: the first replacement that is to blame,
 * or NULL. */
static bool parses(const struct wb_rewriter *r, const struct wb_replacement **ret_bad)
{
    WB_AUTO(wb_flat_tree_done) struct wb_flat_tree tree = {0};
    const struct wb_grammar *grammar = wb_template_pattern(r->template)->grammar;
    struct wb_error ignored;
    *ret_bad = NULL;
    if (r->ret->new_content.len > WB_FILE_BYTES_MAX ||
        wb_parser_parse(r->file->parser, grammar, r->ret->new_content,
                        wb_clock_deadline(WB_SCAN_PARSE_MS), NULL, &tree, &ignored) != 0) {
        return false;
    }
    size_t n_errors = count_errors(grammar, &tree, 0, UINT32_MAX);
    if (n_errors == 0) {
        return true;
    }
    *ret_bad = find_new_error(r, grammar, &tree);
    return *ret_bad == NULL && tree.n_errors <= r->file->tree->n_errors &&
           n_errors <= count_errors(grammar, r->file->tree, 0, UINT32_MAX);
}

static void drop_changes(struct wb_rewriter *r, const struct wb_replacement *bad)
{
    struct wb_rewritten *ret = r->ret;
    struct wb_line_counter lines = {r->file->source, 0, 1};
    WB_AUTO(wb_text_done) struct wb_text reason = {0};
    wb_text_printf(&reason, "with its %zu replacement%s the file would have new syntax errors",
                   ret->n_changes, ret->n_changes == 1 ? "" : "s");
    if (bad != NULL) {
        struct wb_span text = {bad->text.ptr, wb_utf8_cut(bad->text, 60)};
        wb_text_printf(&reason, ", the first at line %zu: " WB_SPAN_FMT,
                       wb_line_of(&lines, bad->start), WB_SPAN_ARG(text));
    }
    *WB_ARENA_PUSH(&ret->arena, ret->left_out, ret->n_left_out, ret->left_out_capacity) =
        (struct wb_left_out){0, wb_arena_strdup(&ret->arena, wb_text_cstr(&reason))};
    ret->n_replacements = ret->n_changes = 0;
    ret->new_content.len = 0;
}

struct wb_rewritten *wb_rewrite_file(const struct wb_template *template,
                                     const struct wb_scan_file *file)
{
    struct wb_rewriter r = {.template = template, .file = file};
    find_places(&r);
    if (r.ret == NULL) {
        return NULL;
    }
    wb_layout_read(&r.layout, &r.ret->arena, wb_template_pattern(template)->grammar, file->tree,
                   file->source);
    if (wb_template_is_empty(template)) {
        widen_all(&r);
    }
    replace_all(&r);
    if (r.ret->n_replacements > 0) {
        apply(&r);
        const struct wb_replacement *bad;
        if (!parses(&r, &bad)) {
            drop_changes(&r, bad);
        }
    }
    return r.ret;
}

void wb_rewritten_free(struct wb_rewritten *rewritten)
{
    if (rewritten != NULL) {
        wb_arena_done(&rewritten->arena);
        free(rewritten);
    }
}

/* rewrite: see the header. */
#include "ast/rewrite.h"

#include <stdlib.h>

#include "base/clock.h"

#define NESTING_MAX 200

/* A match, copied from the matcher. */
struct place {
    uint32_t start, end; /* what is replaced */
    struct wb_capture *captures;
    struct wb_token_places *tokens; /* where the pattern's are; NULL: not known */
    const char *refusal;            /* why it may not be rewritten, or NULL */
    bool is_done;                   /* rewritten, or inside what was */
};

struct rewriter {
    const struct wb_template *template;
    const struct wb_scan_file *file;
    struct wb_rewritten *ret;
    struct wb_layout layout;
    struct place *places; /* by start, the outer before the inner */
    size_t n_places, places_capacity;
};

static char char_at(const struct rewriter *r, uint32_t offset)
{
    return offset < r->file->source.len ? r->file->source.ptr[offset] : '\0';
}

static struct wb_span span_of(const struct rewriter *r, uint32_t start, uint32_t end)
{
    return (struct wb_span){r->file->source.ptr + start, end - start};
}

static uint32_t skip_blanks(const struct rewriter *r, uint32_t offset)
{
    while (offset < r->file->source.len && wb_is_blank(r->file->source.ptr[offset])) {
        offset++;
    }
    return offset;
}

static uint32_t skip_blanks_back(const struct rewriter *r, uint32_t offset, uint32_t floor)
{
    while (offset > floor && wb_is_blank(r->file->source.ptr[offset - 1])) {
        offset--;
    }
    return offset;
}

static bool is_one_of(char c, const char *chars)
{
    return c != '\0' && strchr(chars, c) != NULL;
}

/* --- what the pattern does not mention --- */

/* A separator in front of a closing bracket, a semicolon that may be left out. */
static bool is_layout(const struct rewriter *r, uint32_t node)
{
    const struct wb_flat_node *flat = &r->file->tree->nodes[node];
    const struct wb_grammar *grammar = wb_template_pattern(r->template)->grammar;
    return wb_kinds_have(grammar->optional, flat->kind) ||
           (flat->end - flat->start == 1 && is_one_of(char_at(r, flat->start), ",;") &&
            is_one_of(char_at(r, skip_blanks(r, flat->end)), ")]}>"));
}

/* A semicolon that the pattern has too, and one instead of which the template brings its own. */
static bool is_replaced_end(const struct rewriter *r, uint32_t start, uint32_t end)
{
    return end - start == 1 && char_at(r, start) == ';' &&
           (wb_template_is_ended(r->template) ||
            wb_span_ends(wb_template_pattern(r->template)->text, WB_SPAN(";")));
}

/* The nodes of a match that the pattern does not mention. */
struct unmentioned {
    uint32_t *nodes; /* ascending */
    size_t n, capacity;
};

static bool is_captured(const struct rewriter *r, const struct wb_match *match, uint32_t node)
{
    const struct wb_flat_node *flat = &r->file->tree->nodes[node];
    for (size_t i = 0; i < wb_template_pattern(r->template)->n_variables; i++) {
        const struct wb_capture *capture = &match->captures[i];
        if (capture->is_bound && flat->start >= capture->start && flat->end <= capture->end) {
            return true;
        }
    }
    return false;
}

/* What the matcher says, and every comment outside of the captures. Where the pattern has wildcards
 * those may have taken them. */
static void find_unmentioned(const struct rewriter *r, const struct wb_match *match,
                             struct unmentioned *ret)
{
    const struct wb_flat_node *nodes = r->file->tree->nodes;
    uint32_t end = match->last + nodes[match->last].size;
    size_t i = 0;
    bool has_wild = wb_template_pattern_tokens(r->template)->has_wild;
    for (uint32_t node = match->first; node < end;) {
        while (i < match->n_unmentioned && match->unmentioned[i] < node) {
            i++;
        }
        bool is_extra = !has_wild && (nodes[node].flags & WB_FLAT_EXTRA) != 0 &&
                        nodes[node].end > nodes[node].start;
        if (i < match->n_unmentioned && match->unmentioned[i] == node) {
            i++;
        } else if (is_captured(r, match, node) && nodes[node].end > nodes[node].start) {
            node += nodes[node].size;
            continue;
        } else if (!is_extra) {
            node++;
            continue;
        }
        *WB_ARENA_PUSH(&r->ret->arena, ret->nodes, ret->n, ret->capacity) = node;
        node += nodes[node].size;
    }
}

/* Takes unmentioned nodes off the ends of the place: nothing but such nodes is on their far side.
 * *first, *last: those that are left. */
static void keep_ends(const struct rewriter *r, const struct unmentioned *unmentioned,
                      struct place *place, size_t *first, size_t *last)
{
    const struct wb_flat_node *nodes = r->file->tree->nodes;
    while (*first < *last && nodes[unmentioned->nodes[*first]].start == place->start) {
        place->start = skip_blanks(r, nodes[unmentioned->nodes[(*first)++]].end);
    }
    while (*last > *first && nodes[unmentioned->nodes[*last - 1]].end == place->end) {
        const struct wb_flat_node *node = &nodes[unmentioned->nodes[*last - 1]];
        if (is_replaced_end(r, node->start, node->end)) {
            break;
        }
        (*last)--;
        place->end = skip_blanks_back(r, node->start, place->start);
    }
}

/* Where the pattern's tokens are in the match. */
static void place_tokens(const struct rewriter *r, const struct wb_match *match,
                         const struct unmentioned *unmentioned, struct place *place)
{
    struct wb_arena *arena = &r->ret->arena;
    struct wb_range *left_out = wb_arena_alloc_array(arena, unmentioned->n + 1, sizeof(*left_out));
    for (size_t i = 0; i < unmentioned->n; i++) {
        const struct wb_flat_node *node = &r->file->tree->nodes[unmentioned->nodes[i]];
        left_out[i] = (struct wb_range){node->start, node->end};
    }
    place->tokens = wb_tokens_place(arena, wb_template_pattern(r->template),
                                    wb_template_pattern_tokens(r->template), r->file->source, match,
                                    left_out, unmentioned->n);
}

static void refuse(const struct rewriter *r, struct place *place, const char *what,
                   struct wb_range lost)
{
    struct wb_span text = {r->file->source.ptr + lost.start, lost.end - lost.start};
    text.len = wb_utf8_cut(text, 40);
    place->refusal =
        wb_arena_printf(&r->ret->arena,
                        "%s that the pattern does not mention would be lost: " WB_SPAN_FMT, what,
                        WB_SPAN_ARG(text));
}

/* Refuses the place if something between its ends would be lost. */
static void check_lost(const struct rewriter *r, const struct unmentioned *unmentioned,
                       struct place *place, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        const struct wb_flat_node *node = &r->file->tree->nodes[unmentioned->nodes[i]];
        bool is_extra = (node->flags & WB_FLAT_EXTRA) != 0;
        if (!wb_template_keeps(r->template, place->tokens, r->file->source, node->start,
                               node->end) &&
            (is_extra || !is_layout(r, unmentioned->nodes[i]))) {
            refuse(r, place,
                   (node->flags & WB_FLAT_ERROR) != 0 ? "code that does not parse and"
                   : is_extra                         ? "a comment"
                                                      : "a token",
                   (struct wb_range){node->start, node->end});
            return;
        }
    }
    for (size_t i = 0; place->tokens != NULL && i < place->tokens->n_extra; i++) {
        struct wb_range extra = place->tokens->extra[i];
        if (!wb_template_keeps(r->template, place->tokens, r->file->source, extra.start,
                               extra.end)) {
            refuse(r, place, "a token", extra);
            return;
        }
    }
}

static void keep_unmentioned(const struct rewriter *r, const struct wb_match *match,
                             struct place *place)
{
    const struct wb_pattern_rung *rung = &wb_template_pattern(r->template)->rungs[match->rung];
    struct unmentioned unmentioned = {.nodes = NULL};
    find_unmentioned(r, match, &unmentioned);
    size_t first = 0, last = unmentioned.n;
    place_tokens(r, match, &unmentioned, place);
    keep_ends(r, &unmentioned, place, &first, &last);
    if (rung->is_lent && place->end > place->start && char_at(r, place->end - 1) == ';' &&
        !wb_template_is_ended(r->template)) {
        place->end = skip_blanks_back(r, place->end - 1, place->start);
    }
    check_lost(r, &unmentioned, place, first, last);
}

/* --- the matches --- */

static void add_place(struct rewriter *r, const struct wb_match *match, size_t n_variables)
{
    struct wb_arena *arena = &r->ret->arena;
    struct place *place = WB_ARENA_PUSH(arena, r->places, r->n_places, r->places_capacity);
    place->start = match->start;
    place->end = match->end;
    place->captures = wb_arena_alloc_array(arena, n_variables + 1, sizeof(*place->captures));
    memcpy(place->captures, match->captures, n_variables * sizeof(*place->captures));
    keep_unmentioned(r, match, place);
}

static int by_position(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    return (x->end < y->end) - (x->end > y->end);
}

/* Without what they do not mention, two matches may be one. */
static void drop_same(struct rewriter *r)
{
    size_t n = 1;
    for (size_t i = 1; i < r->n_places; i++) {
        if (by_position(&r->places[n - 1], &r->places[i]) != 0) {
            r->places[n++] = r->places[i];
        }
    }
    r->n_places = n;
}

static void find_places(struct rewriter *r)
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
static bool widen_to_lines(const struct rewriter *r, struct place *place, uint32_t end)
{
    uint32_t start = place->start;
    while (start > 0 && is_one_of(char_at(r, start - 1), " \t")) {
        start--;
    }
    while (is_one_of(char_at(r, end), " \t\r")) {
        end++;
    }
    if ((start > 0 && char_at(r, start - 1) != '\n') ||
        (end < r->file->source.len && char_at(r, end) != '\n')) {
        return false;
    }
    place->start = start;
    place->end = WB_MIN(end + 1, (uint32_t)r->file->source.len);
    return true;
}

/* The comma in front of the place, or of the deleted item in front of it which took the one between. */
static bool widen_back(const struct rewriter *r, struct place *place, struct place *before)
{
    uint32_t floor = before != NULL ? before->end : 0;
    uint32_t start = skip_blanks_back(r, place->start, floor);
    if (start > floor && char_at(r, start - 1) == ',') {
        place->start = start - 1;
        return true;
    }
    if (before == NULL || start > floor) {
        return false;
    }
    start = skip_blanks_back(r, before->start, 0);
    if (start > 0 && char_at(r, start - 1) == ',') {
        before->start = start - 1;
        return true;
    }
    return false;
}

static void widen(const struct rewriter *r, struct place *place, struct place *before)
{
    uint32_t behind = skip_blanks(r, place->end);
    uint32_t front = skip_blanks_back(r, place->start, 0);
    char opening = front > 0 ? char_at(r, front - 1) : '\0';
    if (char_at(r, behind) == ',' && is_one_of(opening, "([{<,")) {
        if (!widen_to_lines(r, place, behind + 1)) {
            for (place->end = behind + 1; is_one_of(char_at(r, place->end), " \t");) {
                place->end++;
            }
        }
        return;
    }
    bool is_last = is_one_of(char_at(r, behind), ")]}>");
    if ((is_last && widen_back(r, place, before)) || widen_to_lines(r, place, place->end)) {
        return;
    }
    while (front != place->start && is_one_of(char_at(r, place->end), " \t")) {
        place->end++; /* one of the blanks around it is enough */
    }
}

static void widen_all(struct rewriter *r)
{
    struct place *before = NULL;
    for (size_t i = 0; i < r->n_places; i++) {
        struct place *place = &r->places[i];
        if (place->refusal == NULL && (before == NULL || place->start >= before->end)) {
            widen(r, place, before);
            before = place;
        }
    }
}

/* --- text --- */

static void rewrite_range(struct rewriter *r, uint32_t start, uint32_t end, unsigned depth,
                          struct wb_block *out);

/* A capture's text with the matches inside it rewritten. */
static void make_splice(struct rewriter *r, const struct wb_capture *capture, unsigned depth,
                        struct wb_splice *ret)
{
    if (!capture->is_bound) {
        return;
    }
    ret->start = capture->start;
    ret->end = capture->end;
    if (capture->last != UINT32_MAX) {
        const struct wb_flat_node *last = &r->file->tree->nodes[capture->last];
        ret->ends_line =
            (last->flags & WB_FLAT_EXTRA) != 0 && is_one_of(char_at(r, capture->end), "\r\n");
    }
    rewrite_range(r, capture->start, capture->end, depth + 1, &ret->block);
}

static void rewrite_place(struct rewriter *r, struct place *place, unsigned depth,
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
static struct place *next_place(struct rewriter *r, size_t *i, uint32_t start, uint32_t end)
{
    for (; *i < r->n_places; (*i)++) {
        struct place *place = &r->places[*i];
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

static size_t first_from(const struct rewriter *r, uint32_t start)
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

static void rewrite_range(struct rewriter *r, uint32_t start, uint32_t end, unsigned depth,
                          struct wb_block *out)
{
    uint32_t at = start;
    size_t i = first_from(r, start);
    struct place *place;
    while (depth < NESTING_MAX && (place = next_place(r, &i, at, end)) != NULL) {
        uint32_t place_end = place->end;
        wb_block_add_source(out, &r->layout, at, place->start);
        rewrite_place(r, place, depth, out);
        at = place_end;
    }
    wb_block_add_source(out, &r->layout, at, end);
}

/* --- the file --- */

static void leave_out(struct rewriter *r)
{
    struct wb_line_counter lines = {r->file->source, 0, 1};
    struct wb_rewritten *ret = r->ret;
    for (size_t i = 0; i < r->n_places; i++) {
        const struct place *place = &r->places[i];
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
static void replace_all(struct rewriter *r)
{
    struct wb_rewritten *ret = r->ret;
    uint32_t at = 0;
    size_t i = 0;
    struct place *place;
    while ((place = next_place(r, &i, at, UINT32_MAX)) != NULL) {
        WB_AUTO(wb_block_done) struct wb_block block = {.fixed = NULL};
        uint32_t start = place->start, end = place->end;
        size_t n_changes = ret->n_changes;
        rewrite_place(r, place, 0, &block);
        struct wb_span text = wb_text_span(&block.text);
        at = end;
        if (wb_span_equal(text, span_of(r, start, end))) {
            ret->n_changes = n_changes; /* it is so already */
            continue;
        }
        *WB_ARENA_PUSH(&ret->arena, ret->replacements, ret->n_replacements,
                       ret->replacements_capacity) =
            (struct wb_replacement){start, end, wb_arena_span(&ret->arena, text)};
    }
    leave_out(r);
}

static void apply(struct rewriter *r)
{
    struct wb_rewritten *ret = r->ret;
    WB_AUTO(wb_text_done) struct wb_text content = {0};
    uint32_t at = 0;
    for (size_t i = 0; i < ret->n_replacements; i++) {
        wb_text_add_span(&content, span_of(r, at, ret->replacements[i].start));
        wb_text_add_span(&content, ret->replacements[i].text);
        at = ret->replacements[i].end;
    }
    wb_text_add_span(&content, span_of(r, at, (uint32_t)r->file->source.len));
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
static const struct wb_replacement *find_new_error(const struct rewriter *r,
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
static bool parses(const struct rewriter *r, const struct wb_replacement **ret_bad)
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
    return *ret_bad == NULL && n_errors <= count_errors(grammar, r->file->tree, 0, UINT32_MAX);
}

static void drop_changes(struct rewriter *r, const struct wb_replacement *bad)
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
    struct rewriter r = {.template = template, .file = file};
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

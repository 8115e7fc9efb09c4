/* rewrite: see the header. */
#include "ast/rewrite.h"

#include <stdlib.h>

#include "ast/template.h"
#include "base/clock.h"

#define NESTING_MAX 200

/* A match, copied from the matcher. */
struct place {
    uint32_t start, end; /* what is replaced */
    struct wb_capture *captures;
    const char *refusal; /* why it may not be rewritten, or NULL */
    bool is_done;        /* rewritten, or left out with a reason */
};

struct rewriter {
    const struct wb_template *template;
    const struct wb_scan_file *file;
    struct wb_rewritten *ret;
    struct wb_layout layout;
    struct place *places; /* by start, the outer before the inner */
    size_t n_places, places_capacity;
};

static struct wb_span span_of(const struct rewriter *r, uint32_t start, uint32_t end)
{
    return (struct wb_span){r->file->source.ptr + start, end - start};
}

/* --- what the pattern does not mention --- */

/* In front of a closing bracket a separator is layout. */
static bool is_layout(const struct rewriter *r, uint32_t node)
{
    struct wb_span text = wb_flat_text(&r->file->tree->nodes[node], r->file->source);
    uint32_t at = r->file->tree->nodes[node].end;
    while (at < r->file->source.len && strchr(" \t\r\n", r->file->source.ptr[at]) != NULL) {
        at++;
    }
    return text.len == 1 && strchr(",;", text.ptr[0]) != NULL && at < r->file->source.len &&
           strchr(")]}>", r->file->source.ptr[at]) != NULL;
}

/* Takes unmentioned nodes off the ends of the place; one that is left decides. A node is off when
 * nothing of the match but unmentioned nodes is on its far side. */
static void keep_unmentioned(const struct rewriter *r, const struct wb_match *match,
                             struct place *place)
{
    const struct wb_flat_node *nodes = r->file->tree->nodes;
    const char *end_of_template = wb_template_last(r->template);
    size_t first = 0, last = match->n_unmentioned;
    while (first < last && nodes[match->unmentioned[first]].start == place->start) {
        uint32_t start = nodes[match->unmentioned[first++]].end;
        while (start < place->end && strchr(" \t\r\n", r->file->source.ptr[start]) != NULL) {
            start++;
        }
        place->start = start;
    }
    while (last > first && nodes[match->unmentioned[last - 1]].end == place->end) {
        const struct wb_flat_node *node = &nodes[match->unmentioned[--last]];
        if (node->end - node->start == 1 && end_of_template != NULL &&
            *end_of_template == r->file->source.ptr[node->start]) {
            break; /* the template ends with the same token */
        }
        uint32_t end = node->start;
        while (end > place->start && strchr(" \t\r\n", r->file->source.ptr[end - 1]) != NULL) {
            end--;
        }
        place->end = end;
    }
    for (size_t i = first; i < last; i++) {
        const struct wb_flat_node *node = &nodes[match->unmentioned[i]];
        if (!is_layout(r, match->unmentioned[i])) {
            place->refusal = wb_arena_printf(
                &r->ret->arena, "%s the pattern does not mention would be lost: %.*s",
                (node->flags & WB_FLAT_EXTRA) != 0 ? "a comment that" : "a token that",
                (int)WB_MIN(node->end - node->start, 40u), r->file->source.ptr + node->start);
            return;
        }
    }
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

static void leave_out(struct rewriter *r, struct place *place, const char *reason)
{
    struct wb_line_counter lines = {r->file->source, 0, 1};
    *WB_ARENA_PUSH(&r->ret->arena, r->ret->left_out, r->ret->n_left_out,
                   r->ret->left_out_capacity) =
        (struct wb_left_out){wb_line_of(&lines, place->start), reason};
    place->is_done = true;
}

/* --- text --- */

static void rewrite_range(struct rewriter *r, uint32_t start, uint32_t end, unsigned depth,
                          struct wb_text *out);

/* A capture's text with the matches inside it rewritten. */
static struct wb_span capture_text(struct rewriter *r, const struct wb_capture *capture,
                                   unsigned depth)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    if (!capture->is_bound) {
        return (struct wb_span){"", 0};
    }
    rewrite_range(r, capture->start, capture->end, depth + 1, &text);
    return wb_arena_span(&r->ret->arena, wb_text_span(&text));
}

static void rewrite_place(struct rewriter *r, struct place *place, unsigned depth,
                          struct wb_text *out)
{
    const struct wb_pattern *pattern = wb_template_pattern(r->template);
    struct wb_splice *splices =
        wb_arena_alloc_array(&r->ret->arena, pattern->n_variables + 1, sizeof(*splices));
    place->is_done = true;
    for (size_t i = 0; i < pattern->n_variables; i++) {
        splices[i].start = place->captures[i].start;
        splices[i].end = place->captures[i].end;
        splices[i].text = wb_template_uses(r->template, i)
                              ? capture_text(r, &place->captures[i], depth)
                              : (struct wb_span){"", 0};
    }
    wb_template_put(r->template, &r->layout, place->start, splices, out);
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
        *(r->places[middle].start < start ? &low : &high) =
            r->places[middle].start < start ? middle + 1 : middle;
    }
    return low;
}

static void rewrite_range(struct rewriter *r, uint32_t start, uint32_t end, unsigned depth,
                          struct wb_text *out)
{
    uint32_t at = start;
    size_t i = first_from(r, start);
    struct place *place;
    while (depth < NESTING_MAX && (place = next_place(r, &i, at, end)) != NULL) {
        uint32_t place_end = place->end;
        wb_text_add_span(out, span_of(r, at, place->start));
        rewrite_place(r, place, depth, out);
        at = place_end;
    }
    wb_text_add_span(out, span_of(r, at, end));
}

/* --- the file --- */

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
    }
}

/* The outermost matches become replacements; those inside are rewritten on the way. */
static void replace_all(struct rewriter *r)
{
    uint32_t at = 0;
    size_t i = 0;
    struct place *place;
    while ((place = next_place(r, &i, at, UINT32_MAX)) != NULL) {
        WB_AUTO(wb_text_done) struct wb_text text = {0};
        uint32_t start = place->start, end = place->end;
        rewrite_place(r, place, 0, &text);
        at = end;
        if (wb_span_equal(wb_text_span(&text), span_of(r, start, end))) {
            r->ret->n_changes--;
            continue; /* it is so already */
        }
        *WB_ARENA_PUSH(&r->ret->arena, r->ret->replacements, r->ret->n_replacements,
                       r->ret->replacements_capacity) =
            (struct wb_replacement){start, end, wb_arena_span(&r->ret->arena, wb_text_span(&text))};
    }
    for (size_t j = 0; j < r->n_places; j++) {
        if (!r->places[j].is_done) {
            leave_out(r, &r->places[j],
                      r->places[j].refusal != NULL
                          ? r->places[j].refusal
                          : "it lies in or across another match: run it again");
        }
    }
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

/* Does the new content parse no worse than the old? */
static bool parses(const struct rewriter *r)
{
    WB_AUTO(wb_flat_tree_done) struct wb_flat_tree tree = {0};
    struct wb_error ignored;
    return wb_parser_parse(r->file->parser, wb_template_pattern(r->template)->grammar,
                           r->ret->new_content, wb_clock_deadline(WB_SCAN_PARSE_MS), NULL, &tree,
                           &ignored) == 0 &&
           tree.n_errors <= r->file->tree->n_errors;
}

static void drop_changes(struct wb_rewritten *ret)
{
    *WB_ARENA_PUSH(&ret->arena, ret->left_out, ret->n_left_out, ret->left_out_capacity) =
        (struct wb_left_out){0, wb_arena_printf(&ret->arena,
                                                "with its %zu replacements the file would have new "
                                                "syntax errors",
                                                ret->n_changes)};
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
    wb_layout_read(&r.layout, file->tree, file->source);
    replace_all(&r);
    if (r.ret->n_replacements > 0) {
        apply(&r);
        if (!parses(&r)) {
            drop_changes(r.ret);
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

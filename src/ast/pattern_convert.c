/* pattern_convert: from the nodes of a parsed scaffold to the program of a rung. */
#include <ctype.h>
#include <stdlib.h>

#include "ast/pattern_internal.h"

#define DEPTH_MAX 400

struct converter {
    struct wb_arena *arena;
    const struct wb_grammar *grammar;
    const struct wb_pattern_text *text;
    const struct wb_flat_tree *tree;
    struct wb_span source;
    uint32_t lent_end; /* where a semicolon ends that the scaffold has lent; 0: none */
    struct wb_pattern_node *nodes;
    uint32_t count, capacity;
    bool seen[WB_PATTERN_VARIABLES_MAX]; /* placeholders that are in the program */
    bool failed;                         /* too deep, or wrongly spelt */
};

static struct wb_span text_of(const struct converter *c, uint32_t node)
{
    return wb_span_trim(wb_flat_text(&c->tree->nodes[node], c->source));
}

static struct wb_pattern_node *add(struct converter *c, struct wb_pattern_node node)
{
    if (c->count == c->capacity) {
        c->capacity = c->capacity != 0 ? 2 * c->capacity : 32;
        c->nodes = wb_realloc(c->nodes, c->capacity * sizeof(*c->nodes));
    }
    node.size = 1;
    c->nodes[c->count] = node;
    return &c->nodes[c->count++];
}

/* --- leaves --- */

static void add_placeholder(struct converter *c, size_t index, uint32_t node)
{
    TSSymbol kind = c->tree->nodes[node].kind;
    bool is_many = c->text->placeholders[index].is_many;
    c->seen[index] = true;
    add(c, (struct wb_pattern_node){
               .what = is_many ? WB_PATTERN_MANY : WB_PATTERN_ONE,
               .is_named = true,
               .kind = is_many && wb_kinds_have(c->grammar->lists, kind) ? kind : 0,
               .variable = c->text->placeholders[index].variable,
           });
}

/* The placeholder that is all of a node, a lent semicolon aside. */
static size_t placeholder_of(const struct converter *c, uint32_t node)
{
    struct wb_span text = text_of(c, node);
    size_t whole = wb_pattern_text_whole(c->text, text);
    if (whole == SIZE_MAX && c->lent_end != 0 && c->tree->nodes[node].end == c->lent_end) {
        text.len--;
        whole = wb_pattern_text_whole(c->text, wb_span_trim(text));
    }
    return whole;
}

/* "hello $A, $B" */
static const struct wb_pattern_piece *read_pieces(struct converter *c, struct wb_span s)
{
    struct wb_pattern_piece *pieces = NULL;
    size_t n = 0, capacity = 0, at;
    for (;;) {
        size_t index = wb_pattern_text_find(c->text, s, &at);
        struct wb_pattern_piece *piece = WB_ARENA_PUSH(c->arena, pieces, n, capacity);
        if (index == SIZE_MAX) {
            *piece =
                (struct wb_pattern_piece){.literal = wb_arena_span(c->arena, s), .is_last = true};
            return pieces;
        }
        c->seen[index] = true;
        *piece = (struct wb_pattern_piece){
            .literal = wb_arena_span(c->arena, (struct wb_span){s.ptr, at}),
            .variable = c->text->placeholders[index].variable,
        };
        s.ptr += at + WB_PLACEHOLDER_NAME_BYTES;
        s.len -= at + WB_PLACEHOLDER_NAME_BYTES;
    }
}

static void add_leaf(struct converter *c, uint32_t node)
{
    const struct wb_flat_node *flat = &c->tree->nodes[node];
    struct wb_span text = text_of(c, node);
    size_t at;
    struct wb_pattern_node leaf = {
        .what = WB_PATTERN_LEAF,
        .is_named = (flat->flags & WB_FLAT_NAMED) != 0,
        .kind = flat->kind,
    };
    if (wb_pattern_text_find(c->text, text, &at) != SIZE_MAX) {
        /* A name that was to be more than its leaf: the spelling does not fit here. */
        c->failed = c->failed || text.len == WB_PLACEHOLDER_NAME_BYTES;
        leaf.what = WB_PATTERN_TEXT;
        leaf.pieces = read_pieces(c, text);
    } else {
        leaf.text = wb_arena_span(c->arena, text);
    }
    add(c, leaf);
}

/* --- inner nodes --- */

static bool is_layout(const char *ptr, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (!isspace((unsigned char)ptr[i]) && ptr[i] != '\\' && ptr[i] != ';') {
            return false;
        }
    }
    return true;
}

bool wb_flat_has_hidden_text(const struct wb_flat_tree *tree, struct wb_span source, uint32_t node)
{
    const struct wb_flat_node *nodes = tree->nodes;
    uint32_t at = nodes[node].start, end = node + nodes[node].size;
    for (uint32_t child = node + 1; child < end; child += nodes[child].size) {
        if (nodes[child].start > at && !is_layout(source.ptr + at, nodes[child].start - at)) {
            return true;
        }
        at = WB_MAX(at, nodes[child].end);
    }
    return nodes[node].end > at && !is_layout(source.ptr + at, nodes[node].end - at);
}

/* A string with a metavariable in its text: matched as text, whatever it is made of. Not one with
 * code in it that has the metavariable. */
static bool is_string_text(const struct converter *c, uint32_t node)
{
    const struct wb_flat_node *nodes = c->tree->nodes;
    const char *name = ts_language_symbol_name(c->grammar->parser, nodes[node].kind);
    size_t at;
    bool found = false;
    if (name == NULL || strstr(name, "string") == NULL || strstr(name, "concat") != NULL) {
        return false;
    }
    for (uint32_t child = node + 1; child < node + nodes[node].size; child += nodes[child].size) {
        if (wb_pattern_text_find(c->text, text_of(c, child), &at) != SIZE_MAX) {
            if (nodes[child].size > 1) {
                return false;
            }
            found = true;
        }
    }
    return found;
}

static bool is_separator(const struct wb_pattern_node *node)
{
    return node->what == WB_PATTERN_LEAF && !node->is_named && node->text.len == 1 &&
           strchr(",;|&", node->text.ptr[0]) != NULL;
}

static bool is_closing(const struct wb_pattern_node *node)
{
    return node->what == WB_PATTERN_LEAF && !node->is_named && node->text.len == 1 &&
           strchr(")]}>", node->text.ptr[0]) != NULL;
}

/* No size above it is wrong afterwards: a node's size is set when its children are done. */
static void remove_node(struct converter *c, uint32_t at)
{
    uint32_t size = c->nodes[at].size;
    memmove(&c->nodes[at], &c->nodes[at + size], (c->count - at - size) * sizeof(*c->nodes));
    c->count -= size;
}

/* The children from `from` on, where siblings are found by their sizes: separators go to the $$$
 * beside them; one in front of a closing bracket goes away, as layout does. */
static void join_separators(struct converter *c, uint32_t from)
{
    uint32_t before = UINT32_MAX;
    for (uint32_t i = from; i < c->count;) {
        struct wb_pattern_node *node = &c->nodes[i];
        uint32_t next = i + node->size;
        bool has_next = next < c->count;
        if (node->what == WB_PATTERN_MANY && before != UINT32_MAX &&
            is_separator(&c->nodes[before])) {
            node->separator_before = c->nodes[before].kind;
            remove_node(c, before);
            i = before;
        } else if (node->what == WB_PATTERN_MANY && has_next && node->separator_before == 0 &&
                   node->separator_after == 0 && is_separator(&c->nodes[next])) {
            node->separator_after = c->nodes[next].kind;
            remove_node(c, next);
        } else if (is_separator(node) && has_next && is_closing(&c->nodes[next])) {
            remove_node(c, i);
        } else {
            before = i;
            i = next;
        }
    }
}

static bool is_optional(const struct converter *c, const struct wb_pattern_node *node)
{
    return (node->what == WB_PATTERN_LEAF || node->what == WB_PATTERN_NODE) &&
           wb_kinds_have(c->grammar->optional, node->kind);
}

/* Between round brackets they say which part of a loop's head is which. */
static bool is_head(const struct converter *c, uint32_t from)
{
    for (uint32_t i = from; i < c->count; i += c->nodes[i].size) {
        if (!c->nodes[i].is_named && c->nodes[i].text.len > 0 && c->nodes[i].text.ptr[0] == '(') {
            return true;
        }
    }
    return false;
}

/* Ends of statements may be written in several ways, or not at all; a comma at the end is layout. */
static void drop_optional(struct converter *c, uint32_t from, bool is_loop)
{
    bool only_last = is_loop || is_head(c, from);
    for (uint32_t i = from; i < c->count;) {
        uint32_t next = i + c->nodes[i].size;
        bool is_comma = c->nodes[i].what == WB_PATTERN_LEAF && wb_span_is(c->nodes[i].text, ",");
        bool is_end = is_optional(c, &c->nodes[i]) || (is_comma && next == c->count);
        if (i > from && is_end && (!only_last || next == c->count)) {
            remove_node(c, i);
            if (i < c->count) {
                c->nodes[i].is_separated = true;
            }
        } else {
            i = next;
        }
    }
}

/* `$$$BODY;` is the run itself: the statement's end goes with it. */
static bool is_only_many(const struct converter *c, uint32_t from)
{
    size_t n_many = 0;
    for (uint32_t i = from; i < c->count; i += c->nodes[i].size) {
        if (c->nodes[i].what == WB_PATTERN_MANY) {
            n_many++;
        } else if (c->nodes[i].is_named || c->nodes[i].text.len != 1 ||
                   c->nodes[i].text.ptr[0] != ';') {
            return false;
        }
    }
    return n_many == 1;
}

static void convert(struct converter *c, uint32_t node, unsigned depth);

static void convert_children(struct converter *c, uint32_t node, unsigned depth)
{
    const struct wb_flat_node *nodes = c->tree->nodes;
    uint32_t end = node + nodes[node].size;
    for (uint32_t child = node + 1; child < end; child += nodes[child].size) {
        convert(c, child, depth + 1);
    }
}

static void convert_inner(struct converter *c, uint32_t node, unsigned depth)
{
    uint32_t at = c->count;
    add(c, (struct wb_pattern_node){
               .what = WB_PATTERN_NODE,
               .is_named = (c->tree->nodes[node].flags & WB_FLAT_NAMED) != 0,
               .kind = c->tree->nodes[node].kind,
           });
    convert_children(c, node, depth);
    if (is_only_many(c, at + 1)) {
        struct wb_pattern_node many = {0};
        for (uint32_t i = at + 1; i < c->count; i++) {
            many = c->nodes[i].what == WB_PATTERN_MANY ? c->nodes[i] : many;
        }
        many.separator_before = many.separator_after = 0;
        c->nodes[at] = many;
        c->count = at + 1;
        return;
    }
    const char *name = ts_language_symbol_name(c->grammar->parser, c->nodes[at].kind);
    drop_optional(c, at + 1, name != NULL && wb_str_equal(name, "for_clause"));
    join_separators(c, at + 1);
    c->nodes[at].size = c->count - at;
}

static void convert(struct converter *c, uint32_t node, unsigned depth)
{
    const struct wb_flat_node *flat = &c->tree->nodes[node];
    if ((flat->flags & WB_FLAT_EXTRA) != 0 || flat->start == flat->end) {
        return; /* comments, and what is not written */
    }
    if (depth > DEPTH_MAX) {
        c->failed = true;
        return;
    }
    size_t whole = placeholder_of(c, node);
    if (whole != SIZE_MAX) {
        add_placeholder(c, whole, node);
    } else if (flat->size == 1 || is_string_text(c, node) ||
               wb_flat_has_hidden_text(c->tree, c->source, node)) {
        add_leaf(c, node);
    } else {
        convert_inner(c, node, depth);
    }
}

/* --- a rung --- */

static bool all_seen(const struct converter *c)
{
    for (size_t i = 0; i < c->text->n_placeholders; i++) {
        if (!c->seen[i]) {
            return false;
        }
    }
    return true;
}

bool wb_pattern_convert(struct wb_arena *arena, const struct wb_grammar *grammar,
                        const struct wb_pattern_text *text, const struct wb_flat_tree *tree,
                        struct wb_span source, uint32_t first, uint32_t last, uint32_t lent_end,
                        struct wb_pattern_rung *ret)
{
    struct converter c = {.arena = arena,
                          .grammar = grammar,
                          .text = text,
                          .tree = tree,
                          .source = source,
                          .lent_end = lent_end};
    for (uint32_t node = first; node <= last; node += tree->nodes[node].size) {
        convert(&c, node, 0);
    }
    drop_optional(&c, 0, false);
    join_separators(&c, 0);
    bool usable = !c.failed && c.count > 0 && all_seen(&c);
    if (usable) {
        struct wb_pattern_node *nodes = wb_arena_alloc_array(arena, c.count, sizeof(*nodes));
        memcpy(nodes, c.nodes, c.count * sizeof(*nodes));
        ret->nodes = nodes;
        ret->count = c.count;
        ret->n_roots = 0;
        for (uint32_t i = 0; i < c.count; i += nodes[i].size) {
            ret->n_roots++;
        }
    }
    free(c.nodes);
    return usable;
}

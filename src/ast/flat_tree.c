/* flat_tree: see the header. */
#include "ast/flat_tree.h"

#include <stdlib.h>

#include "base/clock.h"

struct wb_parser {
    TSParser *parser;
    uint32_t *open; /* nodes whose size is not known yet */
    uint32_t open_capacity;
};

struct source {
    struct wb_span text;
    int64_t deadline_ms;
    struct wb_cancel *cancel;
};

void wb_flat_tree_done(struct wb_flat_tree *tree)
{
    free(tree->nodes);
    *tree = (struct wb_flat_tree){0};
}

struct wb_parser *wb_parser_new(void)
{
    struct wb_parser *parser = wb_alloc(sizeof(*parser));
    parser->parser = ts_parser_new();
    return parser;
}

void wb_parser_free(struct wb_parser *parser)
{
    if (parser != NULL) {
        ts_parser_delete(parser->parser);
        free(parser->open);
        free(parser);
    }
}

static const char *read_source(void *payload, uint32_t byte, TSPoint position, uint32_t *ret_len)
{
    const struct source *source = payload;
    (void)position;
    *ret_len = byte < source->text.len ? (uint32_t)source->text.len - byte : 0;
    return *ret_len > 0 ? source->text.ptr + byte : "";
}

static bool give_up(TSParseState *state)
{
    const struct source *source = state->payload;
    return wb_cancel_is_fired(source->cancel) || wb_clock_left_ms(source->deadline_ms) == 0;
}

static TSTree *parse(struct wb_parser *parser, const struct wb_grammar *grammar,
                     struct source *source, struct wb_error *err)
{
    const TSInput input = {source, read_source, TSInputEncodingUTF8, NULL};
    const TSParseOptions options = {source, give_up};
    ts_parser_set_language(parser->parser, grammar->parser);
    TSTree *tree = ts_parser_parse_with_options(parser->parser, NULL, input, options);
    if (tree == NULL) {
        ts_parser_reset(parser->parser);
        bool cancelled = wb_cancel_is_fired(source->cancel);
        wb_error_set(err, cancelled ? WB_ERROR_CANCELLED : WB_ERROR_TIMEOUT,
                     cancelled ? "Parsing was cancelled" : "Parsing took longer than the deadline");
    }
    return tree;
}

static void add_node(const struct wb_grammar *grammar, struct wb_flat_tree *tree,
                     uint32_t *capacity, TSNode node)
{
    if (tree->count == *capacity) {
        *capacity = *capacity != 0 ? *capacity * 2 : 256;
        tree->nodes = wb_realloc(tree->nodes, (size_t)*capacity * sizeof(*tree->nodes));
    }
    TSSymbol kind = ts_node_symbol(node);
    bool is_named = ts_node_is_named(node) && !wb_kinds_have(grammar->tokens, kind);
    uint16_t flags =
        (uint16_t)((is_named ? WB_FLAT_NAMED : 0) | (ts_node_is_extra(node) ? WB_FLAT_EXTRA : 0) |
                   (ts_node_is_error(node) ? WB_FLAT_ERROR : 0) |
                   (ts_node_is_missing(node) ? WB_FLAT_MISSING : 0));
    tree->n_errors += (flags & (WB_FLAT_ERROR | WB_FLAT_MISSING)) != 0;
    tree->nodes[tree->count++] = (struct wb_flat_node){
        .start = ts_node_start_byte(node),
        .end = ts_node_end_byte(node),
        .size = 1,
        .kind = kind,
        .flags = flags,
    };
}

/* Walks the tree once, in pre-order; a node's size is known when its last child has been left. */
static void flatten(struct wb_parser *parser, const struct wb_grammar *grammar, TSTree *parsed,
                    struct wb_flat_tree *tree)
{
    uint32_t capacity = 0, depth = 0;
    TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(parsed));
    for (;;) {
        WB_GROW(parser->open, parser->open_capacity, depth + 1);
        parser->open[depth] = tree->count;
        add_node(grammar, tree, &capacity, ts_tree_cursor_current_node(&cursor));
        if (ts_tree_cursor_goto_first_child(&cursor)) {
            depth++;
            continue;
        }
        while (!ts_tree_cursor_goto_next_sibling(&cursor)) {
            if (depth == 0) {
                tree->nodes[0].size = tree->count;
                ts_tree_cursor_delete(&cursor);
                return;
            }
            ts_tree_cursor_goto_parent(&cursor);
            depth--;
            tree->nodes[parser->open[depth]].size = tree->count - parser->open[depth];
        }
    }
}

int wb_parser_parse(struct wb_parser *parser, const struct wb_grammar *grammar,
                    struct wb_span source, int64_t deadline_ms, struct wb_cancel *cancel,
                    struct wb_flat_tree *ret, struct wb_error *err)
{
    struct source input = {source, deadline_ms, cancel};
    if (source.len > WB_FILE_BYTES_MAX) {
        return wb_error_set(err, WB_ERROR_LIMIT, "The text has %zu bytes, over the limit of %zu",
                            source.len, WB_FILE_BYTES_MAX);
    }
    TSTree *parsed = parse(parser, grammar, &input, err);
    if (parsed == NULL) {
        return -1;
    }
    *ret = (struct wb_flat_tree){0};
    flatten(parser, grammar, parsed, ret);
    ts_tree_delete(parsed);
    return 0;
}

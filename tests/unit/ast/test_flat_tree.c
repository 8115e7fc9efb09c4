/* Parsing into a flat tree: its shape, its flags, any bytes, the ways to stop it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* cmocka wants these before it */
#include <cmocka.h>

#include "ast/flat_tree.h"
#include "base/clock.h"

struct fixture {
    struct wb_arena arena;
    struct wb_grammars *grammars;
    struct wb_parser *parser;
};

static int set_up(void **state)
{
    struct fixture *f = wb_alloc(sizeof(*f));
    struct wb_error err;
    wb_arena_init(&f->arena);
    f->grammars = wb_grammars_load(wb_languages_load(&f->arena, NULL, &err), &err);
    f->parser = wb_parser_new();
    *state = f;
    return f->grammars != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    wb_parser_free(f->parser);
    wb_grammars_free(f->grammars);
    wb_arena_done(&f->arena);
    free(f);
    return 0;
}

static void parse(struct fixture *f, const char *language, struct wb_span source,
                  struct wb_flat_tree *ret)
{
    struct wb_error err;
    assert_int_equal(wb_parser_parse(f->parser, wb_grammars_find(f->grammars, language), source,
                                     wb_clock_deadline(60000), NULL, ret, &err),
                     0);
}

/* Children lie in their parent, one behind the other, and fill it: as bytes and as nodes. */
static void check_shape(const struct wb_flat_tree *tree, size_t len)
{
    assert_int_equal(tree->nodes[0].size, tree->count);
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct wb_flat_node *node = &tree->nodes[i];
        uint32_t at = node->start, end = i + node->size;
        assert_true(node->size >= 1 && end <= tree->count);
        assert_true(node->start <= node->end && node->end <= len);
        for (uint32_t child = i + 1; child < end; child += tree->nodes[child].size) {
            assert_true(tree->nodes[child].start >= at && tree->nodes[child].end <= node->end);
            at = tree->nodes[child].end;
            assert_true(child + tree->nodes[child].size <= end);
        }
    }
}

static void shape(void **state)
{
    WB_AUTO(wb_flat_tree_done) struct wb_flat_tree tree = {0};
    const struct wb_span source = WB_SPAN("int f(int a) { /* b */ return g(a, 1) + 2; }\n");
    parse(*state, "c", source, &tree);
    check_shape(&tree, source.len);
    assert_int_equal(tree.n_errors, 0);
}

static uint16_t flags_of(const struct wb_flat_tree *tree, struct wb_span source, const char *text)
{
    for (uint32_t i = 0; i < tree->count; i++) {
        if (tree->nodes[i].size == 1 && wb_span_is(wb_flat_text(&tree->nodes[i], source), text)) {
            return tree->nodes[i].flags;
        }
    }
    fail_msg("there is no node %s", text);
    return 0;
}

static void flags(void **state)
{
    WB_AUTO(wb_flat_tree_done) struct wb_flat_tree tree = {0};
    const struct wb_span source = WB_SPAN("void f() { a /* b */ = g() }");
    parse(*state, "c", source, &tree);
    assert_int_equal(flags_of(&tree, source, "a"), WB_FLAT_NAMED);
    assert_int_equal(flags_of(&tree, source, "="), 0);
    assert_int_equal(flags_of(&tree, source, "/* b */"), WB_FLAT_NAMED | WB_FLAT_EXTRA);
    assert_int_equal(flags_of(&tree, source, "") & WB_FLAT_MISSING, WB_FLAT_MISSING); /* the ; */
    assert_int_equal(tree.n_errors, 1);
}

static void tokens_with_names(void **state)
{
    WB_AUTO(wb_flat_tree_done) struct wb_flat_tree tree = {0};
    const struct wb_span source = WB_SPAN("f(1, 2)\n");
    parse(*state, "r", source, &tree);
    assert_int_equal(flags_of(&tree, source, ","), 0);
}

static void any_bytes(void **state)
{
    static const struct wb_span sources[] = {
        {"", 0},
        {"\0\0\0", 3},
        {"x = \"\xff\xfe\x80\"; \xc3", 14},
        {"\xef\xbb\xbfint a;", 9},
        {"f(1)\0g(2)", 9},
    };
    static const char *const languages[] = {"c", "python", "javascript", "yaml", "haskell", "sql"};
    for (size_t i = 0; i < WB_COUNT(sources); i++) {
        for (size_t j = 0; j < WB_COUNT(languages); j++) {
            WB_AUTO(wb_flat_tree_done) struct wb_flat_tree tree = {0};
            parse(*state, languages[j], sources[i], &tree);
            check_shape(&tree, sources[i].len);
        }
    }
}

static void stopped(void **state)
{
    WB_AUTO(wb_text_done) struct wb_text source = {0};
    WB_AUTO(wb_flat_tree_done) struct wb_flat_tree tree = {0};
    struct fixture *f = *state;
    const struct wb_grammar *grammar = wb_grammars_find(f->grammars, "c");
    struct wb_cancel cancel;
    struct wb_error err;
    for (int i = 0; i < 10000; i++) {
        wb_text_add_str(&source, "int a = f(1, 2);\n");
    }
    struct wb_span text = wb_text_span(&source);
    assert_int_equal(
        wb_parser_parse(f->parser, grammar, text, wb_clock_deadline(0), NULL, &tree, &err), -1);
    assert_int_equal(err.code, WB_ERROR_TIMEOUT);
    wb_cancel_init(&cancel);
    wb_cancel_fire(&cancel);
    assert_int_equal(wb_parser_parse(f->parser, grammar, text, wb_clock_deadline(60000), &cancel,
                                     &tree, &err),
                     -1);
    assert_int_equal(err.code, WB_ERROR_CANCELLED);
    wb_cancel_done(&cancel);
    parse(f, "python", WB_SPAN("f(1)\n"), &tree); /* the parser is as new */
    assert_int_equal(tree.n_errors, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape),     cmocka_unit_test(flags),   cmocka_unit_test(tokens_with_names),
        cmocka_unit_test(any_bytes), cmocka_unit_test(stopped),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

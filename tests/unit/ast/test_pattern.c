/* The pattern compiler beside the matching (test_matching has that): metavariables, required texts,
 * errors, readings, what a match does not mention. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* cmocka wants these before it */
#include <cmocka.h>

#include "ast/matcher.h"
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

static const struct wb_pattern *compile(struct fixture *f, const char *language,
                                        const char *pattern, struct wb_error *err)
{
    return wb_pattern_compile(&f->arena, f->parser, wb_grammars_find(f->grammars, language),
                              wb_span(pattern), err);
}

static void metavariables(void **state)
{
    static const struct {
        const char *language, *text, *name;
        size_t length;
        bool is_many;
    } cases[] = {
        {"c", "$A", "A", 2, false},
        {"c", "$AB_1 x", "AB_1", 5, false},
        {"c", "$_", "", 2, false},
        {"c", "$_X", "", 3, false},
        {"c", "$$$", "", 3, true},
        {"c", "$$$A,", "A", 4, true},
        {"c", "$$$_", "", 4, true},
        {"c", "$a", NULL, 0, false},
        {"c", "$1", NULL, 0, false},
        {"c", "$Name", NULL, 0, false},
        {"c", "$", NULL, 0, false},
        {"c", "$$A", NULL, 0, false},
        {"c", "x", NULL, 0, false},
        {"php", "$_GET", NULL, 0, false},
        {"php", "$GLOBALS", NULL, 0, false},
        {"php", "$_", "", 2, false},
        {"javascript", "$_GET", "", 5, false},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        struct wb_span name = {0};
        bool is_many = false;
        const struct wb_grammar *grammar = wb_grammars_find(f->grammars, cases[i].language);
        size_t length = wb_metavariable_read(grammar, wb_span(cases[i].text), &name, &is_many);
        if (length != cases[i].length ||
            (length > 0 && (!wb_span_is(name, cases[i].name) || is_many != cases[i].is_many))) {
            fail_msg("%s: length %zu, name %.*s", cases[i].text, length, WB_SPAN_ARG(name));
        }
    }
}

static void required(void **state)
{
    static const struct {
        const char *language, *pattern, *texts; /* a word is followed by w */
    } cases[] = {
        {"c", "zfree($X)", "zfree w|(|)"},
        {"python", "isinstance($A, $B)", "isinstance w|(|,|)"},
        {"python", "$A == $A", "=="},
        {"python", "f($A, $$$B)", "f w|(|)"},             /* the comma goes with $$$B */
        {"javascript", "foo($X);", "foo w|(|)"},          /* the semicolon may be missing */
        {"javascript", "{ $A }", "{|}"},                  /* of both readings */
        {"php", "if ($A) { foo(); }", "foo w|(|)|{|;|}"}, /* IF is an if */
        {"python", "print(\"hello $A\")", "\"hello |print w|(|\"|)"},
        {"sql", "select $A from users", "users w"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        WB_AUTO(wb_text_done) struct wb_text texts = {0};
        struct wb_error err;
        const struct wb_pattern *p = compile(f, cases[i].language, cases[i].pattern, &err);
        assert_non_null(p);
        for (size_t j = 0; j < p->n_required; j++) {
            wb_text_printf(&texts, "%s%.*s%s", j > 0 ? "|" : "", WB_SPAN_ARG(p->required[j]),
                           p->required_is_word[j] ? " w" : "");
        }
        assert_string_equal(wb_text_cstr(&texts), cases[i].texts);
    }
}

static void readings(void **state)
{
    static const struct {
        const char *language, *pattern, *contexts;
    } cases[] = {
        {"c", "foo($X)", "expression, macro type"},
        {"c", "foo($X);", "statement"},
        {"c", "int $X;", "statement, member"},
        {"go", "fmt.Println($A)", "statement"},
        {"javascript", "{ $A }", "statement, expression, children"},
        {"javascript", "foo($X)", "statement"},
        {"java", "foo($X);", "statement"}, /* and no constructor */
        {"dart", "dispose($X)", "expression"},
        {"dart", "import $X;", "statement, member, declaration"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        WB_AUTO(wb_text_done) struct wb_text contexts = {0};
        struct wb_error err;
        const struct wb_pattern *p = compile(f, cases[i].language, cases[i].pattern, &err);
        assert_non_null(p);
        for (size_t j = 0; j < p->n_rungs; j++) {
            wb_text_printf(&contexts, "%s%s", j > 0 ? ", " : "", p->rungs[j].context);
        }
        assert_string_equal(wb_text_cstr(&contexts), cases[i].contexts);
    }
}

static void errors(void **state)
{
    static const struct {
        const char *language, *pattern, *message;
    } cases[] = {
        {"c", "", "is empty"},
        {"c", "  \n ", "is empty"},
        {"c", "if ($X", "does not parse as C in any context; where each fails: statement (column"},
        {"go", "func (\n  $A", "(line 2, column"},
        {"c", "$X", "nothing but metavariables"},
        {"python", "$$$A", "nothing but metavariables"},
        {"c", "f($A, $$$A)", "both $A and $$$A"},
        {"c", "wbz wbq wbx wbj wbv wbk wbw wby wbh wbg wbf wbm wbt wbp wbn", "every name"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        struct wb_error err;
        assert_null(compile(f, cases[i].language, cases[i].pattern, &err));
        if (strstr(err.message, cases[i].message) == NULL) {
            fail_msg("%s: %s", cases[i].pattern, err.message);
        }
    }
}

static void too_many_variables(void **state)
{
    WB_AUTO(wb_text_done) struct wb_text pattern = {0};
    struct wb_error err;
    wb_text_add_str(&pattern, "f(");
    for (int i = 0; i <= WB_PATTERN_VARIABLES_MAX; i++) {
        wb_text_printf(&pattern, "$A%d,", i);
    }
    wb_text_add_str(&pattern, "1)");
    assert_null(compile(*state, "c", wb_text_cstr(&pattern), &err));
    assert_non_null(strstr(err.message, "more than 64"));
}

static void parse(struct fixture *f, const struct wb_grammar *grammar, struct wb_span source,
                  struct wb_flat_tree *ret)
{
    struct wb_error err;
    assert_int_equal(
        wb_parser_parse(f->parser, grammar, source, wb_clock_deadline(60000), NULL, ret, &err), 0);
}

/* Nothing recurses: neither the parser, nor what flattens its tree, nor the matcher. */
static void deep_sources(void **state)
{
    static const struct {
        const char *language, *pattern, *open, *middle, *close;
        size_t n_matches;
    } cases[] = {
        {"json", "[1]", "[", "1", "]", 1},
        {"javascript", "f($X)", "f(", "1", ")", 20000},
        {"c", "f($X)", "(", "int x = f(1);", ")", 1},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        WB_AUTO(wb_text_done) struct wb_text source = {0};
        WB_AUTO(wb_flat_tree_done) struct wb_flat_tree tree = {0};
        struct wb_error err;
        struct wb_match match;
        size_t n = 0;
        for (int j = 0; j < 20000; j++) {
            wb_text_add_str(&source, cases[i].open);
        }
        wb_text_add_str(&source, cases[i].middle);
        for (int j = 0; j < 20000; j++) {
            wb_text_add_str(&source, cases[i].close);
        }
        const struct wb_pattern *p = compile(f, cases[i].language, cases[i].pattern, &err);
        assert_non_null(p);
        parse(f, p->grammar, wb_text_span(&source), &tree);
        struct wb_matcher *matcher = wb_matcher_new(p);
        wb_matcher_start(matcher, &tree, wb_text_span(&source));
        while (wb_matcher_next(matcher, &match)) {
            n++;
        }
        wb_matcher_free(matcher);
        assert_int_equal(n, cases[i].n_matches);
    }
}

/* Patterns whose search would take for ever are given up at the place, and counted. */
static void steps_are_bounded(void **state)
{
    WB_AUTO(wb_text_done) struct wb_text source = {0};
    WB_AUTO(wb_flat_tree_done) struct wb_flat_tree tree = {0};
    struct wb_error err;
    struct wb_match match;
    const struct wb_pattern *p =
        compile(*state, "javascript", "[$$$A, $B, $$$C, $B, $$$D, $B, $$$E, $B, $$$F, $B, $$$G]",
                &err);
    assert_non_null(p);
    wb_text_add_str(&source, "[0");
    for (int i = 1; i < 400; i++) {
        wb_text_printf(&source, ", %d", i % 100); /* each four times, five are wanted */
    }
    wb_text_add_str(&source, "]; [1, 1, 1, 1, 1]");
    parse(*state, p->grammar, wb_text_span(&source), &tree);
    struct wb_matcher *matcher = wb_matcher_new(p);
    wb_matcher_start(matcher, &tree, wb_text_span(&source));
    assert_true(wb_matcher_next(matcher, &match));
    assert_int_equal(match.end - match.start, strlen("[1, 1, 1, 1, 1]"));
    assert_false(wb_matcher_next(matcher, &match));
    assert_int_equal(wb_matcher_given_up(matcher), 1);
    wb_matcher_free(matcher);
}

/* The nodes that the first match leaves unmentioned, as texts. */
static void check_unmentioned(struct fixture *f, const char *language, const char *pattern,
                              const char *source, const char *expected)
{
    WB_AUTO(wb_text_done) struct wb_text found = {0};
    WB_AUTO(wb_flat_tree_done) struct wb_flat_tree tree = {0};
    struct wb_error err;
    struct wb_match match;
    const struct wb_pattern *p = compile(f, language, pattern, &err);
    assert_non_null(p);
    struct wb_span text = wb_span(source);
    parse(f, p->grammar, text, &tree);
    struct wb_matcher *matcher = wb_matcher_new(p);
    wb_matcher_start(matcher, &tree, text);
    assert_true(wb_matcher_next(matcher, &match));
    for (size_t i = 0; i < match.n_unmentioned; i++) {
        struct wb_span node = wb_flat_text(&tree.nodes[match.unmentioned[i]], text);
        wb_text_printf(&found, "%s%.*s", i > 0 ? "|" : "", WB_SPAN_ARG(node));
    }
    wb_matcher_free(matcher);
    assert_string_equal(wb_text_cstr(&found), expected);
}

static void unmentioned(void **state)
{
    static const struct {
        const char *language, *pattern, *source, *nodes;
    } cases[] = {
        {"javascript", "function f($$$A) { $$$B }", "async function f(a) { b() }", "async"},
        {"python", "f($A, $B)", "f(1,  # one\n  2,)", "# one|,"},
        {"python", "f($$$A)", "f(1,  # one\n  2)", ""}, /* inside the run */
        {"c", "f($A)", "int x = f(/* a */ 1 /* b */);", "/* a */|/* b */"},
        {"c", "{ $$$A }", "void f() { /* a */ b(); /* c */ }", ""}, /* they go with the run */
        {"go", "a(); b()", "package p\nfunc f() { a()\nb() }", ""}, /* a line's end is no token */
        {"go", "a(); b()", "package p\nfunc f() { a(); b() }", ""},
        {"python", "f($A, $$$B)", "f(1,)", ""}, /* the comma is $$$B's */
    };

    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        check_unmentioned(*state, cases[i].language, cases[i].pattern, cases[i].source,
                          cases[i].nodes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metavariables),      cmocka_unit_test(required),
        cmocka_unit_test(readings),           cmocka_unit_test(errors),
        cmocka_unit_test(too_many_variables), cmocka_unit_test(deep_sources),
        cmocka_unit_test(steps_are_bounded),  cmocka_unit_test(unmentioned),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

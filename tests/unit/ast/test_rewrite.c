/* Rewriting, as properties: a rewrite that changes nothing changes nothing, a rewrite and its reverse
 * give back the same bytes, the filters rule out no file that has a match. What single rewrites look
 * like is in tests/e2e/test_ast_edit.py. */
#include <setjmp.h>
#include <stdarg.h>
/* cmocka wants these before it */
#include <cmocka.h>

#include "ast/filter.h"
#include "ast/rewrite.h"
#include "cases.h"

struct subject {
    struct fixture *f;
    const struct wb_grammar *grammar;
    struct wb_arena arena;
};

static const struct wb_pattern *compile(struct subject *s, struct wb_span text)
{
    struct wb_error err;
    return wb_pattern_compile(&s->arena, s->f->parser, s->grammar, text, &err);
}

/* The rewritten file; NULL: no match, or the template is refused. The caller frees. */
static struct wb_rewritten *rewrite(struct subject *s, struct wb_span source, struct wb_span from,
                                    struct wb_span to)
{
    WB_AUTO(wb_flat_tree_done) struct wb_flat_tree tree = {0};
    struct wb_error err;
    const struct wb_pattern *pattern = compile(s, from);
    const struct wb_template *template =
        pattern != NULL ? wb_template_compile(&s->arena, s->f->parser, pattern, to, &err) : NULL;
    if (template == NULL) {
        return NULL;
    }
    assert_int_equal(wb_parser_parse(s->f->parser, s->grammar, source, wb_clock_deadline(60000),
                                     NULL, &tree, &err),
                     0);
    struct wb_matcher *matcher = wb_matcher_new(pattern);
    wb_matcher_start(matcher, &tree, source);
    const struct wb_scan_file file = {
        .tree = &tree, .source = source, .matcher = matcher, .parser = s->f->parser};
    struct wb_rewritten *rewritten = wb_rewrite_file(template, &file);
    wb_matcher_free(matcher);
    return rewritten;
}

/* --- a rewrite that changes nothing --- */

/* Without blanks, and without what may be left out. */
static struct wb_span squeeze(struct wb_arena *arena, struct wb_span text)
{
    char *out = wb_arena_alloc(arena, text.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (strchr(" \t\r\n,;", text.ptr[i]) == NULL || text.ptr[i] == '\0') {
            out[n++] = text.ptr[i];
        }
    }
    return (struct wb_span){out, n};
}

static void check_identity(struct fixture *f, const struct wb_grammar *grammar,
                           const struct test_case *test)
{
    struct subject s = {.f = f, .grammar = grammar};
    WB_AUTO(wb_text_done) struct wb_text source = {0};
    struct ranges expected = {.count = 0};
    if (wb_span_starts(test->source, WB_SPAN("!error "))) {
        return;
    }
    f->n_cases++;
    wb_arena_init(&s.arena);
    read_marks(test->source, &source, &expected);
    struct wb_rewritten *r =
        rewrite(&s, wb_text_span(&source), test->pattern, wb_span_trim(test->pattern));
    if (r != NULL && r->n_replacements > 0 &&
        !wb_span_equal(squeeze(&s.arena, r->new_content), squeeze(&s.arena, r->old_content))) {
        f->n_failures++;
        print_error("%s: %.*s: changed\n%.*s\ninto\n%.*s\n", test->file, WB_SPAN_ARG(test->name),
                    WB_SPAN_ARG(r->old_content), WB_SPAN_ARG(r->new_content));
    }
    wb_rewritten_free(r);
    wb_arena_done(&s.arena);
}

static void a_template_that_is_the_pattern_changes_no_token(void **state)
{
    (void)state;
    run_all_cases(check_identity);
}

/* --- filters --- */

static void check_filters(struct fixture *f, const struct wb_grammar *grammar,
                          const struct test_case *test)
{
    struct subject s = {.f = f, .grammar = grammar};
    WB_AUTO(wb_text_done) struct wb_text source = {0};
    WB_AUTO(wb_flat_tree_done) struct wb_flat_tree tree = {0};
    WB_AUTO(wb_facts_done) struct wb_facts facts = {.words = NULL};
    struct ranges expected = {.count = 0};
    struct wb_error err;
    wb_arena_init(&s.arena);
    read_marks(test->source, &source, &expected);
    if (expected.count > 0) {
        const struct wb_pattern *pattern = compile(&s, test->pattern);
        assert_non_null(pattern);
        f->n_cases++;
        assert_int_equal(wb_parser_parse(f->parser, grammar, wb_text_span(&source),
                                         wb_clock_deadline(60000), NULL, &tree, &err),
                         0);
        wb_facts_add_words(&facts, wb_text_span(&source));
        wb_facts_add_kinds(&facts, &tree);
        if (!wb_filter_source(pattern, wb_text_span(&source)) ||
            wb_facts_rule_out(&facts, pattern)) {
            f->n_failures++;
            print_error("%s: %.*s: ruled out by its %s\n", test->file, WB_SPAN_ARG(test->name),
                        wb_filter_source(pattern, wb_text_span(&source)) ? "facts" : "source");
        }
    }
    wb_arena_done(&s.arena);
}

static void filters_rule_out_no_match(void **state)
{
    (void)state;
    run_all_cases(check_filters);
}

/* --- there and back, on random code --- */

struct random {
    uint64_t seed;
    struct wb_text out;
};

static unsigned choose(struct random *r, unsigned n)
{
    r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(r->seed >> 33) % n;
}

static void put_layout(struct random *r)
{
    static const char *const blanks[] = {"",          " ",         "\n    ", "\n\t",
                                         " /* c */ ", " // l\n  ", "\n\n"};
    wb_text_add_str(&r->out, blanks[choose(r, WB_COUNT(blanks))]);
}

static void put_expression(struct random *r, unsigned depth)
{
    static const char *const leaves[] = {"a", "b.c", "1", "\"s\"", "`x\n  ${y}\n`", "f", "[]"};
    unsigned n = choose(r, 4);
    if (depth == 0 || choose(r, 4) == 0) {
        wb_text_add_str(&r->out, leaves[choose(r, WB_COUNT(leaves))]);
        return;
    }
    wb_text_add_str(&r->out, choose(r, 3) == 0 ? "h" : "f");
    wb_text_add_str(&r->out, "(");
    for (unsigned i = 0; i < n; i++) {
        put_layout(r);
        put_expression(r, depth - 1);
        put_layout(r);
        wb_text_add_str(&r->out, i + 1 < n || choose(r, 3) == 0 ? "," : "");
    }
    put_layout(r);
    wb_text_add_str(&r->out, ")");
}

static void put_program(struct random *r, unsigned size)
{
    for (unsigned n = 1 + choose(r, size); n > 0; n--) {
        put_layout(r);
        wb_text_add_str(&r->out, choose(r, 2) == 0 ? "x = " : "if (z) { ");
        bool is_block = r->out.ptr[r->out.len - 2] == '{';
        put_expression(r, size);
        wb_text_add_str(&r->out, is_block ? "; }\n" : ";\n");
    }
}

struct there_and_back {
    const char *there, *back;
};

static void check_way(struct subject *s, struct wb_span source, const struct there_and_back *way)
{
    struct wb_rewritten *first = rewrite(s, source, wb_span(way->there), wb_span(way->back));
    if (first != NULL && first->n_replacements > 0) {
        assert_int_equal(first->n_left_out, 0);
        struct wb_rewritten *second =
            rewrite(s, first->new_content, wb_span(way->back), wb_span(way->there));
        assert_non_null(second);
        assert_int_equal(second->n_left_out, 0);
        assert_int_equal(second->n_changes, first->n_changes);
        if (!wb_span_equal(second->new_content, source)) {
            print_error("%s => %s:\n%.*s\n", way->there, way->back, WB_SPAN_ARG(source));
            print_error("became\n%.*s\n", WB_SPAN_ARG(first->new_content));
            print_error("and then\n%.*s\n", WB_SPAN_ARG(second->new_content));
            fail();
        }
        wb_rewritten_free(second);
    }
    wb_rewritten_free(first);
}

static size_t count_comments(struct wb_span source)
{
    size_t n = 0;
    for (size_t i = 0; i + 1 < source.len; i++) {
        n += source.ptr[i] == '/' && (source.ptr[i + 1] == '/' || source.ptr[i + 1] == '*');
    }
    return n;
}

/* Whatever the template does with what it captures, comments stay or the match is left out. */
static void check_comments(struct subject *s, struct wb_span source,
                           const struct there_and_back *way)
{
    struct wb_rewritten *r = rewrite(s, source, wb_span(way->there), wb_span(way->back));
    if (r != NULL && r->n_replacements > 0 &&
        count_comments(r->new_content) != count_comments(source)) {
        print_error("%s => %s:\n%.*s\n", way->there, way->back, WB_SPAN_ARG(source));
        print_error("became\n%.*s\n", WB_SPAN_ARG(r->new_content));
        fail();
    }
    wb_rewritten_free(r);
}

/* Each way on many random programs, small ones first. */
static void run_random(void (*check)(struct subject *s, struct wb_span source,
                                     const struct there_and_back *way),
                       const struct there_and_back *ways, size_t n_ways)
{
    struct fixture f = {.n_cases = 0};
    struct wb_error err;
    wb_arena_init(&f.arena);
    f.grammars = wb_grammars_load(wb_languages_load(&f.arena, NULL, &err), &err);
    f.parser = wb_parser_new();
    struct subject s = {.f = &f, .grammar = wb_grammars_find(f.grammars, "javascript")};
    struct random r = {.seed = 1};
    for (size_t i = 0; i < 1000; i++) {
        wb_arena_init(&s.arena);
        wb_text_clear(&r.out);
        put_program(&r, 1 + (unsigned)i / 300);
        check(&s, wb_text_span(&r.out), &ways[i % n_ways]);
        wb_arena_done(&s.arena);
    }
    wb_text_done(&r.out);
    wb_parser_free(f.parser);
    wb_grammars_free(f.grammars);
    wb_arena_done(&f.arena);
}

static void there_and_back(void **state)
{
    static const struct there_and_back ways[] = {
        {"f($$$A)", "g($$$A)"},
        {"f($$$A)", "new g($$$A)"},
        {"f($A, $B)", "g($A, $B)"},
        {"f($A, $$$B)", "g($A, $$$B)"},
        {"f( $$$A )", "g( $$$A )"},
        {"f( $A , $$$B )", "g( $A , $$$B )"},
        {"f($$$A, $B)", "g($$$A, $B)"},
        {"x = $A", "q = $A"},
        {"if (z) { $$$B }", "while (q) { $$$B }"},
        {"h($$$A)", "f2.h2($$$A)"},
    };
    (void)state;
    run_random(check_way, ways, WB_COUNT(ways));
}

static void no_comment_is_lost(void **state)
{
    static const struct there_and_back ways[] = {
        {"f($A, $B)", "g($B, $A)"},
        {"f($A, $$$B)", "$A.g($$$B)"},
        {"f($A, $$$B)", "g($$$B, $A)"},
        {"h($$$A)", "[$$$A]"},
        {"f($$$A, $B)", "g([$$$A], $B)"},
        {"x = $A", "y($A, 1)"},
        {"if (z) { $$$B }", "while (q) {\n    r();\n    $$$B\n}"},
        {"f($A)", "if (x) {\n  g($A)\n}"},
        {"f()", "g"},
    };
    (void)state;
    run_random(check_comments, ways, WB_COUNT(ways));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_template_that_is_the_pattern_changes_no_token),
        cmocka_unit_test(filters_rule_out_no_match),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(no_comment_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Patterns against sources: every file of tests/data/ast is one language's cases (its README.md has
 * the form). */
#include <setjmp.h>
#include <stdarg.h>
/* cmocka wants these before it */
#include <cmocka.h>

#include "cases.h"

static bool same_ranges(const struct ranges *a, const struct ranges *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (a->items[i].start != b->items[i].start || a->items[i].end != b->items[i].end) {
            return false;
        }
    }
    return true;
}

/* --- one case --- */

static void put_capture(struct wb_text *out, const struct wb_pattern *pattern, size_t i,
                        const struct wb_capture *capture, struct wb_span source)
{
    if (capture->is_bound) {
        wb_text_printf(out, "%s = %.*s\n", pattern->variables[i],
                       (int)(capture->end - capture->start), source.ptr + capture->start);
    }
}

static void find_matches(struct fixture *f, const struct wb_pattern *pattern, struct wb_span source,
                         struct ranges *ret, struct wb_text *captures)
{
    WB_AUTO(wb_flat_tree_done) struct wb_flat_tree tree = {0};
    struct wb_error err;
    struct wb_match match;
    assert_int_equal(wb_parser_parse(f->parser, pattern->grammar, source, wb_clock_deadline(60000),
                                     NULL, &tree, &err),
                     0);
    struct wb_matcher *matcher = wb_matcher_new(pattern);
    wb_matcher_start(matcher, &tree, source);
    while (wb_matcher_next(matcher, &match)) {
        assert_true(ret->count < RANGES_MAX);
        ret->items[ret->count++] = (struct range){match.start, match.end};
        for (size_t i = 0; i < pattern->n_variables; i++) {
            put_capture(captures, pattern, i, &match.captures[i], source);
        }
    }
    assert_int_equal(wb_matcher_given_up(matcher), 0);
    wb_matcher_free(matcher);
}

static void dump_tree(struct fixture *f, const struct wb_grammar *grammar, struct wb_span source)
{
    WB_AUTO(wb_flat_tree_done) struct wb_flat_tree tree = {0};
    struct wb_error err;
    uint32_t ends[200], depth = 0;
    assert_int_equal(wb_parser_parse(f->parser, grammar, source, wb_clock_deadline(60000), NULL,
                                     &tree, &err),
                     0);
    for (uint32_t i = 0; i < tree.count; i++) {
        while (depth > 0 && ends[depth - 1] <= i) {
            depth--;
        }
        const struct wb_flat_node *node = &tree.nodes[i];
        const char *name = ts_language_symbol_name(grammar->parser, node->kind);
        bool named = (node->flags & WB_FLAT_NAMED) != 0;
        print_error("    %*s%s%s%s", (int)depth * 2, "", named ? "" : "'", name, named ? "" : "'");
        if (node->size == 1) {
            print_error(" %.*s", WB_SPAN_ARG(wb_flat_text(node, source)));
        } else if (depth < WB_COUNT(ends)) {
            ends[depth++] = i + node->size;
        }
        print_error("%s\n", (node->flags & WB_FLAT_EXTRA) != 0 ? " (extra)" : "");
    }
}

static void report(struct fixture *f, const struct test_case *test, const char *what)
{
    f->n_failures++;
    print_error("%s: %.*s: %s\n", test->file, WB_SPAN_ARG(test->name), what);
}

static void report_ranges(const struct ranges *ranges, const char *what, struct wb_span source)
{
    for (size_t i = 0; i < ranges->count; i++) {
        size_t start = ranges->items[i].start, end = ranges->items[i].end;
        print_error("  %s %zu-%zu: %.*s\n", what, start, end, (int)(end - start),
                    source.ptr + start);
    }
}

static void check_matches(struct fixture *f, const struct test_case *test,
                          const struct wb_pattern *pattern)
{
    WB_AUTO(wb_text_done) struct wb_text source = {0};
    WB_AUTO(wb_text_done) struct wb_text captures = {0};
    struct ranges expected = {.count = 0}, found = {.count = 0};
    read_marks(test->source, &source, &expected);
    find_matches(f, pattern, wb_text_span(&source), &found, &captures);
    if (!same_ranges(&expected, &found)) {
        report(f, test, "the matches differ");
        report_ranges(&expected, "expected", wb_text_span(&source));
        report_ranges(&found, "found", wb_text_span(&source));
        if (getenv("WB_DUMP") != NULL) {
            print_error("  context: %s\n", pattern->rungs[0].context);
            dump_tree(f, pattern->grammar, wb_text_span(&source));
        }
    } else if (test->captures.len > 0 && !wb_span_equal(wb_span_trim(test->captures),
                                                        wb_span_trim(wb_text_span(&captures)))) {
        report(f, test, "the captures differ");
        print_error("%s", wb_text_cstr(&captures));
    }
}

static void run_case(struct fixture *f, const struct wb_grammar *grammar,
                     const struct test_case *test)
{
    struct wb_error err;
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    f->n_cases++;
    const struct wb_pattern *pattern =
        wb_pattern_compile(&arena, f->parser, grammar, test->pattern, &err);
    if (wb_span_starts(test->source, WB_SPAN("!error "))) {
        struct wb_span wanted = {test->source.ptr + 7, test->source.len - 7};
        if (pattern != NULL) {
            report(f, test, "the pattern compiled");
        } else if (wb_span_find(wb_span(err.message), wb_span_trim(wanted), 0) == SIZE_MAX) {
            report(f, test, err.message);
        }
    } else if (pattern == NULL) {
        report(f, test, err.message);
    } else {
        check_matches(f, test, pattern);
    }
}

static void run_all(void **state)
{
    (void)state;
    run_all_cases(run_case);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(run_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

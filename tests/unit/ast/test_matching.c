/* Patterns against sources: every file of tests/data/ast is one language's cases (its README.md has
 * the form). */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* cmocka wants these before it */
#include <cmocka.h>

#include "ast/matcher.h"
#include "base/clock.h"
#include "sys/file.h"

#define RANGES_MAX 200

struct range {
    size_t start, end;
};

struct ranges {
    struct range items[RANGES_MAX];
    size_t count;
};

struct fixture {
    struct wb_arena arena;
    struct wb_grammars *grammars;
    struct wb_parser *parser;
    size_t n_cases, n_failures;
};

struct test_case {
    const char *file;
    struct wb_span name, pattern, source, captures;
};

/* --- the expected ranges: between the marks --- */

static const struct wb_span open_mark = {"\xc2\xab", 2}, close_mark = {"\xc2\xbb", 2};

static void add_range(struct ranges *ranges, size_t start)
{
    assert_true(ranges->count < RANGES_MAX);
    ranges->items[ranges->count++] = (struct range){start, SIZE_MAX};
}

static void close_range(struct ranges *ranges, size_t end)
{
    for (size_t i = ranges->count; i-- > 0;) {
        if (ranges->items[i].end == SIZE_MAX) {
            ranges->items[i].end = end;
            return;
        }
    }
    fail_msg("a mark is closed that was not opened");
}

static void read_marks(struct wb_span marked, struct wb_text *ret_source, struct ranges *ret)
{
    for (size_t i = 0; i < marked.len;) {
        struct wb_span rest = {marked.ptr + i, marked.len - i};
        if (wb_span_starts(rest, open_mark)) {
            add_range(ret, ret_source->len);
            i += open_mark.len;
        } else if (wb_span_starts(rest, close_mark)) {
            close_range(ret, ret_source->len);
            i += close_mark.len;
        } else {
            wb_text_add_char(ret_source, marked.ptr[i++]);
        }
    }
}

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

/* --- files of cases --- */

/* Takes the text up to a line that is `mark`; false: there is no such line. */
static bool take_section(struct wb_span *rest, struct wb_span mark, struct wb_span *ret)
{
    size_t at = wb_span_starts(*rest, (struct wb_span){mark.ptr + 1, mark.len - 1})
                    ? 0
                    : wb_span_find(*rest, mark, 0);
    if (at == SIZE_MAX) {
        return false;
    }
    *ret = (struct wb_span){rest->ptr, at};
    size_t skip = at + mark.len - (at == 0 && rest->ptr[0] != '\n');
    *rest = (struct wb_span){rest->ptr + skip, rest->len - skip};
    return true;
}

static void run_block(struct fixture *f, const struct wb_grammar *grammar, const char *file,
                      struct wb_span block)
{
    struct test_case test = {.file = file};
    assert_true(wb_span_next_line(&block, &test.name));
    if (!take_section(&block, WB_SPAN("\n---\n"), &test.pattern)) {
        fail_msg("%s: %.*s: no source", file, WB_SPAN_ARG(test.name));
    }
    if (take_section(&block, WB_SPAN("\n---\n"), &test.source)) {
        test.captures = block;
    } else {
        test.source = block;
    }
    run_case(f, grammar, &test);
}

static void run_file(struct fixture *f, const char *folder, const char *name)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct wb_span content;
    struct wb_error err;
    wb_arena_init(&arena);
    const char *id = wb_arena_strndup(&arena, name, strlen(name) - strlen(".txt"));
    const struct wb_grammar *grammar = wb_grammars_find(f->grammars, id);
    if (grammar == NULL) {
        fail_msg("%s: there is no grammar of that name", name);
    }
    const char *path = wb_arena_printf(&arena, "%s/%s", folder, name);
    assert_int_equal(wb_file_read(&arena, path, WB_FILE_BYTES_MAX, &content, NULL, &err), 0);
    size_t at = wb_span_find(content, WB_SPAN("=== "), 0);
    while (at != SIZE_MAX) {
        size_t start = at + 4;
        at = wb_span_find(content, WB_SPAN("\n=== "), start);
        size_t end = at == SIZE_MAX ? content.len : at + 1;
        at = at == SIZE_MAX ? at : at + 1;
        run_block(f, grammar, name, (struct wb_span){content.ptr + start, end - start});
    }
}

static void run_all(void **state)
{
    struct fixture f = {0};
    struct wb_error err;
    const char *only = getenv("WB_ONLY"); /* one language, while writing cases */
    (void)state;
    wb_arena_init(&f.arena);
    const struct wb_languages *languages = wb_languages_load(&f.arena, NULL, &err);
    f.grammars = wb_grammars_load(languages, &err);
    if (f.grammars == NULL) {
        fail_msg("%s", err.message);
    }
    f.parser = wb_parser_new();
    struct dirent **entries;
    int n = scandir(AST_CASES, &entries, NULL, alphasort);
    assert_true(n > 2);
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        if (wb_str_ends(name, ".txt") && (only == NULL || wb_str_starts(name, only))) {
            run_file(&f, AST_CASES, name);
        }
        free(entries[i]);
    }
    free(entries);
    print_message("%zu cases\n", f.n_cases);
    wb_parser_free(f.parser);
    wb_grammars_free(f.grammars);
    wb_arena_done(&f.arena);
    assert_int_equal(f.n_failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(run_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* cases: reads the files of tests/data/ast (its README.md has the form). Include after cmocka.h. */
#ifndef WB_TESTS_AST_CASES_H
#define WB_TESTS_AST_CASES_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

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

struct fixture;

struct test_case {
    const char *file;
    struct wb_span name, pattern, source, captures;
};

typedef void (*run_case_fn)(struct fixture *f, const struct wb_grammar *grammar,
                            const struct test_case *test);

struct fixture {
    struct wb_arena arena;
    struct wb_grammars *grammars;
    struct wb_parser *parser;
    run_case_fn run_case;
    size_t n_cases, n_failures;
};

/* --- the expected ranges: between the marks --- */

static const struct wb_span open_mark = {"\xc2\xab", 2}, close_mark = {"\xc2\xbb", 2};

static inline void add_range(struct ranges *ranges, size_t start)
{
    assert_true(ranges->count < RANGES_MAX);
    ranges->items[ranges->count++] = (struct range){start, SIZE_MAX};
}

static inline void close_range(struct ranges *ranges, size_t end)
{
    for (size_t i = ranges->count; i-- > 0;) {
        if (ranges->items[i].end == SIZE_MAX) {
            ranges->items[i].end = end;
            return;
        }
    }
    fail_msg("a mark is closed that was not opened");
}

static inline void read_marks(struct wb_span marked, struct wb_text *ret_source, struct ranges *ret)
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

/* --- files of cases --- */

/* Takes the text up to a line that is `mark`; false: there is no such line. */
static inline bool take_section(struct wb_span *rest, struct wb_span mark, struct wb_span *ret)
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

static inline void run_block(struct fixture *f, const struct wb_grammar *grammar, const char *file,
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
    f->run_case(f, grammar, &test);
}

static inline void run_file(struct fixture *f, const char *folder, const char *name)
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

static inline void run_all_cases(run_case_fn run_case)
{
    struct fixture f = {.run_case = run_case};
    struct wb_error err;
    const char *only = getenv("WB_ONLY"); /* one language, while writing cases */
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

#endif

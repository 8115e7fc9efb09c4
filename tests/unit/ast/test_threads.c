/* Threads share the grammars and a pattern; each has a parser and a matcher of its own. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* cmocka wants these before it */
#include <cmocka.h>

#include "ast/matcher.h"
#include "base/clock.h"

#define THREADS 4
#define ROUNDS 50

struct shared {
    const struct wb_pattern *pattern;
    struct wb_span source;
};

/* How many matches a thread has found, all its rounds together. */
static void *search(void *ctx)
{
    const struct shared *shared = ctx;
    struct wb_parser *parser = wb_parser_new();
    struct wb_matcher *matcher = wb_matcher_new(shared->pattern);
    size_t n = 0;
    for (int i = 0; i < ROUNDS; i++) {
        WB_AUTO(wb_flat_tree_done) struct wb_flat_tree tree = {0};
        struct wb_error err;
        struct wb_match match;
        if (wb_parser_parse(parser, shared->pattern->grammar, shared->source,
                            wb_clock_deadline(60000), NULL, &tree, &err) == 0) {
            wb_matcher_start(matcher, &tree, shared->source);
            while (wb_matcher_next(matcher, &match)) {
                n++;
            }
        }
    }
    wb_matcher_free(matcher);
    wb_parser_free(parser);
    return (void *)n;
}

static void threads_do_not_meet(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct wb_error err;
    pthread_t threads[THREADS];
    (void)state;
    wb_arena_init(&arena);
    struct wb_grammars *grammars = wb_grammars_load(wb_languages_load(&arena, NULL, &err), &err);
    struct wb_parser *parser = wb_parser_new();
    struct shared shared = {
        wb_pattern_compile(&arena, parser, wb_grammars_find(grammars, "python"),
                           WB_SPAN("f($A, $$$B)"), &err),
        WB_SPAN("def g():\n    f(1)\n    f(2, f(3, 4))\n    return [f(x) for x in y]\n"),
    };
    assert_non_null(shared.pattern);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, search, &shared), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *n;
        pthread_join(threads[i], &n);
        assert_int_equal((size_t)n, 4 * ROUNDS);
    }
    wb_parser_free(parser);
    wb_grammars_free(grammars);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_do_not_meet)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

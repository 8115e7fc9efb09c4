/* The cache of parsed files: what it gives back, when it parses anew, its bound, and threads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
/* cmocka wants these before it */
#include <cmocka.h>

#include "../scratch.h"
#include "ast/cache.h"
#include "base/clock.h"

#define FILES 20

struct fixture {
    struct scratch scratch;
    struct wb_arena arena;
    struct wb_grammars *grammars;
    const struct wb_grammar *c;
    struct wb_parser *parser;
    struct wb_tree_cache *cache;
};

static int set_up(void **state)
{
    static struct fixture f;
    struct wb_error err;
    scratch_init(&f.scratch);
    wb_arena_init(&f.arena);
    f.grammars = wb_grammars_load(wb_languages_load(&f.arena, NULL, &err), &err);
    f.c = wb_grammars_find(f.grammars, "c");
    f.parser = wb_parser_new();
    f.cache = wb_tree_cache_new();
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    wb_tree_cache_free(f->cache);
    wb_parser_free(f->parser);
    wb_grammars_free(f->grammars);
    wb_arena_done(&f->arena);
    scratch_done(&f->scratch);
    return 0;
}

/* A file that was last changed `age` seconds ago. */
static const char *write_file(struct fixture *f, const char *name, const char *content, int age)
{
    const char *path = wb_path_join(&f->arena, f->scratch.folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= age;
    times[1] = times[0];
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    return path;
}

static struct wb_source read_source(struct fixture *f, const char *path)
{
    struct wb_source source = {.path = path, .grammar = f->c};
    struct wb_error err;
    assert_int_equal(wb_file_read(&f->arena, path, 1 << 20, &source.content, &source.stamp, &err),
                     0);
    return source;
}

/* The time of a change of the file's node cannot be set: stamps of old files are made up. */
static struct wb_source read_settled(struct fixture *f, const char *path)
{
    struct wb_source source = read_source(f, path);
    source.stamp.mtime_ns -= 100000000000;
    source.stamp.ctime_ns = source.stamp.mtime_ns;
    return source;
}

static const struct wb_flat_tree *parse(struct fixture *f, const struct wb_source *source)
{
    struct wb_flat_tree tree;
    struct wb_error err;
    assert_int_equal(wb_parser_parse(f->parser, source->grammar, source->content,
                                     wb_clock_deadline(60000), NULL, &tree, &err),
                     0);
    return wb_tree_cache_put_take(f->cache, source, &tree);
}

static void it_gives_back_what_was_put(void **state)
{
    struct fixture *f = *state;
    struct wb_source source = read_settled(f, write_file(f, "a.c", "int x = f(1);\n", 100));
    assert_null(wb_tree_cache_get(f->cache, &source));
    const struct wb_flat_tree *put = parse(f, &source);
    const struct wb_flat_tree *got = wb_tree_cache_get(f->cache, &source);
    assert_ptr_equal(put, got);
    struct wb_tree_cache_counts counts = wb_tree_cache_counts(f->cache);
    assert_int_equal(counts.n_files, 1);
    assert_int_equal(counts.n_trees, 1);
    assert_true(counts.bytes > got->count * sizeof(struct wb_flat_node));
    wb_tree_cache_release(put);
    wb_tree_cache_release(got);
}

static void another_stamp_or_parser_is_another_file(void **state)
{
    struct fixture *f = *state;
    struct wb_source source = read_settled(f, write_file(f, "a.c", "int x;\n", 100));
    wb_tree_cache_release(parse(f, &source));
    struct wb_source other = source;
    other.stamp.mtime_ns++;
    assert_null(wb_tree_cache_get(f->cache, &other));
    other = source;
    other.stamp.inode++;
    assert_null(wb_tree_cache_get(f->cache, &other));
    other = source;
    other.grammar = wb_grammars_find(f->grammars, "cpp");
    assert_null(wb_tree_cache_get(f->cache, &other));
    wb_tree_cache_release(parse(f, &other)); /* takes the place */
    assert_null(wb_tree_cache_get(f->cache, &source));
    assert_int_equal(wb_tree_cache_counts(f->cache).n_files, 1);
}

/* Within the clock's granularity the stamp says nothing. */
static void a_young_file_is_compared_by_content(void **state)
{
    struct fixture *f = *state;
    struct wb_source source = read_source(f, write_file(f, "a.c", "int x = 1;\n", 0));
    wb_tree_cache_release(parse(f, &source));
    const struct wb_flat_tree *same = wb_tree_cache_get(f->cache, &source);
    assert_non_null(same);
    wb_tree_cache_release(same);
    source.content = WB_SPAN("int y = 2;\n");
    assert_null(wb_tree_cache_get(f->cache, &source));
}

static const struct wb_pattern *compile(struct fixture *f, const char *text)
{
    struct wb_error err;
    const struct wb_pattern *pattern =
        wb_pattern_compile(&f->arena, f->parser, f->c, wb_span(text), &err);
    assert_non_null(pattern);
    return pattern;
}

/* Stamps of the disk are asked for here, so the file has to be an old one. */
static void facts_rule_out_what_was_read_twice(void **state)
{
    struct fixture *f = *state;
    const char *path = write_file(f, "a.c", "int x = f(1);\n", 100);
    const struct timespec wait = {.tv_sec = 2, .tv_nsec = 100000000};
    nanosleep(&wait, NULL); /* the time of the node's change is ours */
    struct wb_source source = read_source(f, path);
    const struct wb_pattern *other = compile(f, "g($A)"), *own = compile(f, "f($A)");
    wb_tree_cache_note(f->cache, &source);
    assert_false(wb_tree_cache_rules_out(f->cache, path, other));
    wb_tree_cache_note(f->cache, &source);
    assert_true(wb_tree_cache_rules_out(f->cache, path, other));
    assert_false(wb_tree_cache_rules_out(f->cache, path, own));
    wb_tree_cache_release(parse(f, &source));
    assert_true(wb_tree_cache_rules_out(f->cache, path, compile(f, "while ($A) { $$$B }")));
    write_file(f, "a.c", "int x = g(1);\n", 100);
    assert_false(wb_tree_cache_rules_out(f->cache, path, other));
}

static struct wb_source fill(struct fixture *f, size_t i, struct wb_text *content)
{
    wb_text_clear(content);
    for (size_t j = 0; j < 200; j++) {
        wb_text_printf(content, "int v%zu_%zu = f(%zu);\n", i, j, j);
    }
    const char *name = wb_arena_printf(&f->arena, "f%zu.c", i);
    return read_settled(f, write_file(f, name, wb_text_cstr(content), 100));
}

static void the_bound_is_kept(void **state)
{
    struct fixture *f = *state;
    WB_AUTO(wb_text_done) struct wb_text content = {0};
    struct wb_source sources[FILES];
    for (size_t i = 0; i < FILES; i++) {
        sources[i] = fill(f, i, &content);
        wb_tree_cache_release(parse(f, &sources[i]));
    }
    size_t all = wb_tree_cache_counts(f->cache).bytes;
    wb_tree_cache_set_bound(f->cache, all / 2);
    struct wb_tree_cache_counts counts = wb_tree_cache_counts(f->cache);
    assert_true(counts.bytes <= all / 2 && counts.bytes > all / 4);
    assert_int_equal(counts.n_files, FILES); /* their facts stay */
    /* The oldest went. */
    assert_null(wb_tree_cache_get(f->cache, &sources[0]));
    const struct wb_flat_tree *newest = wb_tree_cache_get(f->cache, &sources[FILES - 1]);
    assert_non_null(newest);
    /* A tree in use outlives its place. */
    wb_tree_cache_set_bound(f->cache, 0);
    counts = wb_tree_cache_counts(f->cache);
    assert_int_equal(counts.bytes, 0);
    assert_int_equal(counts.n_files, 0);
    assert_true(newest->count > 200 && newest->nodes[0].size == newest->count);
    wb_tree_cache_release(newest);
    wb_tree_cache_release(parse(f, &sources[0]));
    assert_int_equal(wb_tree_cache_counts(f->cache).n_trees, 0);
}

struct worker {
    struct fixture *f;
    const struct wb_source *sources;
    unsigned seed;
};

static void *work(void *ctx)
{
    struct worker *worker = ctx;
    struct wb_parser *parser = wb_parser_new();
    for (int i = 0; i < 300; i++) {
        const struct wb_source *source = &worker->sources[rand_r(&worker->seed) % FILES];
        const struct wb_flat_tree *tree = wb_tree_cache_get(worker->f->cache, source);
        struct wb_flat_tree parsed;
        struct wb_error err;
        if (i % 7 == 0) {
            wb_tree_cache_note(worker->f->cache, source);
        }
        if (i % 50 == 0) {
            wb_tree_cache_set_bound(worker->f->cache, (size_t)(i % 3) * 300000);
        }
        if (tree == NULL && wb_parser_parse(parser, source->grammar, source->content,
                                            wb_clock_deadline(60000), NULL, &parsed, &err) == 0) {
            tree = wb_tree_cache_put_take(worker->f->cache, source, &parsed);
        }
        if (tree == NULL || tree->nodes[0].size != tree->count ||
            tree->nodes[0].end != source->content.len) {
            abort();
        }
        wb_tree_cache_release(tree);
    }
    wb_parser_free(parser);
    return NULL;
}

static void threads_share_it(void **state)
{
    struct fixture *f = *state;
    WB_AUTO(wb_text_done) struct wb_text content = {0};
    struct wb_source sources[FILES];
    struct worker workers[4];
    pthread_t threads[4];
    for (size_t i = 0; i < FILES; i++) {
        sources[i] = fill(f, i, &content);
    }
    for (size_t i = 0; i < WB_COUNT(threads); i++) {
        workers[i] = (struct worker){f, sources, (unsigned)i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (size_t i = 0; i < WB_COUNT(threads); i++) {
        pthread_join(threads[i], NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_gives_back_what_was_put, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_stamp_or_parser_is_another_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_young_file_is_compared_by_content, set_up, tear_down),
        cmocka_unit_test_setup_teardown(facts_rule_out_what_was_read_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_bound_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_share_it, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Staged edits: ids and states, bounds, and threads that want the same edit. What resolve does with
 * files is in tests/e2e/test_resolve.py. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
/* cmocka wants these before it */
#include <cmocka.h>

#include "../run/fixture.h"
#include "staging/staging.h"

static const struct wb_tool *const tools[] = {NULL};

struct staged {
    struct fixture f;
    struct wb_staging *staging;
    const struct wb_stager *stager;
};

static int set_up(void **state)
{
    static struct staged s;
    fixture_init(&s.f, tools);
    fixture_open(&s.f, (struct wb_run_options){.allow = WB_TIER_EXEC});
    assert_false(wb_staging_available(s.f.run));
    wb_staging_attach(s.f.run);
    assert_true(wb_staging_available(s.f.run));
    s.staging = wb_staging_of_run(s.f.run);
    s.stager = wb_run_resource(s.f.run, WB_RESOURCE_STAGING);
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    struct staged *s = *state;
    fixture_done(&s->f);
    return 0;
}

static int stage(struct staged *s, struct wb_span content, char id[WB_STAGED_ID_BYTES],
                 struct wb_error *err)
{
    const struct wb_staged_file file = {"/ws/a.c", content, WB_SPAN("new"), 2};
    return s->stager->stage(s->stager->ctx, "f($A)", &file, 1, id, err);
}

static const char *stage_one(struct staged *s)
{
    static char id[WB_STAGED_ID_BYTES];
    struct wb_error err;
    assert_int_equal(stage(s, WB_SPAN("old"), id, &err), 0);
    return id;
}

static void ids_count_up(void **state)
{
    struct staged *s = *state;
    assert_string_equal(stage_one(s), "edit_1");
    assert_string_equal(stage_one(s), "edit_2");
    struct wb_error err;
    const struct wb_staged_edit *edit = wb_staging_take(s->staging, "edit_1", &err);
    wb_staging_finish(s->staging, edit, WB_STAGED_DISCARDED);
    assert_string_equal(stage_one(s), "edit_3");
}

static void everything_is_copied(void **state)
{
    struct staged *s = *state;
    char content[] = "old", id[WB_STAGED_ID_BYTES];
    struct wb_error err;
    assert_int_equal(stage(s, wb_span(content), id, &err), 0);
    content[0] = 'x';
    const struct wb_staged_edit *edit = wb_staging_take(s->staging, id, &err);
    assert_int_equal(edit->n_files, 1);
    assert_int_equal(edit->n_replacements, 2);
    assert_true(wb_span_is(edit->files[0].old_content, "old"));
    assert_true(wb_span_is(edit->files[0].new_content, "new"));
    wb_staging_finish(s->staging, edit, WB_STAGED_STAGED);
    assert_string_equal(wb_staging_paths(s->staging, id, &s->f.scratch.arena)[0], "/ws/a.c");
}

static void each_state_has_its_sentence(void **state)
{
    static const struct {
        enum wb_staged_state state;
        const char *words;
    } ends[] = {
        {WB_STAGED_ACCEPTED, "was accepted already. Staged: nothing"},
        {WB_STAGED_DISCARDED, "was discarded already. Staged: nothing"},
        {WB_STAGED_RESOLVING, "is being resolved right now. Staged: edit_3 (f($A): 2"},
    };
    struct staged *s = *state;
    struct wb_error err;
    for (size_t i = 0; i < WB_COUNT(ends); i++) {
        const char *id = stage_one(s);
        const struct wb_staged_edit *edit = wb_staging_take(s->staging, id, &err);
        assert_non_null(edit);
        if (ends[i].state != WB_STAGED_RESOLVING) {
            wb_staging_finish(s->staging, edit, ends[i].state);
            assert_null(wb_staging_paths(s->staging, id, &s->f.scratch.arena));
        }
        assert_null(wb_staging_take(s->staging, id, &err));
        assert_int_equal(err.code, WB_ERROR_NOT_FOUND);
        assert_non_null(strstr(err.message, ends[i].words));
    }
    assert_null(wb_staging_take(s->staging, "edit_99", &err));
    assert_non_null(strstr(err.message, "`edit_99` is not known"));
}

static void the_number_is_bounded(void **state)
{
    struct staged *s = *state;
    char id[WB_STAGED_ID_BYTES];
    struct wb_error err;
    for (size_t i = 0; i < WB_STAGING_EDITS_MAX; i++) {
        stage_one(s);
    }
    assert_int_equal(stage(s, WB_SPAN("old"), id, &err), -1);
    assert_int_equal(err.code, WB_ERROR_LIMIT);
    wb_staging_finish(s->staging, wb_staging_take(s->staging, "edit_5", &err), WB_STAGED_ACCEPTED);
    assert_int_equal(stage(s, WB_SPAN("old"), id, &err), 0);
}

static void the_bytes_are_bounded(void **state)
{
    struct staged *s = *state;
    struct wb_span large = {wb_alloc(WB_STAGING_BYTES_MAX / 2), WB_STAGING_BYTES_MAX / 2};
    char id[WB_STAGED_ID_BYTES];
    struct wb_error err;
    assert_int_equal(stage(s, large, id, &err), 0);
    assert_int_equal(stage(s, large, id, &err), -1);
    assert_int_equal(err.code, WB_ERROR_LIMIT);
    assert_non_null(strstr(err.message, "edit_1 ("));
    wb_staging_finish(s->staging, wb_staging_take(s->staging, "edit_1", &err), WB_STAGED_DISCARDED);
    assert_int_equal(stage(s, large, id, &err), 0);
    free((char *)(uintptr_t)large.ptr);
}

struct race {
    struct staged *s;
    atomic_int n_taken;
};

static void *take_all(void *ctx)
{
    struct race *race = ctx;
    for (int i = 1; i <= WB_STAGING_EDITS_MAX; i++) {
        char id[WB_STAGED_ID_BYTES];
        struct wb_error err;
        snprintf(id, sizeof(id), "edit_%d", i);
        const struct wb_staged_edit *edit = wb_staging_take(race->s->staging, id, &err);
        if (edit != NULL) {
            atomic_fetch_add(&race->n_taken, 1);
            wb_staging_finish(race->s->staging, edit, WB_STAGED_ACCEPTED);
        }
    }
    return NULL;
}

static void an_edit_is_resolved_once(void **state)
{
    struct race race = {.s = *state};
    pthread_t threads[4];
    for (int i = 0; i < WB_STAGING_EDITS_MAX; i++) {
        stage_one(race.s);
    }
    for (size_t i = 0; i < WB_COUNT(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, take_all, &race), 0);
    }
    for (size_t i = 0; i < WB_COUNT(threads); i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(race.n_taken, WB_STAGING_EDITS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ids_count_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(everything_is_copied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_state_has_its_sentence, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_number_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_bytes_are_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_edit_is_resolved_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

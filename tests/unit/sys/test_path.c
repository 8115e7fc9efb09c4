/* Tests of sys/path.h: names as text, real paths, programs, URIs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../scratch.h"
#include "sys/path.h"

static void test_join(void **state)
{
    struct scratch *s = *state;
    static const char *const rows[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"a", "/b", "/b"},
        {"", "b", "b"},    {"a", "", "a"},     {"/", "b", "/b"},
    };
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        assert_string_equal(wb_path_join(&s->arena, rows[i][0], rows[i][1]), rows[i][2]);
    }
}

static void test_normalize(void **state)
{
    struct scratch *s = *state;
    static const char *const rows[][2] = {
        {"/", "/"},         {"//a//b/", "/a/b"}, {"/a/./b/.", "/a/b"}, {"/a/../b", "/b"},
        {"/../../a", "/a"}, {"/a/b/../..", "/"}, {"/a/...", "/a/..."}, {"/a/.b/..c", "/a/.b/..c"},
        {"/.", "/"},        {"/..", "/"},
    };
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        assert_string_equal(wb_path_normalize(&s->arena, rows[i][0]), rows[i][1]);
    }
}

static void test_parts(void **state)
{
    struct scratch *s = *state;

    static const struct {
        const char *path, *base, *dir, *extension;
    } rows[] = {
        {"/a/b.c", "b.c", "/a", ".c"},        {"/b", "b", "/", ""},
        {"b.tar.gz", "b.tar.gz", ".", ".gz"}, {"/a/.profile", ".profile", "/a", ""},
        {"/a.b/c", "c", "/a.b", ""},          {"/a/x.", "x.", "/a", "."},
    };

    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        assert_string_equal(wb_path_base(rows[i].path), rows[i].base);
        assert_string_equal(wb_path_dir(&s->arena, rows[i].path), rows[i].dir);
        assert_string_equal(wb_path_extension(rows[i].path), rows[i].extension);
    }
}

static void test_inside(void **state)
{
    (void)state;

    static const struct {
        const char *path, *folder, *relative; /* relative NULL: outside */
    } rows[] = {
        {"/a/b", "/a", "b"}, {"/a", "/a", "."},    {"/ab", "/a", NULL}, {"/a/b/c", "/a", "b/c"},
        {"/b", "/a", NULL},  {"/x/y", "/", "x/y"}, {"/", "/", "."},     {"/", "/a", NULL},
    };

    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        bool inside = rows[i].relative != NULL;
        assert_int_equal(wb_path_is_inside(rows[i].path, rows[i].folder), inside);
        assert_string_equal(wb_path_relative(rows[i].path, rows[i].folder),
                            inside ? rows[i].relative : rows[i].path);
    }
}

/* Fills the folder that test_real's rows walk in. */
static void make_links(struct scratch *s)
{
    scratch_write(s, "real/file.c", "x");
    scratch_folder(s, "real/deep/er");
    scratch_link(s, "real", "to_real");
    scratch_link(s, "file.c", "real/to_file");
    scratch_link(s, "deep/er", "real/to_er");
    scratch_link(s, "to_real/to_er", "chain");
    scratch_link(s, "missing", "dangling");
    scratch_link(s, "real/missing/x", "dangling_deep");
    scratch_link(s, "loop_b", "loop_a");
    scratch_link(s, "loop_a", "loop_b");
    scratch_link(s, "..", "real/up");
    scratch_link(s, scratch_path(s, "real"), "absolute");
}

static void test_real(void **state)
{
    struct scratch *s = *state;
    make_links(s);

    static const struct {
        const char *path, *real; /* below the scratch folder; real NULL: an error */
        enum wb_error_code code;
    } rows[] = {
        {"real/file.c", "real/file.c", 0},
        {"to_real/file.c", "real/file.c", 0},
        {"to_real/to_file", "real/file.c", 0},
        {"absolute/new/x.c", "real/new/x.c", 0},
        {"to_real/new.c", "real/new.c", 0},
        {"to_real/a/b/c.c", "real/a/b/c.c", 0},
        {"chain", "real/deep/er", 0},
        {"chain/new", "real/deep/er/new", 0},
        {"chain/../x", "real/deep/x", 0}, /* as the kernel: .. of where the link leads */
        {"real/up/real/file.c", "real/file.c", 0},
        {"new/../to_real/new", "real/new", 0}, /* a link behind a folder that does not exist */
        {"new/./a//b/", "new/a/b", 0},
        {"dangling", NULL, WB_ERROR_NOT_FOUND},
        {"dangling/x", NULL, WB_ERROR_NOT_FOUND},
        {"dangling_deep", NULL, WB_ERROR_NOT_FOUND},
        {"loop_a", NULL, WB_ERROR_INVALID},
        {"loop_a/x", NULL, WB_ERROR_INVALID},
        {"real/file.c/x", NULL, WB_ERROR_NOT_FOUND}, /* a file is no folder */
    };

    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        struct wb_error err = {0};
        char *real = wb_path_real(&s->arena, scratch_path(s, rows[i].path), &err);
        if (rows[i].real == NULL) {
            assert_null(real);
            assert_int_equal(err.code, rows[i].code);
            assert_non_null(strstr(err.message, s->folder));
        } else {
            assert_non_null(real);
            assert_string_equal(real, scratch_path(s, rows[i].real));
        }
    }
    assert_string_equal(wb_path_real(&s->arena, "/", NULL), "/");
    assert_string_equal(wb_path_real(&s->arena, "/..", NULL), "/");
    assert_null(wb_path_real(&s->arena, "relative", NULL));
}

/* Links that double at each step must end at the limit, not after 2^40 steps. */
static void test_real_exploding_links(void **state)
{
    struct scratch *s = *state;
    scratch_link(s, "b/b", "a");
    scratch_link(s, "a/a", "b");
    assert_null(wb_path_real(&s->arena, scratch_path(s, "a"), NULL));
    char *name = wb_arena_alloc(&s->arena, 6001);
    memset(name, 'x', 6000);
    struct wb_error err = {0};
    assert_null(wb_path_real(&s->arena, scratch_path(s, name), &err));
}

static void test_to_uri(void **state)
{
    struct scratch *s = *state;
    static const char *const rows[][2] = {
        {"/", "file:///"},
        {"/a b/c.c", "file:///a%20b/c.c"},
        {"/a:b", "file:///a%3Ab"},
        {"/100%", "file:///100%25"},
        {"/\xC3\xA9", "file:///%C3%A9"},
        {"/a#b?c+d@e", "file:///a%23b%3Fc%2Bd%40e"},
        {"/-._~", "file:///-._~"},
        {"/\xFF", "file:///%FF"},
        {"/a\\b\n", "file:///a%5Cb%0A"},
    };
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        char *uri = wb_path_to_uri(&s->arena, rows[i][0]);
        assert_string_equal(uri, rows[i][1]);
        assert_string_equal(wb_path_from_uri(&s->arena, wb_span(uri)), rows[i][0]);
    }
}

static void test_from_uri(void **state)
{
    struct scratch *s = *state;
    static const char *const rows[][2] = {
        {"file:///a%3ab", "/a:b"},
        {"file:///a%3Ab", "/a:b"},
        {"file:///%c3%A9", "/\xC3\xA9"},
        {"file:///\xC3\xA9", "/\xC3\xA9"},
        {"FILE:///a", "/a"},
        {"file:/a/b", "/a/b"},
        {"file://localhost/a", "/a"},
        {"file://LOCALHOST/a", "/a"},
        {"file:///a/", "/a"},
        {"file:///a/../b/./c", "/b/c"},
        {"file:///a?b#c", "/a?b#c"},
        {"file:///a b", "/a b"},
        {"file://remote/a", NULL},
        {"file://localhostile/a", NULL},
        {"file://localhost", NULL},
        {"file://user@localhost/a", NULL},
        {"file://localhost:80/a", NULL},
        {"file:///a%00b", NULL},
        {"file:///a%0", NULL},
        {"file:///a%", NULL},
        {"file:///a%zz", NULL},
        {"file:///a%2", NULL},
        {"file:a", NULL},
        {"file:", NULL},
        {"file://", NULL},
        {"", NULL},
        {"/a", NULL},
        {"http:///a", NULL},
        {"untitled:Untitled-1", NULL},
        {"files:///a", NULL},
    };
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        char *path = wb_path_from_uri(&s->arena, wb_span(rows[i][0]));
        if (rows[i][1] == NULL) {
            assert_null(path);
        } else {
            assert_non_null(path);
            assert_string_equal(path, rows[i][1]);
        }
    }
    assert_null(wb_path_from_uri(&s->arena, WB_SPAN("file:///a\0b")));
}

static void test_find_program(void **state)
{
    struct scratch *s = *state;
    chmod(scratch_write(s, "bin/tool", "#!/bin/sh\n"), 0755);
    chmod(scratch_write(s, "venv/tool", "#!/bin/sh\n"), 0755);
    scratch_write(s, "plain/tool", "not executable");
    scratch_folder(s, "folder/tool");
    const char *bin = scratch_path(s, "bin"), *venv = scratch_path(s, "venv");
    char *path_env =
        wb_arena_printf(&s->arena, "relative::%s/plain:%s/folder:%s", s->folder, s->folder, bin);
    char *looked = NULL;
    assert_string_equal(wb_path_find_program(&s->arena, "tool", NULL, path_env, &looked),
                        scratch_path(s, "bin/tool"));
    const char *const first[] = {scratch_path(s, "nowhere"), venv, NULL};
    assert_string_equal(wb_path_find_program(&s->arena, "tool", first, path_env, NULL),
                        scratch_path(s, "venv/tool"));
    assert_string_equal(wb_path_find_program(&s->arena, scratch_path(s, "bin/tool"), NULL, "",
                                             NULL),
                        scratch_path(s, "bin/tool"));

    assert_null(wb_path_find_program(&s->arena, "no-such", first, path_env, &looked));
    assert_string_equal(looked,
                        wb_arena_printf(&s->arena, "%s/nowhere, %s, %s/plain, %s/folder, %s",
                                        s->folder, venv, s->folder, s->folder, bin));
    assert_null(wb_path_find_program(&s->arena, "tool", NULL, "", &looked));
    assert_string_equal(looked, "nowhere: PATH is empty");
    assert_null(wb_path_find_program(&s->arena, "", NULL, path_env, NULL));
    assert_null(wb_path_find_program(&s->arena, "./tool", NULL, path_env, NULL));
}

static void test_user_folders(void **state)
{
    struct scratch *s = *state;
    setenv("HOME", s->folder, 1);
    unsetenv("XDG_CACHE_HOME");
    setenv("XDG_STATE_HOME", "relative/is/ignored", 1);
    setenv("XDG_CONFIG_HOME", scratch_path(s, "etc"), 1);
    assert_string_equal(wb_path_cache_folder(&s->arena, NULL), scratch_path(s, ".cache/werkbank"));
    assert_string_equal(wb_path_state_folder(&s->arena, NULL),
                        scratch_path(s, ".local/state/werkbank"));
    assert_string_equal(wb_path_config_file(&s->arena),
                        scratch_path(s, "etc/werkbank/config.json"));
    struct stat st;
    assert_int_equal(stat(scratch_path(s, ".cache/werkbank"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_not_equal(stat(scratch_path(s, "etc"), &st), 0);
}

static void test_make_folders(void **state)
{
    struct scratch *s = *state;
    scratch_write(s, "file", "x");
    struct wb_error err = {0};
    assert_int_equal(wb_path_make_folders(scratch_path(s, "a/b/c"), 0755, &err), 0);
    assert_int_equal(wb_path_make_folders(scratch_path(s, "a/b/c"), 0755, &err), 0);
    assert_int_equal(wb_path_make_folders("/", 0755, &err), 0);
    assert_int_equal(wb_path_make_folders(scratch_path(s, "file/x"), 0755, &err), -1);
    assert_non_null(strstr(err.message, scratch_path(s, "file")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_join, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_normalize, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_parts, scratch_set_up, scratch_tear_down),
        cmocka_unit_test(test_inside),
        cmocka_unit_test_setup_teardown(test_real, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_real_exploding_links, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_to_uri, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_from_uri, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_find_program, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_user_folders, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_make_folders, scratch_set_up, scratch_tear_down),
    };
    return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}

/* What a launch target is: read from real files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../scratch.h"
#include "debug/program.h"

static struct scratch scratch;

static int setup(void **state)
{
    (void)state;
    scratch_init(&scratch);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scratch_done(&scratch);
    return 0;
}

static void this_test_is_a_binary_with_debug_information(void **state)
{
    struct wb_program program;
    (void)state;
    assert_int_equal(wb_program_look("/proc/self/exe", &program, NULL), 0);
    assert_true(program.is_binary);
    assert_true(program.has_debug_info);
    assert_false(program.is_go);
    assert_false(program.is_folder);
}

static void a_script_and_a_folder_are_none(void **state)
{
    struct wb_program program;
    (void)state;
    scratch_write(&scratch, "a.py", "print(1)\n");
    assert_int_equal(wb_program_look(scratch_path(&scratch, "a.py"), &program, NULL), 0);
    assert_false(program.is_binary);
    assert_int_equal(wb_program_look(scratch.folder, &program, NULL), 0);
    assert_true(program.is_folder);
}

static void what_cannot_run_is_told(void **state)
{
    struct wb_program program;
    struct wb_error err;
    (void)state;
    assert_int_equal(wb_program_look(scratch_path(&scratch, "none"), &program, &err), -1);
    assert_int_equal(err.code, WB_ERROR_NOT_FOUND);
    scratch_write(&scratch, "object.o",
                  "\x7f"
                  "ELF and not much more");
    assert_int_equal(wb_program_look(scratch_path(&scratch, "object.o"), &program, &err), 0);
    assert_false(program.is_binary); /* shorter than a header */
    assert_int_equal(wb_program_look("/dev/null", &program, &err), -1);
}

/* Headers that lie: offsets and counts beyond the file. */
static void broken_headers_harm_nothing(void **state)
{
    char file[128] = "\x7f"
                     "ELF\x02\x01\x01";
    (void)state;
    for (unsigned seed = 1; seed < 300; seed++) {
        struct wb_program program;
        unsigned random = seed * 2654435761U;
        for (size_t i = 16; i < sizeof(file); i++) {
            random = random * 1103515245U + 12345U;
            file[i] = (char)(random >> 16);
        }
        file[58] = 64; /* the size of a section header is right, so that the rest is read */
        file[59] = 0;
        scratch_write_span(&scratch, "lie", (struct wb_span){file, sizeof(file)});
        const char *path = scratch_path(&scratch, "lie");
        assert_int_equal(chmod(path, 0755), 0);
        assert_int_equal(wb_program_look(path, &program, NULL), 0);
        assert_true(program.is_binary);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_test_is_a_binary_with_debug_information),
        cmocka_unit_test(a_script_and_a_folder_are_none),
        cmocka_unit_test(what_cannot_run_is_told),
        cmocka_unit_test(broken_headers_harm_nothing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

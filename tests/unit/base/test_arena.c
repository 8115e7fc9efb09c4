/* Tests of base/arena. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/limits.h"

static bool is_zero(const char *ptr, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (ptr[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Sizes around the alignment, the first chunk, and the bound of a chunk of its own. */
static const size_t sizes[] = {
    0, 1, 15, 16, 17, 4095, 4096, 4097, WB_MIB / 2 - 1, WB_MIB / 2, WB_MIB / 2 + 1, 3 * WB_MIB,
};

static void blocks_are_aligned_zeroed_and_apart(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    char *blocks[3 * WB_COUNT(sizes)];

    (void)state;
    for (size_t i = 0; i < WB_COUNT(blocks); i++) {
        size_t size = sizes[i % WB_COUNT(sizes)];

        blocks[i] = wb_arena_alloc(&arena, size);
        assert_int_equal((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
        assert_true(is_zero(blocks[i], size));
        memset(blocks[i], (int)i + 1, size);
    }
    for (size_t i = 0; i < WB_COUNT(blocks); i++) {
        size_t size = sizes[i % WB_COUNT(sizes)];

        for (size_t k = 0; k < size; k++) {
            assert_int_equal(blocks[i][k], (char)(i + 1));
        }
    }
}

static void large_block_leaves_the_head_in_use(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    char *first = wb_arena_alloc(&arena, 16);

    (void)state;
    wb_arena_alloc(&arena, 2 * WB_MIB);
    assert_ptr_equal(wb_arena_alloc(&arena, 16), first + 16);
}

static void clear_keeps_one_zeroed_chunk(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};

    (void)state;
    for (int i = 0; i < 100; i++) {
        memset(wb_arena_alloc(&arena, 1000), 0xFF, 1000);
    }
    wb_arena_clear(&arena);
    assert_in_range(arena.total_bytes, 1, WB_MIB);
    assert_true(is_zero(wb_arena_alloc(&arena, 1000), 1000));
}

static void clear_gives_a_large_only_chunk_back(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};

    (void)state;
    wb_arena_alloc(&arena, 5 * WB_MIB);
    assert_in_range(arena.total_bytes, 5 * WB_MIB, 5 * WB_MIB + 64);
    wb_arena_clear(&arena);
    assert_int_equal(arena.total_bytes, 0);
    wb_arena_clear(&arena);
    assert_non_null(wb_arena_alloc(&arena, 1));
}

static void chunks_stay_within_bounds(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    size_t asked_bytes = 0;

    (void)state;
    while (asked_bytes < 20 * WB_MIB) {
        wb_arena_alloc(&arena, 4000);
        asked_bytes += 4000;
    }
    /* Never more than a chunk ahead, and little lost at the ends of chunks. */
    assert_true(arena.total_bytes < asked_bytes + asked_bytes / 50 + 2 * WB_MIB);
}

static void strings_are_copied_and_terminated(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    char source[] = "one\0two";
    struct wb_span copy = wb_arena_span(&arena, (struct wb_span){source, 7});

    (void)state;
    memset(source, 'x', 7);
    assert_int_equal(copy.len, 7);
    assert_memory_equal(copy.ptr, "one\0two", 8);
    assert_string_equal(wb_arena_strdup(&arena, ""), "");
    assert_string_equal(wb_arena_strndup(&arena, "abcdef", 3), "abc");
    assert_string_equal(wb_arena_strndup(&arena, NULL, 0), "");
    assert_string_equal(wb_arena_printf(&arena, "%d-%s", 7, "x"), "7-x");
    assert_int_equal(strlen(wb_arena_printf(&arena, "%*d", 9999, 1)), 9999);
}

/* Small and large blocks, first in the arena and not, grow again and again with another block
 * allocated between. */
static void grow_keeps_contents(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};

    (void)state;
    for (size_t start = 10; start < 4 * WB_MIB; start *= 7) {
        size_t size = start;
        char *block = wb_arena_alloc(&arena, size);

        memset(block, 'b', size);
        while (size < 3 * WB_MIB) {
            size_t larger = size + size / 2;

            block = wb_arena_grow(&arena, block, size, larger);
            memset(block + size, 'b', larger - size);
            memset(wb_arena_alloc(&arena, 100), 'x', 100);
            size = larger;
        }
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(block[i], 'b');
        }
        assert_ptr_equal(wb_arena_grow(&arena, block, size, size), block);
        assert_true(is_zero(wb_arena_alloc(&arena, 5000), 5000));
    }
}

static void large_block_grows_where_it_is(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};

    (void)state;
    for (int first = 0; first < 2; first++) {
        size_t before = arena.total_bytes;
        void *block = wb_arena_alloc(&arena, 2 * WB_MIB);

        wb_arena_grow(&arena, block, 2 * WB_MIB, 9 * WB_MIB);
        assert_int_equal(arena.total_bytes, before + 9 * WB_MIB);
        wb_arena_alloc(&arena, 1);
    }
}

static void adopted_blocks_live_on(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};

    (void)state;
    for (int round = 0; round < 3; round++) { /* into an empty arena, then into a used one */
        WB_AUTO(wb_arena_done) struct wb_arena from = {0};
        size_t before = arena.total_bytes;
        char *small = wb_arena_strdup(&from, "small");
        char *large = wb_arena_alloc(&from, 2 * WB_MIB);
        size_t moved = from.total_bytes;

        wb_arena_adopt(&arena, &from);
        assert_int_equal(arena.total_bytes, before + moved);
        assert_int_equal(from.total_bytes, 0);
        assert_string_equal(small, "small");
        assert_true(is_zero(large, 2 * WB_MIB));
        wb_arena_adopt(&arena, &from); /* an empty one */
        assert_true(is_zero(wb_arena_alloc(&arena, 5000), 5000));
    }
}

static void push_grows_and_zeroes(void **state)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena = {0};
    int *items = NULL;
    size_t count = 0;
    size_t capacity = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        int *slot = WB_ARENA_PUSH(&arena, items, count, capacity);

        assert_int_equal(*slot, 0);
        *slot = i;
    }
    assert_int_equal(count, 1000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(items[i], i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_zeroed_and_apart),
        cmocka_unit_test(large_block_leaves_the_head_in_use),
        cmocka_unit_test(clear_keeps_one_zeroed_chunk),
        cmocka_unit_test(clear_gives_a_large_only_chunk_back),
        cmocka_unit_test(chunks_stay_within_bounds),
        cmocka_unit_test(strings_are_copied_and_terminated),
        cmocka_unit_test(grow_keeps_contents),
        cmocka_unit_test(large_block_grows_where_it_is),
        cmocka_unit_test(adopted_blocks_live_on),
        cmocka_unit_test(push_grows_and_zeroes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of base/map. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/map.h"

#define N_KEYS 1000

static char items[N_KEYS]; /* only their addresses count */

static const char *key_of(char buffer[16], size_t i)
{
    snprintf(buffer, 16, "key %zu", i);
    return buffer;
}

static void fill(struct wb_map *map)
{
    char key[16];

    for (size_t i = 0; i < N_KEYS; i++) {
        assert_null(wb_map_set(map, key_of(key, i), &items[i]));
    }
}

static void empty_map_answers(void **state)
{
    WB_AUTO(wb_map_done) struct wb_map map = {0};
    size_t cursor = 0;
    void *value;

    (void)state;
    assert_null(wb_map_get(&map, "a"));
    assert_null(wb_map_remove(&map, "a"));
    assert_false(wb_map_next(&map, &cursor, NULL, &value));
}

static void values_are_found_and_replaced(void **state)
{
    WB_AUTO(wb_map_done) struct wb_map map = {0};
    char key[16];

    (void)state;
    fill(&map);
    assert_int_equal(map.count, N_KEYS);
    for (size_t i = 0; i < N_KEYS; i++) {
        assert_ptr_equal(wb_map_get(&map, key_of(key, i)), &items[i]);
    }
    assert_null(wb_map_get(&map, "key"));
    assert_ptr_equal(wb_map_set(&map, "key 7", &items[8]), &items[7]);
    assert_ptr_equal(wb_map_get(&map, "key 7"), &items[8]);
    assert_int_equal(map.count, N_KEYS);
}

static void iteration_is_in_order_of_insertion(void **state)
{
    WB_AUTO(wb_map_done) struct wb_map map = {0};
    size_t cursor = 0;
    size_t n = 0;
    const char *key;
    void *value;
    char expected[16];

    (void)state;
    fill(&map);
    for (; wb_map_next(&map, &cursor, &key, &value); n++) {
        assert_string_equal(key, key_of(expected, n));
        assert_ptr_equal(value, &items[n]);
    }
    assert_int_equal(n, N_KEYS);
}

/* Every second entry goes while iterating; the others stay reachable, also past a rebuild. */
static void removal_leaves_the_others(void **state)
{
    WB_AUTO(wb_map_done) struct wb_map map = {0};
    size_t cursor = 0;
    size_t n = 0;
    const char *key;
    void *value;
    char buffer[16];

    (void)state;
    fill(&map);
    for (; wb_map_next(&map, &cursor, &key, &value); n++) {
        if (n % 2 == 0) {
            assert_ptr_equal(wb_map_remove(&map, key_of(buffer, n)), value);
        }
    }
    assert_int_equal(n, N_KEYS);
    assert_int_equal(map.count, N_KEYS / 2);
    for (int round = 0; round < 5000; round++) { /* as ids of requests come and go */
        key_of(buffer, N_KEYS + (size_t)round);
        assert_null(wb_map_set(&map, buffer, &items[0]));
        assert_ptr_equal(wb_map_remove(&map, buffer), &items[0]);
    }
    assert_true(map.entries_capacity < 8 * N_KEYS);
    for (size_t i = 0; i < N_KEYS; i++) {
        assert_ptr_equal(wb_map_get(&map, key_of(buffer, i)), i % 2 == 0 ? NULL : &items[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_map_answers),
        cmocka_unit_test(values_are_found_and_replaced),
        cmocka_unit_test(iteration_is_in_order_of_insertion),
        cmocka_unit_test(removal_leaves_the_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Bundles: what the model is given of them, what replaces what, and their bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernel/display.h"

#define PNG "\x89PNG\r\n\x1a\nppp" /* 11 bytes */

static int take(struct wb_displays *displays, const char *json, const char *blobs, bool is_value)
{
    struct wb_text payload = {0};
    struct wb_error err;
    uint32_t len = (uint32_t)strlen(json);
    wb_text_add(&payload, (const char *)&len, sizeof(len));
    wb_text_add_str(&payload, json);
    wb_text_add_str(&payload, blobs);
    int status = wb_displays_take(displays, wb_text_span(&payload), is_value, &err);
    wb_text_done(&payload);
    return status;
}

static void the_best_form_is_for_the_model(void **state)
{
    static const struct {
        const char *json, *blobs, *text, *mime, *others;
    } cases[] = {
        {"{\"mimes\":{\"text/plain\":\"p\"}}", "", "p", NULL, ""},
        {"{\"mimes\":{\"text/plain\":\"p\",\"text/markdown\":\"*m*\",\"text/html\":\"<b>\"}}", "",
         "*m*", NULL, "{\"text/html\":\"<b>\"}"},
        {"{\"mimes\":{\"text/plain\":\"fig\",\"image/svg+xml\":\"<svg>\"},\"blobs\":["
         "{\"mime\":\"image/jpeg\",\"bytes\":4},{\"mime\":\"image/png\",\"bytes\":11}]}",
         "\xff\xd8\xffj" PNG, "fig", "image/png", "{\"image/svg+xml\":\"<svg>\"}"},
        /* What says that it is a picture, and is none. */
        {"{\"mimes\":{\"text/plain\":\"fig\"},\"blobs\":[{\"mime\":\"image/png\",\"bytes\":6}]}",
         "no png", "fig", NULL, ""},
        {"{\"mimes\":{\"text/plain\":\"fig\"},\"blobs\":[{\"mime\":\"image/webp\",\"bytes\":3}]}",
         "WEB", "fig", NULL, ""},
        {"{\"blobs\":[{\"mime\":\"image/jpeg\",\"bytes\":2},{\"mime\":\"image/png\",\"bytes\":11}]}",
         "jj" PNG, "", "image/png", ""},
        {"{\"mimes\":{\"text/plain\":\"x\"},\"blobs\":[{\"mime\":\"image/tiff\",\"bytes\":1}]}",
         "t", "x", NULL, ""},
        {"{\"mimes\":{\"text/plain\":7}}", "", "", NULL, ""},
        {"{}", "", "", NULL, ""},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        struct wb_displays displays = {0};
        assert_int_equal(take(&displays, cases[i].json, cases[i].blobs, false), 0);
        assert_int_equal(displays.count, 1);
        const struct wb_display *display = &displays.items[0];
        assert_string_equal(wb_text_cstr(&display->text), cases[i].text);
        assert_string_equal(wb_text_cstr(&display->others), cases[i].others);
        assert_int_equal(display->mime == NULL, cases[i].mime == NULL);
        if (display->mime != NULL) {
            assert_string_equal(display->mime, cases[i].mime);
            assert_string_equal(wb_text_cstr(&display->bytes), PNG);
        }
        wb_displays_done(&displays);
    }
}

static void broken_bundles_are_refused(void **state)
{
    static const struct {
        const char *json, *blobs;
    } cases[] = {
        {"", ""},
        {"{", ""},
        {"{}", "surplus"},
        {"{\"blobs\":[{\"mime\":\"image/png\",\"bytes\":9}]}", "short"},
        {"{\"blobs\":[{\"mime\":\"image/png\",\"bytes\":-1}]}", ""},
        {"{\"blobs\":[{\"mime\":\"image/png\"}]}", ""},
        {"{\"blobs\":[1]}", ""},
    };

    (void)state;
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        struct wb_displays displays = {0};
        assert_int_equal(take(&displays, cases[i].json, cases[i].blobs, false), -1);
        assert_int_equal(displays.count, 0);
        wb_displays_done(&displays);
    }
}

static void an_update_takes_the_place_of_its_id(void **state)
{
    (void)state;
    struct wb_displays displays = {0};
    take(&displays, "{\"mark\":1,\"id\":\"bar\",\"mimes\":{\"text/plain\":\"10%\"}}", "", false);
    take(&displays, "{\"mark\":2,\"mimes\":{\"text/plain\":\"other\"}}", "", false);
    take(&displays,
         "{\"mark\":3,\"id\":\"bar\",\"update\":true,\"mimes\":{\"text/plain\":\"90%\"}}", "",
         false);
    take(&displays, "{\"mark\":4,\"id\":\"new\",\"update\":true,\"mimes\":{\"text/plain\":\"n\"}}",
         "", false);
    assert_int_equal(displays.count, 3);
    assert_string_equal(wb_text_cstr(&displays.items[0].text), "90%");
    assert_int_equal(displays.items[0].mark, 1);
    take(&displays, "{\"mark\":5,\"clear\":true}", "", false);
    assert_int_equal(displays.count, 0);
    assert_int_equal(displays.clear_mark, 5);
    wb_displays_done(&displays);
}

static void the_value_is_kept_whole(void **state)
{
    (void)state;
    struct wb_displays displays = {0};
    struct wb_text json = {0};
    wb_text_add_str(&json, "{\"mimes\":{\"text/plain\":\"");
    for (int i = 0; i < 100000; i++) {
        wb_text_add_char(&json, 'v');
    }
    wb_text_add_str(&json, "\"}}");
    assert_int_equal(take(&displays, wb_text_cstr(&json), "", true), 0);
    assert_int_equal(displays.value_len, 100000);
    assert_true(displays.items[0].is_value);
    assert_true(displays.items[0].text.len < 2 * WB_DISPLAY_TEXT_BYTES_MAX);
    assert_non_null(strstr(wb_text_cstr(&displays.items[0].text), "left out"));
    wb_text_done(&json);
    wb_displays_done(&displays);
}

static void a_cell_has_only_so_many(void **state)
{
    (void)state;
    struct wb_displays displays = {0};
    for (int i = 0; i < WB_DISPLAYS_MAX + 5; i++) {
        take(&displays, "{\"blobs\":[{\"mime\":\"image/png\",\"bytes\":11}]}", PNG, false);
    }
    assert_int_equal(displays.count, WB_DISPLAYS_MAX);
    assert_int_equal(displays.n_left_out, 5);
    assert_int_equal(displays.n_pictures, WB_DISPLAY_PICTURES_MAX);
    assert_int_equal(displays.n_pictures_left_out, WB_DISPLAYS_MAX - WB_DISPLAY_PICTURES_MAX);
    wb_displays_done(&displays);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_form_is_for_the_model),
        cmocka_unit_test(broken_bundles_are_refused),
        cmocka_unit_test(an_update_takes_the_place_of_its_id),
        cmocka_unit_test(the_value_is_kept_whole),
        cmocka_unit_test(a_cell_has_only_so_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

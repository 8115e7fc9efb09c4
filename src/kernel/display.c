/* display: see display.h. Takes what a kernel sends as it comes: every size is checked. */
#include "kernel/display.h"

#include <endian.h>
#include <stdlib.h>

#include "base/limits.h"

#define BLOBS_MAX 32 /* in one bundle */

/* What models can see, the best first, and how it begins. */
static const struct {
    const char *mime, *magic;
    size_t at; /* of the magic */
} pictures[] = {
    {"image/png", "\x89PNG\r\n\x1a\n", 0},
    {"image/jpeg", "\xff\xd8\xff", 0},
    {"image/webp", "WEBP", 8},
    {"image/gif", "GIF8", 0},
};

/* What the model is given as text, the best first. */
static const char *const text_mimes[] = {"text/markdown", "text/plain"};

/* A bundle taken apart; everything is borrowed. */
struct bundle {
    uint64_t mark;
    bool clear, update;
    const char *id;
    const struct wb_json *mimes;
    const char *picture_mime; /* NULL: none */
    struct wb_span picture;
};

static void free_display(struct wb_display *display)
{
    free(display->id);
    free(display->mime);
    wb_text_done(&display->text);
    wb_text_done(&display->bytes);
    wb_text_done(&display->others);
}

static void drop_items(struct wb_displays *displays)
{
    for (size_t i = 0; i < displays->count; i++) {
        free_display(&displays->items[i]);
    }
    displays->count = displays->n_pictures = displays->picture_bytes = 0;
    displays->n_left_out = displays->n_pictures_left_out = 0;
}

void wb_displays_done(struct wb_displays *displays)
{
    drop_items(displays);
    free(displays->items);
    free(displays->value);
    *displays = (struct wb_displays){0};
}

/* --- taking a payload apart --- */

static size_t rank_picture(const char *mime)
{
    size_t rank = 0;
    while (rank < WB_COUNT(pictures) && !wb_str_equal(pictures[rank].mime, mime)) {
        rank++;
    }
    return rank;
}

/* A model's provider refuses a whole conversation over a picture that is none. */
static bool is_picture(size_t rank, struct wb_span bytes)
{
    size_t at = pictures[rank].at, len = strlen(pictures[rank].magic);
    return bytes.len > at + len && memcmp(bytes.ptr + at, pictures[rank].magic, len) == 0;
}

/* Blobs follow each other in the bytes behind the JSON, and fill them. */
static int find_picture(struct bundle *bundle, const struct wb_json *blobs, struct wb_span bytes,
                        struct wb_error *err)
{
    size_t best = WB_COUNT(pictures);
    if (wb_json_count(blobs) > BLOBS_MAX) {
        return wb_error_set(err, WB_ERROR_PROTOCOL, "it sent a display with too many blobs");
    }
    for (struct wb_json_iter it = wb_json_iter(blobs); wb_json_next(&it);) {
        int64_t len = wb_json_int_or(wb_json_get(it.value, "bytes"), -1);
        size_t rank = rank_picture(wb_json_str_or(wb_json_get(it.value, "mime"), ""));
        if (len < 0 || (uint64_t)len > bytes.len) {
            return wb_error_set(err, WB_ERROR_PROTOCOL, "it sent a display with a blob cut short");
        }
        struct wb_span blob = {bytes.ptr, (size_t)len};
        if (rank < best && is_picture(rank, blob)) {
            best = rank;
            bundle->picture_mime = pictures[rank].mime;
            bundle->picture = blob;
        }
        bytes.ptr += len;
        bytes.len -= (size_t)len;
    }
    return bytes.len == 0 ? 0
                          : wb_error_set(err, WB_ERROR_PROTOCOL,
                                         "it sent a display with bytes that belong to no blob");
}

static int parse(struct wb_arena *arena, struct wb_span payload, struct bundle *ret,
                 struct wb_error *err)
{
    uint32_t json_bytes = 0;
    if (payload.len >= sizeof(json_bytes)) {
        memcpy(&json_bytes, payload.ptr, sizeof(json_bytes));
        json_bytes = le32toh(json_bytes);
    }
    if (payload.len < sizeof(json_bytes) || json_bytes > payload.len - sizeof(json_bytes)) {
        return wb_error_set(err, WB_ERROR_PROTOCOL, "it sent a display cut short");
    }
    struct wb_span text = {payload.ptr + sizeof(json_bytes), json_bytes};
    struct wb_span blobs = {text.ptr + text.len, payload.len - sizeof(json_bytes) - text.len};
    const struct wb_json *json = wb_json_parse(arena, text, err);
    if (json == NULL) {
        return wb_error_context(err, "it sent a display that is no JSON");
    }
    *ret = (struct bundle){
        .mark = (uint64_t)WB_MAX(wb_json_int_or(wb_json_get(json, "mark"), 0), 0),
        .clear = wb_json_bool(wb_json_get(json, "clear"), false),
        .update = wb_json_bool(wb_json_get(json, "update"), false),
        .id = wb_json_str(wb_json_get(json, "id")),
        .mimes = wb_json_get(json, "mimes"),
    };
    return find_picture(ret, wb_json_get(json, "blobs"), blobs, err);
}

/* --- making a display of it --- */

static void add_bounded(struct wb_text *out, struct wb_span text)
{
    if (text.len <= WB_DISPLAY_TEXT_BYTES_MAX) {
        wb_text_add_span(out, text);
        return;
    }
    size_t head = wb_utf8_cut(text, WB_DISPLAY_TEXT_BYTES_MAX / 2);
    size_t tail = text.len - WB_DISPLAY_TEXT_BYTES_MAX / 2;
    while (tail < text.len && ((unsigned char)text.ptr[tail] & 0xC0) == 0x80) {
        tail++;
    }
    wb_text_add(out, text.ptr, head);
    wb_text_printf(out, "\n[... %zu of %zu bytes left out ...]\n", tail - head, text.len);
    wb_text_add(out, text.ptr + tail, text.len - tail);
}

static bool is_text_mime(const char *mime)
{
    for (size_t i = 0; i < WB_COUNT(text_mimes); i++) {
        if (wb_str_equal(mime, text_mimes[i])) {
            return true;
        }
    }
    return false;
}

static void keep_others(struct wb_display *display, const struct wb_json *mimes)
{
    struct wb_json_writer w;
    size_t n = 0;
    wb_json_writer_init(&w, &display->others);
    wb_json_begin_object(&w);
    for (struct wb_json_iter it = wb_json_iter(mimes); wb_json_next(&it);) {
        struct wb_span text = wb_json_span(it.value);
        if (!is_text_mime(it.key) &&
            display->others.len + text.len < WB_TRANSCRIPT_FIELD_BYTES_MAX) {
            wb_json_member_span(&w, it.key, text);
            n++;
        }
    }
    wb_json_end_object(&w);
    if (n == 0) {
        wb_text_done(&display->others);
    }
}

/* False: the cell has enough of them. */
static bool take_picture(struct wb_displays *displays, struct wb_display *display, const char *mime,
                         struct wb_span bytes)
{
    if (displays->n_pictures == WB_DISPLAY_PICTURES_MAX ||
        displays->picture_bytes + bytes.len > WB_DISPLAY_PICTURE_BYTES_MAX) {
        displays->n_pictures_left_out++;
        return false;
    }
    displays->n_pictures++;
    displays->picture_bytes += bytes.len;
    display->mime = wb_strdup(mime);
    wb_text_add_span(&display->bytes, bytes);
    return true;
}

static void fill(struct wb_displays *displays, struct wb_display *display,
                 const struct bundle *bundle)
{
    struct wb_span text = {0};
    for (size_t i = 0; i < WB_COUNT(text_mimes) && text.ptr == NULL; i++) {
        text = wb_json_span(wb_json_get(bundle->mimes, text_mimes[i]));
    }
    if (bundle->picture_mime != NULL) {
        text = wb_json_span(wb_json_get(bundle->mimes, "text/plain"));
        take_picture(displays, display, bundle->picture_mime, bundle->picture);
    }
    add_bounded(&display->text, text);
    keep_others(display, bundle->mimes);
}

static void forget_picture(struct wb_displays *displays, const struct wb_display *display)
{
    if (display->mime != NULL) {
        displays->n_pictures--;
        displays->picture_bytes -= display->bytes.len;
    }
}

static struct wb_display *find_id(struct wb_displays *displays, const char *id)
{
    for (size_t i = displays->count; id != NULL && i > 0; i--) {
        struct wb_display *display = &displays->items[i - 1];
        if (display->id != NULL && wb_str_equal(display->id, id)) {
            return display;
        }
    }
    return NULL;
}

/* A place for a display: that of the one which it replaces, a new one, or NULL. */
static struct wb_display *take_place(struct wb_displays *displays, const struct bundle *bundle)
{
    struct wb_display *place = bundle->update ? find_id(displays, bundle->id) : NULL;
    uint64_t mark = bundle->mark;
    if (place != NULL) {
        mark = place->mark;
        forget_picture(displays, place);
        free_display(place);
    } else if (displays->count < WB_DISPLAYS_MAX) {
        WB_GROW(displays->items, displays->capacity, displays->count + 1);
        place = &displays->items[displays->count++];
    } else {
        displays->n_left_out++;
        return NULL;
    }
    *place = (struct wb_display){.mark = mark};
    place->id = bundle->id != NULL ? wb_strdup(bundle->id) : NULL;
    return place;
}

static void keep_value(struct wb_displays *displays, const struct wb_json *mimes)
{
    struct wb_span value = wb_json_span(wb_json_get(mimes, "text/plain"));
    if (value.ptr != NULL) {
        free(displays->value);
        displays->value_len = wb_utf8_cut(value, WB_DISPLAY_VALUE_BYTES_MAX);
        displays->value = wb_strndup(value.ptr, displays->value_len);
    }
}

int wb_displays_take(struct wb_displays *displays, struct wb_span payload, bool is_value,
                     struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct bundle bundle;
    wb_arena_init(&arena);
    if (parse(&arena, payload, &bundle, err) != 0) {
        return -1;
    }
    if (bundle.clear) {
        drop_items(displays);
        displays->clear_mark = bundle.mark;
        return 0;
    }
    if (is_value) {
        keep_value(displays, bundle.mimes);
    }
    struct wb_display *place = take_place(displays, &bundle);
    if (place != NULL) {
        place->is_value = is_value;
        fill(displays, place, &bundle);
    }
    return 0;
}

void wb_displays_add_picture(struct wb_displays *displays, uint64_t mark, const char *mime,
                             struct wb_span bytes)
{
    const struct bundle bundle = {.mark = mark};
    struct wb_display *place = take_place(displays, &bundle);
    if (place != NULL) {
        take_picture(displays, place, mime, bytes);
    }
}

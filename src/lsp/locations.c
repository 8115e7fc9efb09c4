/* locations: see locations.h. Source lines are read from disk, each file once. */
#include "lsp/locations.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/map.h"
#include "sys/file.h"
#include "sys/path.h"

#define SHOWN_LINE_BYTES 300 /* of a source line in text; data has it whole */
#define DATA_LINE_BYTES 4000

struct wb_location *wb_locations_add(struct wb_arena *arena, struct wb_location_list *list)
{
    return WB_ARENA_PUSH(arena, list->items, list->count, list->capacity);
}

static void parse_one(struct wb_arena *arena, const struct wb_json *item,
                      struct wb_location_list *list)
{
    bool is_link = wb_json_get(item, "targetUri") != NULL;
    const struct wb_json *start = is_link ? wb_json_path(item, "targetSelectionRange.start")
                                          : wb_json_path(item, "range.start");
    const char *path =
        wb_path_from_uri(arena, wb_json_span(wb_json_get(item, is_link ? "targetUri" : "uri")));
    if (path == NULL) {
        list->n_foreign++;
        return;
    }
    struct wb_location *location = wb_locations_add(arena, list);
    location->path = path;
    (void)wb_position_read(start, &location->position); /* without a range: the file's beginning */
}

void wb_locations_parse(struct wb_arena *arena, const struct wb_json *answer,
                        struct wb_location_list *list)
{
    if (wb_json_type(answer) == WB_JSON_OBJECT) {
        parse_one(arena, answer, list);
        return;
    }
    for (struct wb_json_iter it = wb_json_iter(answer); wb_json_next(&it);) {
        parse_one(arena, it.value, list);
    }
}

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare(const void *a, const void *b)
{
    const struct wb_location *x = a, *y = b;
    int by = strcmp(x->path, y->path);
    if (by == 0) {
        by = compare_numbers(x->position.line, y->position.line);
    }
    return by != 0 ? by : compare_numbers(x->position.character, y->position.character);
}

void wb_locations_sort(struct wb_location_list *list)
{
    if (list->count < 2) {
        return;
    }
    qsort(list->items, list->count, sizeof(*list->items), compare);
    size_t kept = 1;
    for (size_t i = 1; i < list->count; i++) {
        if (compare(&list->items[kept - 1], &list->items[i]) != 0) {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
}

void wb_locations_drop_missing(struct wb_location_list *list)
{
    size_t kept = 0;
    bool is_there = true;
    for (size_t i = 0; i < list->count; i++) {
        if (i == 0 || !wb_str_equal(list->items[i].path, list->items[i - 1].path)) {
            is_there = wb_file_kind(list->items[i].path, NULL) != WB_FILE_MISSING;
        }
        if (is_there) {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
}

bool wb_locations_equal(const struct wb_location_list *a, const struct wb_location_list *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (compare(&a->items[i], &b->items[i]) != 0) {
            return false;
        }
    }
    return true;
}

/* The file of the places being shown; places are sorted, so one at a time is enough. */
struct source {
    const char *path;
    struct wb_line_index index;
    const char
        *doubtful; /* the first file with a place whose line the server may count otherwise */
    struct wb_error doubt;
};

static void doubt_line(struct source *source, size_t line)
{
    const struct wb_line_index *index = &source->index;
    size_t start = line < index->count ? index->starts[line] : index->text.len;
    if (source->doubtful == NULL && wb_line_index_check(index, start, &source->doubt) != 0) {
        source->doubtful = source->path;
    }
}

static struct wb_span source_line(struct wb_arena *arena, struct source *source,
                                  const struct wb_location *location)
{
    if (source->path == NULL || !wb_str_equal(source->path, location->path)) {
        struct wb_span text = {0};
        if (wb_file_read(arena, location->path, WB_FILE_BYTES_MAX, &text, NULL, NULL) == 0) {
            size_t bom = wb_file_bom(text);
            text.ptr += bom;
            text.len -= bom;
        }
        source->path = location->path;
        wb_line_index_init(arena, text, &source->index);
    }
    doubt_line(source, location->position.line);
    return wb_span_trim(wb_line_index_line(&source->index, location->position.line));
}

static void show_line(struct wb_text *out, const char *shown_path,
                      const struct wb_location *location, struct wb_span line)
{
    size_t cut = wb_utf8_cut(line, SHOWN_LINE_BYTES);
    wb_text_printf(out, "%s:%lld: ", shown_path, (long long)location->position.line + 1);
    wb_text_add_utf8(out, (struct wb_span){line.ptr, cut});
    wb_text_add_str(out, cut < line.len ? "...\n" : "\n");
}

static void put_location(struct wb_json_writer *w, const char *shown_path,
                         const struct wb_location *location, struct wb_span line)
{
    wb_json_begin_object(w);
    wb_json_member_str(w, "path", shown_path);
    wb_json_member_int(w, "line", location->position.line + 1);
    wb_json_member_span(w, "text", (struct wb_span){line.ptr, wb_utf8_cut(line, DATA_LINE_BYTES)});
    wb_json_end_object(w);
}

void wb_locations_show(struct wb_call *call, const struct wb_location_list *list, size_t most,
                       const char *what, struct wb_result *result)
{
    struct source source = {0};
    struct wb_json_writer w;
    wb_result_data(result, &w);
    wb_json_begin_object(&w);
    wb_json_key(&w, "locations");
    wb_json_begin_array(&w);
    for (size_t i = 0; i < list->count; i++) {
        const struct wb_location *location = &list->items[i];
        struct wb_span line = location->label != NULL ? wb_span(location->label)
                                                      : source_line(call->arena, &source, location);
        const char *shown_path = wb_call_relative(call, location->path);
        if (i < most) {
            show_line(&result->text, shown_path, location, line);
        }
        put_location(&w, shown_path, location, line);
    }
    wb_json_end_array(&w);
    wb_json_member_int(&w, "total", (int64_t)list->count);
    wb_json_end_object(&w);
    if (list->count > most) {
        wb_text_printf(&result->text, "%zu of %zu %s shown\n", most, list->count, what);
    }
    if (source.doubtful != NULL) {
        wb_text_printf(&result->text, "Doubtful lines in %s: %s\n",
                       wb_call_relative(call, source.doubtful), source.doubt.message);
    }
    if (list->n_foreign > 0) {
        wb_text_printf(&result->text, "%zu more are not in files\n", list->n_foreign);
    }
}

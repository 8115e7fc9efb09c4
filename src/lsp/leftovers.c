/* leftovers: see leftovers.h. */
#include "lsp/leftovers.h"

#include "base/limits.h"
#include "run/run.h"
#include "sys/file.h"
#include "sys/walk.h"

#define PLACES_KEPT 20
#define BYTES_SEARCHED_MAX (256 * WB_MIB)
#define FILE_BYTES_MAX (4 * WB_MIB)

struct search {
    struct wb_call *call;
    struct wb_span name;
    size_t bytes;
    struct wb_leftovers *ret;
    void (*on_file)(void *ctx, const char *path); /* for each file that has the name; or NULL */
    void *ctx;
};

static bool is_word_at(struct wb_span text, size_t at)
{
    uint32_t c;
    if (at >= text.len) {
        return false;
    }
    (void)wb_utf8_decode(text.ptr + at, text.len - at, &c);
    return wb_utf8_is_word(c);
}

static bool is_word_before(struct wb_span text, size_t at)
{
    size_t start = at;
    while (start > 0 && at - start < 4 && ((unsigned char)text.ptr[start - 1] & 0xc0) == 0x80) {
        start--;
    }
    return start > 0 && is_word_at(text, start - 1);
}

static void keep_place(struct search *search, const char *path, const struct wb_line_index *index,
                       size_t at)
{
    struct wb_arena *arena = search->call->arena;
    if (search->ret->places.count < PLACES_KEPT) {
        struct wb_location *place = wb_locations_add(arena, &search->ret->places);
        place->path = wb_arena_strdup(arena, path);
        place->position = wb_position_from_offset(index, WB_POSITION_UTF8, at);
    }
}

static void search_text(struct search *search, const char *path, struct wb_span text)
{
    size_t before = search->ret->total;
    struct wb_line_index index = {0};
    for (size_t at = 0; (at = wb_span_find(text, search->name, at)) != SIZE_MAX;) {
        size_t end = at + search->name.len;
        if (!is_word_before(text, at) && !is_word_at(text, end)) {
            if (index.count == 0) {
                wb_line_index_init(search->call->arena, text, &index);
            }
            keep_place(search, path, &index, at);
            search->ret->total++;
        }
        at = end;
    }
    if (search->ret->total > before) {
        search->ret->n_files++;
        if (search->on_file != NULL) {
            search->on_file(search->ctx, path);
        }
    }
}

static bool visit(void *ctx, const struct wb_walk_entry *entry)
{
    struct search *search = ctx;
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    struct wb_span text;
    if (wb_file_read(&arena, entry->path, FILE_BYTES_MAX, &text, NULL, NULL) == 0 &&
        !wb_file_is_binary(text)) {
        search_text(search, entry->path, text);
        search->bytes += text.len;
    }
    search->ret->cut = search->bytes > BYTES_SEARCHED_MAX;
    return !search->ret->cut;
}

static void run_search(struct search *search)
{
    struct wb_walk_options options = {.cancel = search->call->cancel};
    const char *workspace = wb_run_workspace(search->call->run);
    (void)wb_walk(workspace, workspace, &options, visit, search, NULL, NULL);
}

void wb_leftovers_find(struct wb_call *call, struct wb_span name, struct wb_leftovers *ret)
{
    *ret = (struct wb_leftovers){0};
    struct search search = {.call = call, .name = name, .ret = ret};
    run_search(&search);
    wb_locations_sort(&ret->places);
}

void wb_leftovers_visit(struct wb_call *call, struct wb_span name,
                        void (*on_file)(void *ctx, const char *path), void *ctx)
{
    struct wb_leftovers found = {0};
    struct search search = {
        .call = call, .name = name, .ret = &found, .on_file = on_file, .ctx = ctx};
    run_search(&search);
}

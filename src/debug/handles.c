/* handles: see handles.h. */
#include "debug/handles.h"

#include <stdlib.h>

void wb_handles_init(struct wb_handles *handles)
{
    *handles = (struct wb_handles){.first = 1};
}

void wb_handles_clear(struct wb_handles *handles)
{
    for (size_t i = 0; i < handles->count; i++) {
        free(handles->items[i].name);
    }
    handles->first += (int64_t)handles->count;
    handles->count = 0;
}

void wb_handles_done(struct wb_handles *handles)
{
    wb_handles_clear(handles);
    free(handles->items);
}

static bool is_same(const struct wb_handle *a, const struct wb_handle *b)
{
    if (a->kind != b->kind || a->link != b->link || a->id != b->id) {
        return false;
    }
    return a->kind == WB_HANDLE_FRAME ? a->thread_id == b->thread_id && a->index == b->index
                                      : a->frame == b->frame && (a->kind == WB_HANDLE_CHILD ||
                                                                 wb_str_equal(a->name, b->name));
}

int64_t wb_handles_add(struct wb_handles *handles, const struct wb_handle *handle)
{
    for (size_t i = 0; i < handles->count; i++) {
        if (is_same(&handles->items[i], handle)) {
            return handles->first + (int64_t)i;
        }
    }
    if (handles->count >= WB_HANDLES_MAX) {
        return 0;
    }
    WB_GROW(handles->items, handles->capacity, handles->count + 1);
    struct wb_handle *item = &handles->items[handles->count++];
    *item = *handle;
    item->name = handle->name != NULL ? wb_strdup(handle->name) : NULL;
    return handles->first + (int64_t)handles->count - 1;
}

const struct wb_handle *wb_handles_find(const struct wb_handles *handles, int64_t id, bool is_frame,
                                        struct wb_error *err)
{
    const char *what = is_frame ? "frame_id" : "reference";
    const char *fresh = is_frame ? "`stack` gives frame ids"
                                 : "`scopes`, `variables` and `evaluate` give references";
    if (id > 0 && id < handles->first) {
        wb_error_set(err, WB_ERROR_STALE,
                     "%s %lld is of an earlier stop; the program has moved since. %s of this one",
                     what, (long long)id, fresh);
        return NULL;
    }
    if (id < handles->first || id - handles->first >= (int64_t)handles->count) {
        wb_error_set(err, WB_ERROR_NOT_FOUND, "there is no %s %lld; %s", what, (long long)id,
                     fresh);
        return NULL;
    }
    const struct wb_handle *item = &handles->items[id - handles->first];
    if ((item->kind == WB_HANDLE_FRAME) != is_frame) {
        wb_error_set(err, WB_ERROR_INVALID, "%lld is a %s, and no %s; %s", (long long)id,
                     is_frame ? "reference" : "frame_id", what, fresh);
        return NULL;
    }
    return item;
}

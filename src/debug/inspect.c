/* inspect: see inspect.h. */
#include "debug/inspect.h"

#include <stdio.h>

#define STACK_TOTAL_MAX 100000
#define CHILDREN_WHOLE_MAX 500 /* fetched in one go, though 50 are shown */
#define HASH_BYTES 19          /* "::h" and 16 digits */

static int ask(struct wb_inspect *it, unsigned link, const char *command,
               const struct wb_text *arguments, const struct wb_json **ret, struct wb_error *err)
{
    return wb_debug_session_ask(it->session, link, command, wb_text_span(arguments),
                                it->deadline_ms, it->cancel, it->arena, ret, err);
}

static int need_stop(struct wb_inspect *it, struct wb_debug_view *view, struct wb_error *err)
{
    wb_debug_session_view(it->session, it->arena, view);
    if (view->state == WB_DEBUGGEE_STOPPED) {
        return 0;
    }
    if (view->state == WB_DEBUGGEE_ENDED) {
        return wb_error_set(err, WB_ERROR_CLOSED, "the session has ended: %s", view->end_reason);
    }
    return wb_error_set(err, WB_ERROR_UNAVAILABLE,
                        "the program is %s, and can be looked at only while it is stopped; `pause` "
                        "stops it",
                        wb_debuggee_state_name(view->state));
}

/* --- threads --- */

int wb_inspect_threads(struct wb_inspect *it, struct wb_thread_item **ret, size_t *ret_n,
                       struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text arguments = {0};
    const struct wb_json *body;
    size_t capacity = 0;
    if (ask(it, wb_debug_session_link(it->session), "threads", &arguments, &body, err) != 0) {
        return -1;
    }
    *ret = NULL;
    *ret_n = 0;
    for (struct wb_json_iter each = wb_json_iter(wb_json_get(body, "threads"));
         wb_json_next(&each);) {
        struct wb_thread_item *item = WB_ARENA_PUSH(it->arena, *ret, *ret_n, capacity);
        item->thread_id = wb_json_int_or(wb_json_get(each.value, "id"), 0);
        item->name = wb_json_str_or(wb_json_get(each.value, "name"), "");
    }
    return 0;
}

/* --- stack --- */

/* Rust's old mangling ends every name with a hash: "app::parse::h0123456789abcdef". */
static const char *plain_name(struct wb_arena *arena, const char *name)
{
    size_t len = strlen(name);
    if (len <= HASH_BYTES || strncmp(name + len - HASH_BYTES, "::h", 3) != 0 ||
        strspn(name + len - HASH_BYTES + 3, "0123456789abcdef") != HASH_BYTES - 3) {
        return name;
    }
    return wb_arena_strndup(arena, name, len - HASH_BYTES);
}

static bool read_frame(struct wb_inspect *it, const struct wb_debug_view *view, int64_t thread_id,
                       const struct wb_json *json, size_t index, struct wb_frame_item *ret)
{
    struct wb_handle handle = {.kind = WB_HANDLE_FRAME,
                               .link = view->stop.link,
                               .thread_id = thread_id,
                               .index = (int64_t)index};
    const char *path = wb_json_str(wb_json_path(json, "source.path"));
    const char *hint = wb_json_str_or(wb_json_get(json, "presentationHint"), "");
    const char *source_hint = wb_json_str_or(wb_json_path(json, "source.presentationHint"), "");
    int64_t virtual_source = wb_json_int_or(wb_json_path(json, "source.sourceReference"), 0);
    if (!wb_json_int(wb_json_get(json, "id"), &handle.id)) {
        return false;
    }
    *ret = (struct wb_frame_item){
        .frame_id = wb_debug_session_add_handle(it->session, view->stop.epoch, &handle),
        .name = plain_name(it->arena, wb_json_str_or(wb_json_get(json, "name"), "?")),
        .path = path != NULL && *path == '/' && virtual_source == 0 ? path : NULL,
        .line = wb_json_int_or(wb_json_get(json, "line"), 0),
        .is_subtle = wb_str_equal(hint, "subtle") || wb_str_equal(hint, "label") ||
                     wb_str_equal(source_hint, "deemphasize"),
    };
    return ret->frame_id != 0;
}

int wb_inspect_stack(struct wb_inspect *it, const int64_t *thread, size_t max,
                     struct wb_frame_item **ret, size_t *ret_n, size_t *ret_total,
                     struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text arguments = {0};
    struct wb_debug_view view;
    const struct wb_json *body;
    if (need_stop(it, &view, err) != 0) {
        return -1;
    }
    int64_t thread_id = thread != NULL ? *thread : view.stop.thread_id;
    wb_text_printf(&arguments, "{\"threadId\":%lld,\"startFrame\":0,\"levels\":%zu}",
                   (long long)thread_id, max);
    if (ask(it, view.stop.link, "stackTrace", &arguments, &body, err) != 0) {
        return -1;
    }
    const struct wb_json *frames = wb_json_get(body, "stackFrames");
    *ret = wb_arena_alloc_array(it->arena, max + 1, sizeof(**ret));
    *ret_n = 0;
    for (struct wb_json_iter each = wb_json_iter(frames); *ret_n < max && wb_json_next(&each);) {
        *ret_n += read_frame(it, &view, thread_id, each.value, each.index, &(*ret)[*ret_n]);
    }
    int64_t total = wb_json_int_or(wb_json_get(body, "totalFrames"), 0);
    size_t given = wb_json_count(frames); /* some give all, whatever was asked for */
    *ret_total = WB_MAX(given, total > 0 && total < STACK_TOTAL_MAX ? (size_t)total : 0);
    return 0;
}

/* --- scopes --- */

static int ask_scopes(struct wb_inspect *it, const struct wb_handle *frame, int64_t frame_id,
                      const struct wb_json **ret, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text arguments = {0};
    const struct wb_json *body;
    wb_text_printf(&arguments, "{\"frameId\":%lld}", (long long)frame->id);
    if (ask(it, frame->link, "scopes", &arguments, &body, err) != 0) {
        return -1;
    }
    wb_debug_session_note_scopes(it->session, frame_id);
    *ret = wb_json_get(body, "scopes");
    return 0;
}

int wb_inspect_scopes(struct wb_inspect *it, int64_t frame_id, struct wb_scope_item **ret,
                      size_t *ret_n, struct wb_error *err)
{
    struct wb_handle frame;
    uint64_t epoch;
    const struct wb_json *scopes;
    size_t capacity = 0;
    if (wb_debug_session_find_handle(it->session, frame_id, true, it->arena, &frame, &epoch, err) !=
            0 ||
        ask_scopes(it, &frame, frame_id, &scopes, err) != 0) {
        return -1;
    }
    *ret = NULL;
    *ret_n = 0;
    for (struct wb_json_iter each = wb_json_iter(scopes); wb_json_next(&each);) {
        struct wb_handle handle = {
            .kind = WB_HANDLE_SCOPE,
            .link = frame.link,
            .id = wb_json_int_or(wb_json_get(each.value, "variablesReference"), 0),
            .frame = frame_id,
            .name = (char *)wb_json_str_or(wb_json_get(each.value, "name"), ""),
        };
        struct wb_scope_item *item = WB_ARENA_PUSH(it->arena, *ret, *ret_n, capacity);
        item->name = handle.name;
        item->is_expensive = wb_json_bool(wb_json_get(each.value, "expensive"), false);
        item->reference =
            handle.id != 0 ? wb_debug_session_add_handle(it->session, epoch, &handle) : 0;
    }
    return 0;
}

/* --- variables --- */

/* The adapter's reference of the scope now. One that another frame's scopes were asked for since may
 * mean that other frame's: then the scopes are asked for again. */
static int refresh_scope(struct wb_inspect *it, struct wb_handle *scope, struct wb_error *err)
{
    struct wb_handle frame;
    uint64_t epoch;
    const struct wb_json *scopes;
    int64_t last = wb_debug_session_note_scopes(it->session, scope->frame);
    if (last == scope->frame) {
        return 0;
    }
    if (wb_debug_session_find_handle(it->session, scope->frame, true, it->arena, &frame, &epoch,
                                     err) != 0 ||
        ask_scopes(it, &frame, scope->frame, &scopes, err) != 0) {
        return -1;
    }
    for (struct wb_json_iter each = wb_json_iter(scopes); wb_json_next(&each);) {
        if (wb_str_equal(wb_json_str_or(wb_json_get(each.value, "name"), ""), scope->name)) {
            scope->id = wb_json_int_or(wb_json_get(each.value, "variablesReference"), scope->id);
        }
    }
    return 0;
}

static int find_reference(struct wb_inspect *it, int64_t reference, struct wb_handle *ret,
                          uint64_t *ret_epoch, struct wb_error *err)
{
    if (wb_debug_session_find_handle(it->session, reference, false, it->arena, ret, ret_epoch,
                                     err) != 0) {
        return -1;
    }
    return ret->kind == WB_HANDLE_SCOPE ? refresh_scope(it, ret, err) : 0;
}

static int64_t child_handle(struct wb_inspect *it, const struct wb_handle *parent, uint64_t epoch,
                            const struct wb_json *json)
{
    int64_t n_indexed = WB_MAX(wb_json_int_or(wb_json_get(json, "indexedVariables"), 0), 0);
    struct wb_handle handle = {
        .kind = WB_HANDLE_CHILD,
        .link = parent->link,
        .id = wb_json_int_or(wb_json_get(json, "variablesReference"), 0),
        .frame = parent->frame,
        .n_indexed = n_indexed,
        .n_children = n_indexed + WB_MAX(wb_json_int_or(wb_json_get(json, "namedVariables"), 0), 0),
    };
    return handle.id != 0 ? wb_debug_session_add_handle(it->session, epoch, &handle) : 0;
}

static void read_variable(struct wb_inspect *it, const struct wb_handle *parent, uint64_t epoch,
                          const struct wb_json *json, const char *value_key,
                          struct wb_variable_item *ret)
{
    const char *type = wb_json_str(wb_json_get(json, "type"));
    *ret = (struct wb_variable_item){
        .name = wb_json_str_or(wb_json_get(json, "name"), ""),
        .value = wb_json_str_or(wb_json_get(json, value_key), ""),
        .type = type != NULL && *type != '\0' ? type : NULL,
        .reference = child_handle(it, parent, epoch, json),
    };
}

/* What a request for children is to give. */
struct part {
    const char *filter; /* "indexed", "named", or NULL: both */
    int64_t start;
    size_t max;
    bool is_whole; /* they are known to be few */
};

/* Appends up to part->max children to items. ret_seen: how many there are at least, from `start` 0. */
static int ask_children(struct wb_inspect *it, const struct wb_handle *handle, uint64_t epoch,
                        const struct part *part, struct wb_variable_item *items, size_t *n,
                        size_t *ret_seen, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text arguments = {0};
    const struct wb_json *body;
    wb_text_printf(&arguments, "{\"variablesReference\":%lld", (long long)handle->id);
    if (part->filter != NULL) {
        wb_text_printf(&arguments, ",\"filter\":\"%s\"", part->filter);
    }
    if (!part->is_whole) {
        wb_text_printf(&arguments, ",\"start\":%lld,\"count\":%zu", (long long)part->start,
                       part->max + 1);
    }
    wb_text_add_char(&arguments, '}');
    if (ask(it, handle->link, "variables", &arguments, &body, err) != 0) {
        return -1;
    }
    const struct wb_json *list = wb_json_get(body, "variables");
    size_t given = wb_json_count(list);
    size_t skip = part->start > 0 && given > part->max + 1 ? WB_MIN((size_t)part->start, given) : 0;
    size_t end = *n + part->max;
    for (struct wb_json_iter each = wb_json_iter(list); *n < end && wb_json_next(&each);) {
        if (each.index >= skip) {
            read_variable(it, handle, epoch, each.value, "value", &items[(*n)++]);
        }
    }
    *ret_seen = skip > 0 ? given : given + (size_t)part->start;
    return 0;
}

/* A part is asked for where all may be much; `start` and `count` are heeded by some only. One more
 * than wanted tells that there is more. Elements come before names, and by a request of their own:
 * without it delve and rdbg do not give those that are asked for. */
int wb_inspect_variables(struct wb_inspect *it, int64_t reference, int64_t start, size_t max,
                         struct wb_variable_item **ret, size_t *ret_n, size_t *ret_total,
                         struct wb_error *err)
{
    struct wb_handle handle;
    uint64_t epoch;
    if (find_reference(it, reference, &handle, &epoch, err) != 0) {
        return -1;
    }
    start = WB_MAX(start, 0);
    bool is_few = handle.n_children > 0 && handle.n_children <= CHILDREN_WHOLE_MAX;
    struct part part = {.start = start, .max = max, .is_whole = start == 0 && is_few};
    size_t seen = 0;
    *ret = wb_arena_alloc_array(it->arena, max + 1, sizeof(**ret));
    *ret_n = 0;
    if (start < handle.n_indexed) {
        part.filter = "indexed";
        part.is_whole = false; /* without a count delve gives none */
        if (ask_children(it, &handle, epoch, &part, *ret, ret_n, &seen, err) != 0) {
            return -1;
        }
        part = (struct part){.max = max - *ret_n, .is_whole = is_few};
    } else if (handle.n_indexed > 0) {
        part.start = start - handle.n_indexed;
    }
    bool has_names = handle.n_indexed == 0 || handle.n_children > handle.n_indexed;
    if (has_names && part.max > 0) {
        part.filter = handle.n_indexed > 0 ? "named" : NULL;
        if (ask_children(it, &handle, epoch, &part, *ret, ret_n, &seen, err) != 0) {
            return -1;
        }
        seen += (size_t)handle.n_indexed;
    }
    *ret_total = WB_MAX(seen, (size_t)handle.n_children);
    return 0;
}

/* --- evaluate, set --- */

/* Beginnings that an adapter takes for commands to itself, whatever the context says. */
static int check_expression(const struct wb_debug_view *view, const char *expression,
                            struct wb_error *err)
{
    while (*expression == ' ' || *expression == '\t' || *expression == '\n') {
        expression++;
    }
    for (const char **prefix = view->row->no_evaluate; *prefix != NULL; prefix++) {
        if (wb_str_starts(expression, *prefix)) {
            return wb_error_set(err, WB_ERROR_DENIED,
                                "%s takes what begins with \"%s\" for a command to itself, and not "
                                "for an expression of the program: it was not sent",
                                view->row->id, *prefix);
        }
    }
    return 0;
}

const struct wb_frame_item *wb_inspect_shown_frame(const struct wb_frame_item *frames, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (frames[i].path != NULL && !frames[i].is_subtle) {
            return &frames[i];
        }
    }
    return n > 0 ? &frames[0] : NULL;
}

/* Without a frame, adapters evaluate globally, or as a console's statement. */
static int default_frame(struct wb_inspect *it, int64_t *ret, struct wb_error *err)
{
    struct wb_frame_item *frames;
    size_t n, total;
    if (wb_inspect_stack(it, NULL, WB_DEBUG_FRAMES_SEARCHED, &frames, &n, &total, err) != 0) {
        return -1;
    }
    if (n == 0) {
        return wb_error_set(err, WB_ERROR_UNAVAILABLE,
                            "the stopped thread has no frame to evaluate in");
    }
    *ret = wb_inspect_shown_frame(frames, n)->frame_id;
    return 0;
}

int wb_inspect_evaluate(struct wb_inspect *it, const char *expression, int64_t frame_id,
                        struct wb_variable_item *ret, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text arguments = {0};
    struct wb_json_writer w;
    struct wb_debug_view view;
    struct wb_handle frame;
    uint64_t epoch;
    const struct wb_json *body;
    if (need_stop(it, &view, err) != 0 || check_expression(&view, expression, err) != 0 ||
        (frame_id == 0 && default_frame(it, &frame_id, err) != 0) ||
        wb_debug_session_find_handle(it->session, frame_id, true, it->arena, &frame, &epoch, err) !=
            0) {
        return -1;
    }
    wb_json_writer_init(&w, &arguments);
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "expression", expression);
    wb_json_member_int(&w, "frameId", frame.id);
    wb_json_member_str(&w, "context", "watch");
    wb_json_end_object(&w);
    if (ask(it, frame.link, "evaluate", &arguments, &body, err) != 0) {
        return -1;
    }
    frame.frame = frame_id;
    read_variable(it, &frame, epoch, body, "result", ret);
    ret->name = expression;
    for (const char **prefix = view.row->failed_values; *prefix != NULL; prefix++) {
        if (wb_str_starts(ret->value, *prefix)) {
            return wb_error_set(err, WB_ERROR_UNAVAILABLE, "%s: %s", view.row->id, ret->value);
        }
    }
    return 0;
}

int wb_inspect_set(struct wb_inspect *it, int64_t reference, const char *name, const char *value,
                   struct wb_variable_item *ret, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text arguments = {0};
    struct wb_json_writer w;
    struct wb_dap_capabilities can;
    struct wb_debug_view view;
    struct wb_handle handle;
    uint64_t epoch;
    const struct wb_json *body;
    wb_debug_session_capabilities(it->session, it->arena, &can);
    if (need_stop(it, &view, err) != 0) {
        return -1;
    }
    if (!can.set_variable) {
        return wb_error_set(err, WB_ERROR_UNAVAILABLE,
                            "%s cannot set variables; `evaluate` of an assignment may",
                            view.row->id);
    }
    if (check_expression(&view, value, err) != 0 ||
        find_reference(it, reference, &handle, &epoch, err) != 0) {
        return -1;
    }
    wb_json_writer_init(&w, &arguments);
    wb_json_begin_object(&w);
    wb_json_member_int(&w, "variablesReference", handle.id);
    wb_json_member_str(&w, "name", name);
    wb_json_member_str(&w, "value", value);
    wb_json_end_object(&w);
    if (ask(it, handle.link, "setVariable", &arguments, &body, err) != 0) {
        return -1;
    }
    read_variable(it, &handle, epoch, body, "value", ret);
    ret->name = name;
    return 0;
}

void wb_inspect_add_value(struct wb_text *out, const char *value)
{
    struct wb_span whole = wb_span(value);
    size_t cut = 0, characters = 0;
    uint32_t codepoint;
    while (cut < whole.len && characters < WB_DEBUG_VALUE_CHARACTERS_MAX) {
        size_t len = wb_utf8_decode(whole.ptr + cut, whole.len - cut, &codepoint);
        cut += len != 0 ? len : 1;
        characters++;
    }
    wb_text_add(out, whole.ptr, cut);
    if (cut < whole.len) {
        struct wb_span rest = {whole.ptr + cut, whole.len - cut};
        wb_text_printf(out, " ... (%zu more characters)", wb_utf8_count(rest));
    }
}

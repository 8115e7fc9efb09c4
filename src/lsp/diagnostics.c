/* diagnostics: see diagnostics.h. Knows no server. */
#include "lsp/diagnostics.h"

#include <stdlib.h>

#include "sys/path.h"

const char *wb_severity_name(enum wb_severity severity)
{
    static const char *const names[] = {"error", "error", "warning", "information", "hint"};
    return names[severity <= WB_SEVERITY_HINT ? severity : WB_SEVERITY_ERROR];
}

bool wb_severity_parse(struct wb_span name, enum wb_severity *ret)
{
    for (enum wb_severity severity = WB_SEVERITY_ERROR; severity <= WB_SEVERITY_HINT; severity++) {
        if (wb_span_is(name, wb_severity_name(severity))) {
            *ret = severity;
            return true;
        }
    }
    return false;
}

const char *wb_answer_state_name(enum wb_answer_state state)
{
    static const char *const names[] = {"clean", "findings", "unknown"};
    return names[state];
}

struct wb_diagnostic *wb_diagnostics_add(struct wb_arena *arena, struct wb_diagnostic_list *list)
{
    struct wb_diagnostic *item = WB_ARENA_PUSH(arena, list->items, list->count, list->capacity);
    *item = (struct wb_diagnostic){
        .path = "", .severity = WB_SEVERITY_ERROR, .source = "", .code = "", .message = ""};
    return item;
}

/* A code is a number, a string, or an object with a value (3.16 codeDescription aside). */
static const char *read_code(struct wb_arena *arena, const struct wb_json *code)
{
    if (wb_json_type(code) == WB_JSON_OBJECT) {
        code = wb_json_get(code, "value");
    }
    int64_t number;
    if (wb_json_int(code, &number)) {
        return wb_arena_printf(arena, "%lld", (long long)number);
    }
    return wb_arena_strdup(arena, wb_json_str_or(code, ""));
}

static const char *read_message(struct wb_arena *arena, const struct wb_json *message)
{
    if (wb_json_type(message) == WB_JSON_OBJECT) { /* MarkupContent (3.18) */
        message = wb_json_get(message, "value");
    }
    struct wb_text text;
    wb_text_init(&text);
    wb_text_add_utf8(&text, wb_span_trim(wb_json_span(message)));
    const char *copy = wb_arena_strndup(arena, wb_text_cstr(&text), text.len);
    wb_text_done(&text);
    return copy;
}

static void parse_one(struct wb_arena *arena, const struct wb_json *item, const char *path,
                      const char *source, struct wb_diagnostic_list *list)
{
    if (wb_json_type(item) != WB_JSON_OBJECT) {
        return;
    }
    struct wb_diagnostic *diagnostic = wb_diagnostics_add(arena, list);
    int64_t severity = wb_json_int_or(wb_json_get(item, "severity"), WB_SEVERITY_ERROR);
    diagnostic->path = path;
    diagnostic->line = wb_json_int_or(wb_json_path(item, "range.start.line"), 0) + 1;
    diagnostic->column = wb_json_int_or(wb_json_path(item, "range.start.character"), 0);
    diagnostic->severity = severity >= WB_SEVERITY_ERROR && severity <= WB_SEVERITY_HINT
                               ? (enum wb_severity)severity
                               : WB_SEVERITY_ERROR;
    diagnostic->source =
        wb_arena_strdup(arena, wb_json_str_or(wb_json_get(item, "source"), source));
    diagnostic->code = read_code(arena, wb_json_get(item, "code"));
    diagnostic->message = read_message(arena, wb_json_get(item, "message"));
}

void wb_diagnostics_parse(struct wb_arena *arena, const struct wb_json *items, const char *path,
                          const char *source, struct wb_diagnostic_list *list)
{
    const char *own_path = wb_arena_strdup(arena, path);
    for (struct wb_json_iter it = wb_json_iter(items); wb_json_next(&it);) {
        parse_one(arena, it.value, own_path, source, list);
    }
}

void wb_diagnostics_copy(struct wb_arena *arena, struct wb_diagnostic_list *to,
                         const struct wb_diagnostic_list *from)
{
    for (size_t i = 0; i < from->count; i++) {
        struct wb_diagnostic *copy = wb_diagnostics_add(arena, to);
        *copy = from->items[i];
        copy->path = wb_arena_strdup(arena, copy->path);
        copy->source = wb_arena_strdup(arena, copy->source);
        copy->code = wb_arena_strdup(arena, copy->code);
        copy->message = wb_arena_strdup(arena, copy->message);
    }
}

static int compare(const void *a, const void *b)
{
    const struct wb_diagnostic *x = a, *y = b;
    int by = strcmp(x->path, y->path);
    if (by == 0) {
        by = (x->line > y->line) - (x->line < y->line);
    }
    if (by == 0) {
        by = (int)x->severity - (int)y->severity;
    }
    if (by == 0) {
        by = (x->column > y->column) - (x->column < y->column);
    }
    if (by == 0) {
        by = strcmp(x->message, y->message);
    }
    return by != 0 ? by : strcmp(x->code, y->code);
}

void wb_diagnostics_sort(struct wb_diagnostic_list *list)
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

uint64_t wb_diagnostic_key(const struct wb_diagnostic *diagnostic)
{
    uint64_t key = wb_hash(wb_span(diagnostic->message));
    key = key * 31 + wb_hash(wb_span(diagnostic->code));
    return key * 31 + (uint64_t)diagnostic->severity;
}

/* A message of several lines stays one line here; data has it whole. */
void wb_diagnostic_line(struct wb_text *out, const struct wb_diagnostic *diagnostic,
                        const char *shown_path)
{
    wb_text_add_str(out, shown_path);
    if (diagnostic->line > 0) {
        wb_text_printf(out, ":%lld", (long long)diagnostic->line);
    }
    wb_text_printf(out, ": %s: ", wb_severity_name(diagnostic->severity));
    for (const char *p = diagnostic->message; *p != '\0'; p++) {
        wb_text_add_char(out, *p == '\n' || *p == '\r' ? ' ' : *p);
    }
    if (*diagnostic->source != '\0' || *diagnostic->code != '\0') {
        wb_text_printf(out, " [%s%s%s]", diagnostic->source,
                       *diagnostic->source != '\0' && *diagnostic->code != '\0' ? " " : "",
                       diagnostic->code);
    }
    wb_text_add_char(out, '\n');
}

static void put_diagnostic(struct wb_json_writer *w, const char *workspace,
                           const struct wb_diagnostic *diagnostic)
{
    wb_json_begin_object(w);
    wb_json_member_str(w, "path", wb_path_relative(diagnostic->path, workspace));
    wb_json_member_int(w, "line", diagnostic->line);
    wb_json_member_str(w, "severity", wb_severity_name(diagnostic->severity));
    wb_json_member_str(w, "source", diagnostic->source);
    wb_json_member_str(w, "code", diagnostic->code);
    wb_json_member_str(w, "message", diagnostic->message);
    wb_json_end_object(w);
}

enum wb_answer_state wb_diagnostics_state(const struct wb_diagnostic_list *list,
                                          const struct wb_server_answer *answers, size_t n_answers)
{
    if (list->count > 0) {
        return WB_ANSWER_FINDINGS;
    }
    for (size_t i = 0; i < n_answers; i++) {
        if (answers[i].state == WB_ANSWER_UNKNOWN) {
            return WB_ANSWER_UNKNOWN;
        }
    }
    return n_answers > 0 ? WB_ANSWER_CLEAN : WB_ANSWER_UNKNOWN;
}

void wb_diagnostics_json(struct wb_json_writer *w, const char *workspace,
                         const struct wb_diagnostic_list *list,
                         const struct wb_server_answer *answers, size_t n_answers)
{
    wb_json_begin_object(w);
    wb_json_member_str(w, "state",
                       wb_answer_state_name(wb_diagnostics_state(list, answers, n_answers)));
    wb_json_key(w, "diagnostics");
    wb_json_begin_array(w);
    for (size_t i = 0; i < list->count; i++) {
        put_diagnostic(w, workspace, &list->items[i]);
    }
    wb_json_end_array(w);
    wb_json_key(w, "servers");
    wb_json_begin_array(w);
    for (size_t i = 0; i < n_answers; i++) {
        wb_json_begin_object(w);
        wb_json_member_str(w, "name", answers[i].server);
        wb_json_member_str(w, "state", wb_answer_state_name(answers[i].state));
        if (answers[i].reason != NULL) {
            wb_json_member_str(w, "reason", answers[i].reason);
        }
        wb_json_end_object(w);
    }
    wb_json_end_array(w);
    wb_json_end_object(w);
}

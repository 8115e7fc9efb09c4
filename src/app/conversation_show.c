/* conversation_show: see the header. */
#include "app/conversation_show.h"

#include "base/json.h"
#include "run/result.h"
#include "sys/file.h"
#include "sys/path.h"

#define TEXT_LINES_MAX 60 /* of one result, as text */

static const char style[] =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#222;background:#fff}h1{font-size:1.3rem}section{border-left:3px solid #ccc;"
    "margin:1rem 0;padding:.1rem 0 .1rem .8rem}section.error{border-color:#c33}"
    "section.card,section.answer{border-color:#36c}header{color:#666;font-size:.85rem}"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.3rem 0;font:13px/1.4 monospace}"
    "img{max-width:100%;display:block;margin:.5rem 0}"
    "iframe{width:100%;height:20rem;border:1px solid #ccc;background:#fff;resize:vertical}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}}";

/* The next whole event of the transcript, parsed into the arena. NULL at the end. */
static const struct wb_json *next_event(struct wb_arena *arena, struct wb_span *rest)
{
    struct wb_span line;
    struct wb_error ignored;
    while (wb_span_next_line(rest, &line)) {
        const struct wb_json *event =
            line.len > 0 && wb_utf8_valid(line) ? wb_json_parse(arena, line, &ignored) : NULL;
        if (wb_json_type(event) == WB_JSON_OBJECT) {
            return event;
        }
    }
    return NULL;
}

static const char *str(const struct wb_json *event, const char *key)
{
    return wb_json_str_or(wb_json_get(event, key), "");
}

/* "10:20:30" of "2026-12-01T10:20:30.123Z". */
static struct wb_span time_of(const struct wb_json *event)
{
    struct wb_span time = wb_span(str(event, "time"));
    return time.len > 19 ? (struct wb_span){time.ptr + 11, 8} : time;
}

/* What an event is about, on one line. */
static void put_head(const struct wb_json *event, struct wb_text *out)
{
    const char *kind = str(event, "kind");
    wb_text_add_str(out, kind);
    if (str(event, "tool")[0] != '\0') {
        wb_text_printf(out, " %s", str(event, "tool"));
    }
    if (wb_json_bool(wb_json_get(event, "is_error"), false)) {
        wb_text_add_str(out, " (error)");
    }
    if (wb_json_get(event, "card") != NULL) {
        wb_text_printf(out, " %lld", (long long)wb_json_int_or(wb_json_get(event, "card"), 0));
    }
    if (wb_str_equal(kind, "answer")) {
        wb_text_printf(out, ": %s", str(event, "outcome"));
    }
}

static void put_strings(const struct wb_json *array, struct wb_text *out)
{
    for (struct wb_json_iter it = wb_json_iter(array); wb_json_next(&it);) {
        wb_text_printf(out, "%s\n", wb_json_str_or(it.value, ""));
    }
}

static void put_files(const struct wb_json *files, struct wb_text *out)
{
    for (struct wb_json_iter it = wb_json_iter(files); wb_json_next(&it);) {
        wb_text_printf(out, "%s %s\n", str(it.value, "change"), str(it.value, "path"));
    }
}

static void put_diagnostics(const struct wb_json *diagnostics, struct wb_text *out)
{
    for (struct wb_json_iter it = wb_json_iter(diagnostics); wb_json_next(&it);) {
        wb_text_printf(out, "%s:%lld: %s: %s\n", str(it.value, "path"),
                       (long long)wb_json_int_or(wb_json_get(it.value, "line"), 0),
                       str(it.value, "severity"), str(it.value, "message"));
    }
}

/* What a cell displayed besides the text that its result has. */
static void put_form_names(const struct wb_json *forms, struct wb_text *out)
{
    for (struct wb_json_iter it = wb_json_iter(forms); wb_json_next(&it);) {
        wb_text_printf(out, "[%s]\n", it.key);
    }
}

/* All that an event says. */
static void put_body(struct wb_arena *arena, const struct wb_json *event, struct wb_text *out)
{
    const struct wb_json *arguments = wb_json_get(event, "arguments");
    static const char *const texts[] = {"workspace", "question", "context", "arguments_text",
                                        "text"};
    if (arguments != NULL) {
        wb_text_add_span(out, wb_json_write(arena, arguments));
        wb_text_add_char(out, '\n');
    }
    for (size_t i = 0; i < WB_COUNT(texts); i++) {
        struct wb_span text = wb_json_span(wb_json_get(event, texts[i]));
        if (text.len > 0) {
            wb_text_add_span(out, text);
            wb_text_add_str(out, text.ptr[text.len - 1] == '\n' ? "" : "\n");
        }
    }
    put_strings(wb_json_get(event, "options"), out);
    put_strings(wb_json_get(event, "choices"), out);
    put_diagnostics(wb_json_path(event, "found.diagnostics"), out);
    put_form_names(wb_json_get(event, "forms"), out);
    put_files(wb_json_get(event, "files"), out);
}

/* --- text --- */

static void put_indented(struct wb_span text, struct wb_text *out)
{
    struct wb_span line;
    size_t n = 0;
    while (wb_span_next_line(&text, &line)) {
        if (n++ < TEXT_LINES_MAX) {
            wb_text_add_str(out, "    ");
            wb_text_add_utf8(out, line);
            wb_text_add_char(out, '\n');
        }
    }
    if (n > TEXT_LINES_MAX) {
        wb_text_printf(out, "    [%zu more lines; --html has them]\n", n - TEXT_LINES_MAX);
    }
}

void wb_conversation_show_text(struct wb_span transcript, struct wb_text *out)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    const struct wb_json *event;
    wb_arena_init(&arena);
    while ((event = next_event(&arena, &transcript)) != NULL) {
        WB_AUTO(wb_text_done) struct wb_text body = {0};
        struct wb_span time = time_of(event);
        wb_text_printf(out, "#%lld " WB_SPAN_FMT " ",
                       (long long)wb_json_int_or(wb_json_get(event, "id"), 0), WB_SPAN_ARG(time));
        put_head(event, out);
        wb_text_add_char(out, '\n');
        put_body(&arena, event, &body);
        put_indented(wb_text_span(&body), out);
        for (struct wb_json_iter it = wb_json_iter(wb_json_get(event, "attachments"));
             wb_json_next(&it);) {
            wb_text_printf(out, "    [%s: %s]\n", str(it.value, "mime"), str(it.value, "file"));
        }
        wb_arena_clear(&arena);
    }
}

/* --- HTML --- */

static void put_escaped(struct wb_span text, struct wb_text *out)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        switch (c) {
        case '<':
            wb_text_add_str(out, "&lt;");
            break;
        case '>':
            wb_text_add_str(out, "&gt;");
            break;
        case '&':
            wb_text_add_str(out, "&amp;");
            break;
        case '"':
            wb_text_add_str(out, "&quot;");
            break;
        default:
            if (c >= 32 || c == '\n' || c == '\t') {
                wb_text_add_char(out, (char)c);
            }
        }
    }
}

/* A picture of the transcript's folder, inside the page. A name that leads elsewhere is none. */
static void put_picture(struct wb_arena *arena, const struct wb_json *attachment,
                        const char *folder, struct wb_text *out)
{
    const char *file = str(attachment, "file"), *mime = str(attachment, "mime");
    struct wb_attachment picture = {.mime = mime};
    struct wb_error ignored;
    bool is_picture = wb_str_equal(mime, "image/png") || wb_str_equal(mime, "image/jpeg");
    if (!is_picture || strstr(file, "..") != NULL || file[0] == '/' ||
        wb_file_read(arena, wb_path_join(arena, folder, file), WB_FILE_BYTES_MAX, &picture.bytes,
                     NULL, &ignored) != 0) {
        return;
    }
    wb_text_printf(out, "<img alt=\"picture\" src=\"data:%s;base64,", mime);
    wb_attachment_base64(out, &picture);
    wb_text_add_str(out, "\">\n");
}

/* Tables and drawings of a cell, each in a frame without scripts, without the page's origin, and under
 * the page's own policy: nothing is loaded. */
static void put_forms(const struct wb_json *forms, struct wb_text *out)
{
    static const char *const shown[] = {"text/html", "image/svg+xml"};
    for (size_t i = 0; i < WB_COUNT(shown); i++) {
        struct wb_span form = wb_json_span(wb_json_get(forms, shown[i]));
        if (form.len > 0) {
            wb_text_add_str(out, "<iframe sandbox srcdoc=\"");
            put_escaped(form, out);
            wb_text_add_str(out, "\"></iframe>\n");
            return;
        }
    }
}

static void put_section(struct wb_arena *arena, const struct wb_json *event, const char *folder,
                        struct wb_text *out)
{
    WB_AUTO(wb_text_done) struct wb_text head = {0};
    WB_AUTO(wb_text_done) struct wb_text body = {0};
    bool is_error = wb_json_bool(wb_json_get(event, "is_error"), false);
    put_head(event, &head);
    put_body(arena, event, &body);
    wb_text_add_str(out, "<section class=\"");
    put_escaped(wb_span(str(event, "kind")), out);
    wb_text_printf(out, "%s\"><header>#%lld ", is_error ? " error" : "",
                   (long long)wb_json_int_or(wb_json_get(event, "id"), 0));
    put_escaped(time_of(event), out);
    wb_text_add_char(out, ' ');
    put_escaped(wb_text_span(&head), out);
    wb_text_add_str(out, "</header>\n<pre>");
    put_escaped(wb_text_span(&body), out);
    wb_text_add_str(out, "</pre>\n");
    for (struct wb_json_iter it = wb_json_iter(wb_json_get(event, "attachments"));
         wb_json_next(&it);) {
        put_picture(arena, it.value, folder, out);
    }
    put_forms(wb_json_get(event, "forms"), out);
    wb_text_add_str(out, "</section>\n");
}

void wb_conversation_show_html(struct wb_span transcript, const char *id, const char *folder,
                               struct wb_text *out)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    const struct wb_json *event;
    wb_arena_init(&arena);
    wb_text_printf(out,
                   "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                   "img-src data:; style-src 'unsafe-inline'\">\n<title>Conversation %s</title>\n"
                   "<style>%s</style></head><body>\n<h1>Conversation %s</h1>\n",
                   id, style, id);
    while ((event = next_event(&arena, &transcript)) != NULL) {
        put_section(&arena, event, folder, out);
        wb_arena_clear(&arena);
    }
    wb_text_add_str(out, "</body></html>\n");
}

/* replace: finds old text exactly; what comes near is told and never taken. */
#include "files/replace.h"

#include "base/limits.h"
#include "base/text.h"
#include "files/content.h"
#include "sys/file.h"

#define NEAR_LINES_MAX 3
#define NEAR_LINE_BYTES_MAX 200
#define NEAR_PREFIX_MIN 4

struct hits {
    size_t *offsets;
    size_t n, capacity;
};

/* overlapping: places that share bytes count each, as they do for whoever must choose one. */
static struct hits find_hits(struct wb_arena *arena, struct wb_span content, struct wb_span needle,
                             bool overlapping)
{
    struct hits hits = {0};
    size_t at = 0;
    while ((at = wb_span_find(content, needle, at)) != SIZE_MAX) {
        *WB_ARENA_PUSH(arena, hits.offsets, hits.n, hits.capacity) = at;
        at += overlapping ? 1 : needle.len;
    }
    return hits;
}

/* The text with every line end as LF, or as CRLF. */
static struct wb_span with_line_ends(struct wb_arena *arena, struct wb_span text, bool crlf)
{
    char *out = wb_arena_alloc(arena, 2 * text.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\r' && i + 1 < text.len && text.ptr[i + 1] == '\n') {
            continue;
        }
        if (text.ptr[i] == '\n' && crlf) {
            out[n++] = '\r';
        }
        out[n++] = text.ptr[i];
    }
    return (struct wb_span){out, n};
}

static bool drop_line_end(struct wb_span *text)
{
    size_t len = text->len;
    if (wb_span_ends(*text, WB_SPAN("\n"))) {
        text->len--;
    }
    if (text->len != len && wb_span_ends(*text, WB_SPAN("\r"))) {
        text->len--;
    }
    return text->len != len;
}

/* The last line of the file may have no line end where old_text, which quotes lines, has one. */
static bool match_unended(struct wb_span content, struct wb_span *old_text,
                          struct wb_span *new_text)
{
    struct wb_span shorter = *old_text;
    if (wb_span_ends(content, WB_SPAN("\n")) || !drop_line_end(&shorter) || shorter.len == 0 ||
        !wb_span_ends(content, shorter) ||
        wb_span_find(content, shorter, 0) != content.len - shorter.len) {
        return false;
    }
    *old_text = shorter;
    drop_line_end(new_text);
    return true;
}

/* One way to write the line ends of old_text. False: there is no hit. */
static bool match_form(struct wb_arena *arena, struct wb_span content, struct wb_span *old_text,
                       struct wb_span *new_text, bool overlapping, struct hits *ret)
{
    *ret = find_hits(arena, content, *old_text, overlapping);
    if (ret->n == 0 && match_unended(content, old_text, new_text)) {
        *ret = find_hits(arena, content, *old_text, overlapping);
    }
    return ret->n != 0;
}

/* Brings both texts into the form in which the file has them. False: there is no hit. In a mixed file
 * what is quoted exactly comes first: it may span two kinds of line ends, or tell two places apart. */
static bool match(struct wb_arena *arena, struct wb_span content, struct wb_span *old_text,
                  struct wb_span *new_text, bool overlapping, struct hits *ret)
{
    enum wb_line_end ends = wb_file_line_end(content);
    bool forms[] = {ends == WB_LINE_CRLF, true};
    size_t n_forms = ends == WB_LINE_MIXED ? 2 : 1;
    if (ends == WB_LINE_MIXED && match_form(arena, content, old_text, new_text, overlapping, ret)) {
        return true;
    }
    for (size_t i = 0; i < n_forms; i++) {
        struct wb_span old = with_line_ends(arena, *old_text, forms[i]);
        struct wb_span new = with_line_ends(arena, *new_text, forms[i]);
        if (match_form(arena, content, &old, &new, overlapping, ret)) {
            *old_text = old;
            *new_text = new;
            return true;
        }
    }
    return false;
}

static struct wb_span first_text_line(struct wb_span text)
{
    struct wb_span line;
    while (wb_span_next_line(&text, &line)) {
        line = wb_span_trim(line);
        if (line.len != 0) {
            return line;
        }
    }
    return (struct wb_span){0};
}

/* Do the lines of `text` stand at the front of rest, white space at their ends aside? */
static bool matches_trimmed(struct wb_span rest, struct wb_span text)
{
    struct wb_span have, want;
    while (wb_span_next_line(&text, &want)) {
        if (!wb_span_next_line(&rest, &have) ||
            !wb_span_equal(wb_span_trim(have), wb_span_trim(want))) {
            return false;
        }
    }
    return true;
}

static size_t common_prefix(struct wb_span a, struct wb_span b)
{
    size_t n = 0;
    while (n < a.len && n < b.len && a.ptr[n] == b.ptr[n]) {
        n++;
    }
    return n;
}

/* How much a line of the file looks like the first line of what is sought. */
static size_t likeness(struct wb_span have, struct wb_span want)
{
    have = wb_span_trim(have);
    if (wb_span_find(have, want, 0) != SIZE_MAX) {
        return want.len + 1;
    }
    size_t n = common_prefix(have, want);
    return n >= NEAR_PREFIX_MIN ? n : 0;
}

static void add_near_line(struct wb_text *out, const char *shown, size_t number,
                          struct wb_span line)
{
    wb_text_printf(out, "\n%s:%zu: ", shown, number);
    wb_content_add_line(out, line, NEAR_LINE_BYTES_MAX);
}

/* Lines that are the most like the first line of old_text. */
static void tell_nearest(struct wb_text *out, struct wb_span content, const char *shown,
                         struct wb_span old_text)
{
    struct wb_span want = first_text_line(old_text), rest = content, line;
    size_t best = 0, n_told = 0, number = 0;
    while (wb_span_next_line(&rest, &line)) {
        best = WB_MAX(best, likeness(line, want));
    }
    rest = content;
    while (best != 0 && n_told < NEAR_LINES_MAX && wb_span_next_line(&rest, &line)) {
        number++;
        if (likeness(line, want) == best) {
            wb_text_add_str(out, n_told == 0 ? " The nearest lines are:" : "");
            add_near_line(out, shown, number, line);
            n_told++;
        }
    }
}

static int refuse_none(struct wb_span content, const char *shown, struct wb_span old_text,
                       struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text hint;
    wb_text_init(&hint);
    struct wb_span rest = content, line;
    size_t number = 1;
    while (rest.len != 0 && !matches_trimmed(rest, old_text)) {
        wb_span_next_line(&rest, &line);
        number++;
    }
    if (rest.len != 0 && first_text_line(old_text).len != 0) {
        size_t n = wb_content_count_lines(old_text);
        wb_text_printf(&hint,
                       " Lines %zu-%zu differ from it only in white space: quote them exactly.",
                       number, number + n - 1);
        add_near_line(&hint, shown, number,
                      wb_span_next_line(&rest, &line) ? line : (struct wb_span){0});
    } else {
        tell_nearest(&hint, content, shown, old_text);
    }
    return wb_error_set(err, WB_ERROR_NOT_FOUND, "old_text does not occur in %s.%s", shown,
                        wb_text_cstr(&hint));
}

static int refuse_several(const struct wb_replacement *found, const char *shown,
                          struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text lines;
    wb_text_init(&lines);
    size_t n_told = WB_MIN(found->count, WB_REPLACE_LINES_TOLD);
    for (size_t i = 0; i < n_told; i++) {
        wb_text_printf(&lines, "%s%zu", i != 0 ? ", " : "", found->lines[i]);
    }
    return wb_error_set(err, WB_ERROR_INVALID,
                        "old_text occurs %zu times in %s (lines %s%s): quote more of what is "
                        "around the place you mean, or set replace_all",
                        found->count, shown, wb_text_cstr(&lines),
                        n_told < found->count ? ", ..." : "");
}

static struct wb_span build_content(struct wb_arena *arena, struct wb_span content,
                                    const struct hits *hits, size_t old_len,
                                    struct wb_span new_text)
{
    size_t len = content.len - hits->n * old_len + hits->n * new_text.len;
    char *out = wb_arena_alloc(arena, len + 1);
    size_t n = 0, from = 0;
    for (size_t i = 0; i < hits->n; i++) {
        size_t kept = hits->offsets[i] - from;
        memcpy(out + n, content.ptr + from, kept);
        n += kept;
        if (new_text.len != 0) {
            memcpy(out + n, new_text.ptr, new_text.len);
        }
        n += new_text.len;
        from = hits->offsets[i] + old_len;
    }
    memcpy(out + n, content.ptr + from, content.len - from);
    return (struct wb_span){out, len};
}

int wb_replace_text(struct wb_arena *arena, struct wb_span content, const char *shown,
                    struct wb_span old_text, struct wb_span new_text, bool all,
                    struct wb_replacement *ret, struct wb_error *err)
{
    struct hits hits;
    if (!match(arena, content, &old_text, &new_text, !all, &hits)) {
        return refuse_none(content, shown, old_text, err);
    }
    struct wb_replacement found = {.count = hits.n};
    for (size_t i = 0; i < WB_MIN(hits.n, WB_REPLACE_LINES_TOLD); i++) {
        found.lines[i] = wb_content_line_of(content, hits.offsets[i]);
    }
    if (hits.n > 1 && !all) {
        return refuse_several(&found, shown, err);
    }
    if (content.len + hits.n * new_text.len > WB_FILE_BYTES_MAX) {
        return wb_error_set(err, WB_ERROR_LIMIT, "%s would be larger than %zu bytes", shown,
                            (size_t)WB_FILE_BYTES_MAX);
    }
    found.content = build_content(arena, content, &hits, old_text.len, new_text);
    *ret = found;
    return 0;
}

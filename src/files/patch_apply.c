/* patch_apply: hunks on a content. A hunk applies where all of its context and removed lines stand,
 * or not at all. */
#include "base/text.h"
#include "files/patch.h"
#include "sys/file.h"

#define QUOTED_BYTES_MAX 80

struct application {
    struct wb_arena *arena;
    const struct wb_patch_file *file;
    const char *shown;
    struct wb_span *lines; /* of the content, with their line ends */
    size_t n_lines, lines_capacity;
    bool has_bom;
    enum wb_line_end line_end;
    struct wb_text out;
    size_t done;    /* lines of the content that are behind us */
    int64_t drift;  /* how far the last hunk was from where it should be */
    bool added_end; /* the last line of out comes from the patch */
    bool marks_end; /* a hunk says something about the last line's end */
};

static void split_lines(struct application *a, struct wb_span content)
{
    while (content.len != 0) {
        const char *end = memchr(content.ptr, '\n', content.len);
        size_t len = end != NULL ? (size_t)(end - content.ptr) + 1 : content.len;
        *WB_ARENA_PUSH(a->arena, a->lines, a->n_lines, a->lines_capacity) =
            (struct wb_span){content.ptr, len};
        content = (struct wb_span){content.ptr + len, content.len - len};
    }
}

static struct wb_span without_end(struct wb_span line)
{
    line.len -= wb_span_ends(line, WB_SPAN("\n"));
    line.len -= wb_span_ends(line, WB_SPAN("\r"));
    return line;
}

static struct wb_span patch_text(const struct application *a, struct wb_span text)
{
    size_t bom = a->has_bom ? wb_file_bom(text) : 0;
    return without_end((struct wb_span){text.ptr + bom, text.len - bom});
}

/* The lines that a hunk wants to find. */
static struct wb_span *old_lines(struct application *a, const struct wb_patch_hunk *hunk,
                                 size_t *ret_n)
{
    struct wb_span *old = wb_arena_alloc_array(a->arena, hunk->n_lines + 1, sizeof(*old));
    size_t n = 0;
    for (size_t i = 0; i < hunk->n_lines; i++) {
        if (hunk->lines[i].kind != '+') {
            old[n++] = patch_text(a, hunk->lines[i].text);
        }
    }
    *ret_n = n;
    return old;
}

/* How many of the lines stand at `at`, from the first on. */
static size_t match_length(const struct application *a, const struct wb_span *old, size_t n,
                           size_t at)
{
    size_t matched = 0;
    while (matched < n && at + matched < a->n_lines &&
           wb_span_equal(without_end(a->lines[at + matched]), old[matched])) {
        matched++;
    }
    return matched;
}

/* The first place from `from` on; SIZE_MAX: none. */
static size_t find_place(const struct application *a, const struct wb_span *old, size_t n,
                         size_t from)
{
    for (size_t at = from; at + n <= a->n_lines; at++) {
        if (match_length(a, old, n, at) == n) {
            return at;
        }
    }
    return SIZE_MAX;
}

static size_t hunk_number(const struct application *a, const struct wb_patch_hunk *hunk)
{
    return (size_t)(hunk - a->file->hunks) + 1;
}

static int refuse(const struct application *a, const struct wb_patch_hunk *hunk, const char *reason,
                  struct wb_error *err)
{
    return wb_error_set(err, WB_ERROR_STALE,
                        "Hunk %zu of %s (line %zu of the patch) does not "
                        "apply: %s. Nothing was changed",
                        hunk_number(a, hunk), a->shown, hunk->at_line, reason);
}

static const char *quote(const struct application *a, struct wb_span line)
{
    struct wb_span text = without_end(line);
    size_t kept = wb_utf8_cut(text, QUOTED_BYTES_MAX);
    return wb_arena_printf(a->arena, "\"%.*s%s\"", (int)kept, text.ptr,
                           kept < text.len ? "..." : "");
}

/* Says where the hunk comes nearest to applying. */
static int refuse_missing(const struct application *a, const struct wb_patch_hunk *hunk,
                          const struct wb_span *old, size_t n, size_t from, struct wb_error *err)
{
    size_t best = 0, best_at = 0;
    for (size_t at = from; at < a->n_lines; at++) {
        size_t matched = match_length(a, old, n, at);
        if (matched > best) {
            best = matched;
            best_at = at;
        }
    }
    const char *reason;
    if (best == 0) {
        reason = wb_arena_printf(a->arena, "its first line %s is not in the file%s",
                                 quote(a, old[0]), from != 0 ? " behind the hunk before" : "");
    } else if (best_at + best == a->n_lines) {
        reason = wb_arena_printf(a->arena,
                                 "it begins like line %zu, but the file ends where %s "
                                 "should follow",
                                 best_at + 1, quote(a, old[best]));
    } else {
        reason = wb_arena_printf(a->arena,
                                 "it begins like line %zu, but line %zu is %s where %s "
                                 "should be",
                                 best_at + 1, best_at + best + 1,
                                 quote(a, a->lines[best_at + best]), quote(a, old[best]));
    }
    return refuse(a, hunk, reason, err);
}

static int refuse_ambiguous(const struct application *a, const struct wb_patch_hunk *hunk,
                            size_t first, size_t second, struct wb_error *err)
{
    return refuse(a, hunk,
                  wb_arena_printf(a->arena,
                                  "its lines stand at line %zu and again at line %zu%s; give more "
                                  "context",
                                  first + 1, second + 1,
                                  hunk->has_position ? ", and not where it says" : ""),
                  err);
}

/* The line of the content behind the hunk's @@ lines, or a->done without. */
static int find_anchors(struct application *a, const struct wb_patch_hunk *hunk, size_t *ret_at,
                        struct wb_error *err)
{
    size_t at = a->done;
    for (size_t i = 0; i < hunk->n_anchors; i++) {
        struct wb_span anchor = patch_text(a, hunk->anchors[i]);
        size_t found = find_place(a, &anchor, 1, at);
        for (size_t j = at; found == SIZE_MAX && j < a->n_lines; j++) {
            if (wb_span_equal(wb_span_trim(a->lines[j]), wb_span_trim(anchor))) {
                found = j;
            }
        }
        if (found == SIZE_MAX) {
            return refuse(a, hunk,
                          wb_arena_printf(a->arena, "there is no line %s", quote(a, anchor)), err);
        }
        at = found + 1;
    }
    *ret_at = at;
    return 0;
}

/* The envelope form: behind the anchors, at the end, or at the only place. */
static int place_by_context(struct application *a, const struct wb_patch_hunk *hunk,
                            const struct wb_span *old, size_t n, size_t *ret_at,
                            struct wb_error *err)
{
    size_t from = 0;
    if (find_anchors(a, hunk, &from, err) != 0) {
        return -1;
    }
    if (n == 0) { /* only new lines */
        *ret_at = hunk->n_anchors != 0 && !hunk->is_end ? from : a->n_lines;
        return 0;
    }
    size_t at = find_place(a, old, n, from);
    if (hunk->is_end && at != SIZE_MAX) {
        at = a->n_lines - n >= from && match_length(a, old, n, a->n_lines - n) == n ? a->n_lines - n
                                                                                    : SIZE_MAX;
    } else if (at == SIZE_MAX && hunk->n_anchors != 0 && from > a->done &&
               match_length(a, old, n, from - 1) == n) {
        at = from - 1; /* the anchor is given again as context */
    }
    if (at == SIZE_MAX) {
        return refuse_missing(a, hunk, old, n, from, err);
    }
    size_t again = hunk->n_anchors == 0 && !hunk->is_end ? find_place(a, old, n, at + 1) : SIZE_MAX;
    if (again != SIZE_MAX) {
        return refuse_ambiguous(a, hunk, at, again, err);
    }
    *ret_at = at;
    return 0;
}

/* The unified form: where it says, shifted as the hunk before was; else at the only place. */
static int place_by_number(struct application *a, const struct wb_patch_hunk *hunk,
                           const struct wb_span *old, size_t n, size_t *ret_at,
                           struct wb_error *err)
{
    /* Without old lines the number is that of the line before. */
    int64_t said = (int64_t)hunk->old_start - (n != 0);
    int64_t expected = WB_MAX(said, 0) + a->drift;
    bool in_range = expected >= (int64_t)a->done && expected + (int64_t)n <= (int64_t)a->n_lines;
    if (in_range && match_length(a, old, n, (size_t)expected) == n) {
        *ret_at = (size_t)expected;
        return 0;
    }
    if (n == 0) {
        return refuse(a, hunk,
                      wb_arena_printf(a->arena, "it has no context, and the file has %zu lines",
                                      a->n_lines),
                      err);
    }
    size_t at = find_place(a, old, n, a->done);
    if (at == SIZE_MAX) {
        return refuse_missing(a, hunk, old, n, a->done, err);
    }
    size_t again = find_place(a, old, n, at + 1);
    if (again != SIZE_MAX) {
        return refuse_ambiguous(a, hunk, at, again, err);
    }
    a->drift = (int64_t)at - WB_MAX(said, 0);
    *ret_at = at;
    return 0;
}

/* The line end of the place, in files that have both; else the file's. */
static const char *end_for(const struct application *a, size_t at)
{
    if (a->line_end == WB_LINE_MIXED && a->n_lines != 0) {
        struct wb_span near = a->lines[at != 0 ? at - 1 : 0];
        return wb_span_ends(near, WB_SPAN("\r\n")) ? "\r\n" : "\n";
    }
    return a->line_end == WB_LINE_CRLF ? "\r\n" : "\n";
}

/* A line that had no end because it was the last gets one when another follows. */
static void end_last_line(struct application *a, const char *end)
{
    if (a->out.len != 0 && a->out.ptr[a->out.len - 1] != '\n') {
        wb_text_add_str(&a->out, end);
    }
}

static void copy_lines(struct application *a, size_t to)
{
    for (; a->done < to; a->done++) {
        end_last_line(a, end_for(a, a->done));
        wb_text_add_span(&a->out, a->lines[a->done]);
        a->added_end = false;
    }
}

static void add_line(struct application *a, const struct wb_patch_line *line)
{
    const char *end = end_for(a, a->done);
    bool has_cr = wb_span_ends(line->text, WB_SPAN("\r"));
    end_last_line(a, end);
    wb_text_add_span(&a->out, patch_text(a, line->text));
    if (!line->no_newline) {
        wb_text_add_str(&a->out, has_cr ? "\r\n" : end);
    }
    a->added_end = true;
}

static int apply_hunk(struct application *a, const struct wb_patch_hunk *hunk, struct wb_error *err)
{
    size_t n, at = 0;
    struct wb_span *old = old_lines(a, hunk, &n);
    int placed = hunk->has_position ? place_by_number(a, hunk, old, n, &at, err)
                                    : place_by_context(a, hunk, old, n, &at, err);
    if (placed != 0) {
        return -1;
    }
    copy_lines(a, at);
    for (size_t i = 0; i < hunk->n_lines; i++) {
        const struct wb_patch_line *line = &hunk->lines[i];
        a->marks_end |= line->no_newline;
        if (line->kind == '+') {
            add_line(a, line);
        } else if (line->kind == ' ') {
            copy_lines(a, a->done + 1);
        } else {
            a->done++;
        }
    }
    return 0;
}

/* Where nothing is said about it, the last line has an end if it had one. */
static void keep_last_end(struct application *a)
{
    bool had_end = a->n_lines == 0 || wb_span_ends(a->lines[a->n_lines - 1], WB_SPAN("\n"));
    if (!had_end && a->added_end && !a->marks_end) {
        wb_text_cut(&a->out, without_end(wb_text_span(&a->out)).len);
    }
}

int wb_patch_apply(struct wb_arena *arena, const struct wb_patch_file *file, const char *shown,
                   struct wb_span content, struct wb_span *ret, struct wb_error *err)
{
    size_t bom = wb_file_bom(content);
    struct application a = {
        .arena = arena,
        .file = file,
        .shown = shown,
        .has_bom = bom != 0,
        .line_end = wb_file_line_end(content),
    };
    split_lines(&a, (struct wb_span){content.ptr + bom, content.len - bom});
    wb_text_init(&a.out);
    int applied = 0;
    for (size_t i = 0; i < file->n_hunks && applied == 0; i++) {
        applied = apply_hunk(&a, &file->hunks[i], err);
    }
    if (applied == 0) {
        copy_lines(&a, a.n_lines);
        keep_last_end(&a);
        char *whole = wb_arena_alloc(arena, bom + a.out.len + 1);
        memcpy(whole, content.ptr != NULL ? content.ptr : "", bom);
        memcpy(whole + bom, wb_text_cstr(&a.out), a.out.len);
        *ret = (struct wb_span){whole, bom + a.out.len};
    }
    wb_text_done(&a.out);
    return applied;
}

/* patch_unified: unified diffs, plain and git's. */
#include <ctype.h>

#include "files/patch_internal.h"

/* What a file's headers said, before it is known what they come to. */
struct headers {
    size_t at_line;
    const char *old_path, *new_path; /* of --- and +++; "/dev/null" kept */
    const char *git_old, *git_new;   /* of diff --git, where they can be told apart */
    const char *from, *to;           /* rename or copy */
    bool is_copy, is_new, is_deleted, changes_mode;
    int mode;
};

/* A name in quotation marks with C's escapes, as git writes unusual ones. */
static const char *unquote(struct wb_arena *arena, struct wb_span text)
{
    char *out = wb_arena_alloc(arena, text.len + 1);
    size_t n = 0;
    for (size_t i = 1; i < text.len && text.ptr[i] != '"'; i++) {
        char c = text.ptr[i];
        if (c == '\\' && i + 1 < text.len) {
            static const char from[] = "abtnvfr", to[] = "\a\b\t\n\v\f\r";
            c = text.ptr[++i];
            const char *escape = c != '\0' ? strchr(from, c) : NULL;
            if (escape != NULL) {
                c = to[escape - from];
            } else if (c >= '0' && c <= '3' && i + 2 < text.len) {
                c = (char)((c - '0') * 64 + (text.ptr[i + 1] - '0') * 8 + (text.ptr[i + 2] - '0'));
                i += 2;
            }
        }
        out[n++] = c;
    }
    return wb_arena_strndup(arena, out, n);
}

/* The name in a header line; a tab and a date may follow. */
static const char *parse_name(struct wb_arena *arena, struct wb_span text)
{
    text = wb_span_trim(text);
    if (wb_span_starts(text, WB_SPAN("\""))) {
        return unquote(arena, text);
    }
    size_t tab = wb_span_find(text, WB_SPAN("\t"), 0);
    return wb_arena_strndup(arena, text.ptr, WB_MIN(tab, text.len));
}

static bool is_null(const char *name)
{
    return name != NULL && wb_str_equal(name, "/dev/null");
}

/* git puts a/ and b/ in front; a plain diff may have a folder a of its own, so both must be there. */
static void strip_prefixes(const char **old_name, const char **new_name)
{
    bool old_has = is_null(*old_name) || wb_str_starts(*old_name, "a/");
    bool new_has = is_null(*new_name) || wb_str_starts(*new_name, "b/");
    if (old_has && new_has) {
        *old_name += is_null(*old_name) ? 0 : 2;
        *new_name += is_null(*new_name) ? 0 : 2;
    }
}

/* "diff --git a/X b/X": needed only where no other header names the file, and then both are one. */
static void parse_git_names(struct wb_arena *arena, struct wb_span text, struct headers *h)
{
    text = wb_span_trim(text);
    if (wb_span_starts(text, WB_SPAN("\""))) {
        h->git_old = unquote(arena, text);
        h->git_new = h->git_old;
    } else if (text.len % 2 == 1 && text.ptr[text.len / 2] == ' ') {
        h->git_old = wb_arena_strndup(arena, text.ptr, text.len / 2);
        h->git_new = wb_arena_strndup(arena, text.ptr + text.len / 2 + 1, text.len / 2);
    } else {
        return;
    }
    if (wb_str_starts(h->git_old, "a/")) {
        h->git_old += 2;
        h->git_new = wb_str_starts(h->git_new, "b/") ? h->git_new + 2 : h->git_old;
    }
}

static int parse_mode(struct wb_span text)
{
    text = wb_span_trim(text);
    int mode = 0;
    for (size_t i = 0; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '7'; i++) {
        mode = (mode * 8 + (text.ptr[i] - '0')) & 0xFFFF;
    }
    return (mode & 0111) != 0 ? 0777 : 0666; /* git knows only these two; the umask does the rest */
}

/* One line of git's extended header. False: it is none. */
static bool parse_extended(struct wb_arena *arena, const struct wb_patch_reader *r,
                           struct headers *h)
{
    struct wb_span text;
    if (wb_patch_reader_at(r, "new file mode ", &text)) {
        h->is_new = true;
        h->mode = parse_mode(text);
    } else if (wb_patch_reader_at(r, "deleted file mode ", NULL)) {
        h->is_deleted = true;
    } else if (wb_patch_reader_at(r, "old mode ", NULL) ||
               wb_patch_reader_at(r, "new mode ", NULL)) {
        h->changes_mode = true;
    } else if (wb_patch_reader_at(r, "rename from ", &text) ||
               wb_patch_reader_at(r, "copy from ", &text)) {
        h->is_copy = wb_patch_reader_at(r, "copy ", NULL);
        h->from = parse_name(arena, text);
    } else if (wb_patch_reader_at(r, "rename to ", &text) ||
               wb_patch_reader_at(r, "copy to ", &text)) {
        h->to = parse_name(arena, text);
    } else {
        return wb_patch_reader_at(r, "index ", NULL) ||
               wb_patch_reader_at(r, "similarity index ", NULL) ||
               wb_patch_reader_at(r, "dissimilarity index ", NULL);
    }
    return true;
}

/* Reads headers up to the first hunk or the next file. 1: they name a file; 0: the end. */
static int parse_headers(struct wb_patch *patch, struct wb_patch_reader *r, struct headers *h,
                         struct wb_error *err)
{
    struct wb_span text;
    bool in_git = false;
    *h = (struct headers){0};
    for (; !r->at_end; wb_patch_reader_next(r)) {
        if (wb_patch_reader_at(r, "diff --git ", &text)) {
            if (in_git) {
                return 1;
            }
            in_git = true;
            h->at_line = r->number;
            parse_git_names(patch->arena, text, h);
        } else if (in_git && wb_patch_reader_at(r, "new file mode 1", &text) &&
                   !wb_span_starts(text, WB_SPAN("00"))) {
            return wb_error_set(err, WB_ERROR_INVALID,
                                "Line %zu of the patch: only regular files can be added, not "
                                "symbolic links or submodules",
                                r->number);
        } else if (in_git && parse_extended(patch->arena, r, h)) {
            continue;
        } else if (wb_patch_reader_at(r, "GIT binary patch", NULL) ||
                   wb_patch_reader_at(r, "Binary files ", NULL)) {
            return wb_error_set(err, WB_ERROR_INVALID,
                                "Line %zu of the patch: binary files cannot be patched", r->number);
        } else if (wb_patch_reader_at(r, "--- ", &text)) {
            h->at_line = h->at_line != 0 ? h->at_line : r->number;
            h->old_path = parse_name(patch->arena, text);
            wb_patch_reader_next(r);
            if (!wb_patch_reader_at(r, "+++ ", &text)) {
                return wb_error_set(err, WB_ERROR_INVALID,
                                    "Line %zu of the patch: \"+++ PATH\" must follow \"--- PATH\"",
                                    r->number);
            }
            h->new_path = parse_name(patch->arena, text);
            wb_patch_reader_next(r);
            return 1;
        } else if (wb_patch_reader_at(r, "@@ -", NULL)) {
            return wb_error_set(err, WB_ERROR_INVALID,
                                "Line %zu of the patch: a hunk, but no \"--- PATH\" and \"+++ "
                                "PATH\" before it",
                                r->number);
        }
    }
    return in_git ? 1 : 0;
}

/* What the headers come to. */
static struct wb_patch_file *add_file(struct wb_patch *patch, const struct headers *h)
{
    const char *old_name = h->old_path != NULL ? h->old_path : h->git_old;
    const char *new_name = h->new_path != NULL ? h->new_path : h->git_new;
    if (h->old_path != NULL) {
        strip_prefixes(&old_name, &new_name);
    }
    if (h->from != NULL && h->to != NULL) {
        old_name = h->from;
        new_name = h->to;
    }
    old_name = old_name != NULL ? old_name : "";
    new_name = new_name != NULL ? new_name : "";
    enum wb_patch_action action = WB_PATCH_UPDATE;
    if (is_null(old_name) || h->is_new) {
        action = WB_PATCH_ADD;
    } else if (is_null(new_name) || h->is_deleted) {
        action = WB_PATCH_DELETE;
    } else if (h->is_copy) {
        action = WB_PATCH_COPY;
    }
    struct wb_patch_file *file =
        wb_patch_add_file(patch, action, action == WB_PATCH_ADD ? new_name : old_name, h->at_line);
    bool two_names =
        action == WB_PATCH_COPY || (action == WB_PATCH_UPDATE && !wb_str_equal(old_name, new_name));
    file->new_path = two_names ? new_name : NULL;
    file->mode = h->mode;
    file->changes_mode = h->changes_mode;
    return file;
}

static bool take_number(struct wb_span *text, size_t *ret)
{
    size_t n = 0, value = 0;
    while (n < text->len && n < 9 && isdigit((unsigned char)text->ptr[n])) {
        value = 10 * value + (size_t)(text->ptr[n++] - '0');
    }
    *text = (struct wb_span){text->ptr + n, text->len - n};
    *ret = value;
    return n != 0;
}

static bool take_char(struct wb_span *text, char c)
{
    if (text->len == 0 || text->ptr[0] != c) {
        return false;
    }
    *text = (struct wb_span){text->ptr + 1, text->len - 1};
    return true;
}

static bool take_range(struct wb_span *text, size_t *ret_start, size_t *ret_count)
{
    *ret_count = 1;
    return take_number(text, ret_start) && (!take_char(text, ',') || take_number(text, ret_count));
}

/* Does the line open another file? "--- x" may also be the removal of "-- x". */
static bool is_next_file(const struct wb_patch_reader *r)
{
    if (wb_patch_reader_at(r, "diff --git ", NULL)) {
        return true;
    }
    return wb_patch_reader_at(r, "--- ", NULL) && wb_span_starts(r->rest, WB_SPAN("+++ "));
}

static bool is_blank(struct wb_span line)
{
    return line.len == 0 || wb_span_is(line, "\r");
}

/* An empty line is context whose blank was lost, if the hunk goes on behind it. */
static bool goes_on_behind_blank(struct wb_patch_reader ahead)
{
    while (!ahead.at_end && is_blank(ahead.line)) {
        wb_patch_reader_next(&ahead);
    }
    return !ahead.at_end && !is_next_file(&ahead) && memchr(" -+", ahead.line.ptr[0], 3) != NULL;
}

/* With the header's counts met, only lines that can be nothing else go on. */
static bool is_hunk_line(const struct wb_patch_reader *r, bool counts_met)
{
    if (r->at_end || (counts_met && (is_next_file(r) || wb_patch_reader_at(r, "-- ", NULL) ||
                                     wb_span_is(r->line, "--")))) {
        return false;
    }
    if (is_blank(r->line)) {
        return !counts_met && goes_on_behind_blank(*r);
    }
    return memchr(" -+\\", r->line.ptr[0], 4) != NULL;
}

static void parse_hunk_lines(struct wb_patch *patch, struct wb_patch_reader *r,
                             struct wb_patch_hunk *hunk, size_t n_old, size_t n_new)
{
    for (; is_hunk_line(r, n_old == 0 && n_new == 0); wb_patch_reader_next(r)) {
        struct wb_span line = r->line;
        bool has_kind = !is_blank(line);
        char kind = has_kind ? line.ptr[0] : ' ';
        if (kind == '\\') {
            if (hunk->n_lines != 0) {
                hunk->lines[hunk->n_lines - 1].no_newline = true;
            }
            continue;
        }
        wb_patch_add_line(patch, hunk, kind,
                          (struct wb_span){line.ptr + has_kind, line.len - has_kind});
        n_old -= kind != '+' && n_old != 0;
        n_new -= kind != '-' && n_new != 0;
    }
}

/* What may stand behind a hunk. Anything else is a line of it that lost its first character: taking
 * it for rubbish would drop what follows. */
static bool may_follow_hunk(const struct wb_patch_reader *r)
{
    static const char *const starts[] = {"@@ -", "diff ", "--- ", "-- ", "Index: ", "From "};
    bool may = r->at_end || is_blank(r->line) || wb_span_is(r->line, "--");
    for (size_t i = 0; i < WB_COUNT(starts); i++) {
        may |= wb_patch_reader_at(r, starts[i], NULL);
    }
    return may;
}

static int parse_hunk(struct wb_patch *patch, struct wb_patch_reader *r, struct wb_patch_file *file,
                      struct wb_error *err)
{
    struct wb_span text = {0};
    size_t old_start, n_old, new_start, n_new;
    wb_patch_reader_at(r, "@@ -", &text);
    if (!take_range(&text, &old_start, &n_old) || !take_char(&text, ' ') ||
        !take_char(&text, '+') || !take_range(&text, &new_start, &n_new)) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "Line %zu of the patch: a hunk begins with \"@@ -LINE,COUNT "
                            "+LINE,COUNT @@\"",
                            r->number);
    }
    struct wb_patch_hunk *hunk = wb_patch_add_hunk(patch, file, r->number);
    hunk->old_start = old_start;
    hunk->has_position = true;
    wb_patch_reader_next(r);
    parse_hunk_lines(patch, r, hunk, n_old, n_new);
    if (hunk->n_lines == 0) {
        return wb_error_set(err, WB_ERROR_INVALID, "Line %zu of the patch: the hunk is empty",
                            hunk->at_line);
    }
    if (!may_follow_hunk(r)) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "Line %zu of the patch: a hunk's lines begin with a blank (context), - "
                            "or +, not with \"%.*s\"",
                            r->number, (int)WB_MIN(r->line.len, 40), r->line.ptr);
    }
    return 0;
}

int wb_patch_parse_unified(struct wb_patch *patch, struct wb_patch_reader *reader,
                           struct wb_error *err)
{
    struct headers headers;
    int found;
    while ((found = parse_headers(patch, reader, &headers, err)) == 1) {
        struct wb_patch_file *file = add_file(patch, &headers);
        while (wb_patch_reader_at(reader, "@@ -", NULL)) {
            if (parse_hunk(patch, reader, file, err) != 0) {
                return -1;
            }
        }
        file->has_content = file->action == WB_PATCH_DELETE && file->n_hunks != 0;
        if (file->action == WB_PATCH_UPDATE && file->n_hunks == 0 && file->new_path == NULL &&
            !file->changes_mode) {
            return wb_error_set(err, WB_ERROR_INVALID, "Line %zu of the patch: %s has no hunks",
                                file->at_line, file->path);
        }
    }
    return found;
}

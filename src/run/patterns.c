/* patterns: see the header. */
#include "run/patterns.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/text.h"
#include "sys/file.h"
#include "sys/ignore.h"
#include "sys/path.h"

#define PERHAPS_BYTES_MAX 4096 /* of a command; longer ones could fit anything */

static bool same(char a, char b, bool fold)
{
    return fold ? tolower((unsigned char)a) == tolower((unsigned char)b) : a == b;
}

static bool fits(const char *pattern, const char *text, bool fold)
{
    const char *star = NULL, *mark = text;
    while (*text != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            mark = text;
        } else if (same(*pattern, *text, fold)) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star + 1;
            text = ++mark;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

bool wb_pattern_fits(const char *pattern, const char *text)
{
    return fits(pattern, text, false);
}

/* --- paths --- */

static const char *expand_home(struct wb_arena *arena, const char *name)
{
    const char *home = getenv("HOME");
    bool is_home = name[0] == '~' && (name[1] == '/' || name[1] == '\0') && home != NULL;
    return is_home ? wb_arena_printf(arena, "%s%s", home, name + 1) : name;
}

const char *wb_pattern_real_path(struct wb_arena *arena, const char *name, const char *workspace)
{
    struct wb_error ignored;
    return wb_path_real(arena, wb_path_join(arena, workspace, expand_home(arena, name)), &ignored);
}

/* The pattern with its leading folders resolved, absolute: "link/x*" becomes "/where/it/leads/x*". */
static const char *resolve_pattern(struct wb_arena *arena, const char *pattern,
                                   const char *workspace)
{
    const char *star = strchr(pattern, '*');
    size_t len = star != NULL ? (size_t)(star - pattern) : strlen(pattern);
    while (len > 0 && pattern[len - 1] != '/') {
        len--;
    }
    if (len == 0) {
        return NULL;
    }
    const char *folder =
        wb_pattern_real_path(arena, wb_arena_strndup(arena, pattern, len), workspace);
    return folder != NULL ? wb_arena_printf(arena, "%s/%s", wb_str_equal(folder, "/") ? "" : folder,
                                            pattern + len)
                          : NULL;
}

/* The same name in the other case. */
static char *swap_case(struct wb_arena *arena, const char *path)
{
    char *swapped = wb_arena_strdup(arena, path);
    for (char *at = swapped + (wb_path_base(swapped) - swapped); *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;
        *at = (char)(islower(c) ? toupper(c) : tolower(c));
    }
    return swapped;
}

/* Does the file system take another case for the same file here? Asked of the nearest folder that is
 * there and has letters. */
static bool folds_case(struct wb_arena *arena, const char *path)
{
    while (path[1] != '\0') {
        struct wb_file_stamp stamp, swapped_stamp;
        const char *swapped = swap_case(arena, path);
        if (!wb_str_equal(swapped, path) && wb_file_kind(path, &stamp) != WB_FILE_MISSING) {
            return wb_file_kind(swapped, &swapped_stamp) != WB_FILE_MISSING &&
                   stamp.device == swapped_stamp.device && stamp.inode == swapped_stamp.inode;
        }
        path = wb_path_dir(arena, path);
    }
    return false;
}

/* The pattern without this end, or NULL where it has another one. */
static const char *without_end(struct wb_arena *arena, const char *pattern, const char *end)
{
    size_t len = strlen(pattern), end_len = strlen(end);
    bool has_end = len > end_len && wb_str_equal(pattern + len - end_len, end);
    return has_end ? wb_arena_strndup(arena, pattern, len - end_len) : NULL;
}

static bool fits_name(struct wb_arena *arena, const char *pattern, const char *path,
                      const char *relative, bool fold)
{
    const char *folder = without_end(arena, pattern, "/*");
    return fits(pattern, path, fold) || fits(pattern, relative, fold) ||
           (folder != NULL && (fits(folder, path, fold) || fits(folder, relative, fold)));
}

static bool fits_any(struct wb_arena *arena, const char *pattern, const char *path,
                     const char *workspace, bool fold)
{
    const char *relative = wb_path_relative(path, workspace);
    const char *resolved = resolve_pattern(arena, pattern, workspace);
    return fits_name(arena, pattern, path, relative, fold) ||
           (resolved != NULL && fits_name(arena, resolved, path, relative, fold)) ||
           (pattern[0] != '/' && wb_ignore_glob(pattern, relative));
}

bool wb_pattern_fits_path(struct wb_arena *arena, const char *pattern, const char *path,
                          const char *workspace)
{
    return fits_any(arena, pattern, path, workspace, false) ||
           (fits_any(arena, pattern, path, workspace, true) && folds_case(arena, path));
}

bool wb_pattern_allows_path(struct wb_arena *arena, const char *pattern, const char *path,
                            const char *workspace)
{
    const char *relative = wb_path_relative(path, workspace);
    const char *resolved = resolve_pattern(arena, pattern, workspace);
    return fits(pattern, path, false) || fits(pattern, relative, false) ||
           (resolved != NULL && fits(resolved, path, false)) ||
           (pattern[0] != '/' && wb_ignore_glob(pattern, relative));
}

/* --- commands --- */

/* Could the text be one that fits, whatever its unknown parts become? From the end: can[j] says so of
 * the rest of the pattern and the text from j. */
static bool could_fit(struct wb_arena *arena, const char *pattern, const char *text)
{
    size_t n = strlen(text);
    if (n > PERHAPS_BYTES_MAX) {
        return true;
    }
    bool *can = wb_arena_alloc_array(arena, n + 1, sizeof(*can));
    bool *next = wb_arena_alloc_array(arena, n + 1, sizeof(*next));
    next[n] = true;
    for (size_t j = n; j-- > 0;) {
        next[j] = next[j + 1] && text[j] == WB_COMMAND_UNKNOWN;
    }
    for (size_t i = strlen(pattern); i-- > 0;) {
        can[n] = pattern[i] == '*' && next[n];
        for (size_t j = n; j-- > 0;) {
            bool is_unknown = text[j] == WB_COMMAND_UNKNOWN;
            can[j] = pattern[i] == '*' ? next[j] || can[j + 1]
                     : is_unknown      ? next[j] || can[j + 1]
                                       : pattern[i] == text[j] && next[j + 1];
        }
        bool *swap = can;
        can = next;
        next = swap;
    }
    return next[0];
}

static enum wb_fit fit_text(struct wb_arena *arena, const char *pattern, const char *text)
{
    if (fits(pattern, text, false)) {
        return WB_FIT_YES;
    }
    return strchr(text, WB_COMMAND_UNKNOWN) != NULL && could_fit(arena, pattern, text)
               ? WB_FIT_PERHAPS
               : WB_FIT_NO;
}

/* "git push *" fits `git push` alone too. */
static enum wb_fit fit_whole(struct wb_arena *arena, const char *pattern, const char *text)
{
    const char *bare = without_end(arena, pattern, " *");
    enum wb_fit fit = fit_text(arena, pattern, text);
    return bare != NULL ? WB_MAX(fit, fit_text(arena, bare, text)) : fit;
}

static const char *join(struct wb_arena *arena, const char *program, const char *const *words,
                        size_t n)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    wb_text_add_str(&text, program);
    for (size_t i = 0; i < n; i++) {
        wb_text_printf(&text, " %s", words[i]);
    }
    return wb_arena_strdup(arena, wb_text_cstr(&text));
}

/* git -C folder push: the command without the options between its program and each word that may be
 * the first operand. */
static enum wb_fit fit_without_options(struct wb_arena *arena, const char *pattern,
                                       const struct wb_command *command)
{
    const char *program = wb_path_base(command->words[0]);
    enum wb_fit fit = WB_FIT_NO;
    bool behind_option = false;
    for (size_t i = 1; i < command->n_words && fit != WB_FIT_YES; i++) {
        if (command->words[i][0] == '-') {
            behind_option = true;
            continue;
        }
        const char *text = join(arena, program, command->words + i, command->n_words - i);
        fit = WB_MAX(fit, fit_whole(arena, pattern, text));
        if (!behind_option) {
            break;
        }
        behind_option = false;
    }
    return fit;
}

enum wb_fit wb_pattern_fit_command(struct wb_arena *arena, const char *pattern,
                                   const struct wb_command_line *line)
{
    enum wb_fit fit = line->unread != NULL ? WB_FIT_PERHAPS : WB_FIT_NO;
    for (size_t i = 0; i < line->n_commands && fit != WB_FIT_YES; i++) {
        const struct wb_command *command = &line->commands[i];
        fit = WB_MAX(fit, fit_whole(arena, pattern, command->text));
        fit = WB_MAX(fit, fit_whole(arena, pattern, command->exact));
        fit = WB_MAX(fit, fit_without_options(arena, pattern, command));
    }
    return fit;
}

bool wb_pattern_allows_command(struct wb_arena *arena, const char *pattern,
                               const struct wb_command_line *line)
{
    const char *bare = without_end(arena, pattern, " *");
    bool allows = line->is_plain && line->unread == NULL && line->n_commands > 0;
    for (size_t i = 0; i < line->n_commands && allows; i++) {
        const char *exact = line->commands[i].exact;
        allows = fits(pattern, exact, false) || (bare != NULL && fits(bare, exact, false));
    }
    return allows;
}

/* ignore: the rules of .gitignore files (gitignore(5)), on memory.
 *
 * A set is built from files from the top down; the deepest and last matching rule decides. Verdicts
 * equal those of `git check-ignore` (a test compares them). Immutable sets may be shared by
 * threads. */
#ifndef WB_SYS_IGNORE_H
#define WB_SYS_IGNORE_H

#include "base/arena.h"

struct wb_ignore; /* the rules of one folder, with a link to its parent's */

/* folder: path relative to the top of the walk, "" for the top. content is borrowed: it must live
 * as long as the arena. Returns parent itself when there are no rules. */
const struct wb_ignore *wb_ignore_push(struct wb_arena *arena, const struct wb_ignore *parent,
                                       const char *folder, struct wb_span content);
/* path relative to the top, without a trailing slash. Parents are not asked: a walk does not enter
 * an ignored folder. */
bool wb_ignore_matches(const struct wb_ignore *rules, const char *path, bool is_folder);

/* Does `path` match the glob, as in gitignore without a leading slash rule: * and ? stay within a
 * component, ** crosses, [a-z], {a,b}. Without a slash in the pattern the last component is
 * matched. Patterns are shorter than WB_PATH_BYTES_MAX and have at most 8 brace groups (more are
 * taken as they are). For the glob and grep tools. */
bool wb_ignore_glob(const char *pattern, const char *path);

#endif

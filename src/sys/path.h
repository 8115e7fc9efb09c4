/* path: names of files: joining, normalising, the workspace boundary, programs on PATH, URIs.
 *
 * Paths are NUL-terminated UTF-8 or arbitrary bytes without NUL. Results are in the caller's arena.
 * Any thread. */
#ifndef WB_SYS_PATH_H
#define WB_SYS_PATH_H

#include "base/arena.h"
#include "base/error.h"

/* a/b; b alone when it is absolute. */
char *wb_path_join(struct wb_arena *arena, const char *a, const char *b);
/* Removes ".", "..", doubled slashes by text alone (no file system). Absolute input. */
char *wb_path_normalize(struct wb_arena *arena, const char *absolute);
/* The real path of the longest existing prefix, with the rest appended normalised: where a file
 * that need not exist yet would land. Dangling and looping symlinks are errors. */
char *wb_path_real(struct wb_arena *arena, const char *absolute, struct wb_error *err);
const char *wb_path_base(const char *path);                  /* last component, borrowed */
char *wb_path_dir(struct wb_arena *arena, const char *path); /* all but the last; "/" or "." */
const char *wb_path_extension(const char *path);             /* ".c", or "" */
/* Is path the folder itself or below it? Both absolute and normalised. */
bool wb_path_is_inside(const char *path, const char *folder);
/* Path relative to folder if inside ("." for the folder itself), else the path as it is. Borrowed
 * from path. */
const char *wb_path_relative(const char *path, const char *folder);

/* Looks a program up: one with a slash is taken as it is (relative to cwd); else first in each of
 * the absolute folders `first` (NULL-terminated, may be NULL), then on path_env (NULL: $PATH).
 * Relative and empty entries of path_env are skipped: they mean whatever checkout we stand in.
 * NULL if there is no executable file of that name; *ret_looked (may be NULL) then lists where it
 * looked, for the sentence. */
char *wb_path_find_program(struct wb_arena *arena, const char *name, const char *const *first,
                           const char *path_env, char **ret_looked);

/* file: URIs (RFC 8089, RFC 3986). Everything but unreserved characters and "/" is encoded. */
char *wb_path_to_uri(struct wb_arena *arena, const char *absolute);
/* NULL for other schemes, remote hosts, relative paths, broken escapes and encoded NULs. */
char *wb_path_from_uri(struct wb_arena *arena, struct wb_span uri);

/* Folders of the user, made on first use (0700): $XDG_*_HOME/werkbank or the defaults. */
char *wb_path_cache_folder(struct wb_arena *arena, struct wb_error *err);
char *wb_path_state_folder(struct wb_arena *arena, struct wb_error *err);
char *wb_path_config_file(struct wb_arena *arena); /* not made */
int wb_path_make_folders(const char *absolute, int mode, struct wb_error *err);

#endif

/* patterns: whether the pattern of a guard rule or of an approval fits a name, a path, a command. A *
 * is any text, also over slashes and blanks; no other sign means anything. Any thread. */
#ifndef WB_RUN_PATTERNS_H
#define WB_RUN_PATTERNS_H

#include "run/command_line.h"

bool wb_pattern_fits(const char *pattern, const char *text);

/* Where a name of the workspace (or absolute, or ~/...) really is; NULL: nowhere. In the arena. */
const char *wb_pattern_real_path(struct wb_arena *arena, const char *name, const char *workspace);

/* path is real. fits is for rules that deny or prompt: the folder x counts as x/..., and case as the
 * file system has it. allows is exact. Without a slash in it, the pattern may fit the last component. */
bool wb_pattern_fits_path(struct wb_arena *arena, const char *pattern, const char *path,
                          const char *workspace);
bool wb_pattern_allows_path(struct wb_arena *arena, const char *pattern, const char *path,
                            const char *workspace);

enum wb_fit { WB_FIT_NO, WB_FIT_PERHAPS, WB_FIT_YES };

/* For rules that deny or prompt. A blank and a star at the end are an optional rest. */
enum wb_fit wb_pattern_fit_command(struct wb_arena *arena, const char *pattern,
                                   const struct wb_command_line *line);
bool wb_pattern_allows_command(struct wb_arena *arena, const char *pattern,
                               const struct wb_command_line *line);

#endif

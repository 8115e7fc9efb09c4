/* rules: the guard rules of the configuration: what is allowed, asked for or denied, whatever the
 * tier. Each row of "rules" is an object:
 *
 *   {"id": "no-push", "tool": "shell", "command": "git push *", "action": "deny", "reason": "..."}
 *
 * tool, operation (of lsp, debug ...), path and command are patterns with *, all of those given must
 * fit. All rules that fit are combined, those of all files: deny over prompt over allow. A row or a file
 * that cannot be understood denies what it would have governed and says so.
 *
 * Paths are compared as they really are (symlinks and .. resolved, in the pattern's folders too; in any
 * case where the file system folds case), relative to the workspace or absolute; "x/..." with a star
 * behind the slash is also the folder x. Deny and prompt fit when one path of the call fits, allow when
 * all do. Words of a command line that name files count as its paths for deny and prompt.
 *
 * Command lines are taken apart (run/command_line.h). Deny and prompt fit when one of the simple commands
 * fits, also with options between the program and the rest of the pattern. Where one could fit, but it is
 * not known before it runs (a variable, a glob in the place of the program, a shell that reads its
 * input), the call is asked for. Allow fits only when every command does as it stands, and there is
 * nothing else in the line. Immutable after loading; any thread. */
#ifndef WB_RUN_RULES_H
#define WB_RUN_RULES_H

#include "base/arena.h"
#include "base/json.h"

enum wb_verdict { WB_VERDICT_NONE, WB_VERDICT_ALLOW, WB_VERDICT_PROMPT, WB_VERDICT_DENY };

struct wb_rules;

/* The rules of one file. */
struct wb_rule_file {
    const char *path;
    const struct wb_json *rows; /* the value of "rules" */
    bool may_allow;             /* it is believed when it widens */
    const char *mistake;        /* it holds rules and cannot be read: why. Otherwise NULL */
};

/* tools: the names that there are, to tell a mistyped one. Lives in the arena. */
const struct wb_rules *wb_rules_load(struct wb_arena *arena, const struct wb_rule_file *files,
                                     size_t n_files, const char *const *tools, size_t n_tools);

/* What a call is, for the rules. */
struct wb_rule_subject {
    const char *tool, *operation; /* operation: NULL if the tool has none */
    const char *workspace;
    const char *const *paths; /* absolute, real */
    size_t n_paths;
    const char *command; /* NULL: none */
    bool is_code; /* the command is a program's text: what is not read of it is not asked for */
};

/* Does any of them govern by path? */
bool wb_rules_have_paths(const struct wb_rules *rules);

/* *ret_reason: the deciding rule's reason, or what is wrong with it; may be NULL. */
enum wb_verdict wb_rules_judge(const struct wb_rules *rules, struct wb_arena *arena,
                               const struct wb_rule_subject *subject, const char **ret_reason);

#endif

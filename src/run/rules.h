/* rules: the guard rules of the configuration: what is allowed, asked for or denied, whatever the
 * tier. Each row of "rules" is an object:
 *
 *   {"id": "no-push", "tool": "shell", "command": "git push *", "action": "deny", "reason": "..."}
 *
 * tool, operation (of lsp, debug ...), path and command are patterns with *, all of those given must
 * fit. All rules that fit are combined: deny over prompt over allow. A row that cannot be understood
 * denies what it would have governed and says so.
 *
 * Paths are compared as they really are (symlinks and .. resolved), relative to the workspace or
 * absolute; deny and prompt fit when one path of the call fits, allow when all do. Command lines are
 * taken apart into simple commands (quotes, ;, &&, pipes, subshells, VAR=x in front, sh -c, env,
 * sudo and their like); deny and prompt fit when one of them fits, allow only when every one does and
 * nothing in the line was left unread. Immutable after loading; any thread. */
#ifndef WB_RUN_RULES_H
#define WB_RUN_RULES_H

#include "base/arena.h"
#include "base/json.h"

enum wb_verdict { WB_VERDICT_NONE, WB_VERDICT_ALLOW, WB_VERDICT_PROMPT, WB_VERDICT_DENY };

struct wb_rules;

/* rows: the configuration's "rules", or NULL. Lives in the arena. */
const struct wb_rules *wb_rules_load(struct wb_arena *arena, const struct wb_json *rows);

/* What a call is, for the rules. */
struct wb_rule_subject {
    const char *tool, *operation; /* operation: NULL if the tool has none */
    const char *workspace;
    const char *const *paths; /* absolute, real */
    size_t n_paths;
    const char *command; /* NULL: none */
};

/* *ret_reason: the deciding rule's reason, or what is wrong with it; may be NULL. */
enum wb_verdict wb_rules_judge(const struct wb_rules *rules, struct wb_arena *arena,
                               const struct wb_rule_subject *subject, const char **ret_reason);

/* command_line.c: the simple commands of a shell command line, each as its words joined by single
 * blanks, the program without its folder. False: part of it could not be read (a substitution, a
 * variable in the place of a program, a redirection to a file), and what was read is given. */
bool wb_command_line_split(struct wb_arena *arena, const char *line, const char ***ret_commands,
                           size_t *ret_n);

#endif

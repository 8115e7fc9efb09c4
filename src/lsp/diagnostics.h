/* diagnostics: findings of servers and checkers as one list, and the three states of an answer,
 * which are never mixed: clean, findings, unknown. */
#ifndef WB_LSP_DIAGNOSTICS_H
#define WB_LSP_DIAGNOSTICS_H

#include "base/json.h"
#include "run/result.h"

enum wb_severity {
    WB_SEVERITY_ERROR = 1,
    WB_SEVERITY_WARNING,
    WB_SEVERITY_INFORMATION,
    WB_SEVERITY_HINT
};

const char *wb_severity_name(enum wb_severity severity); /* "error" */
bool wb_severity_parse(struct wb_span name, enum wb_severity *ret);

struct wb_diagnostic {
    const char *path; /* absolute */
    int64_t line;     /* 1-based; 0: the file as a whole */
    int64_t column;   /* 0-based, in the server's encoding; for order and duplicates only */
    enum wb_severity severity;
    const char *source, *code, *message; /* never NULL */
};

struct wb_diagnostic_list {
    struct wb_diagnostic *items;
    size_t count, capacity;
};

/* LSP 3.17 Diagnostic[] (publishDiagnostics, a pull report's items). A missing severity is an error,
 * codes may be numbers, strings or objects, messages may be MarkupContent; what cannot be read is
 * skipped. Strings are copied into the arena. source: used where a finding names none. */
void wb_diagnostics_parse(struct wb_arena *arena, const struct wb_json *items, const char *path,
                          const char *source, struct wb_diagnostic_list *list);
struct wb_diagnostic *wb_diagnostics_add(struct wb_arena *arena, struct wb_diagnostic_list *list);
/* Deep copy of all of from. */
void wb_diagnostics_copy(struct wb_arena *arena, struct wb_diagnostic_list *to,
                         const struct wb_diagnostic_list *from);
/* By path, line, severity, message; the same finding of two stores is kept once. */
void wb_diagnostics_sort(struct wb_diagnostic_list *list);
/* severity, code, message: the ledger's key. */
uint64_t wb_diagnostic_key(const struct wb_diagnostic *diagnostic);

/* What one server had to say. */
enum wb_answer_state { WB_ANSWER_CLEAN, WB_ANSWER_FINDINGS, WB_ANSWER_UNKNOWN };

const char *wb_answer_state_name(enum wb_answer_state state);

struct wb_server_answer {
    const char *server; /* row id */
    enum wb_answer_state state;
    const char *reason; /* of unknown: "still checking", "exited with status 1: <stderr>" */
};

/* One line for the model: "src/a.c:12: error: message [clang unused]". path as it shall be shown. */
void wb_diagnostic_line(struct wb_text *out, const struct wb_diagnostic *diagnostic,
                        const char *shown_path);
/* The data shape of contract section 12: {"state", "diagnostics": [...], "servers": [...]}. Paths
 * relative to the workspace. */
void wb_diagnostics_json(struct wb_json_writer *w, const char *workspace,
                         const struct wb_diagnostic_list *list,
                         const struct wb_server_answer *answers, size_t n_answers);
/* findings if there are any, else unknown if any answer is, else clean. */
enum wb_answer_state wb_diagnostics_state(const struct wb_diagnostic_list *list,
                                          const struct wb_server_answer *answers, size_t n_answers);

#endif

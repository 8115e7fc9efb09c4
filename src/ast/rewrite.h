/* rewrite: a template into which metavariables go, and what becomes of a file.
 *
 * Nothing is lost. A token or comment of a match that the pattern does not mention stays where it is
 * when it stands in front of or behind all that the pattern mentions; in the middle the match is left
 * out, and said so. A comma in front of a closing bracket is layout. Matches inside a captured node
 * are rewritten inside it. The result is parsed again; a file that would have new errors is left out.
 *
 * Layout. The template's lines get the indentation of the place; a captured run of lines keeps its
 * own shape, moved by the difference. Lines that begin inside a token (a multi-line string) are not
 * touched. Indentation and line ends are the file's own. An empty $$$ takes one separator of the
 * template with it. */
#ifndef WB_AST_REWRITE_H
#define WB_AST_REWRITE_H

#include "ast/scan.h"

struct wb_template;

/* -1 (NULL): a name that the pattern does not bind. Lives in the arena. */
const struct wb_template *wb_template_compile(struct wb_arena *arena,
                                              const struct wb_pattern *pattern, struct wb_span text,
                                              struct wb_error *err);

/* A place in the old content and what it becomes. */
struct wb_replacement {
    uint32_t start, end;
    struct wb_span text;
};

struct wb_left_out {
    size_t line;        /* 1-based; 0: the whole file */
    const char *reason; /* static, or in the arena */
};

struct wb_rewritten {
    struct wb_arena arena;
    struct wb_span old_content, new_content; /* copies; new is empty when nothing changes */
    struct wb_replacement *replacements;     /* ascending, apart from one another */
    size_t n_replacements, replacements_capacity;
    size_t n_changes; /* matches that were rewritten; those inside others count too */
    struct wb_left_out *left_out;
    size_t n_left_out, left_out_capacity;
};

/* Rewrites the matches of a file; NULL: it has none. On a worker's thread; the caller frees. */
struct wb_rewritten *wb_rewrite_file(const struct wb_template *template,
                                     const struct wb_scan_file *file);
void wb_rewritten_free(struct wb_rewritten *rewritten);

#endif

/* rewrite: what becomes of a file when each match of a pattern becomes a template.
 *
 * Nothing is lost. A token or comment of a match that the pattern does not mention stays where it is
 * when it stands in front of or behind all that the pattern mentions; in the middle the match is left
 * out, and said so. A comma in front of a closing bracket is layout, and so is a semicolon that may be
 * left out. Matches inside a captured node are rewritten inside it. A template without anything
 * deletes: an item goes with one comma, a statement with its line. The result is parsed again; a file
 * that would have new errors is left out. */
#ifndef WB_AST_REWRITE_H
#define WB_AST_REWRITE_H

#include "ast/scan.h"
#include "ast/template.h"

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

/* layout: how the lines of a file are laid out, and text whose lines can be moved to another
 * indentation. Knows bytes, lines and tokens; no patterns, no templates. */
#ifndef WB_AST_LAYOUT_H
#define WB_AST_LAYOUT_H

#include "ast/flat_tree.h"
#include "base/arena.h"
#include "base/text.h"

static inline bool wb_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Lines that begin in (start, end) begin inside a string: they are content, not layout. */
struct wb_fixed_range {
    uint32_t start, end;
};

/* Borrows the source; the rest is in the arena. */
struct wb_layout {
    struct wb_span source;
    uint32_t *lines; /* where they begin; the first is 0 */
    size_t n_lines, lines_capacity;
    bool has_crlf, has_tabs;
    unsigned unit;                /* blanks of one level of indentation; 0: not known, or tabs */
    struct wb_fixed_range *fixed; /* ascending */
    size_t n_fixed, fixed_capacity;
};

void wb_layout_read(struct wb_layout *ret, struct wb_arena *arena, const struct wb_grammar *grammar,
                    const struct wb_flat_tree *tree, struct wb_span source);
/* Does the line that begins at the offset begin inside a string? */
bool wb_layout_is_fixed(const struct wb_layout *layout, uint32_t line_start);
/* The blanks in front of the line that the offset is on. */
struct wb_span wb_layout_indentation(const struct wb_layout *layout, uint32_t offset);
/* The white space in front of the offset. */
struct wb_span wb_layout_blanks_before(const struct wb_layout *layout, uint32_t offset);

/* Text that is being made. fixed: offsets of lines that are not moved. */
struct wb_block {
    struct wb_text text;
    size_t *fixed;
    size_t n_fixed, fixed_capacity;
};

void wb_block_done(struct wb_block *block); /* also WB_AUTO(wb_block_done) */
/* The line that begins at the end of the text so far is not moved. */
void wb_block_fix_line(struct wb_block *block);
void wb_block_add_source(struct wb_block *block, const struct wb_layout *layout, uint32_t start,
                         uint32_t end);
/* Adds a piece; its lines behind the first move from one indentation to the other. */
void wb_block_add_moved(struct wb_block *block, const struct wb_block *piece, struct wb_span from,
                        struct wb_span to);
/* Adds what stands between two tokens of the source; its lines move too. */
void wb_block_add_gap(struct wb_block *block, const struct wb_layout *layout, uint32_t start,
                      uint32_t end, struct wb_span from, struct wb_span to);
/* The indentation of the block's last line, where it begins at or behind floor; else *ret stays. */
void wb_block_line_indentation(const struct wb_block *block, size_t floor, struct wb_text *ret);
/* The shortest indentation of the lines behind the first that are moved; ptr NULL: there are none. */
struct wb_span wb_block_hanging_indentation(const struct wb_block *block);
void wb_block_add_line_end(struct wb_block *block, const struct wb_layout *layout);
/* Adds n_levels of the file's own indentation. */
void wb_block_add_levels(struct wb_block *block, const struct wb_layout *layout, size_t n_levels);

#endif

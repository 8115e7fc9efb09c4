/* pattern_internal: what the files of the pattern compiler share. */
#ifndef WB_AST_PATTERN_INTERNAL_H
#define WB_AST_PATTERN_INTERNAL_H

#include "ast/pattern.h"

#define WB_PLACEHOLDER_NAME_BYTES 6 /* "wbzaaz", without a style's additions */

/* One way to write a placeholder: a style of name, and the code around it that makes a statement, a
 * member or an entry of it where one has to stand: "int %;". body NULL: the name alone. */
struct wb_pattern_spelling {
    enum wb_placeholder style;
    const char *body;
};

/* The pattern's text in pieces: literal text, and metavariables between. */
struct wb_pattern_part {
    struct wb_span literal;
    bool is_metavariable;
    size_t placeholder;                          /* index; two of one name share it */
    size_t at;                                   /* where it begins in the pattern's text */
    const struct wb_pattern_spelling *spellings; /* the likeliest first */
    size_t n_spellings, spelling;                /* how many; the one that is tried */
    struct wb_span put;                          /* as it was written last */
};

struct wb_pattern_text {
    struct wb_pattern_part *parts;
    size_t n_parts, parts_capacity;

    struct {
        uint16_t variable; /* or WB_PATTERN_UNBOUND */
        bool is_many;
    } placeholders[WB_PATTERN_VARIABLES_MAX];

    size_t n_placeholders;
    const char **variables;
    size_t n_variables, variables_capacity;
    char letter; /* what makes the placeholders differ from the text */
};

/* Splits the text. -1: too many metavariables, or one name as $X and as $$$X. */
WB_MUST_CHECK int wb_pattern_text_read(struct wb_arena *arena, const struct wb_grammar *grammar,
                                       struct wb_span text, struct wb_pattern_text *ret,
                                       struct wb_error *err);
/* Which spellings a metavariable at start..end of the text may have there. */
void wb_pattern_part_spell(struct wb_arena *arena, const struct wb_grammar *grammar,
                           struct wb_span text, size_t start, size_t end, bool is_many,
                           struct wb_pattern_part *part);
/* The fragment with its placeholders as they are spelt now, appended; notes what it wrote. */
void wb_pattern_text_put(struct wb_arena *arena, struct wb_pattern_text *text, struct wb_text *out);
/* The next combination of spellings; false: they begin anew. */
bool wb_pattern_text_respell(struct wb_pattern_text *text);
void wb_pattern_text_reset(struct wb_pattern_text *text);
/* The place in the pattern's text of an offset in what put has written. */
size_t wb_pattern_text_place(const struct wb_pattern_text *text, size_t offset);
/* Is all of s one placeholder? Its index, or SIZE_MAX. */
size_t wb_pattern_text_whole(const struct wb_pattern_text *text, struct wb_span s);
/* The first placeholder in s, without its style's additions: its index and where it begins; SIZE_MAX:
 * none. It is WB_PLACEHOLDER_NAME_BYTES long. */
size_t wb_pattern_text_find(const struct wb_pattern_text *text, struct wb_span s, size_t *ret_at);

/* Has the node text between its children that no node stands for? Then it is compared as a whole. */
bool wb_flat_has_hidden_text(const struct wb_flat_tree *tree, struct wb_span source, uint32_t node);

/* The program of the siblings first..last of a scaffold's tree. lent_end: the end of a semicolon that
 * the scaffold has lent, or 0. False: nothing can be made of it. */
bool wb_pattern_convert(struct wb_arena *arena, const struct wb_grammar *grammar,
                        const struct wb_pattern_text *text, const struct wb_flat_tree *tree,
                        struct wb_span source, uint32_t first, uint32_t last, uint32_t lent_end,
                        struct wb_pattern_rung *ret);

/* Fills in required, from the rungs. */
void wb_pattern_find_required(struct wb_arena *arena, struct wb_pattern *pattern);

#endif

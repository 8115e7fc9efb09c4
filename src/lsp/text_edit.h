/* text_edit: edits of one text (LSP 3.17 "TextEdit[]"), checked and applied in one pass.
 * Pure functions on memory; any thread. */
#ifndef WB_LSP_TEXT_EDIT_H
#define WB_LSP_TEXT_EDIT_H

#include "lsp/position.h"

struct wb_text_edit {
    size_t start, end;       /* bytes of the text */
    struct wb_span new_text; /* as the server wrote it */
    size_t order;            /* in the array that it came in */
};

struct wb_text_edit_list {
    struct wb_text_edit *items;
    size_t count, capacity;
};

/* Reads one TextEdit or AnnotatedTextEdit and adds it. Positions are clamped to the text, a reversed
 * range is turned. Snippets are refused: nobody is there to fill their placeholders. */
WB_MUST_CHECK int wb_text_edit_read(struct wb_arena *arena, const struct wb_line_index *index,
                                    enum wb_position_encoding encoding, const struct wb_json *edit,
                                    struct wb_text_edit_list *list, struct wb_error *err);

/* Applies the edits, which all refer to the text as it is. Inserts at one place come in the order of
 * the array, before what replaces the text behind them; the same replacement twice counts once and
 * leaves the list; other overlaps are refused, touching is none. Line ends of new text become those
 * of a text that has only one kind. Everything else of the text stays byte for byte. */
WB_MUST_CHECK int wb_text_edits_apply(struct wb_arena *arena, const struct wb_line_index *index,
                                      struct wb_text_edit_list *list, struct wb_span *ret,
                                      struct wb_error *err);

#endif

/* position: lines of a file's text, and LSP positions in it (LSP 3.17 "Position").
 *
 * A server counts characters in the units of the encoding that was negotiated with it: the encoding
 * belongs to the server, so one file may have two. Lines end with LF, CRLF or a lone CR, as in LSP;
 * but clangd and gopls count LF alone, and tsserver U+2028 and U+2029 too. What lies behind the first
 * such place has a number on which we and a server may disagree: it is refused, not guessed.
 * A byte order mark is in the file and not in the first line: servers never see it.
 * Pure functions on memory; any thread. */
#ifndef WB_LSP_POSITION_H
#define WB_LSP_POSITION_H

#include "base/json.h"

enum wb_position_encoding { WB_POSITION_UTF8, WB_POSITION_UTF16, WB_POSITION_UTF32 };

/* "utf-8", "utf-16", "utf-32". */
const char *wb_position_encoding_name(enum wb_position_encoding encoding);
/* False for names that are not among them. */
bool wb_position_encoding_parse(const char *name, enum wb_position_encoding *ret);

/* The lines of a text. The text is borrowed; offsets are bytes in it, the BOM counted. */
struct wb_line_index {
    struct wb_span text;
    size_t *starts; /* of each line */
    size_t count;   /* at least 1: behind the last line end there is an empty line */
    size_t capacity;
    size_t disputed; /* the first lone CR, U+2028 or U+2029; SIZE_MAX: none */
};

void wb_line_index_init(struct wb_arena *arena, struct wb_span text, struct wb_line_index *ret);
/* A line (0-based) without its line end; empty past the last. */
struct wb_span wb_line_index_line(const struct wb_line_index *index, size_t line);
/* The line (0-based) that an offset is on. */
size_t wb_line_index_find(const struct wb_line_index *index, size_t offset);
/* -1 where the offset is behind the disputed one, with a sentence. */
WB_MUST_CHECK int wb_line_index_check(const struct wb_line_index *index, size_t offset,
                                      struct wb_error *err);
/* As people count: without the empty line behind the last line end. 0 for an empty file. */
size_t wb_line_index_visible(const struct wb_line_index *index);

struct wb_position {
    uint32_t line, character; /* both 0-based */
};

struct wb_range {
    struct wb_position start, end;
};

/* The offset of a position. Clamped: past the end of a line to before its line end, past the last
 * line to the end of the text, inside a character to its start. */
size_t wb_position_to_offset(const struct wb_line_index *index, enum wb_position_encoding encoding,
                             struct wb_position position);
/* The position of an offset. Clamped: inside a character to its start, inside a line end to before
 * it, inside the BOM to the start, past the end to the end. An invalid byte counts one unit. */
struct wb_position wb_position_from_offset(const struct wb_line_index *index,
                                           enum wb_position_encoding encoding, size_t offset);

/* {"line", "character"}; numbers over 32 bits ("to the end of the line") become the largest. False
 * for other shapes and negative numbers. */
bool wb_position_read(const struct wb_json *value, struct wb_position *ret);
/* {"start", "end"}, in the order that is written. */
bool wb_range_read(const struct wb_json *value, struct wb_range *ret);
void wb_position_write(struct wb_json_writer *w, struct wb_position position);

/* Names on a line, as byte offsets and lengths in the text. */
struct wb_symbol_hits {
    size_t *offsets, *lengths;
    size_t count, capacity;
};

/* Where a symbol stands on a line (1-based); contract section 2. A symbol is a piece of text: hits
 * that are whole words come before hits inside a longer word, and where there are whole ones the
 * others do not count. `text#2` names the second hit, whole ones first, unless only the text with its
 * "#2" is there. Each hit is the name that a server shall be asked at: for a member chain (a.b, a::b,
 * a->b, a?.b, with calls and type arguments in it) the last one, for text that begins otherwise its
 * first word, for an operator the text itself.
 * -1: WB_ERROR_INVALID for no symbol or a line that the text lacks, WB_ERROR_NOT_FOUND with the line
 * as it stands and the nearest lines that have the symbol. */
WB_MUST_CHECK int wb_position_find_symbol(struct wb_arena *arena, const struct wb_line_index *index,
                                          int64_t line, struct wb_span symbol,
                                          struct wb_symbol_hits *ret, struct wb_error *err);

#endif

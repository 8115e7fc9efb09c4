/* json_scan: what json.c asks of a text before and after yyjson parses it. Inside of base/ only.
 *
 * Looks at bytes: strings are told from the rest, but whether the text is JSON at all is the
 * parser's question. */
#ifndef WB_BASE_JSON_SCAN_H
#define WB_BASE_JSON_SCAN_H

#include "base/text.h"

/* The offset of the bracket that opens a level over WB_JSON_DEPTH_MAX, or SIZE_MAX. Asked before
 * parsing, because there a text of nothing but brackets grows to many times its size. */
size_t wb_json_find_too_deep(struct wb_span text);

/* Appends the text with invalid UTF-8 and lone surrogates as U+FFFD; false if it has none. */
bool wb_json_repair_text(struct wb_text *out, struct wb_span text);

#endif

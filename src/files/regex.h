/* regex: a regular expression (PCRE2) that is looked for line by line. */
#ifndef WB_FILES_REGEX_H
#define WB_FILES_REGEX_H

#include "base/error.h"

struct wb_regex;

/* Compiles; the error says what is wrong and at which offset. */
struct wb_regex *wb_regex_new(struct wb_span pattern, struct wb_error *err);
void wb_regex_free(struct wb_regex *regex);
WB_DEFINE_AUTO(wb_regex_free_p, struct wb_regex, wb_regex_free);

/* The next line of *rest with a match: 1, *ret_line is the line without its end, *ret_skipped the
 * number of lines before it, and *rest what comes behind it. 0: no line matches. -1: the pattern
 * takes too many steps on this text. One thread at a time. */
int wb_regex_next_line(struct wb_regex *regex, struct wb_span *rest, struct wb_span *ret_line,
                       size_t *ret_skipped);

#endif

/* content: a text file as the tools of this folder see it, and its lines. */
#ifndef WB_FILES_CONTENT_H
#define WB_FILES_CONTENT_H

#include "run/call.h"

struct wb_content {
    const char *path;  /* absolute, real */
    const char *shown; /* as results name it */
    struct wb_span bytes;
};

/* Loads the text file that an argument names into the call's arena. Folders, binary files and files
 * over WB_FILE_BYTES_MAX are errors that say what to use instead. */
WB_MUST_CHECK int wb_content_load(struct wb_call *call, struct wb_span path, struct wb_content *ret,
                                  struct wb_error *err);

/* A last line without a line end counts. */
size_t wb_content_count_lines(struct wb_span bytes);
/* 1-based line of an offset. */
size_t wb_content_line_of(struct wb_span bytes, size_t offset);
/* Appends a line without its end, cut at a character behind max_bytes with "..." and what is cut.
 * Invalid UTF-8 becomes U+FFFD. */
void wb_content_add_line(struct wb_text *out, struct wb_span line, size_t max_bytes);

#endif

/* subject: the file that a tool of this folder works on: found, read, and known to be text. */
#ifndef WB_FILES_SUBJECT_H
#define WB_FILES_SUBJECT_H

#include "run/call.h"
#include "sys/file.h"

struct wb_subject {
    const char *path;       /* absolute, real */
    const char *shown;      /* for results */
    struct wb_span content; /* as it is on disk */
};

/* An existing text file. NOT_FOUND, INVALID for folders and binary files, LIMIT. */
WB_MUST_CHECK int wb_subject_read(struct wb_call *call, struct wb_span path, struct wb_subject *ret,
                                  struct wb_error *err);

/* Writes new content over it, through the run. */
WB_MUST_CHECK int wb_subject_write(struct wb_call *call, const struct wb_subject *subject,
                                   struct wb_span content, struct wb_result *result,
                                   struct wb_error *err);

#endif

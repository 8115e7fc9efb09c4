/* staging: the interface between who proposes edits and who holds them until they are resolved. A
 * run's resource WB_RESOURCE_STAGING is a struct wb_stager. */
#ifndef WB_RUN_STAGING_H
#define WB_RUN_STAGING_H

#include "base/error.h"

#define WB_STAGED_ID_BYTES 24

struct wb_staged_file {
    const char *path; /* absolute, real */
    struct wb_span old_content, new_content;
    size_t n_replacements;
};

struct wb_stager {
    /* Holds a change (everything is copied) and gives it an id, "edit_1". what: for lists, "ast_edit
     * foo($X)". WB_ERROR_LIMIT: too much is staged; the sentence says what to resolve. Any thread. */
    int (*stage)(void *ctx, const char *what, const struct wb_staged_file *files, size_t n_files,
                 char ret_id[WB_STAGED_ID_BYTES], struct wb_error *err);
    void *ctx;
};

#endif

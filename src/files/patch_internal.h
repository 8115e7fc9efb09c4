/* patch_internal: what the two parsers share. */
#ifndef WB_FILES_PATCH_INTERNAL_H
#define WB_FILES_PATCH_INTERNAL_H

#include "base/text.h"
#include "files/patch.h"

/* The patch's lines, one ahead. */
struct wb_patch_reader {
    struct wb_span rest; /* behind line */
    struct wb_span line; /* the one to look at, without its line end */
    size_t number;       /* of line, 1-based */
    bool at_end;         /* there is none */
};

void wb_patch_reader_init(struct wb_patch_reader *reader, struct wb_span text);
void wb_patch_reader_next(struct wb_patch_reader *reader);
/* The line's rest behind prefix; false without the prefix. */
bool wb_patch_reader_at(const struct wb_patch_reader *reader, const char *prefix,
                        struct wb_span *ret_behind);

struct wb_patch_file *wb_patch_add_file(struct wb_patch *patch, enum wb_patch_action action,
                                        const char *path, size_t at_line);
struct wb_patch_hunk *wb_patch_add_hunk(struct wb_patch *patch, struct wb_patch_file *file,
                                        size_t at_line);
struct wb_patch_line *wb_patch_add_line(struct wb_patch *patch, struct wb_patch_hunk *hunk,
                                        char kind, struct wb_span text);

int wb_patch_parse_envelope(struct wb_patch *patch, struct wb_patch_reader *reader,
                            struct wb_error *err);
int wb_patch_parse_unified(struct wb_patch *patch, struct wb_patch_reader *reader,
                           struct wb_error *err);

#endif

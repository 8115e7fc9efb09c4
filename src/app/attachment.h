/* attachment: a result's pictures as files of the user's cache folder, and on terminals that can show
 * them. */
#ifndef WB_APP_ATTACHMENT_H
#define WB_APP_ATTACHMENT_H

#include "run/run.h"

/* Writes the picture to a file of its own; n_saved counts them, for the name. NULL: err. */
const char *wb_attachment_save(const struct wb_run *run, unsigned *n_saved, struct wb_arena *arena,
                               const struct wb_attachment *attachment, struct wb_error *err);

/* How a terminal shows pictures. */
enum wb_picture_protocol { WB_PICTURE_NONE, WB_PICTURE_KITTY, WB_PICTURE_ITERM };

/* From what terminals say of themselves in the environment. */
enum wb_picture_protocol wb_picture_protocol(void);
/* Appends the escape sequence; false: this protocol does not take this kind of picture. Source: kitty
 * "Terminal graphics protocol" (f=100, PNG), iTerm2 "Inline Images Protocol". */
bool wb_picture_put(struct wb_text *out, enum wb_picture_protocol protocol,
                    const struct wb_attachment *attachment);

#endif

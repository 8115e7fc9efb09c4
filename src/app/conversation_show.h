/* conversation_show: a transcript for people: as text, and as one HTML page that needs nothing else.
 * Works on the text of a transcript; what a crash left of a line is passed over. */
#ifndef WB_APP_CONVERSATION_SHOW_H
#define WB_APP_CONVERSATION_SHOW_H

#include "base/arena.h"
#include "base/text.h"

void wb_conversation_show_text(struct wb_span transcript, struct wb_text *out);
/* folder: that of the transcript, where pictures are found; they go into the page. */
void wb_conversation_show_html(struct wb_span transcript, const char *id, const char *folder,
                               struct wb_text *out);

#endif

/* attachment: see the header. */
#include "app/attachment.h"

#include <stdlib.h>

#include "sys/file.h"
#include "sys/path.h"

#define KITTY_CHUNK_BYTES 4096

/* "png" of "image/png". */
static const char *extension_of(const char *mime)
{
    const char *slash = strchr(mime, '/');
    const char *name = slash != NULL ? slash + 1 : "bin";
    return name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789")] == '\0' ? name : "bin";
}

const char *wb_attachment_save(const struct wb_run *run, unsigned *n_saved, struct wb_arena *arena,
                               const struct wb_attachment *attachment, struct wb_error *err)
{
    const char *cache = wb_path_cache_folder(arena, err);
    if (cache == NULL) {
        return NULL;
    }
    const char *folder = wb_path_join(arena, cache, "attachments");
    const char *path = wb_arena_printf(arena, "%s/%s-%s-%u.%s", folder, wb_run_conversation_id(run),
                                       wb_run_id(run), ++*n_saved, extension_of(attachment->mime));
    if (wb_path_make_folders(folder, 0700, err) != 0 ||
        wb_file_write_private(path, attachment->bytes, err) != 0) {
        return NULL;
    }
    return path;
}

static bool is_set(const char *name, const char *value)
{
    const char *found = getenv(name);
    return found != NULL && (value == NULL || strstr(found, value) != NULL);
}

enum wb_picture_protocol wb_picture_protocol(void)
{
    if (is_set("TMUX", NULL) || is_set("STY", NULL)) {
        return WB_PICTURE_NONE; /* a multiplexer keeps them to itself */
    }
    if (is_set("KITTY_WINDOW_ID", NULL) || is_set("TERM", "kitty") ||
        is_set("TERM_PROGRAM", "ghostty")) {
        return WB_PICTURE_KITTY;
    }
    return is_set("TERM_PROGRAM", "iTerm") || is_set("TERM_PROGRAM", "WezTerm") ? WB_PICTURE_ITERM
                                                                                : WB_PICTURE_NONE;
}

static void put_kitty(struct wb_text *out, struct wb_span base64)
{
    for (size_t at = 0; at < base64.len; at += KITTY_CHUNK_BYTES) {
        size_t len = WB_MIN(base64.len - at, (size_t)KITTY_CHUNK_BYTES);
        wb_text_printf(out, "\x1b_G%sm=%d;", at == 0 ? "a=T,f=100," : "", at + len < base64.len);
        wb_text_add(out, base64.ptr + at, len);
        wb_text_add_str(out, "\x1b\\");
    }
    wb_text_add_char(out, '\n');
}

bool wb_picture_put(struct wb_text *out, enum wb_picture_protocol protocol,
                    const struct wb_attachment *attachment)
{
    WB_AUTO(wb_text_done) struct wb_text base64 = {0};
    bool is_png = wb_str_equal(attachment->mime, "image/png");
    if (protocol == WB_PICTURE_NONE || (protocol == WB_PICTURE_KITTY && !is_png)) {
        return false;
    }
    wb_attachment_base64(&base64, attachment);
    if (protocol == WB_PICTURE_KITTY) {
        put_kitty(out, wb_text_span(&base64));
    } else {
        wb_text_printf(out, "\x1b]1337;File=inline=1;size=%zu:", attachment->bytes.len);
        wb_text_add_span(out, wb_text_span(&base64));
        wb_text_add_str(out, "\a\n");
    }
    return true;
}

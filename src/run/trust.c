/* trust: see the header. A record is the workspace's path, a NUL, "file" or "none", a NUL, and the
 * content of the project file. */
#include "run/trust.h"

#include <errno.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "sys/file.h"
#include "sys/path.h"

static char *record_folder(struct wb_arena *arena, struct wb_error *err)
{
    char *state = wb_path_state_folder(arena, err);
    return state != NULL ? wb_path_join(arena, state, "trust") : NULL;
}

/* The name only finds the record; the path inside proves it. */
static char *record_path(struct wb_arena *arena, const char *workspace, struct wb_error *err)
{
    char *folder = record_folder(arena, err);
    if (folder == NULL) {
        return NULL;
    }
    return wb_arena_printf(arena, "%s/%016llx", folder,
                           (unsigned long long)wb_hash(wb_span(workspace)));
}

static void build_record(struct wb_text *out, const char *workspace, struct wb_span content)
{
    wb_text_add(out, workspace, strlen(workspace) + 1);
    if (content.ptr != NULL) {
        wb_text_add(out, "file", sizeof("file"));
        wb_text_add_span(out, content);
    } else {
        wb_text_add(out, "none", sizeof("none"));
    }
}

enum wb_trust wb_trust_look_up(const char *workspace, struct wb_span content)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    WB_AUTO(wb_text_done) struct wb_text wanted = {0};
    struct wb_span record;
    wb_arena_init(&arena);
    const char *path = record_path(&arena, workspace, NULL);
    size_t max_bytes = WB_CONFIG_BYTES_MAX + 2 * WB_PATH_BYTES_MAX;
    if (path == NULL || wb_file_read(&arena, path, max_bytes, &record, NULL, NULL) != 0) {
        return WB_TRUST_NONE;
    }
    build_record(&wanted, workspace, content);
    if (wb_span_equal(record, wb_text_span(&wanted))) {
        return WB_TRUST_GIVEN;
    }
    struct wb_span same_workspace = {workspace, strlen(workspace) + 1};
    return wb_span_starts(record, same_workspace) ? WB_TRUST_CHANGED : WB_TRUST_NONE;
}

int wb_trust_record(const char *workspace, struct wb_span content, struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    WB_AUTO(wb_text_done) struct wb_text record = {0};
    wb_arena_init(&arena);
    const char *folder = record_folder(&arena, err);
    if (folder == NULL || wb_path_make_folders(folder, 0700, err) != 0) {
        return -1;
    }
    build_record(&record, workspace, content);
    return wb_file_write_private(record_path(&arena, workspace, err), wb_text_span(&record), err);
}

int wb_trust_remove(const char *workspace, struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    const char *path = record_path(&arena, workspace, err);
    if (path == NULL) {
        return -1;
    }
    if (unlink(path) == 0) {
        return 0;
    }
    if (errno == ENOENT) {
        return wb_error_set(err, WB_ERROR_NOT_FOUND, "%s was not trusted", workspace);
    }
    return wb_error_errno(err, errno, "cannot remove %s", path);
}

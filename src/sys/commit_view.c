/* commit_view: names of a plan, led back to the disk and on to the end. Reads the disk only. */
#include "sys/commit_view.h"

#include <errno.h>

#include "sys/path.h"

const char *wb_commit_view_shown(const struct wb_commit_view *view, const char *path)
{
    return wb_path_relative(path, view->commit->workspace);
}

/* path is inside `from`: the same below `to`. */
static const char *rebase(struct wb_arena *arena, const char *path, const char *from,
                          const char *to)
{
    return wb_arena_printf(arena, "%s%s", to, path + strlen(from));
}

static enum wb_commit_place_kind kind_of_mode(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return WB_PLACE_FILE;
    case S_IFDIR:
        return WB_PLACE_FOLDER;
    case S_IFLNK:
        return WB_PLACE_LINK;
    default:
        return WB_PLACE_OTHER;
    }
}

/* What is at a name on the disk now, or will be once the new files are staged. */
static int look_at_disk(const struct wb_commit_view *view, struct wb_commit_place *place,
                        struct wb_error *err)
{
    bool staged = wb_str_starts(wb_path_base(place->origin), WB_COMMIT_TEMP_PREFIX);
    for (size_t i = 0; staged && i < view->n_creations; i++) {
        if (wb_str_equal(place->origin, view->creations[i].temp)) {
            place->kind = WB_PLACE_NEW_FILE;
            place->creation = i;
            return 0;
        }
    }
    if (lstat(place->origin, &place->st) == 0) {
        place->kind = kind_of_mode(place->st.st_mode);
        return 0;
    }
    if (errno != ENOENT && errno != ENOTDIR) {
        return wb_error_errno(err, errno, "Cannot look at %s",
                              wb_commit_view_shown(view, place->origin));
    }
    place->kind = WB_PLACE_MISSING;
    return 0;
}

int wb_commit_view_look_up(const struct wb_commit_view *view, const char *path,
                           struct wb_commit_place *ret, struct wb_error *err)
{
    *ret = (struct wb_commit_place){.kind = WB_PLACE_MISSING};
    for (size_t i = view->n_moves; i-- > 0;) {
        const struct wb_commit_step *step = &view->moves[i].step;
        if (step->kind == WB_STEP_MKDIR) {
            if (wb_path_is_inside(path, step->path)) {
                ret->kind = wb_str_equal(path, step->path) ? WB_PLACE_NEW_FOLDER : WB_PLACE_MISSING;
                return 0;
            }
        } else if (wb_path_is_inside(path, step->to)) {
            path = rebase(view->arena, path, step->to, step->path);
        } else if (wb_path_is_inside(path, step->path)) {
            return 0;
        }
    }
    ret->origin = path;
    return look_at_disk(view, ret, err);
}

int wb_commit_view_check_boundary(const struct wb_commit_view *view, const char *path,
                                  const char *real, struct wb_error *err)
{
    const char *boundary = view->commit->boundary;
    if (boundary == NULL) {
        return 0;
    }
    if (!wb_path_is_inside(real, boundary)) {
        return wb_error_set(err, WB_ERROR_DENIED, "%s leads to %s, which is outside of %s",
                            wb_commit_view_shown(view, path), real, boundary);
    }
    if (wb_str_equal(real, boundary)) {
        return wb_error_set(err, WB_ERROR_DENIED,
                            "%s itself cannot be changed: name something in it", boundary);
    }
    return 0;
}

const char *wb_commit_view_canonical(const struct wb_commit_view *view, const char *path,
                                     struct wb_error *err)
{
    if (path == NULL || path[0] != '/') {
        wb_error_set(err, WB_ERROR_INVALID, "The path \"%s\" is not absolute",
                     path != NULL ? path : "");
        return NULL;
    }
    path = wb_path_normalize(view->arena, path);
    const char *folder = wb_path_real(view->arena, wb_path_dir(view->arena, path), err);
    if (folder == NULL) {
        return NULL;
    }
    const char *whole = wb_path_join(view->arena, folder, wb_path_base(path));
    return wb_commit_view_check_boundary(view, path, whole, err) == 0 ? whole : NULL;
}

const char *wb_commit_view_final(const struct wb_commit_view *view, const char *path, size_t from)
{
    for (size_t i = from; i < view->n_moves; i++) {
        const struct wb_commit_step *step = &view->moves[i].step;
        if (step->kind == WB_STEP_MOVE && wb_path_is_inside(path, step->path)) {
            path = rebase(view->arena, path, step->path, step->to);
        }
    }
    return path;
}

void wb_commit_view_add_move(struct wb_commit_view *view, const char *path, const char *to,
                             const struct wb_commit_place *place)
{
    struct wb_commit_move *move =
        WB_ARENA_PUSH(view->arena, view->moves, view->n_moves, view->moves_capacity);
    bool is_new = place->kind == WB_PLACE_NEW_FILE;
    *move = (struct wb_commit_move){
        .step = {.kind = WB_STEP_MOVE, .path = path, .to = to},
        .creation = is_new ? place->creation : SIZE_MAX,
    };
    if (!is_new) {
        move->step.device = place->st.st_dev;
        move->step.inode = place->st.st_ino;
    }
}

void wb_commit_view_add_folder(struct wb_commit_view *view, const char *path)
{
    *WB_ARENA_PUSH(view->arena, view->moves, view->n_moves, view->moves_capacity) =
        (struct wb_commit_move){.step = {.kind = WB_STEP_MKDIR, .path = path},
                                .creation = SIZE_MAX};
}

/* commit_plan: checks a list of operations and makes the plan that carries it out.
 *
 * An operation names files as they are called when its turn comes; the view (commit_view.h) leads
 * such a name back to the one that the thing has on the disk now. New contents of existing files
 * are all written first, under those original names; then comes the structure (moves, new folders,
 * new files, deletions) in the order given. Writes nothing. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "sys/commit_view.h"
#include "sys/path.h"

/* A file that exists and gets new content. Known by its inode, whatever name it is reached by. */
struct change {
    const char *path; /* on the disk now, real */
    uint64_t device, inode;
    struct wb_file_stamp stamp;
    bool in_place;
    struct wb_span old_content, new_content;
};

struct planner {
    struct wb_arena *arena;
    struct wb_arena reading; /* content of one file at a time */
    struct wb_commit_view view;
    struct wb_commit_plan *plan;
    struct change *changes;
    size_t n_changes, changes_capacity;
    size_t *slots; /* hash table over changes: index + 1; 0: free */
    size_t n_slots;
};

static const char *shown(const struct planner *p, const char *path)
{
    return wb_commit_view_shown(&p->view, path);
}

static const char *temp_name(struct planner *p, const char *folder)
{
    uint64_t random = 0;
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
        random = (uint64_t)(uintptr_t)&random ^ (uint64_t)getpid() << 32 ^ p->plan->n_temps;
    }
    char name[64];
    snprintf(name, sizeof(name), WB_COMMIT_TEMP_PREFIX "%016" PRIx64, random);
    return wb_path_join(p->arena, folder, name);
}

/* path is in the folder on the disk, shown what the caller knows. */
static int check_folder_writable(const struct planner *p, const char *path, const char *shown_path,
                                 struct wb_error *err)
{
    const char *folder = wb_path_dir(p->arena, path);
    if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0) {
        return wb_error_errno(err, errno, "Cannot change %s: its folder is not writable",
                              shown_path);
    }
    return 0;
}

static int check_content(struct planner *p, const char *path, struct wb_span expected,
                         struct wb_error *err)
{
    struct wb_span content;
    wb_arena_clear(&p->reading);
    if (wb_file_read(&p->reading, path, SIZE_MAX / 4, &content, NULL, err) != 0) {
        return -1;
    }
    if (!wb_span_equal(content, expected)) {
        return wb_error_set(err, WB_ERROR_STALE,
                            "%s has changed since it was read: read it again, then repeat the "
                            "change",
                            shown(p, path));
    }
    return 0;
}

static size_t *find_slot(const struct planner *p, const struct stat *st)
{
    size_t at = (size_t)(st->st_ino * 0x9E3779B97F4A7C15u ^ st->st_dev) & (p->n_slots - 1);
    while (p->slots[at] != 0) {
        const struct change *change = &p->changes[p->slots[at] - 1];
        if (change->inode == st->st_ino && change->device == st->st_dev) {
            break;
        }
        at = (at + 1) & (p->n_slots - 1);
    }
    return &p->slots[at];
}

static struct change *find_change(const struct planner *p, const struct stat *st)
{
    size_t index = *find_slot(p, st);
    return index != 0 ? &p->changes[index - 1] : NULL;
}

static void add_drop_move(struct planner *p, const char *path, const struct wb_commit_place *place)
{
    wb_commit_view_add_move(&p->view, path, temp_name(p, wb_path_dir(p->arena, path)), place);
    p->view.moves[p->view.n_moves - 1].drops = true;
}

/* Plans the folders above path that are missing. *ret_existing: the nearest one that is on the disk
 * already, by its name at this point. */
static int want_folders(struct planner *p, const char *path, const char **ret_existing,
                        struct wb_error *err)
{
    const char *folder = wb_path_dir(p->arena, path);
    struct wb_commit_place place;
    if (wb_commit_view_look_up(&p->view, folder, &place, err) != 0) {
        return -1;
    }
    if (place.kind == WB_PLACE_LINK) {
        bool leads_to_folder = wb_file_kind(place.origin, NULL) == WB_FILE_FOLDER;
        place.kind = leads_to_folder ? WB_PLACE_FOLDER : WB_PLACE_OTHER;
    }
    switch (place.kind) {
    case WB_PLACE_FOLDER:
        *ret_existing = folder;
        return 0;
    case WB_PLACE_NEW_FOLDER:
        return want_folders(p, folder, ret_existing, err);
    case WB_PLACE_MISSING:
        break;
    default:
        return wb_error_set(err, WB_ERROR_INVALID, "%s cannot be made: %s is not a folder",
                            shown(p, path), shown(p, folder));
    }
    if (want_folders(p, folder, ret_existing, err) != 0) {
        return -1;
    }
    wb_commit_view_add_folder(&p->view, folder);
    return 0;
}

static int plan_create(struct planner *p, const struct wb_commit_op *op, const char *path,
                       struct wb_error *err)
{
    const char *folder;
    if (want_folders(p, path, &folder, err) != 0) {
        return -1;
    }
    /* Staged in a folder that is there now, under the name that the folder has now. */
    const char *temp = temp_name(p, folder);
    struct wb_commit_place place;
    if (wb_commit_view_look_up(&p->view, temp, &place, err) != 0 ||
        check_folder_writable(p, place.origin, shown(p, path), err) != 0) {
        return -1;
    }
    place.kind = WB_PLACE_NEW_FILE;
    place.creation = p->view.n_creations;
    *WB_ARENA_PUSH(p->arena, p->view.creations, p->view.n_creations, p->view.creations_capacity) =
        (struct wb_commit_creation){.temp = place.origin,
                                    .shown = shown(p, path),
                                    .content = op->new_content,
                                    .mode = op->mode};
    wb_commit_view_add_move(&p->view, temp, path, &place);
    return 0;
}

/* place is the file itself, real. */
static int plan_change(struct planner *p, const struct wb_commit_op *op, const char *real,
                       struct wb_error *err)
{
    struct stat st;
    struct wb_file_stamp stamp;
    if (wb_file_kind(real, &stamp) != WB_FILE_REGULAR || lstat(real, &st) != 0) {
        return wb_error_set(err, WB_ERROR_INVALID, "%s is not a regular file", shown(p, real));
    }
    struct change *change = find_change(p, &st);
    if (change != NULL) {
        if (!wb_span_equal(change->new_content, op->old_content)) {
            return wb_error_set(err, WB_ERROR_STALE,
                                "%s is written twice, and the second time from a content that it "
                                "does not have then",
                                shown(p, real));
        }
        change->new_content = op->new_content;
        return 0;
    }
    if (check_content(p, real, op->old_content, err) != 0) {
        return -1;
    }
    if (faccessat(AT_FDCWD, real, W_OK, AT_EACCESS) != 0) {
        return wb_error_errno(err, errno, "Cannot write %s (mode %04o)", shown(p, real),
                              st.st_mode & 07777);
    }
    if (check_folder_writable(p, real, shown(p, real), err) != 0) {
        return -1;
    }
    size_t *slot = find_slot(p, &st);
    *WB_ARENA_PUSH(p->arena, p->changes, p->n_changes, p->changes_capacity) = (struct change){
        .path = real,
        .device = st.st_dev,
        .inode = st.st_ino,
        .stamp = stamp,
        .in_place = !wb_commit_is_replaceable(real, &st),
        .old_content = op->old_content,
        .new_content = op->new_content,
    };
    *slot = p->n_changes;
    return 0;
}

static int plan_write(struct planner *p, const struct wb_commit_op *op, struct wb_error *err)
{
    struct wb_commit_place place;
    const char *path = wb_commit_view_canonical(&p->view, op->path, err);
    if (path == NULL || wb_commit_view_look_up(&p->view, path, &place, err) != 0) {
        return -1;
    }
    if (!op->must_exist) {
        if (place.kind != WB_PLACE_MISSING) {
            return wb_error_set(err, WB_ERROR_STALE, "%s exists already", shown(p, path));
        }
        return plan_create(p, op, path, err);
    }
    switch (place.kind) {
    case WB_PLACE_MISSING:
        return wb_error_set(err, WB_ERROR_STALE, "%s does not exist any more", shown(p, path));
    case WB_PLACE_NEW_FILE:
        if (!wb_span_equal(p->view.creations[place.creation].content, op->old_content)) {
            return wb_error_set(err, WB_ERROR_STALE, "%s is not what the change expects",
                                shown(p, path));
        }
        p->view.creations[place.creation].content = op->new_content;
        return 0;
    case WB_PLACE_FILE:
    case WB_PLACE_LINK: {
        const char *real = wb_path_real(p->arena, place.origin, err);
        if (real == NULL || wb_commit_view_check_boundary(&p->view, path, real, err) != 0) {
            return -1;
        }
        return plan_change(p, op, real, err);
    }
    default:
        return wb_error_set(err, WB_ERROR_INVALID, "%s is not a regular file", shown(p, path));
    }
}

static bool is_empty_folder(const char *path)
{
    DIR *dir = opendir(path);
    size_t n = 0;
    while (dir != NULL && n <= 2 && readdir(dir) != NULL) {
        n++;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return n == 2; /* "." and ".." */
}

static int check_deletable(struct planner *p, const struct wb_commit_op *op, const char *path,
                           const struct wb_commit_place *place, struct wb_error *err)
{
    switch (place->kind) {
    case WB_PLACE_MISSING:
        return wb_error_set(err, WB_ERROR_STALE, "%s does not exist any more", shown(p, path));
    case WB_PLACE_FOLDER:
        if (!op->recursive && !is_empty_folder(place->origin)) {
            return wb_error_set(err, WB_ERROR_INVALID, "%s is a folder with files in it",
                                shown(p, path));
        }
        return 0;
    case WB_PLACE_NEW_FOLDER:
        return wb_error_set(err, WB_ERROR_INVALID,
                            "%s is made by the same change: leave it out instead of deleting it",
                            shown(p, path));
    case WB_PLACE_NEW_FILE:
        return 0;
    case WB_PLACE_FILE:
    case WB_PLACE_LINK: {
        const struct change *change = find_change(p, &place->st);
        if (change != NULL && wb_span_equal(change->new_content, op->old_content)) {
            return 0;
        }
        return check_content(p, place->origin, op->old_content, err);
    }
    default:
        return wb_error_set(err, WB_ERROR_INVALID, "%s is neither a file nor a folder",
                            shown(p, path));
    }
}

static int plan_delete(struct planner *p, const struct wb_commit_op *op, struct wb_error *err)
{
    struct wb_commit_place place;
    const char *path = wb_commit_view_canonical(&p->view, op->path, err);
    if (path == NULL || wb_commit_view_look_up(&p->view, path, &place, err) != 0 ||
        check_deletable(p, op, path, &place, err) != 0 ||
        check_folder_writable(p, place.origin, shown(p, place.origin), err) != 0) {
        return -1;
    }
    add_drop_move(p, path, &place);
    return 0;
}

/* Makes the name free that something is to be renamed to. */
static int clear_target(struct planner *p, const struct wb_commit_op *op, const char *to,
                        bool is_folder, struct wb_error *err)
{
    struct wb_commit_place place;
    if (wb_commit_view_look_up(&p->view, to, &place, err) != 0) {
        return -1;
    }
    if (place.kind == WB_PLACE_MISSING) {
        return 0;
    }
    bool is_file = place.kind == WB_PLACE_FILE || place.kind == WB_PLACE_LINK ||
                   place.kind == WB_PLACE_NEW_FILE;
    if (!op->overwrite || !is_file || is_folder) {
        return wb_error_set(err, WB_ERROR_STALE, "%s cannot be renamed to %s, which exists already",
                            shown(p, op->path), shown(p, to));
    }
    add_drop_move(p, to, &place);
    return 0;
}

static int plan_rename(struct planner *p, const struct wb_commit_op *op, struct wb_error *err)
{
    const char *path = wb_commit_view_canonical(&p->view, op->path, err);
    const char *to = path != NULL ? wb_commit_view_canonical(&p->view, op->new_path, err) : NULL;
    struct wb_commit_place place;
    if (to == NULL || wb_commit_view_look_up(&p->view, path, &place, err) != 0) {
        return -1;
    }
    if (place.kind == WB_PLACE_MISSING) {
        return wb_error_set(err, WB_ERROR_STALE, "%s does not exist any more", shown(p, path));
    }
    if (place.kind == WB_PLACE_OTHER || place.kind == WB_PLACE_NEW_FOLDER) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            place.kind == WB_PLACE_OTHER
                                ? "%s is neither a file nor a folder"
                                : "%s is made by the same change: make it under its last name",
                            shown(p, path));
    }
    if (wb_str_equal(path, to)) {
        return 0;
    }
    if (wb_path_is_inside(to, path) || wb_path_is_inside(path, to)) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "%s cannot be renamed to %s: one is in the other", shown(p, path),
                            shown(p, to));
    }
    const char *existing;
    if (check_folder_writable(p, place.origin, shown(p, place.origin), err) != 0 ||
        clear_target(p, op, to, place.kind == WB_PLACE_FOLDER, err) != 0 ||
        want_folders(p, to, &existing, err) != 0) {
        return -1;
    }
    wb_commit_view_add_move(&p->view, path, to, &place);
    return 0;
}

static int plan_op(struct planner *p, const struct wb_commit_op *op, struct wb_error *err)
{
    switch (op->kind) {
    case WB_COMMIT_WRITE:
        return plan_write(p, op, err);
    case WB_COMMIT_DELETE:
        return plan_delete(p, op, err);
    default:
        return plan_rename(p, op, err);
    }
}

static void add_temp(struct planner *p, struct wb_commit_temp temp)
{
    struct wb_commit_plan *plan = p->plan;
    *WB_ARENA_PUSH(plan->arena, plan->temps, plan->n_temps, plan->temps_capacity) = temp;
}

static void add_drop(struct planner *p, const char *path)
{
    struct wb_commit_plan *plan = p->plan;
    *WB_ARENA_PUSH(plan->arena, plan->drops, plan->n_drops, plan->drops_capacity) = path;
}

static struct wb_commit_step *add_step(struct planner *p)
{
    struct wb_commit_plan *plan = p->plan;
    return WB_ARENA_PUSH(plan->arena, plan->steps, plan->n_steps, plan->steps_capacity);
}

static void finish_change(struct planner *p, const struct change *change)
{
    if (wb_span_equal(change->old_content, change->new_content)) {
        return;
    }
    const char *folder = wb_path_dir(p->arena, change->path);
    const char *name = shown(p, change->path);
    struct wb_commit_step *step = add_step(p);
    *step = (struct wb_commit_step){
        .kind = change->in_place ? WB_STEP_INPLACE : WB_STEP_REPLACE,
        .path = change->path,
        .temp = temp_name(p, folder),
        .aside = temp_name(p, folder),
        .device = change->device,
        .inode = change->inode,
        .old_hash = wb_sha256(change->old_content),
        .new_hash = wb_sha256(change->new_content),
        .new_content = change->new_content,
        .stamp = change->stamp,
    };
    add_drop(p, wb_commit_view_final(&p->view, step->aside, 0));
    if (change->in_place) {
        /* Both are copies for recovery; the file itself keeps what it is. */
        add_temp(p, (struct wb_commit_temp){step->temp, name, change->new_content, NULL, 0600});
        add_temp(p, (struct wb_commit_temp){step->aside, name, change->old_content, NULL, 0600});
        add_drop(p, wb_commit_view_final(&p->view, step->temp, 0));
    } else {
        add_temp(p,
                 (struct wb_commit_temp){step->temp, name, change->new_content, change->path, 0});
    }
}

/* What is moved has a new inode by then if its content was replaced. */
static void finish_move(struct planner *p, size_t index)
{
    const struct wb_commit_move *move = &p->view.moves[index];
    struct wb_commit_step *step = add_step(p);
    *step = move->step;
    if (move->drops) {
        add_drop(p, wb_commit_view_final(&p->view, step->to, index + 1));
    }
    if (step->kind != WB_STEP_MOVE) {
        return;
    }
    if (move->creation != SIZE_MAX) {
        step->new_hash = wb_sha256(p->view.creations[move->creation].content);
        return;
    }
    const struct stat st = {.st_dev = step->device, .st_ino = step->inode};
    const struct change *change = find_change(p, &st);
    if (change != NULL && !change->in_place &&
        !wb_span_equal(change->old_content, change->new_content)) {
        step->device = step->inode = 0;
        step->new_hash = wb_sha256(change->new_content);
    }
}

static void finish_plan(struct planner *p)
{
    for (size_t i = 0; i < p->n_changes; i++) {
        finish_change(p, &p->changes[i]);
    }
    for (size_t i = 0; i < p->view.n_creations; i++) {
        const struct wb_commit_creation *creation = &p->view.creations[i];
        add_temp(p, (struct wb_commit_temp){creation->temp, creation->shown, creation->content,
                                            NULL, creation->mode != 0 ? creation->mode : 0666});
    }
    for (size_t i = 0; i < p->view.n_moves; i++) {
        finish_move(p, i);
    }
}

int wb_commit_plan_make(struct wb_commit_plan *plan, const struct wb_commit *commit,
                        struct wb_error *err)
{
    if (commit->n_ops > WB_COMMIT_FILES_MAX) {
        return wb_error_set(err, WB_ERROR_LIMIT,
                            "The change has %zu files, more than the %d that can be changed at "
                            "once: split it",
                            commit->n_ops, WB_COMMIT_FILES_MAX);
    }
    struct planner p = {.arena = plan->arena,
                        .view = {.arena = plan->arena, .commit = commit},
                        .plan = plan,
                        .n_slots = 16};
    while (p.n_slots < 2 * commit->n_ops) {
        p.n_slots *= 2;
    }
    p.slots = wb_arena_alloc_array(plan->arena, p.n_slots, sizeof(*p.slots));
    wb_arena_init(&p.reading);
    int planned = 0;
    for (size_t i = 0; i < commit->n_ops && planned == 0; i++) {
        planned = plan_op(&p, &commit->ops[i], err);
    }
    wb_arena_done(&p.reading);
    if (planned == 0) {
        finish_plan(&p);
    }
    return planned;
}

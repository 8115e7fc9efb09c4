/* walk: goes through a folder's files in path order.
 *
 * Recursive over folders, with each level's descriptor open, so that a folder that is moved or
 * replaced by a symlink meanwhile leads nowhere else. Names and rules of a level live in that
 * level's arena. */
#include "sys/walk.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "sys/ignore.h"
#include "sys/path.h"

struct entry {
    const char *name;
    bool is_folder, is_symlink;
};

struct walker {
    const struct wb_walk_options *options;
    bool (*visit)(void *ctx, const struct wb_walk_entry *entry);
    void *ctx;
    struct wb_walk_counts counts;
    struct wb_text path;   /* absolute, of where we are; never ends in a slash below the root */
    size_t workspace_skip; /* bytes of path in front of what ignore rules see */
    size_t folder_skip;    /* bytes of path in front of what visit gets as relative */
    size_t n_entries;
};

/* One level of the recursion. */
struct level {
    DIR *dir;
    struct wb_arena arena;
    struct entry *entries;
    size_t n_entries, capacity;
    const struct wb_ignore *rules;
    bool has_gitignore, has_ignore;
};

enum outcome { WALK_ON, WALK_STOP, WALK_FAILED };

static void level_done(struct level *level)
{
    if (level->dir != NULL) {
        closedir(level->dir);
    }
    wb_arena_done(&level->arena);
}

/* Takes the descriptor; false: it is no folder that can be read. */
static bool level_init(struct level *level, int fd, const struct wb_ignore *rules)
{
    *level = (struct level){.rules = rules};
    wb_arena_init(&level->arena);
    level->dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (level->dir == NULL && fd >= 0) {
        close(fd);
    }
    return level->dir != NULL;
}

/* False: neither a file nor a folder, or gone, or a link that leads to no file. */
static bool find_kind(int folder_fd, unsigned char type, struct entry *entry)
{
    struct stat st;
    if (type == DT_UNKNOWN) {
        if (fstatat(folder_fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            return false;
        }
        type = IFTODT(st.st_mode);
    }
    entry->is_folder = type == DT_DIR;
    entry->is_symlink = type == DT_LNK;
    if (entry->is_symlink) {
        return fstatat(folder_fd, entry->name, &st, 0) == 0 && S_ISREG(st.st_mode);
    }
    return entry->is_folder || type == DT_REG;
}

static bool is_hidden(const struct walker *walker, const char *name)
{
    return wb_str_equal(name, ".git") || (name[0] == '.' && !walker->options->hidden);
}

/* Compares as the whole paths below would: a folder's name goes on with a slash. */
static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    size_t i = 0;
    while (x->name[i] != '\0' && x->name[i] == y->name[i]) {
        i++;
    }
    unsigned char cx = (unsigned char)(x->name[i] == '\0' && x->is_folder ? '/' : x->name[i]);
    unsigned char cy = (unsigned char)(y->name[i] == '\0' && y->is_folder ? '/' : y->name[i]);
    return (cx > cy) - (cx < cy);
}

static int list_level(struct walker *walker, struct level *level, struct wb_error *err)
{
    struct dirent *dirent;
    while ((dirent = readdir(level->dir)) != NULL) {
        const char *name = dirent->d_name;
        if (wb_str_equal(name, ".") || wb_str_equal(name, "..")) {
            continue;
        }
        if (++walker->n_entries > WB_WALK_ENTRIES_MAX) {
            return wb_error_set(err, WB_ERROR_LIMIT,
                                "There are more than %d files and folders to look at: name a "
                                "smaller folder",
                                WB_WALK_ENTRIES_MAX);
        }
        level->has_gitignore |= wb_str_equal(name, ".gitignore");
        level->has_ignore |= wb_str_equal(name, ".ignore");
        if (is_hidden(walker, name)) {
            walker->counts.hidden++;
            continue;
        }
        struct entry entry = {.name = name};
        if (find_kind(dirfd(level->dir), dirent->d_type, &entry)) {
            entry.name = wb_arena_strdup(&level->arena, name);
            *WB_ARENA_PUSH(&level->arena, level->entries, level->n_entries, level->capacity) =
                entry;
        }
    }
    if (level->n_entries != 0) {
        qsort(level->entries, level->n_entries, sizeof(*level->entries), compare_entries);
    }
    return 0;
}

/* What ignore rules see of the path where the walker stands. */
static const char *seen_path(const struct walker *walker)
{
    const char *path = wb_text_cstr(&walker->path);
    return walker->path.len > walker->workspace_skip ? path + walker->workspace_skip : "";
}

/* An ignore file that cannot be read (a symlink, as in git; too large) counts as not there. */
static void push_rules(struct walker *walker, struct wb_arena *arena, int folder_fd,
                       const char *name, const struct wb_ignore **rules)
{
    int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_size <= (off_t)WB_IGNORE_FILE_BYTES_MAX) {
        char *content = wb_arena_alloc(arena, (size_t)st.st_size + 1);
        ssize_t len = read(fd, content, (size_t)st.st_size);
        if (len > 0) {
            *rules = wb_ignore_push(arena, *rules, wb_arena_strdup(arena, seen_path(walker)),
                                    (struct wb_span){content, (size_t)len});
        }
    }
    if (fd >= 0) {
        close(fd);
    }
}

static void enter_name(struct walker *walker, const char *name)
{
    if (!wb_span_ends(wb_text_span(&walker->path), WB_SPAN("/"))) {
        wb_text_add_char(&walker->path, '/');
    }
    wb_text_add_str(&walker->path, name);
}

static enum outcome walk_level(struct walker *walker, int fd, const struct wb_ignore *rules,
                               size_t depth, struct wb_error *err);

static enum outcome walk_entry(struct walker *walker, const struct level *level,
                               const struct entry *entry, size_t depth, struct wb_error *err)
{
    if (wb_cancel_is_fired(walker->options->cancel)) {
        wb_error_set(err, WB_ERROR_CANCELLED, "Cancelled while looking through %s",
                     wb_text_cstr(&walker->path));
        return WALK_FAILED;
    }
    enter_name(walker, entry->name);
    if (wb_ignore_matches(level->rules, seen_path(walker), entry->is_folder)) {
        walker->counts.ignored++;
        return WALK_ON;
    }
    walker->counts.files += !entry->is_folder;
    if (!entry->is_folder || walker->options->folders) {
        struct wb_walk_entry given = {
            .path = wb_text_cstr(&walker->path),
            .relative = wb_text_cstr(&walker->path) + walker->folder_skip,
            .is_folder = entry->is_folder,
            .is_symlink = entry->is_symlink,
        };
        if (!walker->visit(walker->ctx, &given)) {
            return WALK_STOP;
        }
    }
    if (!entry->is_folder) {
        return WALK_ON;
    }
    if (depth == WB_WALK_DEPTH_MAX) {
        walker->counts.unreadable++;
        return WALK_ON;
    }
    int fd =
        openat(dirfd(level->dir), entry->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return walk_level(walker, fd, level->rules, depth + 1, err);
}

/* Takes fd; -1: a folder that could not be opened. */
static enum outcome walk_level(struct walker *walker, int fd, const struct wb_ignore *rules,
                               size_t depth, struct wb_error *err)
{
    WB_AUTO(level_done) struct level level;
    if (!level_init(&level, fd, rules)) {
        walker->counts.unreadable++;
        return WALK_ON;
    }
    if (list_level(walker, &level, err) != 0) {
        return WALK_FAILED;
    }
    if (level.has_gitignore && !walker->options->no_ignore) {
        push_rules(walker, &level.arena, fd, ".gitignore", &level.rules);
    }
    if (level.has_ignore && !walker->options->no_ignore) {
        push_rules(walker, &level.arena, fd, ".ignore", &level.rules);
    }
    size_t path_len = walker->path.len;
    enum outcome outcome = WALK_ON;
    for (size_t i = 0; i < level.n_entries && outcome == WALK_ON; i++) {
        outcome = walk_entry(walker, &level, &level.entries[i], depth, err);
        wb_text_cut(&walker->path, path_len);
    }
    return outcome;
}

/* Goes down from the workspace, taking the rules on the way; the walker then stands in the folder,
 * whose own rules are not taken yet. Returns its descriptor, or -1. */
static int descend(struct walker *walker, struct wb_arena *arena, const char *workspace,
                   const char *folder, const struct wb_ignore **rules)
{
    int fd = open(workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ignore = fd >= 0 && !walker->options->no_ignore;
    if (ignore) {
        push_rules(walker, arena, fd, ".git/info/exclude", rules);
    }
    const char *relative = wb_path_relative(folder, workspace);
    WB_AUTO(wb_free_p) char *rest = wb_strdup(wb_str_equal(relative, ".") ? "" : relative);
    char *state = NULL;
    for (char *name = strtok_r(rest, "/", &state); fd >= 0 && name != NULL;
         name = strtok_r(NULL, "/", &state)) {
        if (ignore) {
            push_rules(walker, arena, fd, ".gitignore", rules);
            push_rules(walker, arena, fd, ".ignore", rules);
        }
        int below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int reason = errno;
        close(fd);
        errno = reason;
        fd = below;
        enter_name(walker, name);
    }
    return fd;
}

/* The length of folder and the slash behind it. */
static size_t skip_of(const char *folder)
{
    return wb_str_equal(folder, "/") ? 1 : strlen(folder) + 1;
}

int wb_walk(const char *workspace, const char *folder, const struct wb_walk_options *options,
            bool (*visit)(void *ctx, const struct wb_walk_entry *entry), void *ctx,
            struct wb_walk_counts *ret_counts, struct wb_error *err)
{
    assert(wb_path_is_inside(folder, workspace));
    static const struct wb_walk_options defaults;
    struct walker walker = {
        .options = options != NULL ? options : &defaults,
        .visit = visit,
        .ctx = ctx,
        .workspace_skip = skip_of(workspace),
        .folder_skip = skip_of(folder),
    };
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    wb_text_init(&walker.path);
    wb_text_add_str(&walker.path, workspace);

    const struct wb_ignore *rules = NULL;
    int fd = descend(&walker, &arena, workspace, folder, &rules);
    int result = -1;
    if (fd < 0) {
        wb_error_errno(err, errno, "Cannot list the folder %s", folder);
    } else if (walk_level(&walker, fd, rules, 0, err) != WALK_FAILED) {
        result = 0;
    }
    if (result == 0 && ret_counts != NULL) {
        *ret_counts = walker.counts;
    }
    wb_text_done(&walker.path);
    return result;
}

bool wb_walk_leaves_out(const char *workspace, const char *path, bool is_folder)
{
    static const struct wb_walk_options defaults;
    const char *name = wb_path_base(path);
    if (name[0] == '.') {
        return true;
    }
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    struct walker walker = {.options = &defaults, .workspace_skip = skip_of(workspace)};
    wb_text_init(&walker.path);
    wb_text_add_str(&walker.path, workspace);
    const struct wb_ignore *rules = NULL;
    int fd = descend(&walker, &arena, workspace, wb_path_dir(&arena, path), &rules);
    if (fd >= 0) {
        push_rules(&walker, &arena, fd, ".gitignore", &rules);
        push_rules(&walker, &arena, fd, ".ignore", &rules);
        close(fd);
    }
    bool left_out = wb_ignore_matches(rules, path + walker.workspace_skip, is_folder);
    wb_text_done(&walker.path);
    return left_out;
}

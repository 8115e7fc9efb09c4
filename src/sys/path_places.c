/* path_places: where programs and the user's own folders are.
 *
 * Programs are looked up here and not by the C library, so that the answer can say where it looked
 * and so that a name never resolves inside the current folder by accident. Folders follow the XDG
 * base directory specification 0.8. */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "sys/path.h"

static bool is_executable_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static char *find_in_folder(struct wb_arena *arena, const char *folder, const char *name,
                            struct wb_text *looked)
{
    if (looked != NULL) {
        wb_text_printf(looked, "%s%s", looked->len != 0 ? ", " : "", folder);
    }
    char *path = wb_path_join(arena, folder, name);
    return is_executable_file(path) ? path : NULL;
}

static char *find_on_path(struct wb_arena *arena, const char *path_env, const char *name,
                          struct wb_text *looked)
{
    for (const char *at = path_env; *at != '\0';) {
        size_t len = strcspn(at, ":");
        const char *folder = wb_arena_strndup(arena, at, len);
        at += len + (at[len] == ':');
        /* Empty and relative entries mean the current folder, which is somebody's checkout. */
        char *found = folder[0] == '/' ? find_in_folder(arena, folder, name, looked) : NULL;
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

static char *find_as_given(struct wb_arena *arena, const char *name, struct wb_text *looked)
{
    char *absolute = NULL;
    if (name[0] == '/') {
        absolute = wb_arena_strdup(arena, name);
    } else {
        WB_AUTO(wb_free_p) char *cwd = getcwd(NULL, 0);
        absolute = wb_path_join(arena, cwd != NULL ? cwd : "/", name);
    }
    if (looked != NULL) {
        wb_text_add_str(looked, absolute);
    }
    return is_executable_file(absolute) ? absolute : NULL;
}

char *wb_path_find_program(struct wb_arena *arena, const char *name, const char *const *first,
                           const char *path_env, char **ret_looked)
{
    WB_AUTO(wb_text_done) struct wb_text places;
    struct wb_text *looked = ret_looked != NULL ? &places : NULL; /* most callers do not ask */
    wb_text_init(&places);
    char *found = NULL;
    if (strchr(name, '/') != NULL) {
        found = find_as_given(arena, name, looked);
    } else if (name[0] != '\0') {
        for (size_t i = 0; first != NULL && first[i] != NULL && found == NULL; i++) {
            found = find_in_folder(arena, first[i], name, looked);
        }
        if (path_env == NULL) {
            path_env = getenv("PATH");
        }
        if (found == NULL && path_env != NULL) {
            found = find_on_path(arena, path_env, name, looked);
        }
    }
    if (found == NULL && ret_looked != NULL) {
        *ret_looked = wb_arena_strdup(arena, places.len != 0 ? wb_text_cstr(&places)
                                                             : "nowhere: PATH is empty");
    }
    return found;
}

static char *home_folder(struct wb_arena *arena)
{
    const char *home = getenv("HOME");
    if (home != NULL && home[0] == '/') {
        return wb_arena_strdup(arena, home);
    }
    struct passwd entry, *found = NULL;
    char buffer[4096];
    if (getpwuid_r(getuid(), &entry, buffer, sizeof(buffer), &found) == 0 && found != NULL) {
        return wb_arena_strdup(arena, found->pw_dir);
    }
    return wb_arena_strdup(arena, "/");
}

static char *user_folder(struct wb_arena *arena, const char *variable, const char *below_home)
{
    const char *base = getenv(variable);
    if (base == NULL || base[0] != '/') { /* the specification: relative ones are ignored */
        base = wb_path_join(arena, home_folder(arena), below_home);
    }
    return wb_path_join(arena, base, "werkbank");
}

static char *make_user_folder(struct wb_arena *arena, const char *variable, const char *below_home,
                              struct wb_error *err)
{
    char *folder = user_folder(arena, variable, below_home);
    struct wb_error cause;
    if (wb_path_make_folders(folder, 0700, &cause) == 0) {
        return folder;
    }
    wb_error_set(err, cause.code, "%s. Set %s to a folder that can be written", cause.message,
                 variable);
    return NULL;
}

char *wb_path_cache_folder(struct wb_arena *arena, struct wb_error *err)
{
    return make_user_folder(arena, "XDG_CACHE_HOME", ".cache", err);
}

char *wb_path_state_folder(struct wb_arena *arena, struct wb_error *err)
{
    return make_user_folder(arena, "XDG_STATE_HOME", ".local/state", err);
}

char *wb_path_config_file(struct wb_arena *arena)
{
    return wb_path_join(arena, user_folder(arena, "XDG_CONFIG_HOME", ".config"), "config.json");
}

static int make_folder(const char *path, int mode, struct wb_error *err)
{
    if (mkdir(path, (mode_t)mode) == 0) {
        return 0;
    }
    int reason = errno;
    struct stat st;
    /* Whatever mkdir says (EEXIST, EROFS, EACCES on a mount point), an existing folder is fine. */
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode)) {
            return 0;
        }
        reason = ENOTDIR;
    }
    return wb_error_errno(err, reason, "Cannot make the folder %s", path);
}

int wb_path_make_folders(const char *absolute, int mode, struct wb_error *err)
{
    WB_AUTO(wb_free_p) char *path = wb_strdup(absolute);
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        return 0;
    }
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int made = make_folder(path, mode, err);
        *slash = '/';
        if (made != 0) {
            return -1;
        }
    }
    return make_folder(path, mode, err);
}

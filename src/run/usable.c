/* usable: see usable.h. */
#include "run/usable.h"

#include <dirent.h>

#include "base/limits.h"
#include "base/text.h"
#include "sys/file.h"
#include "sys/ignore.h"
#include "sys/path.h"

#define MARKER_BYTES_MAX WB_MIB

static bool folder_has_glob(const char *folder, const char *glob)
{
    DIR *stream = opendir(folder);
    bool found = false;
    const struct dirent *entry;
    while (stream != NULL && !found && (entry = readdir(stream)) != NULL) {
        found = wb_ignore_glob(glob, entry->d_name);
    }
    if (stream != NULL) {
        closedir(stream);
    }
    return found;
}

/* "Cargo.toml#[workspace]": the file, if it has that text. */
static bool folder_has_text(struct wb_arena *arena, const char *folder, const char *marker,
                            const char *hash)
{
    const char *name = wb_arena_strndup(arena, marker, (size_t)(hash - marker));
    struct wb_span content;
    return wb_file_read(arena, wb_path_join(arena, folder, name), MARKER_BYTES_MAX, &content, NULL,
                        NULL) == 0 &&
           wb_span_find(content, wb_span(hash + 1), 0) != SIZE_MAX;
}

static bool folder_has(struct wb_arena *arena, const char *folder, const char *marker)
{
    const char *hash = strchr(marker, '#');
    if (hash != NULL) {
        return folder_has_text(arena, folder, marker, hash);
    }
    if (strchr(marker, '*') != NULL) {
        return folder_has_glob(folder, marker);
    }
    return wb_file_kind(wb_path_join(arena, folder, marker), NULL) != WB_FILE_MISSING;
}

const char *wb_usable_marker(struct wb_arena *arena, const char *folder, const char **markers)
{
    for (; *markers != NULL; markers++) {
        if (folder_has(arena, folder, *markers)) {
            return *markers;
        }
    }
    return NULL;
}

/* Calls the folder of the file, then each parent up to the workspace. */
static char *next_folder(struct wb_arena *arena, const char *workspace, char *folder)
{
    return wb_str_equal(folder, workspace) ? NULL : wb_path_dir(arena, folder);
}

static char *first_folder(struct wb_arena *arena, const char *workspace, const char *path)
{
    if (!wb_path_is_inside(path, workspace)) {
        return NULL;
    }
    bool is_folder = wb_str_equal(path, workspace) || wb_file_kind(path, NULL) == WB_FILE_FOLDER;
    return is_folder ? wb_arena_strdup(arena, path) : wb_path_dir(arena, path);
}

char *wb_usable_root(struct wb_arena *arena, const char *workspace, const char *path,
                     const char **markers, const char **outer_markers, const char **ret_marker)
{
    char *nearest = NULL, *outermost = NULL;
    const char *near_marker = NULL, *outer_marker = NULL;
    for (char *folder = first_folder(arena, workspace, path); folder != NULL;
         folder = next_folder(arena, workspace, folder)) {
        const char *marker = wb_usable_marker(arena, folder, outer_markers);
        if (marker != NULL) {
            outermost = folder;
            outer_marker = marker;
        }
        if (nearest == NULL && (marker = wb_usable_marker(arena, folder, markers)) != NULL) {
            nearest = folder;
            near_marker = marker;
        }
    }
    if (ret_marker != NULL) {
        *ret_marker = outermost != NULL ? outer_marker : near_marker;
    }
    return outermost != NULL ? outermost : nearest;
}

const char *const *wb_usable_local_folders(struct wb_arena *arena, const char **local,
                                           const char *workspace, const char *root)
{
    const char **folders = NULL;
    size_t n = 0, capacity = 0;
    for (const char *folder = root; folder != NULL;
         folder = wb_str_equal(folder, workspace) ? NULL : wb_path_dir(arena, folder)) {
        for (const char **name = local; *name != NULL; name++) {
            *WB_ARENA_PUSH(arena, folders, n, capacity) =
                wb_path_normalize(arena, wb_path_join(arena, folder, *name));
        }
    }
    *WB_ARENA_PUSH(arena, folders, n, capacity) = NULL;
    return folders;
}

static const char *const *resolved(struct wb_arena *arena, const char *const *command,
                                   const char *program)
{
    size_t n = 0;
    while (command[n] != NULL) {
        n++;
    }
    const char **words = wb_arena_alloc_array(arena, n + 1, sizeof(*words));
    memcpy(words, command, n * sizeof(*words));
    words[0] = program;
    return words;
}

const char *const *wb_usable_command(struct wb_arena *arena, const char *const **commands,
                                     const char *const *local_folders, size_t *cursor)
{
    while (commands[*cursor] != NULL) {
        const char *const *command = commands[(*cursor)++];
        const char *program = wb_path_find_program(arena, command[0], local_folders, NULL, NULL);
        if (program != NULL) {
            return resolved(arena, command, program);
        }
    }
    return NULL;
}

const char *const **wb_usable_commands(struct wb_arena *arena, const char *const **commands,
                                       const char *const *local_folders)
{
    const char *const **found = NULL, *const * command;
    size_t n = 0, capacity = 0, cursor = 0;
    while ((command = wb_usable_command(arena, commands, local_folders, &cursor)) != NULL) {
        *WB_ARENA_PUSH(arena, found, n, capacity) = command;
    }
    *WB_ARENA_PUSH(arena, found, n, capacity) = NULL;
    return found;
}

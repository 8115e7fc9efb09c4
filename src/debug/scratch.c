/* scratch: see scratch.h. */
#include "debug/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sys/file.h"
#include "sys/path.h"

#define PREFIX "debug-"
#define LEFT_S (2 * 60 * 60) /* no session lives as long: nobody uses it any more */

void wb_debug_scratch_remove(const char *folder)
{
    DIR *stream = folder != NULL ? opendir(folder) : NULL;
    const struct dirent *entry;
    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        if (entry->d_name[0] != '.') {
            (void)unlinkat(dirfd(stream), entry->d_name, 0);
        }
    }
    if (stream != NULL) {
        closedir(stream);
        (void)rmdir(folder);
    }
}

static void remove_left(struct wb_arena *arena, const char *cache)
{
    DIR *stream = opendir(cache);
    const struct dirent *entry;
    struct stat info;
    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        if (wb_str_starts(entry->d_name, PREFIX) &&
            fstatat(dirfd(stream), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(info.st_mode) && info.st_mtime < time(NULL) - LEFT_S) {
            wb_debug_scratch_remove(wb_path_join(arena, cache, entry->d_name));
        }
    }
    if (stream != NULL) {
        closedir(stream);
    }
}

static int put_files(struct wb_arena *arena, const struct wb_json *files, const char *folder,
                     struct wb_error *err)
{
    for (struct wb_json_iter it = wb_json_iter(files); wb_json_next(&it);) {
        if (wb_file_write_private(wb_path_join(arena, folder, it.key), wb_json_span(it.value),
                                  err) != 0) {
            return -1;
        }
    }
    return 0;
}

char *wb_debug_scratch_make(struct wb_arena *arena, const struct wb_json *files,
                            struct wb_error *err)
{
    char *cache = wb_path_cache_folder(arena, err);
    if (cache == NULL) {
        return NULL;
    }
    remove_left(arena, cache);
    char *folder = wb_arena_printf(arena, "%s/" PREFIX "XXXXXX", cache);
    if (mkdtemp(folder) == NULL) {
        wb_error_set(err, WB_ERROR_IO, "cannot make a folder in %s", cache);
        return NULL;
    }
    if (put_files(arena, files, folder, err) != 0) {
        wb_debug_scratch_remove(folder);
        return NULL;
    }
    return folder;
}

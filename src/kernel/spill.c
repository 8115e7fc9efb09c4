/* spill: see spill.h. */
#include "kernel/spill.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "run/run.h"
#include "sys/path.h"

#define KEPT_SECONDS (7 * 24 * 3600)

static const char *make_folder(struct wb_arena *arena)
{
    const char *cache = wb_path_cache_folder(arena, NULL);
    const char *folder = cache != NULL ? wb_path_join(arena, cache, "output") : NULL;
    return folder != NULL && wb_path_make_folders(folder, 0700, NULL) == 0 ? folder : NULL;
}

const char *wb_spill_path(const struct wb_call *call)
{
    const char *folder = make_folder(call->arena);
    return folder != NULL ? wb_arena_printf(call->arena, "%s/%s-%s-%llu.txt", folder,
                                            wb_run_conversation_id(call->run), wb_run_id(call->run),
                                            (unsigned long long)call->id)
                          : NULL;
}

void wb_spill_prune(void)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    const char *path = make_folder(&arena);
    DIR *folder = path != NULL ? opendir(path) : NULL;
    time_t now = time(NULL);
    struct stat status;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode) && status.st_mtime < now - KEPT_SECONDS) {
            unlinkat(dirfd(folder), entry->d_name, 0);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

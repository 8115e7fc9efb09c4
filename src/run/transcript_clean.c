/* transcript_clean: old conversations leave. Knows file names and times, not what is inside. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "run/transcript.h"
#include "sys/path.h"

#define EXTENSION ".jsonl"
#define DAY_S (24 * 60 * 60)

static void log_kept(const char *path)
{
    wb_log(WB_LOG_WARNING, "the old conversation %s cannot be deleted: errno %d", path, errno);
}

/* The pictures: a flat folder. */
static void delete_folder(const char *folder)
{
    struct dirent *found;
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        return;
    }
    while ((found = readdir(dir)) != NULL) {
        if (found->d_type != DT_DIR) {
            unlinkat(dirfd(dir), found->d_name, 0);
        }
    }
    closedir(dir);
    if (rmdir(folder) != 0) {
        log_kept(folder);
    }
}

/* Whoever has it open holds a shared lock on it. */
static void delete_if_old(struct wb_arena *arena, const char *path, time_t before)
{
    struct stat st;
    struct flock alone = {.l_type = F_WRLCK};
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_mtime < before &&
        fcntl(fd, F_OFD_SETLK, &alone) == 0) {
        delete_folder(wb_arena_strndup(arena, path, strlen(path) - (sizeof(EXTENSION) - 1)));
        if (unlink(path) != 0) {
            log_kept(path);
        }
    }
    close(fd);
}

void wb_transcripts_clean(int64_t keep_days)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct dirent *found;
    wb_arena_init(&arena);
    char *folder = wb_path_state_folder(&arena, NULL);
    if (folder == NULL) {
        return;
    }
    folder = wb_path_join(&arena, folder, "conversations");
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        return;
    }
    while ((found = readdir(dir)) != NULL) {
        if (wb_str_ends(found->d_name, EXTENSION)) {
            delete_if_old(&arena, wb_path_join(&arena, folder, found->d_name),
                          time(NULL) - (time_t)(keep_days * DAY_S));
        }
    }
    closedir(dir);
}

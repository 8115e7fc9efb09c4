/* commit_stage: the new contents, written beside and fsynced.
 *
 * fsync is what a commit waits for, and a file system takes several at once about as fast as one:
 * so up to eight threads. Each temp gets permissions, owner and extended attributes of the file that
 * it will replace while nobody knows its name. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/limits.h"
#include "sys/commit_internal.h"

#define THREADS_MAX 8
#define ATTRIBUTE_NAMES_BYTES_MAX (64 * WB_KIB) /* both are the kernel's own bounds */
#define ATTRIBUTE_BYTES_MAX (64 * WB_KIB)

struct stage {
    const struct wb_commit_plan *plan;
    atomic_size_t next;
    atomic_bool failed;
    pthread_mutex_t lock;
    struct wb_error first_error;
};

static int copy_attribute(const char *from, const char *name, int to_fd)
{
    WB_AUTO(wb_free_p) char *value = wb_alloc(ATTRIBUTE_BYTES_MAX);
    ssize_t n = lgetxattr(from, name, value, ATTRIBUTE_BYTES_MAX);
    if (n >= 0 && fsetxattr(to_fd, name, value, (size_t)n, 0) == 0) {
        return 0;
    }
    /* The user's own and access lists are kept or it fails; security labels are the system's. */
    bool is_kept = wb_str_starts(name, "user.") || wb_str_starts(name, "system.");
    return is_kept && errno != ENODATA && errno != EOPNOTSUPP ? -1 : 0;
}

static int copy_attributes(const char *from, int to_fd)
{
    char names[ATTRIBUTE_NAMES_BYTES_MAX];
    ssize_t len = llistxattr(from, names, sizeof(names));
    if (len < 0) {
        return errno == EOPNOTSUPP ? 0 : -1;
    }
    for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1) {
        if (copy_attribute(from, names + at, to_fd) != 0) {
            return -1;
        }
    }
    return 0;
}

static int copy_owner_and_mode(const char *from, int to_fd)
{
    struct stat st, ours;
    if (lstat(from, &st) != 0 || fstat(to_fd, &ours) != 0) {
        return -1;
    }
    mode_t mode = st.st_mode & 07777;
    if (st.st_uid != ours.st_uid || st.st_gid != ours.st_gid) {
        if (fchown(to_fd, st.st_uid, st.st_gid) != 0) {
            if (errno != EPERM) {
                return -1;
            }
            mode &= 0777; /* set-user-id is not for another owner */
        }
    }
    if (fchmod(to_fd, mode) != 0) {
        return -1;
    }
    return copy_attributes(from, to_fd); /* behind fchmod, which changes an access list's mask */
}

static int fill_temp(int fd, const struct wb_commit_temp *temp)
{
    if (wb_file_write_all(fd, temp->content) != 0) {
        return -1;
    }
    if (temp->like != NULL && copy_owner_and_mode(temp->like, fd) != 0) {
        return -1;
    }
    return fsync(fd);
}

static int stage_temp(const struct wb_commit_temp *temp, struct wb_error *err)
{
    mode_t mode = temp->like != NULL ? 0600 : (mode_t)temp->mode;
    int fd = wb_file_open_real(temp->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0) {
        return wb_error_errno(err, errno, "Cannot write %s", temp->shown);
    }
    int failed = fill_temp(fd, temp) != 0 ? errno : 0;
    if (close(fd) != 0 && failed == 0) { /* where a network file system tells of its failure */
        failed = errno;
    }
    return failed == 0 ? 0 : wb_error_errno(err, failed, "Cannot write %s", temp->shown);
}

static void *stage_loop(void *ctx)
{
    struct stage *stage = ctx;
    size_t i;
    while (!stage->failed && (i = stage->next++) < stage->plan->n_temps) {
        struct wb_error err = {0};
        if (stage_temp(&stage->plan->temps[i], &err) == 0) {
            continue;
        }
        pthread_mutex_lock(&stage->lock);
        if (!stage->failed) {
            stage->first_error = err;
            stage->failed = true;
        }
        pthread_mutex_unlock(&stage->lock);
    }
    return NULL;
}

int wb_commit_stage(const struct wb_commit_plan *plan, struct wb_error *err)
{
    struct stage stage = {.plan = plan};
    pthread_mutex_init(&stage.lock, NULL);
    pthread_t threads[THREADS_MAX - 1];
    size_t n_threads = 0;
    while (n_threads < WB_COUNT(threads) && n_threads + 1 < plan->n_temps &&
           pthread_create(&threads[n_threads], NULL, stage_loop, &stage) == 0) {
        n_threads++;
    }
    stage_loop(&stage); /* this thread is the eighth; alone it does everything */
    for (size_t i = 0; i < n_threads; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_mutex_destroy(&stage.lock);
    if (stage.failed && err != NULL) {
        *err = stage.first_error;
    }
    return stage.failed ? -1 : 0;
}

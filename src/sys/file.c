/* file: reading whole files, and what a file is at one moment.
 *
 * Knows nothing of workspaces: who may read what is decided above. Writing here is for the
 * program's own private files only. */
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"

#define BINARY_PROBE_BYTES (8 * WB_KIB)
#define LOCK_LOOK_MS 50
/* O_NONBLOCK: opening a FIFO without a writer returns instead of waiting for one. */
#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
}

static struct wb_file_stamp stamp_of(const struct stat *st)
{
    return (struct wb_file_stamp){
        .size = st->st_size,
        .mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
        .ctime_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec,
        .device = st->st_dev,
        .inode = st->st_ino,
    };
}

enum wb_file_kind wb_file_kind(const char *path, struct wb_file_stamp *ret_stamp)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        return WB_FILE_MISSING;
    }
    if (ret_stamp != NULL) {
        *ret_stamp = stamp_of(&st);
    }
    if (S_ISREG(st.st_mode)) {
        return WB_FILE_REGULAR;
    }
    return S_ISDIR(st.st_mode) ? WB_FILE_FOLDER : WB_FILE_OTHER;
}

bool wb_file_stamp_equal(const struct wb_file_stamp *a, const struct wb_file_stamp *b)
{
    return a->size == b->size && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns &&
           a->device == b->device && a->inode == b->inode;
}

/* Reads to the end of the file; size_hint is what fstat said, which a growing file (and /proc)
 * may exceed. */
static int read_to_end(struct wb_arena *arena, int fd, size_t size_hint, size_t max_bytes,
                       struct wb_span *ret)
{
    size_t capacity = size_hint + 1, len = 0;
    char *bytes = wb_arena_alloc(arena, capacity + 1);
    for (;;) {
        ssize_t n = read(fd, bytes + len, capacity - len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return errno;
        }
        if (n == 0) {
            break;
        }
        len += (size_t)n;
        if (len > max_bytes) {
            return EFBIG;
        }
        if (len == capacity) {
            char *larger = wb_arena_alloc(arena, 2 * capacity + 4096 + 1);
            memcpy(larger, bytes, len);
            bytes = larger;
            capacity = 2 * capacity + 4096;
        }
    }
    bytes[len] = '\0';
    *ret = (struct wb_span){bytes, len};
    return 0;
}

int wb_file_open_real(const char *path, int flags, mode_t mode)
{
    struct open_how how = {.flags = (unsigned)flags, .mode = mode, .resolve = RESOLVE_NO_SYMLINKS};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
    /* A container's filter may know no openat2. */
    return fd >= 0 || errno != ENOSYS ? fd : open(path, flags | O_NOFOLLOW, mode);
}

/* Takes fd. */
static int read_opened(struct wb_arena *arena, int opened_fd, const char *path, size_t max_bytes,
                       struct wb_span *ret, struct wb_file_stamp *ret_stamp, struct wb_error *err)
{
    WB_AUTO(close_fd) int fd = opened_fd;
    if (fd < 0) {
        return wb_error_errno(err, errno, "Cannot read %s", path);
    }
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return wb_error_errno(err, errno, "Cannot read %s", path);
    }
    if (S_ISDIR(st.st_mode)) {
        return wb_error_set(err, WB_ERROR_INVALID, "%s is a folder, not a file", path);
    }
    if (!S_ISREG(st.st_mode)) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "%s is not a regular file but a device, pipe or socket", path);
    }
    int failed = EFBIG;
    if (st.st_size <= (off_t)max_bytes) {
        failed = read_to_end(arena, fd, (size_t)st.st_size, max_bytes, ret);
    }
    if (failed == EFBIG) {
        return wb_error_set(err, WB_ERROR_LIMIT,
                            "%s has %lld bytes, more than the %zu that can be read whole", path,
                            (long long)st.st_size, max_bytes);
    }
    if (failed != 0) {
        return wb_error_errno(err, failed, "Cannot read %s", path);
    }
    /* The stamp from before the read: if the file changed meanwhile, the stamp already differs. */
    if (ret_stamp != NULL) {
        *ret_stamp = stamp_of(&st);
    }
    return 0;
}

int wb_file_read(struct wb_arena *arena, const char *path, size_t max_bytes, struct wb_span *ret,
                 struct wb_file_stamp *ret_stamp, struct wb_error *err)
{
    return read_opened(arena, open(path, READ_FLAGS), path, max_bytes, ret, ret_stamp, err);
}

int wb_file_read_real(struct wb_arena *arena, const char *path, size_t max_bytes,
                      struct wb_span *ret, struct wb_file_stamp *ret_stamp, struct wb_error *err)
{
    int fd = wb_file_open_real(path, READ_FLAGS, 0);
    return read_opened(arena, fd, path, max_bytes, ret, ret_stamp, err);
}

bool wb_file_is_binary(struct wb_span content)
{
    return content.len != 0 &&
           memchr(content.ptr, '\0', WB_MIN(content.len, BINARY_PROBE_BYTES)) != NULL;
}

enum wb_line_end wb_file_line_end(struct wb_span content)
{
    size_t n_lf = 0, n_crlf = 0;
    const char *end = content.ptr + content.len;
    for (const char *at = content.ptr; at != end && (n_lf == 0 || n_crlf == 0); at++) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (at == NULL) {
            break;
        }
        if (at != content.ptr && at[-1] == '\r') {
            n_crlf++;
        } else {
            n_lf++;
        }
    }
    if (n_crlf == 0) {
        return WB_LINE_LF;
    }
    return n_lf == 0 ? WB_LINE_CRLF : WB_LINE_MIXED;
}

size_t wb_file_bom(struct wb_span content)
{
    return content.len >= 3 && memcmp(content.ptr, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

int wb_file_write_all(int fd, struct wb_span content)
{
    while (content.len != 0) {
        ssize_t n = write(fd, content.ptr, content.len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return -1;
        }
        content.ptr += n;
        content.len -= (size_t)n;
    }
    return 0;
}

int wb_file_write_private(const char *path, struct wb_span content, struct wb_error *err)
{
    WB_AUTO(wb_free_p) char *beside = wb_sprintf("%s.XXXXXX", path);
    WB_AUTO(close_fd) int fd = mkostemp(beside, O_CLOEXEC); /* mode 0600 */
    if (fd < 0) {
        return wb_error_errno(err, errno, "Cannot write %s", path);
    }
    if (wb_file_write_all(fd, content) != 0 || fsync(fd) != 0 || rename(beside, path) != 0) {
        int reason = errno;
        unlink(beside);
        return wb_error_errno(err, reason, "Cannot write %s", path);
    }
    return 0;
}

int wb_file_lock(const char *path, int64_t deadline_ms, struct wb_cancel *cancel,
                 struct wb_error *err)
{
    const struct timespec pause = {.tv_nsec = LOCK_LOOK_MS * 1000 * 1000};
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return wb_error_errno(err, errno, "Cannot open %s", path);
    }
    while (fcntl(fd, F_OFD_SETLK, &lock) != 0) {
        bool is_taken = errno == EAGAIN || errno == EACCES;
        if (!is_taken) {
            wb_error_errno(err, errno, "Cannot lock %s", path);
        } else if (wb_cancel_is_fired(cancel)) {
            wb_error_set(err, WB_ERROR_CANCELLED, "Cancelled while waiting for %s", path);
        } else if (wb_clock_left_ms(deadline_ms) == 0) {
            wb_error_set(err, WB_ERROR_TIMEOUT, "Somebody else still holds %s", path);
        } else {
            nanosleep(&pause, NULL);
            continue;
        }
        close(fd);
        return -1;
    }
    return fd;
}

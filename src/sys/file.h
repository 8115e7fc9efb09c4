/* file: reading whole files, and what a file is at one moment.
 *
 * Any thread. */
#ifndef WB_SYS_FILE_H
#define WB_SYS_FILE_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/cancel.h"
#include "base/error.h"

/* What tells that a file has not changed since. Equal stamps are no proof within the clock's
 * granularity: who needs certainty compares content. */
struct wb_file_stamp {
    int64_t size, mtime_ns, ctime_ns;
    uint64_t device, inode;
};

enum wb_file_kind { WB_FILE_MISSING, WB_FILE_REGULAR, WB_FILE_FOLDER, WB_FILE_OTHER };

/* Follows symlinks. ret_stamp may be NULL. */
enum wb_file_kind wb_file_kind(const char *path, struct wb_file_stamp *ret_stamp);
bool wb_file_stamp_equal(const struct wb_file_stamp *a, const struct wb_file_stamp *b);

/* Reads a regular file whole, NUL-terminated behind, at most max_bytes (WB_ERROR_LIMIT with its
 * size in the message). Never blocks on a FIFO. ret_stamp may be NULL; it is the file's while it
 * was read. */
WB_MUST_CHECK int wb_file_read(struct wb_arena *arena, const char *path, size_t max_bytes,
                               struct wb_span *ret, struct wb_file_stamp *ret_stamp,
                               struct wb_error *err);

/* The same for a path that is real: ELOOP where a folder or the file is a link now, which somebody
 * put there since the path was resolved and found to be inside the workspace. */
WB_MUST_CHECK int wb_file_read_real(struct wb_arena *arena, const char *path, size_t max_bytes,
                                    struct wb_span *ret, struct wb_file_stamp *ret_stamp,
                                    struct wb_error *err);
/* open() of a real path, with the same promise. -1: errno says why. */
int wb_file_open_real(const char *path, int flags, mode_t mode);

/* A NUL byte in the first 8 KiB (git's rule). */
bool wb_file_is_binary(struct wb_span content);

/* Line convention of a text, so that an edit keeps it. */
enum wb_line_end { WB_LINE_LF, WB_LINE_CRLF, WB_LINE_MIXED };
enum wb_line_end wb_file_line_end(struct wb_span content);
/* Length of a UTF-8 byte order mark in front: 3 or 0. */
size_t wb_file_bom(struct wb_span content);

/* Writes all of it, however often the kernel takes a part or is interrupted. -1: errno says why. */
WB_MUST_CHECK int wb_file_write_all(int fd, struct wb_span content);

/* Writes a private file of the program itself (state, trust, spill), beside and renamed. Not for
 * files of the workspace: those go through sys/commit.h. */
WB_MUST_CHECK int wb_file_write_private(const char *path, struct wb_span content,
                                        struct wb_error *err);

/* Takes the lock of a private file, making the file; waits for who has it. Returns a descriptor that
 * holds the lock until it is closed, or -1: WB_ERROR_TIMEOUT, WB_ERROR_CANCELLED. */
WB_MUST_CHECK int wb_file_lock(const char *path, int64_t deadline_ms, struct wb_cancel *cancel,
                               struct wb_error *err);

#endif

/* commit_journal: the plan of the commit that is under way, kept for whoever comes after a crash.
 *
 * One file a workspace, <state>/commits/<hash of the workspace>/journal, empty while nothing is
 * pending. A first line with the state in one byte, so that it changes in one write; then a line a
 * record, fields separated by spaces, paths as file: URIs; at the end a hash of these lines, so that
 * half a journal counts as none (it is whole before the first temp is made). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/text.h"
#include "sys/commit_internal.h"
#include "sys/path.h"

#define LOCK_WAIT_MS 10000
#define LOCK_POLL_NS 2000000
#define HEAD "werkbank-commit 1 P\n"
#define STATE_OFFSET 18
#define STATE_PENDING 'P'
#define STATE_DONE 'D'
#define FIELDS_MAX 8
#define JOURNAL_BYTES_MAX (512 * WB_MIB)

static void format_path(struct wb_text *out, const char *path)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    wb_text_add_char(out, ' ');
    wb_text_add_str(out, wb_path_to_uri(&arena, path));
}

static void format_hash(struct wb_text *out, const struct wb_sha256 *hash)
{
    char hex[WB_SHA256_HEX_BYTES];
    wb_sha256_hex(hash, hex);
    wb_text_printf(out, " %s", hex);
}

static void format_step(struct wb_text *out, const struct wb_commit_step *step)
{
    static const char *const names[] = {
        [WB_STEP_REPLACE] = "replace",
        [WB_STEP_INPLACE] = "inplace",
        [WB_STEP_MOVE] = "move",
        [WB_STEP_MKDIR] = "mkdir",
    };
    wb_text_add_str(out, names[step->kind]);
    format_path(out, step->path);
    if (step->kind != WB_STEP_MKDIR) {
        wb_text_printf(out, " %" PRIu64 " %" PRIu64, step->device, step->inode);
        format_hash(out, &step->new_hash);
    }
    if (step->kind == WB_STEP_MOVE) {
        format_path(out, step->to);
    } else if (step->kind != WB_STEP_MKDIR) {
        format_hash(out, &step->old_hash);
        format_path(out, step->temp);
        format_path(out, step->aside);
    }
    wb_text_add_char(out, '\n');
}

static void format_line(struct wb_text *out, const char *name, const char *path)
{
    wb_text_add_str(out, name);
    format_path(out, path);
    wb_text_add_char(out, '\n');
}

void wb_commit_journal_format(struct wb_text *out, const struct wb_commit_plan *plan)
{
    wb_text_add_str(out, HEAD);
    size_t begin = out->len;
    for (size_t i = 0; i < plan->n_steps; i++) {
        format_step(out, &plan->steps[i]);
    }
    for (size_t i = 0; i < plan->n_temps; i++) {
        format_line(out, "temp", plan->temps[i].path);
    }
    for (size_t i = 0; i < plan->n_drops; i++) {
        format_line(out, "drop", plan->drops[i]);
    }
    struct wb_sha256 hash = wb_sha256((struct wb_span){out->ptr + begin, out->len - begin});
    wb_text_add_str(out, "end");
    format_hash(out, &hash);
    wb_text_add_char(out, '\n');
}

static size_t split_fields(struct wb_span line, struct wb_span fields[FIELDS_MAX])
{
    size_t n = 0;
    while (n < FIELDS_MAX) {
        size_t space = wb_span_find(line, WB_SPAN(" "), 0);
        fields[n++] = (struct wb_span){line.ptr, WB_MIN(space, line.len)};
        if (space == SIZE_MAX) {
            break;
        }
        line = (struct wb_span){line.ptr + space + 1, line.len - space - 1};
    }
    return n;
}

static bool parse_unsigned(struct wb_span field, uint64_t *ret)
{
    uint64_t value = 0;
    for (size_t i = 0; i < field.len; i++) {
        unsigned digit = (unsigned)(field.ptr[i] - '0');
        if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit, &value)) {
            return false;
        }
    }
    *ret = value;
    return field.len != 0;
}

static bool parse_path(struct wb_arena *arena, struct wb_span field, const char **ret)
{
    *ret = wb_path_from_uri(arena, field);
    return *ret != NULL;
}

/* What REPLACE, INPLACE and MOVE have in common: path, device, inode, new hash. */
static bool parse_thing(struct wb_arena *arena, const struct wb_span *fields,
                        struct wb_commit_step *step)
{
    return parse_path(arena, fields[1], &step->path) && parse_unsigned(fields[2], &step->device) &&
           parse_unsigned(fields[3], &step->inode) && wb_sha256_parse(fields[4], &step->new_hash);
}

static bool parse_step(struct wb_arena *arena, const struct wb_span *fields, size_t n,
                       struct wb_commit_step *step)
{
    if (n == 2 && wb_span_is(fields[0], "mkdir")) {
        step->kind = WB_STEP_MKDIR;
        return parse_path(arena, fields[1], &step->path);
    }
    if (n == 6 && wb_span_is(fields[0], "move")) {
        step->kind = WB_STEP_MOVE;
        return parse_thing(arena, fields, step) && parse_path(arena, fields[5], &step->to);
    }
    bool replace = wb_span_is(fields[0], "replace");
    if (n == 8 && (replace || wb_span_is(fields[0], "inplace"))) {
        step->kind = replace ? WB_STEP_REPLACE : WB_STEP_INPLACE;
        return parse_thing(arena, fields, step) && wb_sha256_parse(fields[5], &step->old_hash) &&
               parse_path(arena, fields[6], &step->temp) &&
               parse_path(arena, fields[7], &step->aside);
    }
    return false;
}

static bool parse_line(struct wb_span line, struct wb_commit_plan *plan)
{
    struct wb_arena *arena = plan->arena;
    struct wb_span fields[FIELDS_MAX];
    size_t n = split_fields(line, fields);
    if (n == 2 && wb_span_is(fields[0], "temp")) {
        struct wb_commit_temp *temp =
            WB_ARENA_PUSH(arena, plan->temps, plan->n_temps, plan->temps_capacity);
        return parse_path(arena, fields[1], &temp->path);
    }
    if (n == 2 && wb_span_is(fields[0], "drop")) {
        const char **drop = WB_ARENA_PUSH(arena, plan->drops, plan->n_drops, plan->drops_capacity);
        return parse_path(arena, fields[1], drop);
    }
    struct wb_commit_step *step =
        WB_ARENA_PUSH(arena, plan->steps, plan->n_steps, plan->steps_capacity);
    return parse_step(arena, fields, n, step);
}

/* Is the last line the hash of the lines before? Takes it off. */
static bool take_end(struct wb_span *body)
{
    const size_t end_len = sizeof("end \n") - 1 + WB_SHA256_HEX_BYTES - 1;
    if (body->len < end_len) {
        return false;
    }
    struct wb_span end = {body->ptr + body->len - end_len, end_len};
    body->len -= end_len;
    struct wb_sha256 written, found = wb_sha256(*body);
    return wb_span_starts(end, WB_SPAN("end ")) &&
           wb_sha256_parse((struct wb_span){end.ptr + 4, WB_SHA256_HEX_BYTES - 1}, &written) &&
           wb_sha256_equal(&written, &found);
}

int wb_commit_journal_parse(struct wb_span text, struct wb_commit_plan *plan, bool *ret_done)
{
    struct wb_span head = WB_SPAN(HEAD);
    if (text.len < head.len || memcmp(text.ptr, head.ptr, STATE_OFFSET) != 0) {
        return -1;
    }
    struct wb_span body = {text.ptr + head.len, text.len - head.len}, line;
    if (!take_end(&body)) {
        return -1;
    }
    while (wb_span_next_line(&body, &line)) {
        if (!parse_line(line, plan)) {
            return -1;
        }
    }
    *ret_done = text.ptr[STATE_OFFSET] == STATE_DONE;
    return 0;
}

static char *journal_folder(struct wb_arena *arena, const char *workspace, struct wb_error *err)
{
    char *state = wb_path_state_folder(arena, err);
    if (state == NULL) {
        return NULL;
    }
    struct wb_sha256 hash = wb_sha256(wb_span(workspace));
    char hex[WB_SHA256_HEX_BYTES];
    wb_sha256_hex(&hash, hex);
    return wb_arena_printf(arena, "%s/commits/%.16s", state, hex);
}

/* A lock of the open file, not of the process: threads of one process exclude one another too. */
static int wait_for_lock(int fd, const char *workspace, struct wb_error *err)
{
    int64_t deadline = wb_clock_deadline(LOCK_WAIT_MS);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    while (fcntl(fd, F_OFD_SETLK, &lock) != 0) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
            return wb_error_errno(err, errno, "Cannot lock the journal of %s", workspace);
        }
        if (wb_clock_left_ms(deadline) == 0) {
            return wb_error_set(err, WB_ERROR_TIMEOUT,
                                "Another process has been changing files of %s for %d seconds: try "
                                "again later",
                                workspace, LOCK_WAIT_MS / 1000);
        }
        nanosleep(&(struct timespec){.tv_nsec = LOCK_POLL_NS}, NULL);
    }
    return 0;
}

static int sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    int failed = fsync(fd) != 0 ? errno : 0;
    close(fd);
    errno = failed;
    return failed == 0 ? 0 : -1;
}

static int open_file(struct wb_commit_journal *journal, const char *folder, struct wb_error *err)
{
    const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
    journal->fd = open(journal->path, flags);
    if (journal->fd < 0 && errno == ENOENT) {
        if (wb_path_make_folders(folder, 0700, err) != 0) {
            return -1;
        }
        journal->fd = open(journal->path, flags | O_CREAT, 0600);
        /* A new journal's name must be on the disk before anything relies on it. */
        if (journal->fd >= 0 && sync_folder(folder) != 0) {
            return wb_error_errno(err, errno, "Cannot write the folder %s", folder);
        }
    }
    if (journal->fd < 0) {
        return wb_error_errno(err, errno, "Cannot open the journal %s", journal->path);
    }
    return 0;
}

int wb_commit_journal_open(struct wb_commit_journal *journal, const char *workspace, bool existing,
                           struct wb_error *err)
{
    *journal = (struct wb_commit_journal){.fd = -1};
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    char *folder = journal_folder(&arena, workspace, err);
    if (folder == NULL) {
        return -1;
    }
    journal->path = wb_sprintf("%s/journal", folder);
    if (existing && access(journal->path, F_OK) != 0 && errno == ENOENT) {
        wb_commit_journal_close(journal);
        return 1;
    }
    if (open_file(journal, folder, err) != 0 || wait_for_lock(journal->fd, workspace, err) != 0) {
        wb_commit_journal_close(journal);
        return -1;
    }
    return 0;
}

void wb_commit_journal_close(struct wb_commit_journal *journal)
{
    if (journal->fd >= 0) { /* with it goes the lock */
        close(journal->fd);
    }
    free(journal->path);
    *journal = (struct wb_commit_journal){.fd = -1};
}

static int write_at(struct wb_commit_journal *journal, struct wb_span content, off_t offset,
                    bool sync, struct wb_error *err)
{
    while (content.len != 0) {
        ssize_t n = pwrite(journal->fd, content.ptr, content.len, offset);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return wb_error_errno(err, errno, "Cannot write the journal %s", journal->path);
        }
        content = (struct wb_span){content.ptr + n, content.len - (size_t)n};
        offset += n;
    }
    if (sync && fdatasync(journal->fd) != 0) {
        return wb_error_errno(err, errno, "Cannot write the journal %s", journal->path);
    }
    return 0;
}

int wb_commit_journal_write(struct wb_commit_journal *journal, const struct wb_commit_plan *plan,
                            bool sync, struct wb_error *err)
{
    WB_AUTO(wb_text_done) struct wb_text text;
    wb_text_init(&text);
    wb_commit_journal_format(&text, plan);
    return write_at(journal, wb_text_span(&text), 0, sync, err);
}

int wb_commit_journal_mark_done(struct wb_commit_journal *journal, bool sync, struct wb_error *err)
{
    if (write_at(journal, (struct wb_span){(const char[]){STATE_DONE}, 1}, STATE_OFFSET, sync,
                 err) == 0) {
        return 0;
    }
    /* It may say "done" nevertheless, and what comes now is a rollback. */
    (void)write_at(journal, (struct wb_span){(const char[]){STATE_PENDING}, 1}, STATE_OFFSET, sync,
                   NULL);
    return -1;
}

int wb_commit_journal_clear(struct wb_commit_journal *journal, struct wb_error *err)
{
    if (ftruncate(journal->fd, 0) != 0) {
        return wb_error_errno(err, errno, "Cannot empty the journal %s", journal->path);
    }
    return 0;
}

int wb_commit_journal_read(struct wb_commit_journal *journal, struct wb_commit_plan *plan,
                           bool *ret_done, struct wb_error *err)
{
    struct wb_span text;
    if (wb_file_read(plan->arena, journal->path, JOURNAL_BYTES_MAX, &text, NULL, err) != 0) {
        return -1;
    }
    return text.len != 0 && wb_commit_journal_parse(text, plan, ret_done) == 0 ? 1 : 0;
}

/* transcript: see the header. Knows lines and the file, not what the events mean. */
#include "run/transcript.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "sys/file.h"
#include "sys/path.h"
#include "sys/sha256.h"

#define ID_BYTES_MAX 64
#define TAIL_BYTES (2 * 1024 * 1024) /* the last line is somewhere in it */

struct wb_transcript {
    pthread_mutex_t lock; /* of everything below */
    char *id;
    char *path; /* NULL until the first event */
    int fd;     /* -1: not open */
    int64_t n_events;
    bool torn;   /* the last line in the file has no end */
    bool failed; /* told already */
};

static bool id_is_valid(const char *id)
{
    size_t len = strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
    return len > 0 && len <= ID_BYTES_MAX && id[len] == '\0';
}

struct wb_transcript *wb_transcript_open(const char *conversation_id, struct wb_error *err)
{
    if (!id_is_valid(conversation_id)) {
        wb_error_set(err, WB_ERROR_INVALID,
                     "the conversation id `%.80s` is not usable: take 1 to 64 letters, digits, `_` "
                     "and `-`",
                     conversation_id);
        return NULL;
    }
    struct wb_transcript *transcript = wb_alloc(sizeof(*transcript));
    pthread_mutex_init(&transcript->lock, NULL);
    transcript->id = wb_strdup(conversation_id);
    transcript->fd = -1;
    return transcript;
}

void wb_transcript_close(struct wb_transcript *transcript)
{
    if (transcript == NULL) {
        return;
    }
    if (transcript->fd >= 0) {
        close(transcript->fd);
    }
    pthread_mutex_destroy(&transcript->lock);
    free(transcript->path);
    free(transcript->id);
    free(transcript);
}

const char *wb_transcript_path(struct wb_transcript *transcript)
{
    pthread_mutex_lock(&transcript->lock);
    const char *path = transcript->path;
    pthread_mutex_unlock(&transcript->lock);
    return path;
}

/* A crash in the middle of a line must not swallow the next one. */
static bool ends_in_line(int fd)
{
    char last = '\n';
    off_t end = lseek(fd, 0, SEEK_END);
    return end <= 0 || (pread(fd, &last, 1, end - 1) == 1 && last == '\n');
}

/* The id of the last event that is whole; 0: there is none. */
static int64_t last_id(int fd)
{
    off_t end = lseek(fd, 0, SEEK_END);
    off_t start = end > TAIL_BYTES ? end - TAIL_BYTES : 0;
    WB_AUTO(wb_free_p) char *tail = wb_alloc((size_t)(end - start) + 1);
    ssize_t n = pread(fd, tail, (size_t)(end - start), start);
    static const char head[] = "{\"id\":";
    for (ssize_t i = n; i-- > 0;) {
        if ((i == 0 || tail[i - 1] == '\n') && wb_str_starts(tail + i, head)) {
            return strtoll(tail + i + sizeof(head) - 1, NULL, 10);
        }
    }
    return 0;
}

/* The lock keeps wb_transcripts_clean away. A file that was cleaned before it was locked is no file any
 * more: the next one is made. */
static int open_locked(const char *path)
{
    for (;;) {
        struct stat st;
        struct flock shared = {.l_type = F_RDLCK};
        int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 || fcntl(fd, F_OFD_SETLKW, &shared) != 0 || fstat(fd, &st) != 0 ||
            st.st_nlink > 0) {
            return fd;
        }
        close(fd);
    }
}

static int open_file(struct wb_transcript *transcript, struct wb_error *err)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    char *folder = wb_path_state_folder(&arena, err);
    if (folder == NULL) {
        return -1;
    }
    folder = wb_path_join(&arena, folder, "conversations");
    char *path = wb_arena_printf(&arena, "%s/%s.jsonl", folder, transcript->id);
    int fd = open_locked(path);
    if (fd < 0 && errno == ENOENT) {
        if (wb_path_make_folders(folder, 0700, err) != 0) {
            return -1;
        }
        fd = open_locked(path);
    }
    if (fd < 0) {
        return wb_error_errno(err, errno, "cannot open the transcript %s", path);
    }
    transcript->fd = fd;
    transcript->torn = !ends_in_line(fd);
    transcript->n_events = last_id(fd);
    transcript->path = wb_strdup(path);
    return 0;
}

static void tell_failure(struct wb_transcript *transcript, const char *message)
{
    if (!transcript->failed) {
        wb_log(WB_LOG_WARNING, "the conversation %s is not recorded: %s", transcript->id, message);
    }
    transcript->failed = true;
}

static void write_line(struct wb_transcript *transcript, struct wb_span line)
{
    ssize_t written;
    do {
        written = write(transcript->fd, line.ptr, line.len);
    } while (written < 0 && errno == EINTR);
    if (written == (ssize_t)line.len) {
        transcript->torn = false;
        return;
    }
    struct wb_error err;
    wb_error_errno(&err, written < 0 ? errno : ENOSPC, "cannot write %s", transcript->path);
    transcript->torn = transcript->torn || written > 0;
    tell_failure(transcript, err.message);
}

static const char *keep(struct wb_transcript *transcript, struct wb_arena *arena, const char *mime,
                        struct wb_span bytes, struct wb_error *err)
{
    const struct wb_sha256 hash = wb_sha256(bytes);
    char hex[WB_SHA256_HEX_BYTES];
    const char *slash = strchr(mime, '/');
    const char *extension =
        slash != NULL && strspn(slash + 1, "abcdefghijklmnopqrstuvwxyz") == strlen(slash + 1)
            ? slash + 1
            : "bin";
    char *state = wb_path_state_folder(arena, err);
    if (state == NULL) {
        return NULL;
    }
    wb_sha256_hex(&hash, hex);
    const char *name = wb_arena_printf(arena, "%s/%.32s.%s", transcript->id, hex, extension);
    const char *folder = wb_arena_printf(arena, "%s/conversations/%s", state, transcript->id);
    const char *path = wb_arena_printf(arena, "%s/conversations/%s", state, name);
    if (wb_path_make_folders(folder, 0700, err) != 0 ||
        wb_file_write_private(path, bytes, err) != 0) {
        return NULL;
    }
    return name;
}

const char *wb_transcript_keep(struct wb_transcript *transcript, struct wb_arena *arena,
                               const char *mime, struct wb_span bytes)
{
    struct wb_error err;
    const char *name = keep(transcript, arena, mime, bytes, &err);
    if (name == NULL) {
        pthread_mutex_lock(&transcript->lock);
        tell_failure(transcript, err.message);
        pthread_mutex_unlock(&transcript->lock);
    }
    return name;
}

void wb_transcript_add(struct wb_transcript *transcript, const char *run_id, const char *kind,
                       struct wb_span members)
{
    WB_AUTO(wb_text_done) struct wb_text line = {0};
    struct wb_json_writer w;
    struct wb_error err;
    char time[32];
    wb_clock_timestamp(time);
    pthread_mutex_lock(&transcript->lock);
    if (transcript->fd < 0 && open_file(transcript, &err) != 0) {
        tell_failure(transcript, err.message);
        pthread_mutex_unlock(&transcript->lock);
        return;
    }
    wb_text_add_str(&line, transcript->torn ? "\n" : "");
    wb_json_writer_init(&w, &line);
    wb_json_begin_object(&w);
    wb_json_member_int(&w, "id", ++transcript->n_events);
    wb_json_member_str(&w, "time", time);
    wb_json_member_str(&w, "run", run_id);
    wb_json_member_str(&w, "kind", kind);
    wb_text_add_str(&line, members.len > 0 ? "," : "");
    wb_text_add_span(&line, members);
    wb_text_add_str(&line, "}\n");
    write_line(transcript, wb_text_span(&line));
    pthread_mutex_unlock(&transcript->lock);
}

void wb_transcript_sync(struct wb_transcript *transcript)
{
    pthread_mutex_lock(&transcript->lock);
    if (transcript->fd >= 0 && fdatasync(transcript->fd) != 0) {
        struct wb_error err;
        wb_error_errno(&err, errno, "cannot write %s", transcript->path);
        tell_failure(transcript, err.message);
    }
    pthread_mutex_unlock(&transcript->lock);
}

/* output: see output.h. Knows bytes and lines; no kernel, no marks. */
#include "kernel/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/log.h"

#define LINE_BYTES_MAX (64 * WB_KIB)   /* a longer one is folded no more */
#define SPILL_FROM_BYTES (32 * WB_KIB) /* less than that, the model sees all of it */

void wb_output_init(struct wb_output *output, size_t kept_bytes, const char *spill_path)
{
    *output = (struct wb_output){
        .kept.half_bytes = kept_bytes / 2,
        .spill_path = spill_path != NULL ? wb_strdup(spill_path) : NULL,
        .spill_fd = -1,
    };
}

static void give_up_spill(struct wb_output *output)
{
    if (output->spill_fd >= 0) {
        close(output->spill_fd);
        unlink(output->spill_path);
        output->spill_fd = -1;
    }
    wb_text_done(&output->unspilled);
    free(output->spill_path);
    output->spill_path = NULL;
}

void wb_output_done(struct wb_output *output)
{
    if (output->spill_is_wanted) {
        close(output->spill_fd);
        output->spill_fd = -1;
    }
    give_up_spill(output);
    wb_text_done(&output->kept.head);
    wb_text_done(&output->kept.tail);
    wb_text_done(&output->line);
}

/* --- the whole, as it came --- */

/* Into the page cache: no disk is waited for. */
static void spill(struct wb_output *output, const char *ptr, size_t len)
{
    uint64_t room = WB_KERNEL_SPILL_BYTES_MAX - output->spilled_bytes;
    len = WB_MIN(len, room);
    while (len > 0) {
        ssize_t n = write(output->spill_fd, ptr, len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            wb_log(WB_LOG_INFO, "cannot write %s: %s", output->spill_path, strerror(errno));
            give_up_spill(output);
            return;
        }
        ptr += n;
        len -= (size_t)n;
        output->spilled_bytes += (uint64_t)n;
    }
}

static void begin_spill(struct wb_output *output)
{
    output->spill_fd =
        open(output->spill_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (output->spill_fd < 0) {
        wb_log(WB_LOG_INFO, "cannot make %s: %s", output->spill_path, strerror(errno));
        give_up_spill(output);
        return;
    }
    struct wb_text first = output->unspilled;
    wb_text_init(&output->unspilled);
    spill(output, first.ptr, first.len);
    wb_text_done(&first);
}

static void add_whole(struct wb_output *output, const char *ptr, size_t len)
{
    if (output->spill_path == NULL) {
        return;
    }
    if (output->spill_fd >= 0) {
        spill(output, ptr, len);
        return;
    }
    wb_text_add(&output->unspilled, ptr, len);
    if (output->unspilled.len > SPILL_FROM_BYTES) {
        begin_spill(output);
    }
}

const char *wb_output_spill(struct wb_output *output, bool *ret_is_whole)
{
    if (output->spill_fd < 0) {
        return NULL;
    }
    output->spill_is_wanted = true;
    *ret_is_whole = output->spilled_bytes < WB_KERNEL_SPILL_BYTES_MAX;
    return output->spill_path;
}

/* --- head and tail, folded --- */

static void add_to_ends(struct wb_output_ends *ends, const char *ptr, size_t len)
{
    size_t head_bytes = WB_MIN(len, ends->half_bytes - ends->head.len);
    ends->total_bytes += len;
    wb_text_add(&ends->head, ptr, head_bytes);
    ptr += head_bytes;
    len -= head_bytes;
    if (len > ends->half_bytes) {
        wb_text_clear(&ends->tail);
        ptr += len - ends->half_bytes;
        len = ends->half_bytes;
    }
    wb_text_add(&ends->tail, ptr, len);
    /* Moved at twice the size: each byte moves once on average. */
    if (ends->tail.len > 2 * ends->half_bytes) {
        wb_text_remove_head(&ends->tail, ends->tail.len - ends->half_bytes);
    }
}

static void commit_line(struct wb_output *output)
{
    add_to_ends(&output->kept, output->line.ptr, output->line.len);
    wb_text_clear(&output->line);
}

/* Bytes without a carriage return. */
static void add_plain(struct wb_output *output, const char *ptr, size_t len)
{
    const char *feed = len > 0 ? memrchr(ptr, '\n', len) : NULL;
    if (feed != NULL) {
        size_t whole = (size_t)(feed - ptr) + 1;
        commit_line(output);
        add_to_ends(&output->kept, ptr, whole);
        ptr += whole;
        len -= whole;
    }
    wb_text_add(&output->line, ptr, len);
    if (output->line.len > LINE_BYTES_MAX) {
        commit_line(output);
    }
}

void wb_output_add(struct wb_output *output, const char *ptr, size_t len)
{
    const char *end = ptr + len;
    add_whole(output, ptr, len);
    while (ptr < end) {
        if (output->carriage_return && *ptr != '\r') {
            output->carriage_return = false;
            if (*ptr != '\n') {
                wb_text_clear(&output->line);
            }
        }
        const char *found = memchr(ptr, '\r', (size_t)(end - ptr));
        add_plain(output, ptr, (size_t)((found != NULL ? found : end) - ptr));
        output->carriage_return = output->carriage_return || found != NULL;
        ptr = found != NULL ? found + 1 : end;
    }
}

uint64_t wb_output_offset(struct wb_output *output)
{
    commit_line(output);
    return output->kept.total_bytes;
}

/* How many bytes at the end are the beginning of a character. */
static size_t unfinished_bytes(struct wb_span bytes)
{
    for (size_t n = 1; n <= 3 && n <= bytes.len; n++) {
        unsigned char c = (unsigned char)bytes.ptr[bytes.len - n];
        if ((c & 0xC0) != 0x80) {
            size_t need = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
            return need > n ? n : 0;
        }
    }
    return 0;
}

/* What a cut leaves of a character at either end is left out too. */
static void add_whole_characters(struct wb_text *out, struct wb_span bytes)
{
    for (int i = 0; i < 3 && bytes.len > 0 && ((unsigned char)*bytes.ptr & 0xC0) == 0x80; i++) {
        bytes.ptr++;
        bytes.len--;
    }
    bytes.len -= unfinished_bytes(bytes);
    wb_text_add_utf8(out, bytes);
}

/* The part of `held`, which begins at offset `at`, between from and to. */
static struct wb_span slice(const struct wb_text *held, uint64_t at, uint64_t from, uint64_t to)
{
    uint64_t begin = WB_MAX(from, at), end = WB_MIN(to, at + held->len);
    return begin < end ? (struct wb_span){held->ptr + (begin - at), end - begin}
                       : (struct wb_span){0};
}

void wb_output_print(const struct wb_output *output, uint64_t from, uint64_t to,
                     struct wb_text *out)
{
    const struct wb_output_ends *ends = &output->kept;
    uint64_t tail_at = ends->total_bytes - ends->tail.len;
    struct wb_span head = slice(&ends->head, 0, from, to);
    struct wb_span tail = slice(&ends->tail, tail_at, from, to);
    uint64_t gap_from = WB_MAX(from, (uint64_t)ends->head.len), gap_to = WB_MIN(to, tail_at);
    if (gap_from >= gap_to && head.len > 0 && tail.len > 0) {
        WB_AUTO(wb_text_done) struct wb_text joined = {0};
        wb_text_add_span(&joined, head);
        wb_text_add_span(&joined, tail);
        add_whole_characters(out, wb_text_span(&joined));
        return;
    }
    add_whole_characters(out, head);
    if (gap_from < gap_to) {
        wb_text_printf(out, "\n[... %llu bytes left out ...]\n",
                       (unsigned long long)(gap_to - gap_from));
    }
    add_whole_characters(out, tail);
}

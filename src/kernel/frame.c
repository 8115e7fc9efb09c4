/* frame: see frame.h. Bytes in memory only; knows no process and no meaning of a payload. */
#include "kernel/frame.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>

#include "base/limits.h"

#define NOISE_KEPT_BYTES (4 * WB_KIB)
#define NOISE_BYTES_MAX (1 * WB_MIB) /* before the banner */
#define PAYLOAD_KEPT_BYTES WB_MIB    /* memory of a larger one is given back */
#define NONCE_BYTES_MAX 64
#define MARK_DIGITS_MAX 18 /* fits 64 bits */

struct header {
    uint32_t payload_bytes;
    uint8_t type, flags;
    uint32_t cell, call;
};

static void put_u32(char *out, uint32_t value)
{
    value = htole32(value);
    memcpy(out, &value, sizeof(value));
}

static uint32_t get_u32(const char *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof(value));
    return le32toh(value);
}

void wb_kernel_frame_put(struct wb_text *out, enum wb_kernel_frame_type type, uint32_t cell,
                         uint32_t call, struct wb_span payload)
{
    char header[WB_KERNEL_HEADER_BYTES] = {0};
    assert(payload.len <= WB_KERNEL_MESSAGE_BYTES_MAX);
    do {
        size_t len = WB_MIN(payload.len, (size_t)WB_KERNEL_FRAME_BYTES_MAX);
        put_u32(header, (uint32_t)len);
        header[4] = (char)type;
        header[5] = len < payload.len ? WB_KERNEL_FRAME_MORE : 0;
        put_u32(header + 8, cell);
        put_u32(header + 12, call);
        wb_text_add(out, header, sizeof(header));
        wb_text_add(out, payload.ptr, len);
        payload.ptr += len;
        payload.len -= len;
    } while (payload.len > 0);
}

/* --- frames of a kernel --- */

struct wb_kernel_reader {
    char *banner;
    bool has_begun, is_broken;
    struct wb_text noise; /* before the banner, and while it is looked for what may be its head */
    size_t noise_bytes;   /* of all that was skipped */

    const char *ptr; /* fed and not read */
    size_t len;
    char header[WB_KERNEL_HEADER_BYTES];
    size_t header_bytes;  /* of the header that are there */
    struct header frame;  /* valid once all of it is */
    bool is_open;         /* a frame said that its message goes on */
    bool was_given;       /* the message in `message` was given out by the last step */
    uint32_t frame_bytes; /* of the frame's payload that are in `message` */
    struct wb_text message;
};

struct wb_kernel_reader *wb_kernel_reader_new(const char *nonce)
{
    struct wb_kernel_reader *reader = wb_alloc(sizeof(*reader));
    reader->banner = wb_sprintf("werkbank-kernel %s\n", nonce);
    return reader;
}

void wb_kernel_reader_free(struct wb_kernel_reader *reader)
{
    if (reader != NULL) {
        wb_text_done(&reader->noise);
        wb_text_done(&reader->message);
        free(reader->banner);
        free(reader);
    }
}

void wb_kernel_reader_feed(struct wb_kernel_reader *reader, const char *ptr, size_t len)
{
    assert(reader->len == 0 || reader->is_broken);
    reader->ptr = ptr;
    reader->len = len;
}

struct wb_span wb_kernel_reader_noise(const struct wb_kernel_reader *reader)
{
    struct wb_span noise = wb_text_span(&reader->noise);
    if (noise.len > NOISE_KEPT_BYTES) {
        noise.ptr += noise.len - NOISE_KEPT_BYTES;
        noise.len = NOISE_KEPT_BYTES;
    }
    return noise;
}

static void skip(struct wb_kernel_reader *reader, size_t bytes)
{
    reader->ptr += bytes;
    reader->len -= bytes;
}

/* 1: the banner is read. */
static int step_banner(struct wb_kernel_reader *reader, struct wb_error *err)
{
    size_t banner_bytes = strlen(reader->banner), old_bytes = reader->noise.len;
    size_t from = old_bytes >= banner_bytes ? old_bytes - banner_bytes + 1 : 0;
    wb_text_add(&reader->noise, reader->ptr, reader->len);
    size_t at = wb_span_find(wb_text_span(&reader->noise), wb_span(reader->banner), from);
    if (at != SIZE_MAX) {
        skip(reader, at + banner_bytes - old_bytes);
        wb_text_cut(&reader->noise, at);
        reader->has_begun = true;
        return 1;
    }
    reader->noise_bytes += reader->len;
    skip(reader, reader->len);
    if (reader->noise_bytes > NOISE_BYTES_MAX) {
        return wb_error_set(err, WB_ERROR_PROTOCOL,
                            "it wrote more than %zu bytes before its banner", NOISE_BYTES_MAX);
    }
    if (reader->noise.len > 4 * NOISE_KEPT_BYTES) {
        wb_text_remove_head(&reader->noise, reader->noise.len - NOISE_KEPT_BYTES);
    }
    return 0;
}

static int check_header(const struct wb_kernel_reader *reader, const struct header *next,
                        struct wb_error *err)
{
    const struct header *open = &reader->frame;
    if (next->type < WB_KERNEL_HELLO || next->type > WB_KERNEL_DONE) {
        return wb_error_set(err, WB_ERROR_PROTOCOL, "it wrote a frame of the unknown type %u",
                            next->type);
    }
    if ((next->flags & ~WB_KERNEL_FRAME_MORE) != 0 || reader->header[6] != 0 ||
        reader->header[7] != 0) {
        return wb_error_set(err, WB_ERROR_PROTOCOL, "it wrote a frame with unknown flags");
    }
    if (next->payload_bytes > WB_KERNEL_FRAME_BYTES_MAX ||
        reader->message.len + next->payload_bytes > WB_KERNEL_MESSAGE_BYTES_MAX) {
        return wb_error_set(err, WB_ERROR_LIMIT, "it wrote a frame of %u bytes, over the limit",
                            next->payload_bytes);
    }
    if (reader->is_open &&
        (next->type != open->type || next->cell != open->cell || next->call != open->call)) {
        return wb_error_set(err, WB_ERROR_PROTOCOL, "it wrote another frame inside a long one");
    }
    return 0;
}

/* 1: the frame's header is there. */
static int step_header(struct wb_kernel_reader *reader, struct wb_error *err)
{
    size_t taken = WB_MIN(sizeof(reader->header) - reader->header_bytes, reader->len);
    memcpy(reader->header + reader->header_bytes, reader->ptr, taken);
    reader->header_bytes += taken;
    skip(reader, taken);
    if (reader->header_bytes < sizeof(reader->header)) {
        return 0;
    }
    const struct header next = {
        .payload_bytes = get_u32(reader->header),
        .type = (uint8_t)reader->header[4],
        .flags = (uint8_t)reader->header[5],
        .cell = get_u32(reader->header + 8),
        .call = get_u32(reader->header + 12),
    };
    if (check_header(reader, &next, err) != 0) {
        return -1;
    }
    reader->frame = next;
    reader->frame_bytes = 0;
    return 1;
}

/* 1: the frame's payload is there: *ret_payload, if it is the whole message. */
static int step_payload(struct wb_kernel_reader *reader, struct wb_span *ret_payload)
{
    size_t left = reader->frame.payload_bytes - reader->frame_bytes;
    bool goes_on = (reader->frame.flags & WB_KERNEL_FRAME_MORE) != 0;
    if (!goes_on && !reader->is_open && reader->frame_bytes == 0 && left <= reader->len) {
        *ret_payload = (struct wb_span){reader->ptr, left};
        skip(reader, left);
        return 1;
    }
    size_t taken = WB_MIN(left, reader->len);
    wb_text_add(&reader->message, reader->ptr, taken);
    skip(reader, taken);
    reader->frame_bytes += (uint32_t)taken;
    *ret_payload = wb_text_span(&reader->message);
    return taken == left;
}

/* What the last step gave out of `message` is not needed any more. */
static void drop_given(struct wb_kernel_reader *reader)
{
    if (reader->was_given && reader->message.capacity > PAYLOAD_KEPT_BYTES) {
        wb_text_done(&reader->message);
    } else if (reader->was_given) {
        wb_text_clear(&reader->message);
    }
    reader->was_given = false;
}

static int step_frame(struct wb_kernel_reader *reader, struct wb_kernel_frame *ret,
                      struct wb_error *err)
{
    for (;;) {
        if (reader->header_bytes < sizeof(reader->header)) {
            int step = step_header(reader, err);
            if (step <= 0) {
                return step;
            }
        }
        struct wb_span payload;
        if (step_payload(reader, &payload) == 0) {
            return 0;
        }
        reader->header_bytes = 0;
        reader->is_open = (reader->frame.flags & WB_KERNEL_FRAME_MORE) != 0;
        if (!reader->is_open) {
            *ret = (struct wb_kernel_frame){(enum wb_kernel_frame_type)reader->frame.type,
                                            reader->frame.cell, reader->frame.call, payload};
            reader->was_given = true;
            return 1;
        }
    }
}

int wb_kernel_reader_next(struct wb_kernel_reader *reader, struct wb_kernel_frame *ret,
                          struct wb_error *err)
{
    if (reader->is_broken) {
        return wb_error_set(err, WB_ERROR_PROTOCOL, "what it writes cannot be understood any more");
    }
    drop_given(reader);
    int step = reader->has_begun ? 1 : step_banner(reader, err);
    if (step > 0) {
        step = step_frame(reader, ret, err);
    }
    reader->is_broken = step < 0;
    return step;
}

/* --- marks in the raw stream --- */

struct wb_kernel_marks {
    char head[sizeof("\x1eWB:") + NONCE_BYTES_MAX];
    size_t head_bytes;
    /* The beginning of what may be a mark. */
    char held[sizeof("\x1eWB:\x1e") + NONCE_BYTES_MAX + MARK_DIGITS_MAX];
    size_t held_bytes;
    uint64_t number;
};

struct wb_kernel_marks *wb_kernel_marks_new(const char *nonce)
{
    struct wb_kernel_marks *marks = wb_alloc(sizeof(*marks));
    size_t nonce_bytes = strlen(nonce);
    assert(nonce_bytes <= NONCE_BYTES_MAX);
    memcpy(marks->head, "\x1eWB", 3);
    memcpy(marks->head + 3, nonce, nonce_bytes);
    marks->head[3 + nonce_bytes] = ':';
    marks->head_bytes = 4 + nonce_bytes;
    return marks;
}

void wb_kernel_marks_free(struct wb_kernel_marks *marks)
{
    free(marks);
}

enum verdict { NO_MARK, MAYBE, MARK };

/* Looks at the last byte held; those before it were looked at already. */
static enum verdict judge(struct wb_kernel_marks *marks)
{
    size_t at = marks->held_bytes - 1;
    char c = marks->held[at];
    if (at < marks->head_bytes) {
        marks->number = 0;
        return c == marks->head[at] ? MAYBE : NO_MARK;
    }
    size_t n_digits = at - marks->head_bytes;
    if (c >= '0' && c <= '9' && n_digits < MARK_DIGITS_MAX) {
        marks->number = marks->number * 10 + (uint64_t)(c - '0');
        return MAYBE;
    }
    return c == '\x1e' && n_digits > 0 ? MARK : NO_MARK;
}

void wb_kernel_marks_feed(struct wb_kernel_marks *marks, const char *ptr, size_t len,
                          void (*on_text)(void *ctx, const char *ptr, size_t len),
                          void (*on_mark)(void *ctx, uint64_t mark), void *ctx)
{
    const char *end = ptr + len;
    while (ptr < end) {
        if (marks->held_bytes == 0) {
            const char *found = memchr(ptr, '\x1e', (size_t)(end - ptr));
            const char *text_end = found != NULL ? found : end;
            if (text_end > ptr) {
                on_text(ctx, ptr, (size_t)(text_end - ptr));
            }
            ptr = text_end;
            if (found == NULL) {
                return;
            }
        }
        marks->held[marks->held_bytes++] = *ptr++;
        enum verdict verdict = judge(marks);
        if (verdict == MARK) {
            marks->held_bytes = 0;
            on_mark(ctx, marks->number);
        } else if (verdict == NO_MARK) {
            /* The byte that does not fit is looked at anew: it may begin a mark. */
            ptr--;
            size_t n = marks->held_bytes - 1;
            marks->held_bytes = 0;
            on_text(ctx, marks->held, n);
        }
    }
}

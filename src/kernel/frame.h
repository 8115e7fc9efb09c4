/* frame: the protocol between a host and a kernel, as bytes in memory.
 *
 * A kernel is an interpreter that runs one bootstrap (kernel/python/kernel.py,
 * kernel/javascript/kernel.js). Three byte streams join it to the host, its own descriptors 0, 1
 * and 2, so that any exec prefix carries them:
 *
 *   0  host to kernel   the bootstrap's source, then frames
 *   1  kernel to host   the banner, then frames
 *   2  kernel to host   the raw stream: all that user code and its children print, as it came, with
 *                       marks in it
 *
 * Start. The interpreter is started with a loader of a few lines and a nonce as arguments. The host
 * writes a u32 length and that many bytes of bootstrap source to 0; the loader reads and runs it.
 * The bootstrap makes itself leader of a session (setsid, if it is not yet), moves 0 and 1 to high
 * close-on-exec descriptors, puts /dev/null on 0 and points 1 at 2. Then it writes the banner, a
 * line "werkbank-kernel NONCE\n" (what came before it is noise of a prefix and is skipped), and a
 * HELLO. From then on there are only frames.
 *
 * A frame is a header of 16 bytes and a payload, integers little-endian:
 *
 *   u32 payload bytes   at most WB_KERNEL_FRAME_BYTES_MAX
 *   u8  type            enum wb_kernel_frame_type
 *   u8  flags           WB_KERNEL_FRAME_MORE: the payload goes on in the next frame, which has the
 *                       same type, cell and call (no other frame comes between)
 *   u16 zero
 *   u32 cell            the cell that it belongs to, from 1; 0: none
 *   u32 call            of TOOL_*: the number of the bridged call within the kernel, from 1
 *
 * Payloads are one JSON object (UTF-8, no NaN, no lone surrogates), where nothing else is said.
 *
 * Marks. Before a DISPLAY or RESULT frame, and before DONE, the kernel flushes its own text and
 * writes to the raw stream
 *   "\x1eWB" NONCE ":" decimal number "\x1e"
 * with the number that the frame's payload has as "mark" (from 1, rising within the kernel; a DONE
 * right behind a RESULT has the RESULT's again). So the
 * host knows where among the text a picture belongs, and that it has all text of a cell. Text that
 * comes between cells is background output, told with the next result.
 *
 * Node.js cannot move descriptors: there a shell does it before node starts, and gives it 7 (for 2),
 * 8 and 9,
 *   sh -c 'exec "$0" "$@" 7>&2 8<&0 9>&1 0</dev/null 1>&2' \
 *       node --no-force-async-hooks-checks -e LOADER NONCE
 * with kernel/javascript/loader.js as LOADER, which reads the source from 8.
 *
 * A cell that the host interrupts ends with DONE like any other. A second INTERRUPT may come after a
 * second, with a SIGINT from outside, which must not end an idle kernel. The kernel reads frames in a
 * thread of its own, so INTERRUPT and TOOL_RESULT are taken while a cell runs. End of file on 0 ends
 * the kernel and its process group at once. */
#ifndef WB_KERNEL_FRAME_H
#define WB_KERNEL_FRAME_H

#include "base/error.h"
#include "base/text.h"

#define WB_KERNEL_PROTOCOL 1
#define WB_KERNEL_HEADER_BYTES 16
#define WB_KERNEL_FRAME_BYTES_MAX (8 * 1024 * 1024)
#define WB_KERNEL_MESSAGE_BYTES_MAX (64 * 1024 * 1024) /* all frames of one payload */
#define WB_KERNEL_FRAME_MORE 0x01

enum wb_kernel_frame_type {
    /* host to kernel */
    WB_KERNEL_EXEC = 1,    /* {"code", "env": {NAME: value} (first cell only)} */
    WB_KERNEL_TOOL_RESULT, /* {"ok": bool, "text", "data", "kind": error's kind, "pictures": n} */
    WB_KERNEL_INTERRUPT,   /* {}: stop this cell; of a cell that is not running: nothing */
    WB_KERNEL_SHUTDOWN,    /* {}: run exit handlers and end */
    /* kernel to host */
    WB_KERNEL_HELLO = 16, /* {"protocol", "language", "version", "executable", "pid", "cwd"} */
    /* u32 n, n bytes of JSON {"mark", "mimes": {mime: text}, "blobs": [{"mime", "bytes"}],
     * "id": string or null, "update": bool}, then the blobs' bytes in order. "text/plain" is always
     * among mimes. update: replaces the display of this id. {"clear": true} instead of mimes:
     * clear_output. */
    WB_KERNEL_DISPLAY,
    WB_KERNEL_RESULT,         /* the same, for the value of the last expression */
    WB_KERNEL_ERROR,          /* {"name", "message", "traceback"}: text without colours */
    WB_KERNEL_TOOL_CALL,      /* {"tool", "args": object} */
    WB_KERNEL_TOOL_CANCELLED, /* {}: nobody waits for this call any more */
    /* {"mark", "status": "ok" | "error" | "interrupted", "cwd", "ending": bool (the cell ended the
     * kernel: exit)}. Exactly one a cell, its last frame. */
    WB_KERNEL_DONE,
};

struct wb_kernel_frame {
    enum wb_kernel_frame_type type;
    uint32_t cell, call;
    struct wb_span payload; /* whole; valid until the next step */
};

/* The header and payload in as many frames as the size needs, appended. */
void wb_kernel_frame_put(struct wb_text *out, enum wb_kernel_frame_type type, uint32_t cell,
                         uint32_t call, struct wb_span payload);

/* Reads what a kernel writes on 1. One thread. */
struct wb_kernel_reader;

struct wb_kernel_reader *wb_kernel_reader_new(const char *nonce);
void wb_kernel_reader_free(struct wb_kernel_reader *reader);
/* More bytes. Borrowed until wb_kernel_reader_next has returned 0 or -1. */
void wb_kernel_reader_feed(struct wb_kernel_reader *reader, const char *ptr, size_t len);
/* 1: *ret is a frame. 0: needs more bytes. -1: the bytes are no frames (the error says what is
 * wrong); the reader stays there. */
WB_MUST_CHECK int wb_kernel_reader_next(struct wb_kernel_reader *reader,
                                        struct wb_kernel_frame *ret, struct wb_error *err);
/* What came before the banner, its last bytes. */
struct wb_span wb_kernel_reader_noise(const struct wb_kernel_reader *reader);

/* Finds marks in the raw stream. Text goes out as it came, without marks. */
struct wb_kernel_marks;

struct wb_kernel_marks *wb_kernel_marks_new(const char *nonce);
void wb_kernel_marks_free(struct wb_kernel_marks *marks);
/* Calls on_text and on_mark in the order of the stream. A mark cut by the end of these bytes waits
 * for the next. */
void wb_kernel_marks_feed(struct wb_kernel_marks *marks, const char *ptr, size_t len,
                          void (*on_text)(void *ctx, const char *ptr, size_t len),
                          void (*on_mark)(void *ctx, uint64_t mark), void *ctx);

#endif

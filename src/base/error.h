/* error: one failure, as a code for the program and a sentence for the agent.
 *
 * The message is the product: it says what failed, on what, and what to do next. Functions take a
 * `struct wb_error *err` last, write it only on failure, and return -1 or NULL. NULL is allowed
 * where a caller does not care. errno never leaves the module that met it. */
#ifndef WB_BASE_ERROR_H
#define WB_BASE_ERROR_H

#include "base/base.h"

enum wb_error_code {
    WB_ERROR_NONE = 0,
    WB_ERROR_INVALID,     /* arguments or data that break a rule */
    WB_ERROR_NOT_FOUND,   /* no such file, tool, symbol, id */
    WB_ERROR_DENIED,      /* the gate, a permission, outside the workspace */
    WB_ERROR_UNAVAILABLE, /* nothing usable: server missing, not ready, capability absent */
    WB_ERROR_TIMEOUT,     /* the deadline passed */
    WB_ERROR_CANCELLED,   /* the caller gave up */
    WB_ERROR_STALE,       /* the content is not what it was */
    WB_ERROR_IO,          /* the operating system refused */
    WB_ERROR_PROTOCOL,    /* a peer broke its protocol */
    WB_ERROR_LIMIT,       /* over a bound of base/limits.h */
    WB_ERROR_CLOSED,      /* the peer or process is gone */
};

#define WB_ERROR_MESSAGE_BYTES 2048

struct wb_error {
    enum wb_error_code code;
    char message[WB_ERROR_MESSAGE_BYTES]; /* UTF-8, cut at a character with "..." when too long */
};

/* Sets code and message; returns -1 so that `return wb_error_set(...)` reads well. */
WB_PRINTF(3, 4)
int wb_error_set(struct wb_error *err, enum wb_error_code code, const char *fmt, ...);

/* As wb_error_set, with ": <strerror(errno_value)>" behind; the code follows errno (ENOENT and
 * ENOTDIR are NOT_FOUND, EACCES and EPERM are DENIED, the rest IO). */
WB_PRINTF(3, 4)
int wb_error_errno(struct wb_error *err, int errno_value, const char *fmt, ...);

/* Puts "<context>: " in front of the message that is there. Returns -1. */
WB_PRINTF(2, 3) int wb_error_context(struct wb_error *err, const char *fmt, ...);

/* "invalid", "not_found", ... for logs and data. */
const char *wb_error_code_name(enum wb_error_code code);

#endif

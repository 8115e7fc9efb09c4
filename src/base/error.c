/* error: formats failures into the fixed message of a wb_error. Knows no module's errors. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

#define CUT_MARK "..."

static const char *const code_names[] = {
    [WB_ERROR_NONE] = "none",
    [WB_ERROR_INVALID] = "invalid",
    [WB_ERROR_NOT_FOUND] = "not_found",
    [WB_ERROR_DENIED] = "denied",
    [WB_ERROR_UNAVAILABLE] = "unavailable",
    [WB_ERROR_TIMEOUT] = "timeout",
    [WB_ERROR_CANCELLED] = "cancelled",
    [WB_ERROR_STALE] = "stale",
    [WB_ERROR_IO] = "io",
    [WB_ERROR_PROTOCOL] = "protocol",
    [WB_ERROR_LIMIT] = "limit",
    [WB_ERROR_CLOSED] = "closed",
};

/* Moves the text into the message. The text is built apart from it, because a caller may format
 * the old message into the new one. Names of files are any bytes, and a precision ("%.64s") cuts
 * where it falls: what is no UTF-8 is replaced. */
static void store_message(struct wb_error *err, const struct wb_text *text)
{
    WB_AUTO(wb_text_done) struct wb_text valid = {0};
    wb_text_add_utf8(&valid, wb_text_span(text));
    struct wb_span whole = wb_text_span(&valid);
    size_t len = whole.len;

    if (len >= WB_ERROR_MESSAGE_BYTES) {
        len = wb_utf8_cut(whole, WB_ERROR_MESSAGE_BYTES - sizeof(CUT_MARK));
        memcpy(err->message + len, CUT_MARK, sizeof(CUT_MARK));
    } else {
        err->message[len] = '\0';
    }
    if (len != 0) {
        memcpy(err->message, whole.ptr, len);
    }
}

int wb_error_set(struct wb_error *err, enum wb_error_code code, const char *fmt, ...)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    va_list args;

    if (err == NULL) {
        return -1;
    }
    va_start(args, fmt);
    wb_text_vprintf(&text, fmt, args);
    va_end(args);
    err->code = code;
    store_message(err, &text);
    return -1;
}

static enum wb_error_code code_of_errno(int errno_value)
{
    switch (errno_value) {
    case ENOENT:
    case ENOTDIR: /* a folder of the path is a file: there is nothing at its end */
        return WB_ERROR_NOT_FOUND;
    case EACCES:
    case EPERM:
        return WB_ERROR_DENIED;
    default:
        return WB_ERROR_IO;
    }
}

int wb_error_errno(struct wb_error *err, int errno_value, const char *fmt, ...)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    char reason[128];
    va_list args;

    if (err == NULL) {
        return -1;
    }
    va_start(args, fmt);
    wb_text_vprintf(&text, fmt, args);
    va_end(args);
    wb_text_printf(&text, ": %s", strerror_r(errno_value, reason, sizeof(reason)));
    err->code = code_of_errno(errno_value);
    store_message(err, &text);
    return -1;
}

int wb_error_context(struct wb_error *err, const char *fmt, ...)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    va_list args;

    if (err == NULL) {
        return -1;
    }
    va_start(args, fmt);
    wb_text_vprintf(&text, fmt, args);
    va_end(args);
    wb_text_printf(&text, ": %s", err->message);
    store_message(err, &text);
    return -1;
}

const char *wb_error_code_name(enum wb_error_code code)
{
    return (size_t)code < WB_COUNT(code_names) ? code_names[code] : "unknown";
}

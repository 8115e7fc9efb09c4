/* log: one write to stderr a message, so that lines of several threads do not mix. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/text.h"

static _Atomic(enum wb_log_level) max_level = WB_LOG_WARNING;

static const char *const level_names[] = {
    [WB_LOG_ERROR] = "error",
    [WB_LOG_WARNING] = "warning",
    [WB_LOG_INFO] = "info",
    [WB_LOG_DEBUG] = "debug",
};

void wb_log_set_level(enum wb_log_level level)
{
    atomic_store_explicit(&max_level, level, memory_order_relaxed);
}

bool wb_log_enabled(enum wb_log_level level)
{
    return level <= atomic_load_explicit(&max_level, memory_order_relaxed);
}

void wb_log(enum wb_log_level level, const char *fmt, ...)
{
    WB_AUTO(wb_text_done) struct wb_text line = {0};
    int saved_errno = errno;
    va_list args;

    if (!wb_log_enabled(level)) {
        return;
    }
    wb_text_printf(&line, "werkbank: %s: ", level_names[level]);
    va_start(args, fmt);
    wb_text_vprintf(&line, fmt, args);
    va_end(args);
    /* What peers say goes in here: it must not start lines of its own or steer a terminal. */
    for (size_t i = 0; i < line.len; i++) {
        if ((unsigned char)line.ptr[i] < 0x20 && line.ptr[i] != '\t') {
            line.ptr[i] = ' ';
        }
    }
    wb_text_add_char(&line, '\n');
    if (write(STDERR_FILENO, line.ptr, line.len) < 0) {
        /* There is no place left to say so. */
    }
    errno = saved_errno;
}

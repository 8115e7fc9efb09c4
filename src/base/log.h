/* log: lines on stderr for the operator. Libraries log at debug only; the surfaces decide the rest.
 *
 * One line a message: "werkbank: <level>: <text>". Any thread. The level is the program's one
 * piece of global state. */
#ifndef WB_BASE_LOG_H
#define WB_BASE_LOG_H

#include "base/base.h"

enum wb_log_level { WB_LOG_ERROR, WB_LOG_WARNING, WB_LOG_INFO, WB_LOG_DEBUG };

void wb_log_set_level(enum wb_log_level level); /* default: WB_LOG_WARNING */
bool wb_log_enabled(enum wb_log_level level);
WB_PRINTF(2, 3) void wb_log(enum wb_log_level level, const char *fmt, ...);

#endif

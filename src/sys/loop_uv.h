/* loop_uv: the loop's inside, for streams alone. Everything here is for the loop thread. */
#ifndef WB_SYS_LOOP_UV_H
#define WB_SYS_LOOP_UV_H

#include <uv.h>

#include "sys/loop.h"

uv_loop_t *wb_loop_uv(struct wb_loop *loop);
/* One read buffer for all streams of the loop. The next call may move it. */
char *wb_loop_buffer(struct wb_loop *loop, size_t bytes);

#endif

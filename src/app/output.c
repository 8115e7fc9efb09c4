/* output: see the header. */
#include "app/output.h"

#include <errno.h>
#include <unistd.h>

int wb_output_write(struct wb_span bytes, struct wb_error *err)
{
    while (bytes.len > 0) {
        ssize_t written = write(STDOUT_FILENO, bytes.ptr, bytes.len);
        if (written < 0 && errno != EINTR) {
            return wb_error_errno(err, errno, "cannot write the answer");
        }
        if (written > 0) {
            bytes.ptr += written;
            bytes.len -= (size_t)written;
        }
    }
    return 0;
}

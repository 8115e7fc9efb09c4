/* output: see the header. */
#include "app/output.h"

#include <errno.h>
#include <unistd.h>

#include "sys/file.h"

int wb_output_write(struct wb_span bytes, struct wb_error *err)
{
    if (wb_file_write_all(STDOUT_FILENO, bytes) != 0) {
        return wb_error_errno(err, errno, "cannot write the answer");
    }
    return 0;
}

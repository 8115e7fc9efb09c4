/* subject: see subject.h. */
#include "files/subject.h"

#include "base/limits.h"

int wb_subject_read(struct wb_call *call, struct wb_span path, struct wb_subject *ret,
                    struct wb_error *err)
{
    *ret = (struct wb_subject){.path = wb_call_path(call, path, err)};
    if (ret->path == NULL) {
        return -1;
    }
    ret->shown = wb_call_relative(call, ret->path);
    switch (wb_file_kind(ret->path, NULL)) {
    case WB_FILE_REGULAR:
        break;
    case WB_FILE_MISSING:
        return wb_error_set(err, WB_ERROR_NOT_FOUND, "there is no file %s; glob finds names",
                            ret->shown);
    case WB_FILE_FOLDER:
        return wb_error_set(err, WB_ERROR_INVALID, "%s is a folder; glob lists its files",
                            ret->shown);
    case WB_FILE_OTHER:
        return wb_error_set(err, WB_ERROR_INVALID, "%s is no regular file", ret->shown);
    }
    if (wb_file_read(call->arena, ret->path, WB_FILE_BYTES_MAX, &ret->content, NULL, err) < 0) {
        return -1;
    }
    if (wb_file_is_binary(ret->content)) {
        return wb_error_set(err, WB_ERROR_INVALID, "%s is a binary file (%zu bytes)", ret->shown,
                            ret->content.len);
    }
    return 0;
}

int wb_subject_write(struct wb_call *call, const struct wb_subject *subject, struct wb_span content,
                     struct wb_result *result, struct wb_error *err)
{
    struct wb_commit_op op = {
        .kind = WB_COMMIT_WRITE,
        .path = subject->path,
        .must_exist = true,
        .old_content = subject->content,
        .new_content = content,
    };
    return wb_call_write(call, &op, 1, result, err);
}

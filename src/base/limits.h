/* limits: every bound of the program that a peer, a file or a caller could run into.
 *
 * One place, so that a reader sees what the program can be made to hold. Contract limits (50
 * references, 400 characters) stand beside the tool that they belong to. */
#ifndef WB_BASE_LIMITS_H
#define WB_BASE_LIMITS_H

#include <stddef.h>

#define WB_KIB ((size_t)1024)
#define WB_MIB (1024 * WB_KIB)

/* JSON */
#define WB_JSON_DEPTH_MAX 256
#define WB_JSON_BYTES_MAX (256 * WB_MIB)

/* wire */
#define WB_FRAME_BODY_BYTES_MAX (128 * WB_MIB)   /* one LSP or DAP message */
#define WB_FRAME_LINE_BYTES_MAX (64 * WB_MIB)    /* one line of serve or call - */
#define WB_FRAME_JUNK_BYTES_MAX (64 * WB_KIB)    /* bytes skipped around a header, in a row */
#define WB_PEER_PENDING_MAX 4096                 /* requests outstanding, each direction */
#define WB_STREAM_QUEUE_BYTES_MAX (256 * WB_MIB) /* written but not taken by the child */

/* child processes */
#define WB_CHILD_STDERR_TAIL_BYTES (8 * WB_KIB)
#define WB_CHILD_ARGS_MAX 4096

/* files */
#define WB_FILE_BYTES_MAX (64 * WB_MIB) /* read, edit, write: one file */
#define WB_PATH_BYTES_MAX 4096
#define WB_WALK_DEPTH_MAX 200
#define WB_WALK_ENTRIES_MAX 5000000
#define WB_MIRROR_FILES_MAX 200000
#define WB_MIRROR_BYTES_MAX (2048 * WB_MIB)
#define WB_WATCH_FILES_MAX 1000000 /* known by name to one watch */
#define WB_COMMIT_FILES_MAX 100000
#define WB_IGNORE_FILE_BYTES_MAX (1 * WB_MIB)

/* project checks */
#define WB_CHECK_OUTPUT_BYTES_MAX (64 * WB_MIB) /* each of stdout and stderr of one program */
#define WB_CHECK_FINDINGS_MAX 10000             /* of one program */

/* kernels */
#define WB_KERNEL_CODE_BYTES_MAX (8 * WB_MIB)
#define WB_KERNEL_OUTPUT_BYTES_MAX (4 * WB_MIB)      /* of a cell, in memory: head and tail */
#define WB_KERNEL_SPILL_BYTES_MAX (1024 * WB_MIB)    /* of a cell, in its file */
#define WB_KERNEL_BACKGROUND_BYTES_MAX (16 * WB_KIB) /* between two cells */
#define WB_KERNEL_MARKS_MAX 4096                     /* of a cell, remembered */

/* calls */
#define WB_CALL_ARGUMENT_BYTES_MAX (64 * WB_MIB)
#define WB_RESULT_TEXT_BYTES_MAX (64 * WB_KIB) /* text for the model; data is whole */
#define WB_RUN_CALLS_MAX 256                   /* at once, in one run */
#define WB_HOST_THREADS_MAX 1024               /* calls at once on threads of the pool */
#define WB_CONFIG_BYTES_MAX (1 * WB_MIB)
#define WB_TRANSCRIPT_FIELD_BYTES_MAX (256 * WB_KIB) /* arguments or text in one event */

#endif

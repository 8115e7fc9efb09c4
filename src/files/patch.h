/* patch: both patch formats that models write, as one list of files and hunks, and their
 * application to contents. On memory only: reads and writes no files.
 *
 * The envelope form:
 *   *** Begin Patch
 *   *** Add File: PATH           then lines with + in front
 *   *** Delete File: PATH
 *   *** Update File: PATH        then, optionally, *** Move to: PATH, and hunks:
 *   @@ a line above the place    optional; several narrow down
 *    context, -old, +new
 *   *** End of File              optional: the hunk is at the end
 *   *** End Patch
 * and unified diffs as diff -u and git write them (headers of git, /dev/null, renames, copies,
 * quoted names, "\ No newline at end of file"). Line counts of hunk headers are taken as a hint.
 *
 * Everything parsed is in the arena or borrowed from the text. */
#ifndef WB_FILES_PATCH_H
#define WB_FILES_PATCH_H

#include "base/arena.h"
#include "base/error.h"

#define WB_PATCH_FILES_MAX 10000

enum wb_patch_action { WB_PATCH_ADD, WB_PATCH_UPDATE, WB_PATCH_DELETE, WB_PATCH_COPY };

struct wb_patch_line {
    char kind;           /* ' ', '-', '+' */
    bool no_newline;     /* "\ No newline at end of file" follows */
    bool is_bare;        /* an empty line of the patch: context whose blank was lost, or layout */
    struct wb_span text; /* without line end */
};

struct wb_patch_hunk {
    size_t at_line;          /* of the patch, 1-based, for sentences */
    size_t old_start;        /* unified: 1-based line where it should be; 0: not said */
    bool is_end;             /* *** End of File */
    bool has_position;       /* unified: old_start is meant, 0 too (an empty file) */
    struct wb_span *anchors; /* @@ lines of the envelope form */
    size_t n_anchors, anchors_capacity;
    struct wb_patch_line *lines;
    size_t n_lines, lines_capacity;
};

struct wb_patch_file {
    enum wb_patch_action action;
    size_t at_line;
    const char *path;     /* as written, without a/ and b/ */
    const char *new_path; /* UPDATE: renamed to; COPY: the copy; else NULL */
    int mode;             /* ADD, COPY: permissions from the diff; 0: not said */
    bool changes_mode;    /* of an existing file: not applied */
    bool has_content;     /* DELETE: hunks say what is there */
    struct wb_patch_hunk *hunks;
    size_t n_hunks, hunks_capacity;
};

struct wb_patch {
    struct wb_arena *arena;
    struct wb_patch_file *files;
    size_t n_files, files_capacity;
};

/* The error names the patch's line. */
WB_MUST_CHECK int wb_patch_parse(struct wb_arena *arena, struct wb_span text, struct wb_patch *ret,
                                 struct wb_error *err);

/* The content that a file has after its hunks. Each hunk must match exactly (line ends aside):
 * where it says, else at the nearest such place; without a position at the only such place. Line
 * ends and the state of the last line are kept. shown names the file in errors, which say what was
 * expected and what is there. */
WB_MUST_CHECK int wb_patch_apply(struct wb_arena *arena, const struct wb_patch_file *file,
                                 const char *shown, struct wb_span content, struct wb_span *ret,
                                 struct wb_error *err);

#endif

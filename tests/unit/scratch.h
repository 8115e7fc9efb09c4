/* scratch: a folder of its own for a test, with files in it. Include after cmocka.h. */
#ifndef WB_TESTS_SCRATCH_H
#define WB_TESTS_SCRATCH_H

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "sys/file.h"
#include "sys/path.h"

struct scratch {
    struct wb_arena arena;
    const char *folder; /* absolute, real */
};

static inline void scratch_init(struct scratch *s)
{
    char template[] = "/tmp/werkbank-test-XXXXXX";
    wb_arena_init(&s->arena);
    assert_non_null(mkdtemp(template));
    s->folder = wb_path_real(&s->arena, template, NULL);
    assert_non_null(s->folder);
}

static inline int scratch_remove(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)flag;
    (void)ftw;
    return S_ISDIR(st->st_mode) ? rmdir(path) : unlink(path);
}

static inline void scratch_done(struct scratch *s)
{
    nftw(s->folder, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
    wb_arena_done(&s->arena);
}

/* The fixture of a test whose state is the folder alone. */
static inline int scratch_set_up(void **state)
{
    static struct scratch s;
    scratch_init(&s);
    *state = &s;
    return 0;
}

static inline int scratch_tear_down(void **state)
{
    scratch_done(*state);
    return 0;
}

static inline const char *scratch_path(struct scratch *s, const char *relative)
{
    return wb_path_join(&s->arena, s->folder, relative);
}

static inline const char *scratch_folder(struct scratch *s, const char *relative)
{
    const char *path = scratch_path(s, relative);
    assert_int_equal(wb_path_make_folders(path, 0755, NULL), 0);
    return path;
}

/* Makes the file and its folders. */
static inline const char *scratch_write_span(struct scratch *s, const char *relative,
                                             struct wb_span content)
{
    const char *path = scratch_path(s, relative);
    assert_int_equal(wb_path_make_folders(wb_path_dir(&s->arena, path), 0755, NULL), 0);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content.ptr, content.len), content.len);
    close(fd);
    return path;
}

static inline const char *scratch_write(struct scratch *s, const char *relative,
                                        const char *content)
{
    return scratch_write_span(s, relative, wb_span(content));
}

static inline const char *scratch_link(struct scratch *s, const char *target, const char *relative)
{
    const char *path = scratch_path(s, relative);
    assert_int_equal(symlink(target, path), 0);
    return path;
}

/* The content as a string, or NULL without the file. */
static inline const char *scratch_read(struct scratch *s, const char *relative)
{
    struct wb_span content;
    int got =
        wb_file_read(&s->arena, scratch_path(s, relative), SIZE_MAX / 4, &content, NULL, NULL);
    return got == 0 ? content.ptr : NULL;
}

#endif

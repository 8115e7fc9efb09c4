/* path: names as text, and the real path behind a name.
 *
 * wb_path_real walks a name component by component as the kernel would, so that ".." behind a
 * symlink and names that do not exist yet land where a later open() would put them: the workspace
 * boundary rests on it. URIs are in path_uri.c, places (programs, the user's folders) in
 * path_places.c. */
#include "sys/path.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"

/* As Linux: more links than this in one name is a loop. */
#define LINKS_MAX 40

char *wb_path_join(struct wb_arena *arena, const char *a, const char *b)
{
    if (b[0] == '/' || a[0] == '\0') {
        return wb_arena_strdup(arena, b);
    }
    if (b[0] == '\0') {
        return wb_arena_strdup(arena, a);
    }
    bool slash = a[strlen(a) - 1] == '/';
    return wb_arena_printf(arena, "%s%s%s", a, slash ? "" : "/", b);
}

/* Takes the next component off *rest; empty at the end. */
static struct wb_span next_component(const char **rest)
{
    const char *begin = *rest + strspn(*rest, "/");
    size_t len = strcspn(begin, "/");
    *rest = begin + len;
    return (struct wb_span){begin, len};
}

/* out never ends in a slash; "" is the root. */
static void append_component(struct wb_text *out, struct wb_span name)
{
    wb_text_add_char(out, '/');
    wb_text_add_span(out, name);
}

static void drop_component(struct wb_text *out)
{
    const char *slash = out->len != 0 ? memrchr(out->ptr, '/', out->len) : NULL;
    wb_text_cut(out, slash != NULL ? (size_t)(slash - out->ptr) : 0);
}

static char *finish_path(struct wb_arena *arena, const struct wb_text *out)
{
    return out->len != 0 ? wb_arena_strndup(arena, out->ptr, out->len)
                         : wb_arena_strdup(arena, "/");
}

char *wb_path_normalize(struct wb_arena *arena, const char *absolute)
{
    WB_AUTO(wb_text_done) struct wb_text out;
    wb_text_init(&out);
    const char *rest = absolute;
    for (;;) {
        struct wb_span name = next_component(&rest);
        if (name.len == 0) {
            return finish_path(arena, &out);
        }
        if (wb_span_is(name, "..")) {
            drop_component(&out);
        } else if (!wb_span_is(name, ".")) {
            append_component(&out, name);
        }
    }
}

struct resolver {
    struct wb_text out; /* real so far: no symlink in it */
    const char *rest;   /* not walked yet */
    size_t outer_len;   /* names with more than this behind them are of a link's target */
    const char *link;   /* the outermost link being followed, for the sentence */
    unsigned n_links;
    const char *name; /* what was asked */
};

static int follow_link(struct wb_arena *arena, struct resolver *r, const char *target,
                       bool inside_link)
{
    if (++r->n_links > LINKS_MAX) {
        return -1;
    }
    if (!inside_link) {
        r->link = wb_arena_strndup(arena, r->out.ptr, r->out.len);
        r->outer_len = strlen(r->rest);
    }
    if (target[0] == '/') {
        wb_text_clear(&r->out);
    } else {
        drop_component(&r->out);
    }
    r->rest = wb_arena_printf(arena, "%s/%s", target, r->rest);
    return 0;
}

/* Walks one component. 1: more to come; 0: done; -1: err is set. */
static int resolve_step(struct wb_arena *arena, struct resolver *r, struct wb_error *err)
{
    struct wb_span name = next_component(&r->rest);
    bool inside_link = r->link != NULL && strlen(name.ptr) > r->outer_len;
    if (name.len == 0) {
        return 0;
    }
    if (wb_span_is(name, ".")) {
        return 1;
    }
    if (wb_span_is(name, "..")) {
        drop_component(&r->out);
        return 1;
    }
    append_component(&r->out, name);
    if (r->out.len >= WB_PATH_BYTES_MAX) {
        return wb_error_set(err, WB_ERROR_LIMIT, "The path %.200s... is longer than %d bytes",
                            r->name, WB_PATH_BYTES_MAX);
    }
    char target[PATH_MAX];
    ssize_t len = readlink(wb_text_cstr(&r->out), target, sizeof(target) - 1);
    if (len >= 0) {
        target[len] = '\0';
        if (follow_link(arena, r, target, inside_link) != 0) {
            return wb_error_set(err, WB_ERROR_INVALID,
                                "%s goes through more than %d symbolic links: %s is probably a "
                                "loop",
                                r->name, LINKS_MAX, r->link);
        }
        return 1;
    }
    if (errno == EINVAL) { /* exists, and is no link */
        return 1;
    }
    if (errno == ENOENT && inside_link) {
        return wb_error_set(err, WB_ERROR_NOT_FOUND,
                            "%s leads through the symbolic link %s to %s, which does not exist",
                            r->name, r->link, wb_text_cstr(&r->out));
    }
    if (errno == ENOENT) {
        return 1;
    }
    return wb_error_errno(err, errno, "Cannot find out where %s leads, at %s", r->name,
                          wb_text_cstr(&r->out));
}

char *wb_path_real(struct wb_arena *arena, const char *absolute, struct wb_error *err)
{
    if (absolute[0] != '/') {
        wb_error_set(err, WB_ERROR_INVALID, "The path \"%s\" is not absolute", absolute);
        return NULL;
    }
    struct resolver r = {.rest = absolute, .name = absolute};
    wb_text_init(&r.out);
    int step = 1;
    while (step == 1) {
        step = resolve_step(arena, &r, err);
    }
    char *real = step == 0 ? finish_path(arena, &r.out) : NULL;
    wb_text_done(&r.out);
    return real;
}

const char *wb_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

char *wb_path_dir(struct wb_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return wb_arena_strdup(arena, ".");
    }
    if (slash == path) {
        return wb_arena_strdup(arena, "/");
    }
    return wb_arena_strndup(arena, path, (size_t)(slash - path));
}

const char *wb_path_extension(const char *path)
{
    const char *base = wb_path_base(path);
    const char *dot = strrchr(base, '.');
    return dot != NULL && dot != base ? dot : base + strlen(base);
}

bool wb_path_is_inside(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    if (len == 1 && folder[0] == '/') {
        return path[0] == '/';
    }
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

const char *wb_path_relative(const char *path, const char *folder)
{
    if (!wb_path_is_inside(path, folder)) {
        return path;
    }
    const char *rest = path + strlen(folder);
    rest += strspn(rest, "/");
    return rest[0] != '\0' ? rest : ".";
}

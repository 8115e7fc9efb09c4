/* wildcard: the matcher behind ignore rules and globs.
 *
 * Both levels, bytes in a name and components in a path, are matched the same way: go on greedily,
 * and after a mismatch let the last star take one more. That is enough (a later star can take
 * whatever an earlier one could), so there is no recursion. */
#include "sys/wildcard.h"

#include <ctype.h>

size_t wb_wildcard_literal_len(struct wb_span pattern)
{
    size_t len = 0;
    while (len < pattern.len && strchr("*?[\\", pattern.ptr[len]) == NULL) {
        len++;
    }
    return len;
}

static bool is_in_class(struct wb_span name, unsigned char c, bool *ret)
{
    static const struct {
        const char *name;
        int (*test)(int c);
    } classes[] = {
        {"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank}, {"cntrl", iscntrl},
        {"digit", isdigit}, {"graph", isgraph}, {"lower", islower}, {"print", isprint},
        {"punct", ispunct}, {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit},
    };

    for (size_t i = 0; i < WB_COUNT(classes); i++) {
        if (wb_span_is(name, classes[i].name)) {
            *ret = c < 0x80 && classes[i].test(c) != 0;
            return true;
        }
    }
    return false;
}

/* "[:name:]" at `at`: its length and verdict. 0: no class, the "[" is an ordinary member.
 * SIZE_MAX: a class that does not exist. */
static size_t match_class(struct wb_span pattern, size_t at, unsigned char c, bool *ret)
{
    if (at + 1 >= pattern.len || pattern.ptr[at + 1] != ':') {
        return 0;
    }
    const char *name = pattern.ptr + at + 2;
    const char *close = memchr(name, ']', pattern.len - at - 2);
    if (close == NULL) {
        return SIZE_MAX;
    }
    if (close == name || close[-1] != ':') {
        return 0;
    }
    if (!is_in_class((struct wb_span){name, (size_t)(close - name) - 1}, c, ret)) {
        return SIZE_MAX;
    }
    return (size_t)(close - pattern.ptr) + 1 - at;
}

/* Takes one member, escaped or not, at *at. False at the end of the pattern. */
static bool take_member(struct wb_span pattern, size_t *at, unsigned char *ret)
{
    if (*at < pattern.len && pattern.ptr[*at] == '\\') {
        (*at)++;
    }
    if (*at >= pattern.len) {
        return false;
    }
    *ret = (unsigned char)pattern.ptr[(*at)++];
    return true;
}

/* "[...]" at *at: moves behind it and says whether c is in the set. False: not closed, or with an
 * unknown class. */
static bool match_set(struct wb_span pattern, size_t *at, unsigned char c, bool *ret)
{
    size_t i = *at + 1;
    bool negated = i < pattern.len && (pattern.ptr[i] == '!' || pattern.ptr[i] == '^');
    i += negated;
    bool found = false, first = true;
    int previous = -1; /* what a "-" begins a range from */
    for (; i < pattern.len && (first || pattern.ptr[i] != ']'); first = false) {
        bool in_class = false;
        size_t class_len = pattern.ptr[i] == '[' ? match_class(pattern, i, c, &in_class) : 0;
        if (class_len == SIZE_MAX) {
            return false;
        }
        if (class_len != 0) {
            found |= in_class;
            i += class_len;
            previous = -1;
            continue;
        }
        bool range = pattern.ptr[i] == '-' && previous >= 0 && i + 1 < pattern.len &&
                     pattern.ptr[i + 1] != ']';
        i += range;
        unsigned char member;
        if (!take_member(pattern, &i, &member)) {
            return false;
        }
        found |= range ? c >= previous && c <= member : c == member;
        previous = range ? -1 : member;
    }
    if (i >= pattern.len) {
        return false;
    }
    *at = i + 1;
    *ret = found != negated;
    return true;
}

/* Matches one byte with what stands at *at, which is no star, and moves behind it. */
static bool match_one(struct wb_span pattern, size_t *at, unsigned char c)
{
    bool in_set = false;
    size_t i = *at;
    switch (pattern.ptr[i]) {
    case '?':
        *at = i + 1;
        return true;
    case '[':
        return match_set(pattern, at, c, &in_set) && in_set;
    case '\\':
        i++;
        break;
    default:
        break;
    }
    if (i >= pattern.len || (unsigned char)pattern.ptr[i] != c) {
        return false;
    }
    *at = i + 1;
    return true;
}

bool wb_wildcard_name(struct wb_span pattern, struct wb_span name)
{
    size_t p = 0, n = 0, star_p = SIZE_MAX, star_n = 0;
    while (n < name.len) {
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star_p = ++p;
            star_n = n;
        } else if (p < pattern.len && match_one(pattern, &p, (unsigned char)name.ptr[n])) {
            n++;
        } else if (star_p != SIZE_MAX) {
            p = star_p;
            n = ++star_n;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '*') {
        p++;
    }
    return p == pattern.len;
}

/* The end of the pattern's first component: a slash in a set does not end it. */
static size_t pattern_component_len(struct wb_span pattern)
{
    size_t i = 0;
    while (i < pattern.len && pattern.ptr[i] != '/') {
        bool ignored;
        size_t behind = i;
        if (pattern.ptr[i] == '[' && match_set(pattern, &behind, 0, &ignored)) {
            i = behind;
        } else {
            i += pattern.ptr[i] == '\\' && i + 1 < pattern.len ? 2 : 1;
        }
    }
    return WB_MIN(i, pattern.len);
}

/* Takes the first `len` bytes and the slash behind them off; what has nothing behind it any more,
 * not even an empty component, gets a NULL pointer. */
static struct wb_span take_component(struct wb_span *rest, size_t len)
{
    struct wb_span component = {rest->ptr, len};
    if (len == rest->len) {
        *rest = (struct wb_span){NULL, 0};
    } else {
        *rest = (struct wb_span){rest->ptr + len + 1, rest->len - len - 1};
    }
    return component;
}

static struct wb_span take_pattern_component(struct wb_span *rest)
{
    return take_component(rest, pattern_component_len(*rest));
}

static struct wb_span take_path_component(struct wb_span *rest)
{
    const char *slash = rest->len != 0 ? memchr(rest->ptr, '/', rest->len) : NULL;
    return take_component(rest, slash != NULL ? (size_t)(slash - rest->ptr) : rest->len);
}

static bool is_double_star(struct wb_span component)
{
    size_t stars = 0;
    while (stars < component.len && component.ptr[stars] == '*') {
        stars++;
    }
    return stars >= 2 && stars == component.len;
}

bool wb_wildcard_path(struct wb_span pattern, struct wb_span path)
{
    struct wb_span star_pattern = {0}, star_path = {0};
    while (path.ptr != NULL) {
        struct wb_span pattern_rest = pattern, path_rest = path;
        if (pattern.ptr != NULL) {
            struct wb_span component = take_pattern_component(&pattern_rest);
            if (is_double_star(component) && pattern_rest.ptr == NULL) {
                return true;
            }
            if (is_double_star(component)) {
                pattern = star_pattern = pattern_rest;
                star_path = path;
                continue;
            }
            if (wb_wildcard_name(component, take_path_component(&path_rest))) {
                pattern = pattern_rest;
                path = path_rest;
                continue;
            }
        }
        if (star_path.ptr == NULL) {
            return false;
        }
        take_path_component(&star_path);
        pattern = star_pattern;
        path = star_path;
    }
    return pattern.ptr == NULL;
}

/* path_uri: file: URIs (RFC 8089) to paths and back.
 *
 * Reading is exact about what would lead elsewhere (other schemes, hosts, broken escapes, NULs) and
 * tolerant about characters that a careless server leaves unencoded: "?" and "#" are taken as part
 * of the name, since file URIs have neither query nor fragment. */
#include <ctype.h>
#include <strings.h>

#include "base/text.h"
#include "sys/path.h"

static bool is_unreserved(unsigned char c)
{
    return (c < 0x80 && isalnum(c)) || c == '-' || c == '.' || c == '_' || c == '~';
}

char *wb_path_to_uri(struct wb_arena *arena, const char *absolute)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t len = strlen(absolute);
    char *uri = wb_arena_alloc(arena, sizeof("file://") + 3 * len);
    memcpy(uri, "file://", 7);
    size_t at = 7;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)absolute[i];
        if (is_unreserved(c) || c == '/') {
            uri[at++] = (char)c;
        } else {
            uri[at++] = '%';
            uri[at++] = digits[c >> 4];
            uri[at++] = digits[c & 15];
        }
    }
    return uri;
}

static bool take_prefix(struct wb_span *s, const char *prefix)
{
    size_t len = strlen(prefix);
    if (s->len < len || strncasecmp(s->ptr, prefix, len) != 0) {
        return false;
    }
    s->ptr += len;
    s->len -= len;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* NULL on broken escapes and NULs, encoded or not. */
static char *decode_escapes(struct wb_arena *arena, struct wb_span s)
{
    char *out = wb_arena_alloc(arena, s.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        int c = (unsigned char)s.ptr[i];
        if (c == '%') {
            int high = s.len - i > 2 ? hex_digit(s.ptr[i + 1]) : -1;
            int low = s.len - i > 2 ? hex_digit(s.ptr[i + 2]) : -1;
            if (high < 0 || low < 0) {
                return NULL;
            }
            c = high * 16 + low;
            i += 2;
        }
        if (c == '\0') {
            return NULL;
        }
        out[n++] = (char)c;
    }
    return out;
}

char *wb_path_from_uri(struct wb_arena *arena, struct wb_span uri)
{
    if (!take_prefix(&uri, "file:")) {
        return NULL;
    }
    if (take_prefix(&uri, "//")) { /* with an authority: only this machine's */
        take_prefix(&uri, "localhost");
    }
    if (uri.len == 0 || uri.ptr[0] != '/') {
        return NULL;
    }
    char *decoded = decode_escapes(arena, uri);
    return decoded != NULL ? wb_path_normalize(arena, decoded) : NULL;
}

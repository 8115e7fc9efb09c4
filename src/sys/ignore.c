/* ignore: rules of ignore files, one set a folder, and the globs of the search tools.
 *
 * Follows gitignore(5), and git itself where the manual is silent (tests/unit/sys compares the
 * verdicts). Reads no files: a walk brings their content. */
#include "sys/ignore.h"

#include "base/limits.h"
#include "base/text.h"
#include "sys/file.h"
#include "sys/wildcard.h"

/* Brace groups of one glob, nested or in a row, and the patterns that they may become. */
#define BRACE_GROUPS_MAX 8
#define BRACE_PATTERNS_MAX 1024

struct rule {
    struct wb_span pattern;
    size_t literal_len; /* of the part in front of the first wildcard */
    bool negated;
    bool folder_only;
    bool name_only; /* no slash in it: compared with the last component, at any depth */
};

struct wb_ignore {
    const struct wb_ignore *parent;
    size_t skip; /* bytes of a path in front of the part that these rules see */
    struct rule *rules;
    size_t n_rules, rules_capacity;
};

/* Unescaped spaces at the end do not count. */
static struct wb_span trim_spaces(struct wb_span line)
{
    size_t kept = 0;
    for (size_t i = 0; i < line.len; i++) {
        if (line.ptr[i] == '\\') {
            i++;
        } else if (line.ptr[i] == ' ') {
            continue;
        }
        kept = WB_MIN(i + 1, line.len);
    }
    line.len = kept;
    return line;
}

/* False: the line holds no rule. */
static bool parse_rule(struct wb_span line, struct rule *ret)
{
    const char *nul = line.len != 0 ? memchr(line.ptr, '\0', line.len) : NULL;
    if (nul != NULL) { /* as git, which works on C strings */
        line.len = (size_t)(nul - line.ptr);
    }
    if (line.len == 0 || line.ptr[0] == '#') {
        return false;
    }
    struct wb_span p = trim_spaces(line);
    struct rule rule = {0};
    if (p.len != 0 && p.ptr[0] == '!') {
        rule.negated = true;
        p = (struct wb_span){p.ptr + 1, p.len - 1};
    }
    if (p.len != 0 && p.ptr[p.len - 1] == '/') {
        rule.folder_only = true;
        p.len--;
    }
    if (p.len == 0) {
        return false;
    }
    rule.name_only = memchr(p.ptr, '/', p.len) == NULL;
    if (p.ptr[0] == '/') {
        p = (struct wb_span){p.ptr + 1, p.len - 1};
    }
    rule.pattern = p;
    rule.literal_len = wb_wildcard_literal_len(p);
    *ret = rule;
    return true;
}

const struct wb_ignore *wb_ignore_push(struct wb_arena *arena, const struct wb_ignore *parent,
                                       const char *folder, struct wb_span content)
{
    size_t bom = wb_file_bom(content);
    struct wb_span rest = {content.ptr + bom, content.len - bom}, line;
    if (wb_span_ends(rest, WB_SPAN("\r"))) { /* CRLF cut short by the end of the file */
        rest.len--;
    }
    struct wb_ignore set = {.parent = parent, .skip = folder[0] != '\0' ? strlen(folder) + 1 : 0};
    while (wb_span_next_line(&rest, &line)) {
        struct rule rule;
        if (parse_rule(line, &rule)) {
            *WB_ARENA_PUSH(arena, set.rules, set.n_rules, set.rules_capacity) = rule;
        }
    }
    if (set.n_rules == 0) {
        return parent;
    }
    struct wb_ignore *kept = WB_ARENA_NEW(arena, struct wb_ignore);
    *kept = set;
    return kept;
}

static bool rule_matches_name(const struct rule *rule, struct wb_span name)
{
    struct wb_span pattern = rule->pattern;
    if (rule->literal_len == pattern.len) {
        return wb_span_equal(pattern, name);
    }
    if (name.len < rule->literal_len || memcmp(name.ptr, pattern.ptr, rule->literal_len) != 0) {
        return false;
    }
    return wb_wildcard_name(pattern, name);
}

static bool rule_matches_path(const struct rule *rule, struct wb_span path)
{
    struct wb_span pattern = rule->pattern;
    size_t literal = rule->literal_len;
    if (literal == pattern.len) {
        return wb_span_equal(pattern, path);
    }
    if (path.len < literal || memcmp(path.ptr, pattern.ptr, literal) != 0) {
        return false;
    }
    /* As git, which also sees only what is behind the literal part: in "a" "**" "/b" the stars are
     * then a component of their own. */
    return wb_wildcard_path((struct wb_span){pattern.ptr + literal, pattern.len - literal},
                            (struct wb_span){path.ptr + literal, path.len - literal});
}

bool wb_ignore_matches(const struct wb_ignore *rules, const char *path, bool is_folder)
{
    struct wb_span whole = wb_span(path);
    const char *slash = strrchr(path, '/');
    struct wb_span name = slash != NULL ? wb_span(slash + 1) : whole;
    for (const struct wb_ignore *set = rules; set != NULL; set = set->parent) {
        struct wb_span seen = {whole.ptr + set->skip, whole.len - set->skip};
        for (size_t i = set->n_rules; i-- > 0;) {
            const struct rule *rule = &set->rules[i];
            if (rule->folder_only && !is_folder) {
                continue;
            }
            if (rule->name_only ? rule_matches_name(rule, name) : rule_matches_path(rule, seen)) {
                return !rule->negated;
            }
        }
    }
    return false;
}

struct glob {
    struct wb_span path, name;
    size_t n_patterns;
};

static bool glob_matches_plain(struct glob *glob, struct wb_span pattern)
{
    if (++glob->n_patterns > BRACE_PATTERNS_MAX) {
        return false;
    }
    if (pattern.len >= 2 && memcmp(pattern.ptr, "./", 2) == 0) {
        pattern = (struct wb_span){pattern.ptr + 2, pattern.len - 2};
    }
    if (pattern.len == 0 || memchr(pattern.ptr, '/', pattern.len) == NULL) {
        return wb_wildcard_name(pattern, glob->name);
    }
    if (pattern.ptr[0] == '/') {
        pattern = (struct wb_span){pattern.ptr + 1, pattern.len - 1};
    }
    return wb_wildcard_path(pattern, glob->path);
}

/* The end of the alternative that begins at `at`: its comma or closing brace; s.len: not closed. */
static size_t alternative_end(struct wb_span s, size_t at)
{
    size_t depth = 0;
    for (; at < s.len; at++) {
        char c = s.ptr[at];
        if (c == '\\') {
            at++;
        } else if (depth == 0 && (c == ',' || c == '}')) {
            return at;
        } else if (c == '{') {
            depth++;
        } else if (c == '}') {
            depth--;
        }
    }
    return s.len;
}

/* Finds the first group that is closed: *ret_open its "{", *ret_close its "}". */
static bool find_group(struct wb_span s, size_t *ret_open, size_t *ret_close)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '\\') {
            i++;
        } else if (s.ptr[i] == '{') {
            size_t end = alternative_end(s, i + 1);
            while (end < s.len && s.ptr[end] == ',') {
                end = alternative_end(s, end + 1);
            }
            if (end < s.len) {
                *ret_open = i;
                *ret_close = end;
                return true;
            }
        }
    }
    return false;
}

static bool glob_matches(struct glob *glob, struct wb_span pattern, size_t depth)
{
    size_t open, close;
    if (depth == BRACE_GROUPS_MAX || !find_group(pattern, &open, &close)) {
        return glob_matches_plain(glob, pattern);
    }
    size_t tail = pattern.len - close - 1;
    for (size_t begin = open + 1; begin <= close && glob->n_patterns <= BRACE_PATTERNS_MAX;) {
        size_t end = alternative_end(pattern, begin);
        char expanded[WB_PATH_BYTES_MAX];
        memcpy(expanded, pattern.ptr, open);
        memcpy(expanded + open, pattern.ptr + begin, end - begin);
        memcpy(expanded + open + end - begin, pattern.ptr + close + 1, tail);
        if (glob_matches(glob, (struct wb_span){expanded, open + end - begin + tail}, depth + 1)) {
            return true;
        }
        begin = end + 1;
    }
    return false;
}

bool wb_ignore_glob(const char *pattern, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct glob glob = {.path = wb_span(path), .name = wb_span(slash != NULL ? slash + 1 : path)};
    struct wb_span whole = wb_span(pattern);
    return whole.len < WB_PATH_BYTES_MAX && glob_matches(&glob, whole, 0);
}

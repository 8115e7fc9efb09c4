/* languages: see languages.h. Rows are few hundred, so that looking one up is a scan. */
#include "run/languages.h"

#include "base/text.h"
#include "run/table.h"
#include "sys/ignore.h"
#include "sys/path.h"

extern const char wb_languages_json[];
extern const size_t wb_languages_json_len;

struct wb_languages {
    struct wb_language *items;
    size_t count, capacity;
};

static enum wb_identifier_style read_style(const struct wb_json *value)
{
    static const char *const names[] = {
        [WB_IDENTIFIER_C] = "c",       [WB_IDENTIFIER_DOLLAR] = "dollar",
        [WB_IDENTIFIER_DASH] = "dash", [WB_IDENTIFIER_PRIME] = "prime",
        [WB_IDENTIFIER_RUBY] = "ruby", [WB_IDENTIFIER_SIGIL] = "sigil",
        [WB_IDENTIFIER_LISP] = "lisp",
    };
    const char *name = wb_json_str_or(value, "c");
    for (size_t i = 0; i < WB_COUNT(names); i++) {
        if (wb_str_equal(names[i], name)) {
            return (enum wb_identifier_style)i;
        }
    }
    return WB_IDENTIFIER_C;
}

static void read_row(struct wb_arena *arena, const struct wb_json *row,
                     struct wb_language *language)
{
    language->id = wb_json_str(wb_json_get(row, "id"));
    language->name = wb_json_str_or(wb_json_get(row, "name"), language->id);
    language->lsp_id = wb_json_str_or(wb_json_get(row, "lsp_id"), language->id);
    language->extensions = wb_table_strings(arena, wb_json_get(row, "extensions"));
    language->filenames = wb_table_strings(arena, wb_json_get(row, "filenames"));
    language->interpreters = wb_table_strings(arena, wb_json_get(row, "interpreters"));
    language->keywords = wb_table_strings(arena, wb_json_get(row, "keywords"));
    language->identifier = read_style(wb_json_get(row, "identifier"));
    language->line_comment = wb_json_str(wb_json_get(row, "line_comment"));
    language->grammar = wb_json_get(row, "grammar");
}

const struct wb_languages *wb_languages_load(struct wb_arena *arena, const struct wb_json *extra,
                                             struct wb_error *err)
{
    struct wb_table table;
    struct wb_span built_in = {wb_languages_json, wb_languages_json_len};
    if (wb_table_load(arena, built_in, "languages", extra, &table, err) < 0) {
        return NULL;
    }
    struct wb_languages *languages = WB_ARENA_NEW(arena, struct wb_languages);
    for (size_t i = 0; i < table.count; i++) {
        read_row(arena, table.rows[i],
                 WB_ARENA_PUSH(arena, languages->items, languages->count, languages->capacity));
    }
    return languages;
}

static bool has_name(const char **names, const char *base)
{
    for (; *names != NULL; names++) {
        if (strchr(*names, '*') != NULL ? wb_ignore_glob(*names, base)
                                        : wb_str_equal(*names, base)) {
            return true;
        }
    }
    return false;
}

/* Length of the longest extension of the language that the name ends with. */
static size_t extension_fit(const struct wb_language *language, const char *base)
{
    size_t best = 0;
    for (const char **it = language->extensions; *it != NULL; it++) {
        size_t len = strlen(*it);
        if (len > best && strlen(base) > len && wb_str_ends(base, *it)) {
            best = len;
        }
    }
    return best;
}

static const struct wb_language *by_extension(const struct wb_languages *languages,
                                              const char *base)
{
    const struct wb_language *best = NULL;
    size_t best_fit = 0;
    for (size_t i = 0; i < languages->count; i++) {
        size_t fit = extension_fit(&languages->items[i], base);
        if (fit > best_fit) {
            best = &languages->items[i];
            best_fit = fit;
        }
    }
    return best;
}

/* "#!/usr/bin/env -S python3 -u" names python3; a version behind the name is left out. */
static struct wb_span interpreter_of(struct wb_span head)
{
    struct wb_span line;
    if (!wb_span_starts(head, WB_SPAN("#!")) || !wb_span_next_line(&head, &line)) {
        return (struct wb_span){0};
    }
    struct wb_span rest = {line.ptr + 2, line.len - 2};
    struct wb_span name = {0};
    while (rest.len > 0) {
        rest = wb_span_trim(rest);
        size_t end = 0;
        while (end < rest.len && rest.ptr[end] != ' ' && rest.ptr[end] != '\t') {
            end++;
        }
        name = (struct wb_span){rest.ptr, end};
        rest = (struct wb_span){rest.ptr + end, rest.len - end};
        const char *slash = memrchr(name.ptr, '/', name.len);
        if (slash != NULL) {
            name = (struct wb_span){slash + 1, (size_t)(name.ptr + name.len - slash - 1)};
        }
        if (!wb_span_is(name, "env") && (name.len == 0 || name.ptr[0] != '-')) {
            break;
        }
    }
    while (name.len > 0 && strchr("0123456789.", name.ptr[name.len - 1]) != NULL) {
        name.len--;
    }
    return name;
}

static const struct wb_language *by_interpreter(const struct wb_languages *languages,
                                                struct wb_span head)
{
    struct wb_span name = interpreter_of(head);
    for (size_t i = 0; name.len > 0 && i < languages->count; i++) {
        for (const char **it = languages->items[i].interpreters; *it != NULL; it++) {
            if (wb_span_is(name, *it)) {
                return &languages->items[i];
            }
        }
    }
    return NULL;
}

const struct wb_language *wb_languages_of_file(const struct wb_languages *languages,
                                               const char *path, struct wb_span head)
{
    const char *base = wb_path_base(path);
    for (size_t i = 0; i < languages->count; i++) {
        if (has_name(languages->items[i].filenames, base)) {
            return &languages->items[i];
        }
    }
    const struct wb_language *language = by_extension(languages, base);
    return language != NULL ? language : by_interpreter(languages, head);
}

const struct wb_language *wb_languages_find(const struct wb_languages *languages, const char *id)
{
    for (size_t i = 0; i < languages->count; i++) {
        if (wb_str_equal(languages->items[i].id, id)) {
            return &languages->items[i];
        }
    }
    return NULL;
}

const struct wb_language *wb_languages_next(const struct wb_languages *languages, size_t *cursor)
{
    return *cursor < languages->count ? &languages->items[(*cursor)++] : NULL;
}

/* Identifiers. */

static bool is_one_of(uint32_t c, const char *set)
{
    return c < 128 && c != 0 && strchr(set, (int)c) != NULL;
}

static bool is_digit(uint32_t c)
{
    return c >= '0' && c <= '9';
}

static bool may_stand(enum wb_identifier_style style, uint32_t c, bool first)
{
    if (style == WB_IDENTIFIER_LISP) {
        return c > ' ' && !is_one_of(c, "()[]{}\"'`;,");
    }
    if (wb_utf8_is_word(c)) {
        return !(first && is_digit(c));
    }
    return (style == WB_IDENTIFIER_DOLLAR && c == '$') ||
           (!first && ((style == WB_IDENTIFIER_DASH && c == '-') ||
                       (style == WB_IDENTIFIER_PRIME && c == '\'')));
}

/* What the style allows around the name proper. */
static struct wb_span without_marks(enum wb_identifier_style style, struct wb_span name)
{
    static const char *const prefixes[][5] = {
        [WB_IDENTIFIER_DASH] = {"--"},
        [WB_IDENTIFIER_RUBY] = {"@@", "@", "$"},
        [WB_IDENTIFIER_SIGIL] = {"$", "@", "%", "&"},
        [WB_IDENTIFIER_LISP] = {NULL},
    };
    for (size_t i = 0; i < WB_COUNT(prefixes[0]) && prefixes[style][i] != NULL; i++) {
        struct wb_span prefix = wb_span(prefixes[style][i]);
        if (wb_span_starts(name, prefix)) {
            name = (struct wb_span){name.ptr + prefix.len, name.len - prefix.len};
            break;
        }
    }
    if (style == WB_IDENTIFIER_RUBY && name.len > 1 &&
        is_one_of((unsigned char)name.ptr[name.len - 1], "?!=")) {
        name.len--;
    }
    return name;
}

static bool is_identifier(enum wb_identifier_style style, struct wb_span name)
{
    name = without_marks(style, name);
    for (size_t at = 0; at < name.len;) {
        uint32_t c;
        size_t len = wb_utf8_decode(name.ptr + at, name.len - at, &c);
        if (len == 0 || !may_stand(style, c, at == 0)) {
            return false;
        }
        at += len;
    }
    return name.len > 0;
}

int wb_language_check_identifier(const struct wb_language *language, struct wb_span name,
                                 struct wb_error *err)
{
    if (!is_identifier(language->identifier, name)) {
        return wb_error_set(err, WB_ERROR_INVALID, "`%.*s` is not an identifier in %s",
                            WB_SPAN_ARG(name), language->name);
    }
    for (const char **keyword = language->keywords; *keyword != NULL; keyword++) {
        if (wb_span_is(name, *keyword)) {
            return wb_error_set(err, WB_ERROR_INVALID,
                                "`%.*s` is a keyword of %s and cannot be a name", WB_SPAN_ARG(name),
                                language->name);
        }
    }
    return 0;
}

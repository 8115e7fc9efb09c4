/* command_line: see the header. A reader walks the text a character at a time and collects words; a
 * command's end hands them to command_programs.c, which knows what programs do with their words. */
#include "run/command_line.h"

#include <ctype.h>

#include "base/text.h"
#include "run/command_line_private.h"

#define TEXT_BYTES_MAX (64 * 1024)

/* What the next word is. */
enum target {
    TARGET_NONE, /* a word of the command */
    TARGET_FILE,
    TARGET_HERE_DOCUMENT,
    TARGET_HERE_STRING,
};

struct here {
    const char *delimiter;
    bool is_quoted, strips_tabs;
};

struct reader {
    struct wb_command_reader *r;
    const char *at;
    unsigned depth;
    struct wb_text word;
    bool has_word, has_glob, has_brace, is_quoted;
    struct wb_command_word *words;
    size_t n_words, words_capacity;
    enum target target;
    bool strips_tabs; /* <<- */
    struct here *heres;
    size_t n_heres, heres_capacity;
    const char **strings; /* of here-strings */
    size_t n_strings, strings_capacity;
    bool has_shell; /* in this line: what is fed to it are commands */
};

static void read_double(struct reader *r, char stop);

static void unread(struct reader *r, const char *why)
{
    if (r->r->line->unread == NULL) {
        r->r->line->unread = why;
    }
    r->r->line->is_plain = false;
}

/* --- words --- */

static void add_char(struct reader *r, char c)
{
    wb_text_add_char(&r->word, c);
    r->has_word = true;
}

static void add_unknown(struct reader *r)
{
    add_char(r, WB_COMMAND_UNKNOWN);
    r->r->line->is_plain = false;
}

/* src/a, --file=src/a: what may name a file. */
static void add_name(struct reader *r, const char *word)
{
    struct wb_command_line *line = r->r->line;
    const char *equal = strchr(word, '=');
    const char *name = equal != NULL ? equal + 1 : word;
    if (name[0] != '\0' && name[0] != '-' && strchr(name, WB_COMMAND_UNKNOWN) == NULL) {
        *WB_ARENA_PUSH(r->r->arena, line->names, line->n_names, line->names_capacity) = name;
    }
}

static bool is_digits(const char *text)
{
    size_t len = strspn(text, "0123456789");
    return len > 0 && text[len] == '\0';
}

static void take_word(struct reader *r, const char *text)
{
    struct wb_arena *arena = r->r->arena;
    switch (r->target) {
    case TARGET_NONE:
        *WB_ARENA_PUSH(arena, r->words, r->n_words, r->words_capacity) =
            (struct wb_command_word){text, r->has_glob};
        break;
    case TARGET_FILE:
        if (!wb_str_equal(text, "/dev/null") && !is_digits(text) && !wb_str_equal(text, "-")) {
            add_name(r, text);
            r->r->line->is_plain = false;
        }
        break;
    case TARGET_HERE_DOCUMENT:
        *WB_ARENA_PUSH(arena, r->heres, r->n_heres, r->heres_capacity) =
            (struct here){text, r->is_quoted, r->strips_tabs};
        r->r->line->is_plain = false;
        break;
    case TARGET_HERE_STRING:
        *WB_ARENA_PUSH(arena, r->strings, r->n_strings, r->strings_capacity) = text;
        r->r->line->is_plain = false;
        break;
    }
    r->target = TARGET_NONE;
}

static void end_word(struct reader *r)
{
    if (r->has_word) {
        static const char unknown[] = {WB_COMMAND_UNKNOWN, '\0'};
        take_word(r, r->has_brace ? unknown : wb_arena_strdup(r->r->arena, wb_text_cstr(&r->word)));
    }
    wb_text_clear(&r->word);
    r->has_word = r->has_glob = r->has_brace = r->is_quoted = false;
}

static void end_command(struct reader *r)
{
    end_word(r);
    r->target = TARGET_NONE;
    for (size_t i = 0; i < r->n_words; i++) {
        add_name(r, r->words[i].text);
    }
    if (r->n_words > 0) {
        r->has_shell |= wb_command_add(r->r, r->words, r->n_words, r->depth);
    }
    r->words = NULL; /* the commands have them */
    r->n_words = r->words_capacity = 0;
}

/* --- here-documents --- */

/* Its substitutions run, whoever reads it. */
static void read_inside(struct reader *r, const char *text)
{
    struct reader inner = {.r = r->r, .at = text, .depth = r->depth};
    read_double(&inner, '\0');
    wb_text_done(&inner.word);
}

static void read_here(struct reader *r, const struct here *here)
{
    WB_AUTO(wb_text_done) struct wb_text body = {0};
    while (*r->at != '\0') {
        size_t len = strcspn(r->at, "\n");
        size_t tabs = here->strips_tabs ? strspn(r->at, "\t") : 0;
        struct wb_span line = {r->at + WB_MIN(tabs, len), len - WB_MIN(tabs, len)};
        r->at += len + (r->at[len] == '\n');
        if (wb_span_is(line, here->delimiter)) {
            break;
        }
        wb_text_add_span(&body, line);
        wb_text_add_char(&body, '\n');
    }
    const char *text = wb_arena_strdup(r->r->arena, wb_text_cstr(&body));
    if (!here->is_quoted) {
        read_inside(r, text);
    }
    if (r->has_shell) {
        wb_command_split(r->r, text, r->depth + 1);
    }
}

static void end_line(struct reader *r)
{
    end_command(r);
    for (size_t i = 0; i < r->n_heres; i++) {
        read_here(r, &r->heres[i]);
    }
    for (size_t i = 0; i < r->n_strings && r->has_shell; i++) {
        wb_command_split(r->r, r->strings[i], r->depth + 1);
    }
    r->n_heres = r->n_strings = 0;
    r->has_shell = false;
}

/* --- quotes and substitutions --- */

static const char *skip_quoted(const char *at)
{
    char quote = *at++;
    while (*at != '\0' && *at != quote) {
        at += *at == '\\' && quote == '"' && at[1] != '\0' ? 2 : 1;
    }
    return *at != '\0' ? at : NULL;
}

/* The bracket that closes; NULL: none does. */
static const char *find_close(const char *at, char open, char close)
{
    unsigned depth = 1;
    for (; at != NULL && *at != '\0'; at++) {
        if (*at == '\\' && at[1] != '\0') {
            at++;
        } else if (*at == '\'' || *at == '"') {
            at = skip_quoted(at);
            if (at == NULL) {
                break;
            }
        } else if (*at == open) {
            depth++;
        } else if (*at == close && --depth == 0) {
            return at;
        }
    }
    return NULL;
}

/* r->at is behind the opening bracket. Returns what is inside. */
static const char *take_inside(struct reader *r, char open, char close)
{
    const char *start = r->at, *end = find_close(start, open, close);
    if (end == NULL) {
        unread(r, "a bracket is not closed");
        r->at = start + strlen(start);
        return start;
    }
    r->at = end + 1;
    return wb_arena_strndup(r->r->arena, start, (size_t)(end - start));
}

static void read_substitution(struct reader *r)
{
    wb_command_split(r->r, take_inside(r, '(', ')'), r->depth + 1);
    add_unknown(r);
}

/* Inside of ` ` a backslash hides another one, a $ and a `. */
static void read_backquoted(struct reader *r)
{
    WB_AUTO(wb_text_done) struct wb_text inner = {0};
    while (*r->at != '\0' && *r->at != '`') {
        r->at += *r->at == '\\' && r->at[1] != '\0' && strchr("\\$`", r->at[1]) != NULL;
        wb_text_add_char(&inner, *r->at++);
    }
    if (*r->at == '\0') {
        unread(r, "a ` is not closed");
    } else {
        r->at++;
    }
    wb_command_split(r->r, wb_arena_strdup(r->r->arena, wb_text_cstr(&inner)), r->depth + 1);
    add_unknown(r);
}

/* r->at is behind the $. */
static void read_dollar(struct reader *r)
{
    if (*r->at == '(') {
        r->at++;
        read_substitution(r);
    } else if (*r->at == '{') {
        r->at++;
        read_inside(r, take_inside(r, '{', '}'));
        add_unknown(r);
    } else if (isalpha((unsigned char)*r->at) || *r->at == '_') {
        while (isalnum((unsigned char)*r->at) || *r->at == '_') {
            r->at++;
        }
        add_unknown(r);
    } else if (*r->at != '\0' && strchr("@*#?-$!0123456789", *r->at) != NULL) {
        r->at++;
        add_unknown(r);
    } else {
        add_char(r, '$');
    }
}

static void read_double(struct reader *r, char stop)
{
    r->has_word = true;
    while (*r->at != '\0' && *r->at != stop) {
        char c = *r->at++;
        if (c == '\\' && *r->at == '\n') {
            r->at++;
        } else if (c == '\\' && *r->at != '\0' && strchr("$`\"\\", *r->at) != NULL) {
            add_char(r, *r->at++);
        } else if (c == '$') {
            read_dollar(r);
        } else if (c == '`') {
            read_backquoted(r);
        } else {
            add_char(r, c);
        }
    }
    if (stop != '\0' && *r->at == '\0') {
        unread(r, "a quote is not closed");
    }
    r->at += stop != '\0' && *r->at == stop;
}

static void read_single(struct reader *r)
{
    const char *end = strchr(r->at, '\'');
    r->has_word = true;
    if (end == NULL) {
        unread(r, "a quote is not closed");
        end = r->at + strlen(r->at);
    }
    wb_text_add(&r->word, r->at, (size_t)(end - r->at));
    r->at = end + (*end == '\'');
}

static unsigned long read_digits(struct reader *r, unsigned base, size_t max)
{
    unsigned long value = 0;
    for (size_t i = 0; i < max && isxdigit((unsigned char)*r->at); i++) {
        unsigned digit = isdigit((unsigned char)*r->at)
                             ? (unsigned)(*r->at - '0')
                             : (unsigned)(tolower((unsigned char)*r->at) - 'a' + 10);
        if (digit >= base) {
            break;
        }
        value = value * base + digit;
        r->at++;
    }
    return value;
}

/* The character after a \ in $'...'. */
static void read_escape(struct reader *r)
{
    static const char names[] = "abefnrtv", values[] = "\a\b\x1b\f\n\r\t\v";
    char c = *r->at;
    const char *name = strchr(names, c);
    if (isdigit((unsigned char)c)) {
        add_char(r, (char)read_digits(r, 8, 3));
        return;
    }
    r->at++;
    if (name != NULL) {
        add_char(r, values[name - names]);
    } else if (c == 'x') {
        add_char(r, (char)read_digits(r, 16, 2));
    } else if (c == 'u' || c == 'U') {
        char utf8[4];
        size_t len = wb_utf8_encode((uint32_t)read_digits(r, 16, c == 'u' ? 4 : 8), utf8);
        wb_text_add(&r->word, utf8, len);
    } else if (c == 'c') {
        add_unknown(r);
    } else {
        add_char(r, c);
    }
}

/* $'...' */
static void read_escaped(struct reader *r)
{
    r->has_word = true;
    while (*r->at != '\0' && *r->at != '\'') {
        char c = *r->at++;
        if (c == '\\' && *r->at != '\0') {
            read_escape(r);
        } else {
            add_char(r, c);
        }
    }
    if (*r->at == '\0') {
        unread(r, "a quote is not closed");
    }
    r->at += *r->at == '\'';
}

/* --- reading --- */

/* r->at is at the first sign of > >> < << <<< >& &> <> >|. */
static void read_redirection(struct reader *r)
{
    if (is_digits(wb_text_cstr(&r->word)) && !r->is_quoted) {
        wb_text_clear(&r->word); /* 2> */
        r->has_word = false;
    }
    end_word(r);
    if (wb_str_starts(r->at, "<<<")) {
        r->target = TARGET_HERE_STRING;
        r->at += 3;
    } else if (wb_str_starts(r->at, "<<")) {
        r->target = TARGET_HERE_DOCUMENT;
        r->strips_tabs = r->at[2] == '-';
        r->at += 2 + r->strips_tabs;
    } else {
        r->target = TARGET_FILE;
        r->at += strspn(r->at, "<>&|");
    }
}

static void read_unquoted(struct reader *r, char c)
{
    r->has_glob |= c == '*' || c == '?' || c == '[';
    r->has_brace |= (c == ',' || (c == '.' && *r->at == '.')) &&
                    strchr(wb_text_cstr(&r->word), '{') != NULL && !r->is_quoted;
    add_char(r, c);
}

static void read_char(struct reader *r)
{
    char c = *r->at++;
    if (c == '\'') {
        r->is_quoted = true;
        read_single(r);
    } else if (c == '"' || (c == '$' && *r->at == '"')) {
        r->at += c == '$';
        r->is_quoted = true;
        read_double(r, '"');
    } else if (c == '$' && *r->at == '\'') {
        r->at++;
        r->is_quoted = true;
        read_escaped(r);
    } else if (c == '$') {
        read_dollar(r);
    } else if (c == '`') {
        read_backquoted(r);
    } else if (c == '\\' && *r->at == '\n') {
        r->at++;
    } else if (c == '\\' && *r->at != '\0') {
        r->is_quoted = true;
        add_char(r, *r->at++);
    } else if ((c == '<' || c == '>') && *r->at == '(') {
        r->at++;
        read_substitution(r);
    } else if (c == '<' || c == '>' || (c == '&' && *r->at == '>')) {
        r->at--;
        read_redirection(r);
    } else if (c == '\n') {
        end_line(r);
    } else if (strchr(";&|()", c) != NULL) {
        end_command(r);
    } else if (c == '#' && !r->has_word) {
        r->at += strcspn(r->at, "\n");
    } else if (c == ' ' || c == '\t' || c == '\r') {
        end_word(r);
    } else {
        read_unquoted(r, c);
    }
}

void wb_command_split(struct wb_command_reader *reader, const char *text, unsigned depth)
{
    struct reader r = {.r = reader, .at = text, .depth = depth};
    if (depth > WB_COMMAND_DEPTH_MAX) {
        unread(&r, "commands are nested too deeply in it");
        return;
    }
    while (*r.at != '\0') {
        read_char(&r);
    }
    end_line(&r);
    wb_text_done(&r.word);
}

void wb_command_line_read(struct wb_arena *arena, const char *text, struct wb_command_line *ret)
{
    struct wb_command_reader reader = {arena, ret};
    *ret = (struct wb_command_line){.is_plain = true};
    if (strlen(text) > TEXT_BYTES_MAX) {
        ret->unread = "it is longer than guard rules read";
        ret->is_plain = false;
        return;
    }
    wb_command_split(&reader, text, 0);
}

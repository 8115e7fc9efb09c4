/* command_line: a shell command line taken apart, as far as a rule must know it. It errs to the side
 * of more commands, and says when something was left unread. */
#include <ctype.h>

#include "base/text.h"
#include "run/rules.h"
#include "sys/path.h"

#define DEPTH_MAX 8 /* of sh -c inside sh -c */

struct splitter {
    struct wb_arena *arena;
    const char **commands;
    size_t n_commands, capacity;
    bool is_whole;
};

/* The words of the simple command being read. */
struct words {
    const char **items;
    size_t count, capacity;
};

static void split(struct splitter *s, const char *line, unsigned depth);

/* --- what a simple command runs --- */

static bool is_assignment(const char *word)
{
    size_t i = 0;
    while (isalnum((unsigned char)word[i]) || word[i] == '_') {
        i++;
    }
    return i > 0 && !isdigit((unsigned char)word[0]) &&
           (word[i] == '=' || (word[i] == '+' && word[i + 1] == '='));
}

static bool is_one_of(const char *word, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (wb_str_equal(word, *names)) {
            return true;
        }
    }
    return false;
}

static const char *join(struct splitter *s, const struct words *words, size_t from)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    for (size_t i = from; i < words->count; i++) {
        wb_text_printf(&text, "%s%s", i > from ? " " : "",
                       i == from ? wb_path_base(words->items[i]) : words->items[i]);
    }
    return wb_arena_strdup(s->arena, wb_text_cstr(&text));
}

/* sh -c "line": the line is read too. */
static void split_inner_shell(struct splitter *s, const struct words *words, size_t at,
                              unsigned depth)
{
    for (size_t i = at + 1; i < words->count; i++) {
        const char *word = words->items[i];
        if (word[0] == '-' && word[1] != '-' && strchr(word, 'c') != NULL && i + 1 < words->count) {
            split(s, words->items[i + 1], depth + 1);
            return;
        }
        if (word[0] != '-' && word[0] != '+') {
            return; /* a script: its content is not known */
        }
    }
    s->is_whole = false; /* commands come from its input */
}

/* Programs that run another one: where that begins. */
static size_t skip_wrapper(const struct words *words, size_t at)
{
    static const char *const with_value[] = {"-u",     "-g",       "-n",           "-s", "-k",
                                             "-I",     "-L",       "-P",           "-d", "-C",
                                             "--user", "--signal", "--kill-after", NULL};
    bool is_timeout = wb_str_equal(wb_path_base(words->items[at]), "timeout");
    for (at++; at < words->count; at++) {
        const char *word = words->items[at];
        if (is_one_of(word, with_value)) {
            at++;
        } else if (word[0] != '-' && !is_assignment(word)) {
            if (is_timeout && isdigit((unsigned char)word[0])) {
                is_timeout = false;
                continue;
            }
            return at;
        }
    }
    return words->count;
}

static void add_command(struct splitter *s, const struct words *words, unsigned depth)
{
    static const char *const wrappers[] = {"env",    "sudo",    "doas",    "nohup",    "time",
                                           "exec",   "command", "builtin", "xargs",    "nice",
                                           "ionice", "setsid",  "stdbuf",  "timeout",  "then",
                                           "do",     "else",    "if",      "while",    "until",
                                           "!",      "{",       "coproc",  "unbuffer", NULL};
    static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh", "busybox", NULL};
    size_t at = 0;
    while (at < words->count && is_assignment(words->items[at])) {
        at++;
    }
    while (at < words->count) {
        const char *name = wb_path_base(words->items[at]);
        *WB_ARENA_PUSH(s->arena, s->commands, s->n_commands, s->capacity) = join(s, words, at);
        if (strchr(words->items[at], '$') != NULL || wb_str_equal(name, "eval") ||
            wb_str_equal(name, "source") || wb_str_equal(name, ".")) {
            s->is_whole = false; /* what runs is not known */
        }
        if (wb_str_equal(name, "eval")) {
            split(s, join(s, words, at + 1), depth + 1);
        }
        if (is_one_of(name, shells)) {
            split_inner_shell(s, words, at, depth);
        }
        if (!is_one_of(name, wrappers)) {
            return;
        }
        at = skip_wrapper(words, at);
    }
}

/* --- reading --- */

struct reader {
    struct splitter *s;
    const char *at;
    struct wb_text word;
    bool has_word;
    struct words words;
    unsigned depth;
};

static void end_word(struct reader *r)
{
    if (r->has_word) {
        *WB_ARENA_PUSH(r->s->arena, r->words.items, r->words.count, r->words.capacity) =
            wb_arena_strdup(r->s->arena, wb_text_cstr(&r->word));
    }
    wb_text_clear(&r->word);
    r->has_word = false;
}

static void end_command(struct reader *r)
{
    end_word(r);
    if (r->words.count > 0) {
        add_command(r->s, &r->words, r->depth);
    }
    r->words.count = 0;
}

static void add_char(struct reader *r, char c)
{
    wb_text_add_char(&r->word, c);
    r->has_word = true;
}

/* $(...) and `...`: what is inside is a command line of its own. */
static void read_substitution(struct reader *r, char close)
{
    const char *start = r->at;
    unsigned open = 1;
    for (; *r->at != '\0'; r->at++) {
        open += close == ')' && *r->at == '(';
        if (*r->at == close && --open == 0) {
            break;
        }
    }
    r->s->is_whole = false;
    split(r->s, wb_arena_strndup(r->s->arena, start, (size_t)(r->at - start)), r->depth + 1);
    r->at += *r->at != '\0';
    r->has_word = true;
    wb_text_add_char(&r->word, '$');
}

static void read_quoted(struct reader *r, char quote)
{
    r->has_word = true;
    while (*r->at != '\0' && *r->at != quote) {
        if (quote == '"' && *r->at == '\\' && r->at[1] != '\0') {
            r->at++;
            add_char(r, *r->at++);
        } else if (quote == '"' && r->at[0] == '$' && r->at[1] == '(') {
            r->at += 2;
            read_substitution(r, ')');
        } else if (quote == '"' && *r->at == '`') {
            r->at++;
            read_substitution(r, '`');
        } else {
            add_char(r, *r->at++);
        }
    }
    r->at += *r->at == quote;
}

/* > file: the line does more than its commands say. */
static void read_redirection(struct reader *r)
{
    bool all_digits = r->word.len > 0;
    for (size_t i = 0; i < r->word.len; i++) {
        all_digits = all_digits && isdigit((unsigned char)r->word.ptr[i]);
    }
    if (all_digits) {
        wb_text_clear(&r->word); /* 2> */
        r->has_word = false;
    }
    end_word(r);
    while (*r->at == '>' || *r->at == '<' || *r->at == '&' || *r->at == '|') {
        r->at++;
    }
    while (*r->at == ' ' || *r->at == '\t') {
        r->at++;
    }
    bool harmless = wb_str_starts(r->at, "/dev/null") || isdigit((unsigned char)*r->at);
    r->s->is_whole = r->s->is_whole && harmless;
    while (*r->at != '\0' && strchr(" \t\n;&|<>()", *r->at) == NULL) {
        r->at++;
    }
}

static void read_char(struct reader *r)
{
    char c = *r->at++;
    if (c == '\'' || c == '"') {
        read_quoted(r, c);
    } else if (c == '\\') {
        if (*r->at == '\n') {
            r->at++;
        } else if (*r->at != '\0') {
            add_char(r, *r->at++);
        }
    } else if (c == '$' && (*r->at == '\'' || *r->at == '"')) {
        r->s->is_whole = false;
        read_quoted(r, *r->at++);
    } else if (c == '$' && *r->at == '(') {
        r->at++;
        read_substitution(r, ')');
    } else if (c == '`') {
        read_substitution(r, '`');
    } else if ((c == '<' || c == '>') && *r->at == '(') {
        r->at++;
        read_substitution(r, ')');
    } else if (c == '<' || c == '>') {
        read_redirection(r);
    } else if (c == '&' && *r->at == '>') {
        read_redirection(r);
    } else if (strchr(";&|\n()", c) != NULL) {
        end_command(r);
    } else if (c == '#' && !r->has_word) {
        r->at += strcspn(r->at, "\n");
    } else if (c == ' ' || c == '\t' || c == '\r') {
        end_word(r);
    } else {
        add_char(r, c);
    }
}

static void split(struct splitter *s, const char *line, unsigned depth)
{
    struct reader r = {.s = s, .at = line, .depth = depth};
    if (depth > DEPTH_MAX) {
        s->is_whole = false;
        return;
    }
    while (*r.at != '\0') {
        read_char(&r);
    }
    end_command(&r);
    wb_text_done(&r.word);
}

bool wb_command_line_split(struct wb_arena *arena, const char *line, const char ***ret_commands,
                           size_t *ret_n)
{
    struct splitter s = {.arena = arena, .is_whole = true};
    split(&s, line, 0);
    *ret_commands = s.commands;
    *ret_n = s.n_commands;
    return s.is_whole;
}

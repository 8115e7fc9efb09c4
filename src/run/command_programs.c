/* command_programs: what a simple command runs besides its program: programs that run others, shells
 * and their strings. The table errs to the side of more commands: an option's value may be taken for
 * a program. */
#include <ctype.h>

#include "base/text.h"
#include "run/command_line_private.h"
#include "sys/path.h"

#define COMMANDS_MAX 1000 /* of a line */

enum {
    RUNS_WORDS = 1 << 0,   /* the words behind its options and operands are a command */
    RUNS_STRINGS = 1 << 1, /* words with blanks in them may be command lines */
    IS_SHELL = 1 << 2,
};

static const struct program {
    const char *name;
    unsigned what;
    unsigned n_operands; /* before the command */
} programs[] = {
    {"!", RUNS_WORDS, 0},
    {"busybox", RUNS_WORDS, 0},
    {"builtin", RUNS_WORDS, 0},
    {"chroot", RUNS_WORDS, 1},
    {"chrt", RUNS_WORDS, 1},
    {"command", RUNS_WORDS, 0},
    {"coproc", RUNS_WORDS, 1},
    {"dbus-run-session", RUNS_WORDS, 0},
    {"do", RUNS_WORDS, 0},
    {"doas", RUNS_WORDS, 0},
    {"eatmydata", RUNS_WORDS, 0},
    {"elif", RUNS_WORDS, 0},
    {"else", RUNS_WORDS, 0},
    {"entr", RUNS_WORDS | RUNS_STRINGS, 0},
    {"env", RUNS_WORDS | RUNS_STRINGS, 0},
    {"exec", RUNS_WORDS, 0},
    {"faketime", RUNS_WORDS, 1},
    {"firejail", RUNS_WORDS, 0},
    {"flock", RUNS_WORDS | RUNS_STRINGS, 1},
    {"function", RUNS_WORDS, 1},
    {"gdb", RUNS_WORDS | RUNS_STRINGS, 0},
    {"if", RUNS_WORDS, 0},
    {"ionice", RUNS_WORDS, 0},
    {"ltrace", RUNS_WORDS, 0},
    {"nice", RUNS_WORDS, 0},
    {"nohup", RUNS_WORDS, 0},
    {"nsenter", RUNS_WORDS, 0},
    {"parallel", RUNS_WORDS | RUNS_STRINGS, 0},
    {"pkexec", RUNS_WORDS, 0},
    {"prlimit", RUNS_WORDS, 0},
    {"rlwrap", RUNS_WORDS, 0},
    {"runuser", RUNS_WORDS | RUNS_STRINGS, 1},
    {"screen", RUNS_WORDS | RUNS_STRINGS, 0},
    {"script", RUNS_STRINGS, 0},
    {"setarch", RUNS_WORDS, 1},
    {"setpriv", RUNS_WORDS, 0},
    {"setsid", RUNS_WORDS, 0},
    {"sg", RUNS_STRINGS | RUNS_WORDS, 1},
    {"ssh", RUNS_WORDS | RUNS_STRINGS, 1},
    {"stdbuf", RUNS_WORDS, 0},
    {"strace", RUNS_WORDS, 0},
    {"su", RUNS_WORDS | RUNS_STRINGS, 1},
    {"sudo", RUNS_WORDS, 0},
    {"systemd-run", RUNS_WORDS, 0},
    {"taskset", RUNS_WORDS, 1},
    {"then", RUNS_WORDS, 0},
    {"time", RUNS_WORDS, 0},
    {"timeout", RUNS_WORDS, 1},
    {"tmux", RUNS_WORDS | RUNS_STRINGS, 1},
    {"toybox", RUNS_WORDS, 0},
    {"trap", RUNS_STRINGS, 0},
    {"unbuffer", RUNS_WORDS, 0},
    {"unshare", RUNS_WORDS, 0},
    {"until", RUNS_WORDS, 0},
    {"watch", RUNS_WORDS | RUNS_STRINGS, 0},
    {"while", RUNS_WORDS, 0},
    {"xargs", RUNS_WORDS, 0},
    {"xvfb-run", RUNS_WORDS, 0},
    {"{", RUNS_WORDS, 0},
    {"ash", IS_SHELL, 0},
    {"bash", IS_SHELL, 0},
    {"csh", IS_SHELL, 0},
    {"dash", IS_SHELL, 0},
    {"fish", IS_SHELL, 0},
    {"ksh", IS_SHELL, 0},
    {"mksh", IS_SHELL, 0},
    {"rbash", IS_SHELL, 0},
    {"sh", IS_SHELL, 0},
    {"tcsh", IS_SHELL, 0},
    {"zsh", IS_SHELL, 0},
};

/* A simple command under examination: each of its words may begin another one. */
struct simple {
    struct wb_command_reader *r;
    const struct wb_command_word *words;
    const char **texts; /* the same words */
    size_t n;
    bool *seen; /* as the beginning of a command */
    unsigned depth;
    bool has_shell;
};

static void unread(struct simple *s, const char *why)
{
    if (s->r->line->unread == NULL) {
        s->r->line->unread = why;
    }
    s->r->line->is_plain = false;
}

static bool is_assignment(const char *word)
{
    size_t i = 0;
    while (isalnum((unsigned char)word[i]) || word[i] == '_') {
        i++;
    }
    return i > 0 && !isdigit((unsigned char)word[0]) &&
           (word[i] == '=' || word[i] == '[' || (word[i] == '+' && word[i + 1] == '='));
}

static bool is_option(const char *word)
{
    return (word[0] == '-' || word[0] == '+') && word[1] != '\0';
}

static const struct program *find_program(const char *name)
{
    for (size_t i = 0; i < WB_COUNT(programs); i++) {
        if (wb_str_equal(programs[i].name, name)) {
            return &programs[i];
        }
    }
    return NULL;
}

/* --- the texts --- */

static const char *join_words(struct simple *s, size_t from)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    for (size_t i = from; i < s->n; i++) {
        wb_text_printf(&text, "%s%s", i > from ? " " : "", s->texts[i]);
    }
    return wb_arena_strdup(s->r->arena, wb_text_cstr(&text));
}

static const char *join_exactly(struct simple *s, size_t from)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    for (size_t i = from; i < s->n; i++) {
        wb_text_add_str(&text, i > from ? " " : "");
        for (const char *at = s->texts[i]; *at != '\0'; at++) {
            wb_text_add_char(&text, isspace((unsigned char)*at) ? WB_COMMAND_BLANK : *at);
        }
    }
    return wb_arena_strdup(s->r->arena, wb_text_cstr(&text));
}

static void push(struct simple *s, size_t at)
{
    struct wb_command_line *line = s->r->line;
    *WB_ARENA_PUSH(s->r->arena, line->commands, line->n_commands, line->commands_capacity) =
        (struct wb_command){
            .text = join_words(s, at) + (wb_path_base(s->texts[at]) - s->texts[at]),
            .exact = join_exactly(s, at),
            .words = s->texts + at,
            .n_words = s->n - at,
        };
}

/* --- what runs --- */

static void consider(struct simple *s, size_t at);

static void split(struct simple *s, const char *text)
{
    wb_command_split(s->r, text, s->depth + 1);
}

/* A script that is none of the files there are: <(echo git push), $SCRIPT, what stands at a descriptor. */
static bool is_from_elsewhere(const char *script)
{
    static const char *const descriptors[] = {"/dev/stdin", "/dev/fd/", "/proc/self/fd/"};
    for (size_t i = 0; i < WB_COUNT(descriptors); i++) {
        if (wb_str_starts(script, descriptors[i])) {
            return true;
        }
    }
    return script[0] == WB_COMMAND_UNKNOWN && script[1] == '\0';
}

/* sh -c "line": every operand is read, whichever of them it is. Without -c and an operand, commands
 * come from its input. */
static void consider_shell(struct simple *s, size_t at)
{
    bool has_string = false, has_operand = false, reads_input = false;
    s->has_shell = true;
    for (size_t i = at + 1; i < s->n; i++) {
        const char *word = s->texts[i];
        if (is_option(word)) {
            has_string |= word[1] != '-' && strchr(word, 'c') != NULL;
            reads_input |= word[1] != '-' && strchr(word, 's') != NULL;
        } else {
            reads_input |= !has_operand && is_from_elsewhere(word);
            has_operand = true;
        }
        if (!is_option(word) && has_string) {
            split(s, word);
        }
    }
    if (!has_string && (!has_operand || reads_input)) {
        unread(s, "a shell gets its commands from elsewhere");
    }
}

/* sudo -u root git push: what is not sure to be an option's value is a command. */
static void consider_words(struct simple *s, size_t at, unsigned n_operands)
{
    bool behind_option = false;
    for (size_t i = at + 1; i < s->n; i++) {
        const char *word = s->texts[i];
        if (is_option(word)) {
            behind_option = true;
        } else if (is_assignment(word)) {
            s->r->line->is_plain = false;
        } else {
            consider(s, i);
            if (!behind_option && n_operands-- == 0) {
                return;
            }
            behind_option = false;
        }
    }
}

static void consider_strings(struct simple *s, size_t at)
{
    for (size_t i = at + 1; i < s->n; i++) {
        const char *word = s->texts[i];
        if (strpbrk(word, " \t\n;&|") != NULL) {
            split(s, wb_str_starts(word, "-S") ? word + 2 : word); /* env -S'git push' */
        }
    }
}

/* find -exec, fd -x */
static void consider_exec_options(struct simple *s, size_t at, const char *name)
{
    static const char *const options[] = {"-exec", "-execdir", "-ok", "-okdir"};
    static const char *const of_fd[] = {"-x", "-X", "--exec", "--exec-batch"};
    bool is_fd = wb_str_equal(name, "fd") || wb_str_equal(name, "fdfind");
    for (size_t i = at + 1; i + 1 < s->n; i++) {
        for (size_t k = 0; k < WB_COUNT(options); k++) {
            if (wb_str_equal(s->texts[i], options[k]) ||
                (is_fd && wb_str_equal(s->texts[i], of_fd[k]))) {
                consider(s, i + 1);
            }
        }
    }
}

/* A program that is known only when it runs; it may be nothing at all. */
static void consider_unknown(struct simple *s, size_t at)
{
    static const char unknown[] = {WB_COMMAND_UNKNOWN, '\0'};
    if (strchr(s->texts[at], WB_COMMAND_UNKNOWN) == NULL) {
        s->texts[at] = unknown; /* a glob, or the place of xargs */
    }
    s->r->line->is_plain = false;
    push(s, at);
    consider(s, at + 1);
}

static void consider(struct simple *s, size_t at)
{
    if (at >= s->n || s->seen[at]) {
        return;
    }
    if (s->r->line->n_commands >= COMMANDS_MAX) {
        unread(s, "it has more commands than guard rules read");
        return;
    }
    s->seen[at] = true;
    const char *name = wb_path_base(s->texts[at]);
    if (s->words[at].has_glob || strchr(s->texts[at], WB_COMMAND_UNKNOWN) != NULL ||
        wb_str_equal(name, "{}")) {
        consider_unknown(s, at);
        return;
    }
    push(s, at);
    if (strpbrk(s->texts[at], " \t\n") != NULL || wb_str_equal(name, "source") ||
        wb_str_equal(name, ".")) {
        s->r->line->is_plain = false;
        if (at + 1 < s->n && is_from_elsewhere(s->texts[at + 1])) {
            unread(s, "a shell gets its commands from elsewhere");
        }
    }
    if (wb_str_equal(name, "alias")) {
        unread(s, "it gives names to commands");
    }
    if (wb_str_equal(name, "eval")) {
        split(s, at + 1 < s->n ? join_words(s, at + 1) : "");
    }
    const struct program *program = find_program(name);
    unsigned what = program != NULL ? program->what : 0;
    if ((what & IS_SHELL) != 0) {
        consider_shell(s, at);
    }
    if ((what & RUNS_STRINGS) != 0) {
        consider_strings(s, at);
    }
    if ((what & RUNS_WORDS) != 0) {
        consider_words(s, at, program->n_operands);
    }
    consider_exec_options(s, at, name);
}

bool wb_command_add(struct wb_command_reader *reader, const struct wb_command_word *words, size_t n,
                    unsigned depth)
{
    struct simple s = {.r = reader,
                       .words = words,
                       .texts = wb_arena_alloc_array(reader->arena, n, sizeof(*s.texts)),
                       .n = n,
                       .seen = wb_arena_alloc_array(reader->arena, n, sizeof(*s.seen)),
                       .depth = depth};
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        s.texts[i] = words[i].text;
    }
    while (at < n && is_assignment(words[at].text)) {
        at++;
    }
    bool is_cell = at < n && s.texts[at][0] == '!' && s.texts[at][1] != '\0'; /* !git push */
    if (is_cell) {
        s.texts[at]++;
    }
    reader->line->is_plain = reader->line->is_plain && at == 0 && !is_cell;
    consider(&s, at);
    return s.has_shell;
}

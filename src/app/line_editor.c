/* line_editor: see the header. */
#include "app/line_editor.h"

#include <dlfcn.h>
#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wchar.h>

#include "base/log.h"

#define HISTORY_LINES 1000
#define CTRL_C 0x03
#define READ_BYTES 4096

/* The functions of libedit that are used. */
struct library {
    void *handle;
    EditLine *(*init)(const char *, FILE *, FILE *, FILE *);
    void (*end)(EditLine *);
    int (*set)(EditLine *, int, ...);
    const char *(*gets)(EditLine *, int *);
    const LineInfo *(*line)(EditLine *);
    int (*insertstr)(EditLine *, const char *);
    void (*deletestr)(EditLine *, int);
    History *(*history_init)(void);
    void (*history_end)(History *);
    int (*history)(History *, HistEvent *, int, ...);
};

struct wb_line_editor {
    struct wb_line_options options;
    struct library library;
    EditLine *edit; /* NULL: plain */
    History *history;
    const char *prompt;
    enum wb_line_status ended_by; /* why there is no further character */
    struct wb_text typed; /* editing: kept over a wake. Plain: what was read beyond a line */
    bool at_end;
};

/* libedit hands no context to its callbacks: the editor that this thread reads with. */
static _Thread_local struct wb_line_editor *reading;

/* --- waiting --- */

/* WB_LINE_TEXT: there is something to read. */
static enum wb_line_status wait_for_input(const struct wb_line_editor *editor)
{
    struct pollfd fds[] = {
        {.fd = STDIN_FILENO, .events = POLLIN},
        {.fd = editor->options.wake_fd, .events = POLLIN},
    };
    for (;;) {
        if (poll(fds, WB_COUNT(fds), -1) < 0) {
            if (errno != EINTR) {
                return WB_LINE_END;
            }
        } else if (fds[1].revents != 0) {
            return WB_LINE_WOKEN;
        } else if (fds[0].revents != 0) {
            return WB_LINE_TEXT;
        }
    }
}

/* --- plain --- */

static bool take_line(struct wb_line_editor *editor, struct wb_text *ret_line)
{
    const char *end =
        editor->typed.len > 0 ? memchr(editor->typed.ptr, '\n', editor->typed.len) : NULL;
    if (end == NULL && !(editor->at_end && editor->typed.len > 0)) {
        return false;
    }
    size_t len = end != NULL ? (size_t)(end - editor->typed.ptr) : editor->typed.len;
    wb_text_add(ret_line, editor->typed.ptr, len);
    if (ret_line->len > 0 && ret_line->ptr[ret_line->len - 1] == '\r') {
        wb_text_cut(ret_line, ret_line->len - 1);
    }
    wb_text_remove_head(&editor->typed, len + (end != NULL));
    return true;
}

static enum wb_line_status read_plain(struct wb_line_editor *editor, const char *prompt,
                                      struct wb_text *ret_line)
{
    fputs(prompt, stdout);
    fflush(stdout);
    while (!take_line(editor, ret_line)) {
        char buffer[READ_BYTES];
        if (editor->at_end) {
            return WB_LINE_END;
        }
        enum wb_line_status status = wait_for_input(editor);
        if (status != WB_LINE_TEXT) {
            return status;
        }
        ssize_t n = read(STDIN_FILENO, buffer, sizeof(buffer));
        editor->at_end = n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
        if (n > 0) {
            wb_text_add(&editor->typed, buffer, (size_t)n);
        }
    }
    return WB_LINE_TEXT;
}

/* --- libedit --- */

static bool load_library(struct library *library)
{
    static const struct {
        const char *name;
        size_t offset;
    } symbols[] = {
        {"el_init", offsetof(struct library, init)},
        {"el_end", offsetof(struct library, end)},
        {"el_set", offsetof(struct library, set)},
        {"el_gets", offsetof(struct library, gets)},
        {"el_line", offsetof(struct library, line)},
        {"el_insertstr", offsetof(struct library, insertstr)},
        {"el_deletestr", offsetof(struct library, deletestr)},
        {"history_init", offsetof(struct library, history_init)},
        {"history_end", offsetof(struct library, history_end)},
        {"history", offsetof(struct library, history)},
    };

    library->handle = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library->handle != NULL && i < WB_COUNT(symbols); i++) {
        void *symbol = dlsym(library->handle, symbols[i].name);
        if (symbol == NULL) {
            return false;
        }
        memcpy((char *)library + symbols[i].offset, &symbol, sizeof(symbol));
    }
    return library->handle != NULL;
}

static char *give_prompt(EditLine *edit)
{
    (void)edit;
    return (char *)(uintptr_t)reading->prompt;
}

static void keep_typed(struct wb_line_editor *editor)
{
    const LineInfo *line = editor->library.line(editor->edit);
    wb_text_clear(&editor->typed);
    wb_text_add(&editor->typed, line->buffer, (size_t)(line->lastchar - line->buffer));
}

/* A whole character, decoded: 1. 0: the line ends here, for the reason in ended_by. */
static int get_character(EditLine *edit, wchar_t *ret)
{
    struct wb_line_editor *editor = reading;
    mbstate_t state = {0};
    (void)edit;
    for (;;) {
        char byte;
        enum wb_line_status status = wait_for_input(editor);
        if (status == WB_LINE_WOKEN) {
            keep_typed(editor);
        }
        if (status != WB_LINE_TEXT || read(STDIN_FILENO, &byte, 1) != 1) {
            editor->ended_by = status == WB_LINE_TEXT ? WB_LINE_END : status;
            return 0;
        }
        size_t length = mbrtowc(ret, &byte, 1, &state);
        if (byte == '\0') {
            *ret = L'\0';
            return 1;
        }
        if (length == (size_t)-1) {
            state = (mbstate_t){0}; /* no character: the byte is left out */
        } else if (length != (size_t)-2) {
            return 1;
        }
    }
}

static unsigned char interrupt_line(EditLine *edit, int character)
{
    (void)edit;
    (void)character;
    reading->ended_by = WB_LINE_INTERRUPTED;
    return CC_EOF;
}

/* How many bytes all candidates share at their front. */
static size_t common_length(const char *candidates, size_t count)
{
    size_t common = strlen(candidates);
    const char *next = candidates + common + 1;
    for (size_t i = 1; i < count; i++) {
        size_t same = 0;
        while (same < common && next[same] == candidates[same]) {
            same++;
        }
        common = same;
        next += strlen(next) + 1;
    }
    return wb_utf8_cut(wb_span(candidates), common);
}

static void list_candidates(const char *candidate, size_t count)
{
    fputc('\n', stdout);
    for (size_t i = 0; i < count; i++) {
        printf("%s%s", candidate, i + 1 < count ? "  " : "\n");
        candidate += strlen(candidate) + 1;
    }
    fflush(stdout);
}

static size_t word_length(struct wb_span before)
{
    size_t len = 0;
    while (len < before.len && before.ptr[before.len - 1 - len] != ' ') {
        len++;
    }
    return len;
}

static unsigned char complete_word(EditLine *edit, int character)
{
    struct wb_line_editor *editor = reading;
    const LineInfo *line = editor->library.line(edit);
    struct wb_span before = {line->buffer, (size_t)(line->cursor - line->buffer)};
    WB_AUTO(wb_text_done) struct wb_text out = {0};
    (void)character;
    size_t count = editor->options.complete(editor->options.ctx, before, &out);
    if (count == 0) {
        return CC_REFRESH_BEEP;
    }
    size_t typed = word_length(before), common = common_length(out.ptr, count);
    if (count > 1 && common <= typed) {
        list_candidates(out.ptr, count);
        return CC_REDISPLAY;
    }
    bool whole =
        count == 1 && common > 0 && out.ptr[common - 1] != '/' && out.ptr[common - 1] != '=';
    WB_AUTO(wb_free_p)
    char *word = wb_sprintf("%.*s%s", (int)common, out.ptr, whole ? " " : "");
    editor->library.deletestr(edit, (int)typed);
    editor->library.insertstr(edit, word);
    return CC_REFRESH;
}

static void load_history(struct wb_line_editor *editor)
{
    HistEvent event;
    editor->history = editor->library.history_init();
    editor->library.history(editor->history, &event, H_SETSIZE, HISTORY_LINES);
    editor->library.history(editor->history, &event, H_SETUNIQUE, 1);
    if (editor->options.history_file != NULL) {
        editor->library.history(editor->history, &event, H_LOAD, editor->options.history_file);
    }
}

static void start_editing(struct wb_line_editor *editor)
{
    struct library *library = &editor->library;
    if (!load_library(library)) {
        wb_log(WB_LOG_WARNING, "no line editing: libedit.so.2 is not there (package libedit2)");
        return;
    }
    if (setlocale(LC_CTYPE, "") == NULL || MB_CUR_MAX == 1) {
        setlocale(LC_CTYPE, "C.UTF-8");
    }
    editor->edit = library->init("werkbank", stdin, stdout, stderr);
    if (editor->edit == NULL) {
        return;
    }
    load_history(editor);
    library->set(editor->edit, EL_PROMPT, give_prompt);
    library->set(editor->edit, EL_EDITOR, "emacs");
    library->set(editor->edit, EL_SIGNAL, 0);
    library->set(editor->edit, EL_HIST, library->history, editor->history);
    library->set(editor->edit, EL_GETCFN, get_character);
    library->set(editor->edit, EL_ADDFN, "wb-complete", "complete the word", complete_word);
    library->set(editor->edit, EL_ADDFN, "wb-interrupt", "drop the line", interrupt_line);
    library->set(editor->edit, EL_BIND, "^I", "wb-complete", NULL);
    library->set(editor->edit, EL_BIND, "^C", "wb-interrupt", NULL);
    library->set(editor->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
    library->set(editor->edit, EL_SETTY, "-d", "-isig", NULL);
}

static void remember(struct wb_line_editor *editor, const char *line)
{
    HistEvent event;
    if (line[strspn(line, " \t")] != '\0') {
        editor->library.history(editor->history, &event, H_ENTER, line);
    }
}

static enum wb_line_status read_editing(struct wb_line_editor *editor, const char *prompt,
                                        bool keep, struct wb_text *ret_line)
{
    int length = 0;
    reading = editor;
    editor->prompt = prompt;
    editor->ended_by = WB_LINE_END;
    if (editor->typed.len > 0) {
        editor->library.insertstr(editor->edit, wb_text_cstr(&editor->typed));
        wb_text_clear(&editor->typed);
    }
    const char *line = editor->library.gets(editor->edit, &length);
    reading = NULL;
    if (line == NULL || length <= 0 || line[length - 1] != '\n') {
        fputs(editor->ended_by == WB_LINE_INTERRUPTED ? "^C\n" : "\n", stdout);
        fflush(stdout);
        return editor->ended_by;
    }
    wb_text_add(ret_line, line, (size_t)length - 1);
    if (keep) {
        remember(editor, wb_text_cstr(ret_line));
    }
    return WB_LINE_TEXT;
}

/* --- both --- */

struct wb_line_editor *wb_line_editor_new(const struct wb_line_options *options)
{
    struct wb_line_editor *editor = wb_alloc(sizeof(*editor));
    editor->options = *options;
    if (options->editing) {
        start_editing(editor);
    }
    return editor;
}

static void stop_editing(struct wb_line_editor *editor)
{
    HistEvent event;
    if (editor->options.history_file != NULL) {
        editor->library.history(editor->history, &event, H_SAVE, editor->options.history_file);
    }
    editor->library.history_end(editor->history);
    editor->library.end(editor->edit);
}

void wb_line_editor_free(struct wb_line_editor *editor)
{
    if (editor == NULL) {
        return;
    }
    if (editor->edit != NULL) {
        stop_editing(editor);
    }
    /* The library stays: what it keeps of the terminal is its own until the process ends. */
    wb_text_done(&editor->typed);
    free(editor);
}

enum wb_line_status wb_line_editor_read(struct wb_line_editor *editor, const char *prompt,
                                        bool keep, struct wb_text *ret_line)
{
    wb_text_clear(ret_line);
    return editor->edit != NULL ? read_editing(editor, prompt, keep, ret_line)
                                : read_plain(editor, prompt, ret_line);
}

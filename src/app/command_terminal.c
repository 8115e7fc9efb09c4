/* terminal: the conversation in a terminal: calls typed as /tool ..., cards answered in place.
 *
 * The main thread reads and prints; calls run on the host's pool. It waits in one place at a time:
 * for a line, or for what becomes of a call. A card that opens, or a call that ends, wakes it through
 * an eventfd.
 *
 *   reading --/tool--> calling --card--> answering --> calling --result--> reading */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "app/command.h"
#include "app/interrupt.h"
#include "app/line_editor.h"
#include "app/output.h"
#include "app/session.h"
#include "app/slash.h"
#include "app/terminal_show.h"
#include "base/clock.h"
#include "base/log.h"
#include "run/cards.h"
#include "run/nearest.h"
#include "sys/path.h"

#define PROGRESS_MS 500 /* between two words of long work */
#define ENTRIES_MAX 200 /* of a folder, for completion */

struct terminal {
    struct wb_session session;
    struct wb_cards *cards;
    struct wb_card_surface surface;
    struct wb_interrupt *interrupt;
    struct wb_line_editor *editor;
    struct wb_terminal_style style;
    enum wb_tier full_cap; /* outside plan mode */
    unsigned n_saved;      /* pictures */
    int wake_fd;
    bool is_interactive;
};

/* A call under way. */
struct call {
    struct terminal *terminal;
    struct wb_cancel cancel;
    struct wb_result result;
    atomic_bool is_done;
    pthread_mutex_t lock; /* of the words of progress */
    int64_t told_ms;
};

static void wake(struct terminal *terminal)
{
    const uint64_t one = 1;
    if (write(terminal->wake_fd, &one, sizeof(one)) < 0) {
        return; /* it is awake already */
    }
}

static void sleep_again(struct terminal *terminal)
{
    uint64_t ignored;
    if (read(terminal->wake_fd, &ignored, sizeof(ignored)) < 0) {
        return; /* nobody woke it */
    }
}

static void on_card_added(void *ctx, const struct wb_card_view *card)
{
    (void)card;
    wake(ctx);
}

static void on_card_ended(void *ctx, const struct wb_card_view *card,
                          const struct wb_card_answer *answer)
{
    (void)card;
    (void)answer;
    wake(ctx);
}

static void print(const struct wb_text *text)
{
    struct wb_error err;
    if (wb_output_write(wb_text_span(text), &err) != 0) {
        wb_log(WB_LOG_DEBUG, "%s", err.message);
    }
}

/* --- modes --- */

static const struct mode {
    const char *name;
    bool is_plan;
    enum wb_tier allow;
} modes[] = {
    {"plan", true, WB_TIER_READ},
    {"ask", false, WB_TIER_READ},
    {"edits", false, WB_TIER_WRITE},
    {"full", false, WB_TIER_EXEC},
};

static const char *mode_of(const struct terminal *terminal)
{
    const struct wb_run *run = terminal->session.run;
    if (wb_run_cap(run) == WB_TIER_READ) {
        return "plan";
    }
    return modes[wb_run_allow(run)].name; /* read, write, exec are 1, 2, 3 */
}

static bool set_mode(struct terminal *terminal, const char *name)
{
    for (size_t i = 0; i < WB_COUNT(modes); i++) {
        if (wb_str_equal(modes[i].name, name)) {
            wb_run_set_allow(terminal->session.run, modes[i].allow);
            wb_run_set_cap(terminal->session.run,
                           modes[i].is_plan ? WB_TIER_READ : terminal->full_cap);
            printf("mode: %s\n", mode_of(terminal));
            fflush(stdout);
            return true;
        }
    }
    return false;
}

/* --- cards --- */

/* One answer to the card. False: it is not open any more, or nobody answers. */
static bool answer_card(struct terminal *terminal, const struct wb_card_view *view,
                        struct wb_cancel *cancel)
{
    WB_AUTO(wb_text_done) struct wb_text prompt = {0};
    WB_AUTO(wb_text_done) struct wb_text line = {0};
    struct wb_error err;
    wb_terminal_show_choices(&view->card, &prompt);
    sleep_again(terminal);
    switch (wb_line_editor_read(terminal->editor, wb_text_cstr(&prompt), false, &line)) {
    case WB_LINE_WOKEN:
        return false; /* is it open still? the caller looks */
    case WB_LINE_INTERRUPTED:
    case WB_LINE_END:
        wb_cancel_fire(cancel);
        return false;
    case WB_LINE_TEXT:
        break;
    }
    if (wb_cards_answer_typed(terminal->cards, view->id, wb_text_span(&line), &err) != 0) {
        printf("%s\n", err.message);
        fflush(stdout);
        return true; /* once more */
    }
    return false;
}

/* Shows the oldest open card and asks for its answer; false: there is none. */
static bool see_to_card(struct terminal *terminal, uint64_t *shown, struct wb_cancel *cancel)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    struct wb_card_view view;
    wb_arena_init(&arena);
    if (!wb_cards_next(terminal->cards, 0, &arena, &view)) {
        return false;
    }
    if (view.number != *shown) {
        *shown = view.number;
        wb_terminal_show_card(&terminal->style, &view, &text);
        print(&text);
    }
    while (answer_card(terminal, &view, cancel)) {
    }
    return true;
}

/* --- calls --- */

static void on_done(void *ctx, struct wb_result *result)
{
    struct call *call = ctx;
    call->result = *result;
    call->is_done = true;
    wake(call->terminal);
}

static void on_progress(void *ctx, const char *message, int64_t done, int64_t total)
{
    struct call *call = ctx;
    pthread_mutex_lock(&call->lock);
    bool is_due = wb_clock_now_ms() - call->told_ms >= PROGRESS_MS;
    if (is_due) {
        call->told_ms = wb_clock_now_ms();
    }
    pthread_mutex_unlock(&call->lock);
    if (is_due && total > 0) {
        fprintf(stderr, "... %s (%lld of %lld)\n", message, (long long)done, (long long)total);
    } else if (is_due) {
        fprintf(stderr, "... %s\n", message);
    }
}

static void wait_until_woken(struct terminal *terminal)
{
    uint64_t ignored;
    while (read(terminal->wake_fd, &ignored, sizeof(ignored)) < 0 && errno == EAGAIN) {
        struct pollfd fd = {.fd = terminal->wake_fd, .events = POLLIN};
        (void)poll(&fd, 1, -1);
    }
}

static void run_call(struct terminal *terminal, const char *tool, struct wb_span arguments)
{
    struct call call = {
        .terminal = terminal, .lock = PTHREAD_MUTEX_INITIALIZER, .told_ms = wb_clock_now_ms()};
    const struct wb_call_options options = {
        .cancel = &call.cancel, .on_progress = on_progress, .ctx = &call, .origin = "operator"};
    uint64_t shown = 0;
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    wb_cancel_init(&call.cancel);
    wb_interrupt_target(terminal->interrupt, &call.cancel);
    wb_run_submit(terminal->session.run, tool, arguments, &options, on_done, &call);
    while (!call.is_done) {
        if (!see_to_card(terminal, &shown, &call.cancel) && !call.is_done) {
            wait_until_woken(terminal);
        }
    }
    wb_interrupt_target(terminal->interrupt, NULL);
    wb_terminal_show_result(&terminal->style, terminal->session.run, &terminal->n_saved,
                            &call.result, &text);
    print(&text);
    wb_result_done(&call.result);
    wb_cancel_done(&call.cancel);
}

/* --- lines --- */

/* Some arguments are for the record, and a human has typed no words for it. */
static struct wb_span add_description(struct wb_arena *arena, const struct wb_tool *tool,
                                      struct wb_span words)
{
    for (size_t i = 0; i < tool->args.n; i++) {
        const struct wb_arg *arg = &tool->args.table[i];
        if (wb_str_equal(arg->key, "description") && arg->required && words.len > 0 &&
            words.ptr[0] != '{' && wb_span_find(words, WB_SPAN("description="), 0) == SIZE_MAX) {
            return wb_span(wb_arena_printf(arena, "description=\"typed in the terminal\" %.*s",
                                           WB_SPAN_ARG(words)));
        }
    }
    return words;
}

static void call_typed(struct terminal *terminal, struct wb_arena *arena,
                       const struct wb_tool *tool, struct wb_span words)
{
    struct wb_span arguments;
    struct wb_error err;
    words = add_description(arena, tool, wb_span_trim(words));
    if (wb_slash_arguments(arena, tool, words, &arguments, &err) != 0) {
        printf("%s\n", err.message);
        fflush(stdout);
        return;
    }
    run_call(terminal, tool->name, arguments);
}

static void refuse_unknown(const struct terminal *terminal, const char *name)
{
    const char *names[128];
    size_t n = 0;
    const struct wb_tool *tool;
    for (size_t cursor = 0; n < WB_COUNT(names) &&
                            (tool = wb_run_next_tool(terminal->session.run, &cursor)) != NULL;) {
        names[n++] = tool->name;
    }
    const char *near = wb_nearest(wb_span(name), names, n);
    printf("There is no /%s%s%s%s. /help lists what there is.\n", name,
           near != NULL ? "; did you mean /" : "", near != NULL ? near : "",
           near != NULL ? "?" : "");
    fflush(stdout);
}

static void show_help(const struct terminal *terminal, const char *tool)
{
    WB_AUTO(wb_text_done) struct wb_text text = {0};
    wb_terminal_show_help(terminal->session.run, tool, &text);
    print(&text);
}

/* False: the conversation ends. */
static bool take_command(struct terminal *terminal, struct wb_arena *arena, struct wb_span line)
{
    size_t len = 0;
    while (len < line.len && strchr(" \t\n", line.ptr[len]) == NULL) {
        len++;
    }
    const char *name = wb_arena_strndup(arena, line.ptr, len);
    struct wb_span words = wb_span_trim((struct wb_span){line.ptr + len, line.len - len});
    const struct wb_tool *tool = wb_run_find_tool(terminal->session.run, name);
    if (wb_str_equal(name, "quit") || wb_str_equal(name, "exit")) {
        return false;
    }
    if (wb_str_equal(name, "help")) {
        show_help(terminal, words.len > 0 ? wb_arena_strndup(arena, words.ptr, words.len) : NULL);
    } else if (tool != NULL) {
        call_typed(terminal, arena, tool, words);
    } else if (!set_mode(terminal, name)) {
        refuse_unknown(terminal, name);
    }
    return true;
}

static bool take_line(struct terminal *terminal, struct wb_span line)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    line = wb_span_trim(line);
    if (line.len == 0) {
        return true;
    }
    if (line.ptr[0] == '/') {
        return take_command(terminal, &arena, (struct wb_span){line.ptr + 1, line.len - 1});
    }
    puts("Lines begin with / here: /help says what there is.");
    fflush(stdout);
    return true;
}

/* A line, with those that a \ at its end joins to it. */
static enum wb_line_status read_line(struct terminal *terminal, struct wb_text *ret)
{
    WB_AUTO(wb_text_done) struct wb_text prompt = {0};
    WB_AUTO(wb_text_done) struct wb_text part = {0};
    if (terminal->is_interactive) {
        wb_text_printf(&prompt, "%s> ", mode_of(terminal));
    }
    wb_text_clear(ret);
    for (;;) {
        enum wb_line_status status =
            wb_line_editor_read(terminal->editor, wb_text_cstr(&prompt), true, &part);
        if (status != WB_LINE_TEXT) {
            return status;
        }
        wb_text_add_span(ret, wb_text_span(&part));
        if (ret->len == 0 || ret->ptr[ret->len - 1] != '\\') {
            return WB_LINE_TEXT;
        }
        ret->ptr[ret->len - 1] = '\n';
        wb_text_clear(&prompt);
        wb_text_add_str(&prompt, terminal->is_interactive ? "... " : "");
    }
}

static void converse(struct terminal *terminal)
{
    WB_AUTO(wb_text_done) struct wb_text line = {0};
    struct wb_cancel nothing;
    uint64_t shown = 0;
    wb_cancel_init(&nothing);
    sleep_again(terminal); /* attaching has woken it */
    for (bool goes_on = true; goes_on;) {
        switch (read_line(terminal, &line)) {
        case WB_LINE_TEXT:
            goes_on = take_line(terminal, wb_text_span(&line));
            break;
        case WB_LINE_WOKEN: /* somebody else asks */
            sleep_again(terminal);
            see_to_card(terminal, &shown, &nothing);
            break;
        case WB_LINE_INTERRUPTED:
            break;
        case WB_LINE_END:
            goes_on = false;
            break;
        }
    }
    wb_cancel_done(&nothing);
}

/* --- completion --- */

static void add_candidate(struct wb_text *out, size_t *n, const char *text)
{
    wb_text_add(out, text, strlen(text) + 1);
    ++*n;
}

static size_t complete_name(const struct terminal *terminal, struct wb_span word,
                            struct wb_text *out)
{
    static const char *const own[] = {"plan", "ask", "edits", "full", "help", "quit"};
    const struct wb_tool *tool;
    size_t n = 0;
    char name[80];
    for (size_t cursor = 0; (tool = wb_run_next_tool(terminal->session.run, &cursor)) != NULL;) {
        snprintf(name, sizeof(name), "/%s", tool->name);
        if (wb_span_starts(wb_span(name), word)) {
            add_candidate(out, &n, name);
        }
    }
    for (size_t i = 0; i < WB_COUNT(own); i++) {
        snprintf(name, sizeof(name), "/%s", own[i]);
        if (wb_span_starts(wb_span(name), word)) {
            add_candidate(out, &n, name);
        }
    }
    return n;
}

static size_t complete_path(const struct terminal *terminal, struct wb_arena *arena,
                            struct wb_span word, struct wb_text *out)
{
    size_t slash = word.len, n = 0;
    while (slash > 0 && word.ptr[slash - 1] != '/') {
        slash--;
    }
    const char *prefix = wb_arena_strndup(arena, word.ptr, slash);
    const char *base = wb_arena_strndup(arena, word.ptr + slash, word.len - slash);
    const char *folder =
        prefix[0] == '/'
            ? prefix
            : wb_arena_printf(arena, "%s/%s", wb_run_workspace(terminal->session.run), prefix);
    struct dirent **entries;
    int n_entries = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < n_entries; i++) {
        const char *name = entries[i]->d_name;
        bool is_hidden = name[0] == '.' && base[0] != '.';
        if (wb_str_starts(name, base) && !is_hidden && n < ENTRIES_MAX && strcmp(name, ".") != 0 &&
            strcmp(name, "..") != 0) {
            add_candidate(out, &n,
                          wb_arena_printf(arena, "%s%s%s", prefix, name,
                                          entries[i]->d_type == DT_DIR ? "/" : ""));
        }
        free(entries[i]);
    }
    if (n_entries >= 0) {
        free(entries);
    }
    return n;
}

static size_t complete(void *ctx, struct wb_span before, struct wb_text *out)
{
    struct terminal *terminal = ctx;
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    struct wb_slash_completion found;
    size_t space = 0, n = 0;
    wb_arena_init(&arena);
    while (space < before.len && before.ptr[space] != ' ') {
        space++;
    }
    if (before.len == 0 || before.ptr[0] != '/' || space == before.len) {
        return complete_name(terminal, before, out);
    }
    const char *name = wb_arena_strndup(&arena, before.ptr + 1, space - 1);
    const struct wb_tool *tool = wb_run_find_tool(terminal->session.run, name);
    if (tool == NULL) {
        return 0;
    }
    struct wb_span rest = {before.ptr + space, before.len - space};
    wb_slash_complete(&arena, tool, rest, &found);
    for (size_t i = 0; i < found.count; i++) {
        add_candidate(out, &n, found.candidates[i]);
    }
    return n > 0 || !found.is_path ? n : complete_path(terminal, &arena, found.word, out);
}

/* --- begin and end --- */

static const char *history_file(struct wb_arena *arena)
{
    struct wb_error err;
    const char *state = wb_path_state_folder(arena, &err);
    if (state == NULL || wb_path_make_folders(state, 0700, &err) != 0) {
        return NULL;
    }
    return wb_path_join(arena, state, "history");
}

static void open_editor(struct terminal *terminal, const struct wb_options *options,
                        struct wb_arena *arena)
{
    const char *term = getenv("TERM");
    bool is_terminal = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
    bool can = is_terminal && !options->plain && term != NULL && !wb_str_equal(term, "dumb");
    const char *no_colour = getenv("NO_COLOR");
    terminal->is_interactive = is_terminal;
    terminal->style.has_colour = can && (no_colour == NULL || no_colour[0] == '\0');
    terminal->style.pictures = can ? wb_picture_protocol() : WB_PICTURE_NONE;
    const struct wb_line_options line_options = {
        .editing = can,
        .history_file = can ? history_file(arena) : NULL,
        .wake_fd = terminal->wake_fd,
        .complete = complete,
        .ctx = terminal,
    };
    terminal->editor = wb_line_editor_new(&line_options);
}

static int open_terminal(struct terminal *terminal, const struct wb_options *options,
                         struct wb_error *err)
{
    terminal->interrupt = wb_interrupt_start(err);
    if (terminal->interrupt == NULL) {
        return -1;
    }
    terminal->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    terminal->cards = wb_cards_new();
    terminal->surface =
        (struct wb_card_surface){.added = on_card_added, .ended = on_card_ended, .ctx = terminal};
    if (terminal->wake_fd < 0) {
        return wb_error_errno(err, errno, "cannot make an event");
    }
    wb_cards_attach(terminal->cards, &terminal->surface);
    if (wb_session_open(options, wb_cards_port(terminal->cards), &terminal->session, err) != 0) {
        return -1;
    }
    terminal->full_cap = wb_run_cap(terminal->session.run) == WB_TIER_READ
                             ? WB_TIER_EXEC
                             : wb_run_cap(terminal->session.run);
    return 0;
}

static void close_terminal(struct terminal *terminal)
{
    if (terminal->session.run != NULL) {
        wb_session_close(&terminal->session);
    }
    if (terminal->cards != NULL) {
        wb_cards_detach(terminal->cards, &terminal->surface);
        wb_cards_free(terminal->cards);
        close(terminal->wake_fd);
    }
    wb_interrupt_stop(terminal->interrupt);
}

static int run(const struct wb_options *options, char **operands, int n_operands)
{
    struct terminal terminal = {.wake_fd = -1};
    struct wb_error err;
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    (void)operands;
    (void)n_operands;
    wb_arena_init(&arena);
    if (open_terminal(&terminal, options, &err) != 0) {
        close_terminal(&terminal);
        return wb_command_refuse("%s", err.message);
    }
    open_editor(&terminal, options, &arena);
    if (terminal.is_interactive) {
        printf("werkbank %s in %s. /help says what there is.\n", WB_VERSION,
               wb_run_workspace(terminal.session.run));
    }
    converse(&terminal);
    wb_line_editor_free(terminal.editor);
    close_terminal(&terminal);
    return WB_EXIT_DONE;
}

const struct wb_command wb_command_terminal = {
    .name = "terminal",
    .operands = "",
    .options = WB_OPTION_WORKSPACE | WB_OPTION_RUN | WB_OPTION_PLAIN,
    .summary = "the conversation in this terminal; also what `werkbank` alone begins",
    .details =
        "Calls are typed as /TOOL WORDS: /lsp definition src/a.c:42 name, /shell make test. Questions\n"
        "and approvals appear as numbered cards and are answered by number or text. The prompt has the\n"
        "mode: plan, ask, edits, full. Standard input may be a pipe: a line is a call or an answer.\n",
    .run = run,
};

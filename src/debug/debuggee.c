/* debuggee: see debuggee.h. */
#include "debug/debuggee.h"

#include <stdlib.h>

#include "base/log.h"

static const char *const state_names[] = {"starting", "running", "judging", "stopped", "ended"};

/* The transitions of the diagram: a bit for each state that may follow. */
#define MAY(state) (1u << (state))
static const unsigned next_states[] = {
    [WB_DEBUGGEE_STARTING] =
        MAY(WB_DEBUGGEE_RUNNING) | MAY(WB_DEBUGGEE_JUDGING) | MAY(WB_DEBUGGEE_ENDED),
    [WB_DEBUGGEE_RUNNING] =
        MAY(WB_DEBUGGEE_JUDGING) | MAY(WB_DEBUGGEE_STOPPED) | MAY(WB_DEBUGGEE_ENDED),
    [WB_DEBUGGEE_JUDGING] = MAY(WB_DEBUGGEE_JUDGING) | MAY(WB_DEBUGGEE_STOPPED) |
                            MAY(WB_DEBUGGEE_RUNNING) | MAY(WB_DEBUGGEE_ENDED),
    [WB_DEBUGGEE_STOPPED] =
        MAY(WB_DEBUGGEE_RUNNING) | MAY(WB_DEBUGGEE_JUDGING) | MAY(WB_DEBUGGEE_ENDED),
    [WB_DEBUGGEE_ENDED] = 0,
};

const char *wb_debuggee_state_name(enum wb_debuggee_state state)
{
    /* Judging is ours: to everybody else the program still runs. */
    return state_names[state == WB_DEBUGGEE_JUDGING ? WB_DEBUGGEE_RUNNING : state];
}

static bool set_state(struct wb_debuggee *debuggee, enum wb_debuggee_state state)
{
    if ((next_states[debuggee->state] & MAY(state)) == 0) {
        return false;
    }
    wb_log(WB_LOG_DEBUG, "debuggee: %s -> %s", state_names[debuggee->state], state_names[state]);
    debuggee->state = state;
    return true;
}

void wb_debuggee_init(struct wb_debuggee *debuggee, const char **exit_text,
                      const char **hidden_output)
{
    *debuggee = (struct wb_debuggee){.exit_text = exit_text, .hidden_output = hidden_output};
    debuggee->stop.reason = wb_strdup("");
}

static void done_stop(struct wb_stop *stop)
{
    free(stop->reason);
    free(stop->description);
    free(stop->text);
}

void wb_debuggee_done(struct wb_debuggee *debuggee)
{
    done_stop(&debuggee->stop);
    free(debuggee->end_reason);
    wb_debug_output_done(&debuggee->output);
}

static char *copy_text(const struct wb_json *value)
{
    const char *text = wb_json_str(value);
    return text != NULL && *text != '\0' ? wb_strdup(text) : NULL;
}

static bool says(const char *text, const char *word)
{
    return text != NULL && strstr(text, word) != NULL;
}

/* lldb-dap stops a program by a signal and tells that signal, for our own pause and entry too;
 * js-debug calls its pause a step. */
static const char *reason_of(const struct wb_debuggee *debuggee, const struct wb_stop *stop,
                             const char *reason)
{
    const char *words = stop->description != NULL ? stop->description : stop->text;
    bool by_signal =
        wb_str_equal(reason, "exception") && (says(words, "SIGSTOP") || says(words, "SIGINT"));
    if (debuggee->pausing && wb_str_equal(reason, "step") && says(stop->description, "ause")) {
        return "pause";
    }
    if (by_signal && (debuggee->pausing || debuggee->entering)) {
        return debuggee->pausing ? "pause" : "entry";
    }
    return reason;
}

static void read_hits(const struct wb_json *ids, struct wb_stop *stop)
{
    int64_t id;
    for (struct wb_json_iter it = wb_json_iter(ids);
         wb_json_next(&it) && stop->n_hits < WB_STOP_HITS_MAX;) {
        if (wb_json_int(it.value, &id)) {
            stop->hits[stop->n_hits++] = id;
        }
    }
}

/* The stop that we are at, told again. */
static bool is_repeated(const struct wb_debuggee *debuggee, const struct wb_stop *stop)
{
    const struct wb_stop *last = &debuggee->stop;
    bool is_here = debuggee->state == WB_DEBUGGEE_STOPPED || debuggee->state == WB_DEBUGGEE_JUDGING;
    return is_here && last->link == stop->link && last->has_thread == stop->has_thread &&
           last->thread_id == stop->thread_id && wb_str_equal(last->reason, stop->reason) &&
           last->n_hits == stop->n_hits && memcmp(last->hits, stop->hits, sizeof(stop->hits)) == 0;
}

static enum wb_debuggee_news take_stop(struct wb_debuggee *debuggee, unsigned link,
                                       const struct wb_json *body)
{
    struct wb_stop stop = {
        .epoch = debuggee->stop.epoch + 1,
        .link = link,
        .description = copy_text(wb_json_get(body, "description")),
        .text = copy_text(wb_json_get(body, "text")),
    };
    stop.has_thread = wb_json_int(wb_json_get(body, "threadId"), &stop.thread_id);
    const char *reason = wb_json_str_or(wb_json_get(body, "reason"), "unknown");
    if (wb_str_starts(reason, "SIG")) { /* cdt-gdb-adapter */
        free(stop.description);
        stop.description = wb_sprintf("signal %s", reason);
        reason = "exception";
    }
    stop.reason = wb_strdup(reason_of(debuggee, &stop, reason));
    read_hits(wb_json_get(body, "hitBreakpointIds"), &stop);
    if (is_repeated(debuggee, &stop) || !set_state(debuggee, WB_DEBUGGEE_JUDGING)) {
        done_stop(&stop);
        return WB_NEWS_NONE;
    }
    done_stop(&debuggee->stop);
    debuggee->stop = stop;
    debuggee->entering = false;
    return WB_NEWS_STOPPED;
}

static void set_exit_code(struct wb_debuggee *debuggee, int64_t code)
{
    debuggee->has_exit_code = true;
    debuggee->exit_code = code;
}

/* Some adapters tell the exit code in words only. */
static void look_for_exit_code(struct wb_debuggee *debuggee, struct wb_span text)
{
    for (const char **words = debuggee->exit_text; words != NULL && *words != NULL; words++) {
        size_t at = wb_span_find(text, wb_span(*words), 0);
        if (at == SIZE_MAX) {
            continue;
        }
        struct wb_span rest = {text.ptr + at + strlen(*words), text.len - at - strlen(*words)};
        size_t len = 0;
        while (len < rest.len &&
               (rest.ptr[len] == '-' || (rest.ptr[len] >= '0' && rest.ptr[len] <= '9'))) {
            len++;
        }
        if (len == 0 && debuggee->is_attached) {
            continue;
        }
        /* gdb writes octal, with a zero in front; words alone ("exited normally") mean 0. */
        WB_AUTO(wb_free_p) char *digits = wb_strndup(rest.ptr, WB_MIN(len, (size_t)20));
        set_exit_code(debuggee, strtoll(digits, NULL, *digits == '0' ? 8 : 10));
    }
}

static bool is_hidden(const struct wb_debuggee *debuggee, struct wb_span line)
{
    for (const char **prefix = debuggee->hidden_output; prefix != NULL && *prefix != NULL;
         prefix++) {
        if (wb_span_starts(line, wb_span(*prefix))) {
            return true;
        }
    }
    return false;
}

void wb_debuggee_print(struct wb_debuggee *debuggee, enum wb_debug_category category,
                       struct wb_span bytes)
{
    struct wb_span rest = bytes, line;
    while (rest.len > 0) {
        const char *begin = rest.ptr;
        size_t before = rest.len;
        (void)wb_span_next_line(&rest, &line);
        if (!is_hidden(debuggee, line)) {
            wb_debug_output_add(&debuggee->output, category,
                                (struct wb_span){begin, before - rest.len});
        }
    }
}

static void take_output(struct wb_debuggee *debuggee, const struct wb_json *body)
{
    const char *name = wb_json_str_or(wb_json_get(body, "category"), "console");
    struct wb_span text = wb_json_span(wb_json_get(body, "output"));
    enum wb_debug_category category = wb_debug_category_parse(name);
    look_for_exit_code(debuggee, text);
    /* What an adapter tells once all is over is of itself: lldb-dap 19 crashes, at length. */
    if (!wb_str_equal(name, "telemetry") && !debuggee->terminated) {
        wb_debuggee_print(debuggee, category, text);
    }
}

enum wb_debuggee_news wb_debuggee_event(struct wb_debuggee *debuggee, unsigned link,
                                        const char *name, const struct wb_json *body)
{
    if (wb_str_equal(name, "stopped")) {
        return take_stop(debuggee, link, body);
    }
    if (wb_str_equal(name, "output")) {
        take_output(debuggee, body);
    } else if (wb_str_equal(name, "exited")) {
        int64_t code;
        if (wb_json_int(wb_json_get(body, "exitCode"), &code)) {
            set_exit_code(debuggee, code);
        }
        return WB_NEWS_EXITED;
    } else if (wb_str_equal(name, "process")) {
        debuggee->pid = wb_json_int_or(wb_json_get(body, "systemProcessId"), debuggee->pid);
    } else if (wb_str_equal(name, "terminated")) {
        debuggee->terminated = debuggee->terminated || link == 0;
        return WB_NEWS_TERMINATED;
    }
    return WB_NEWS_NONE;
}

void wb_debuggee_started(struct wb_debuggee *debuggee)
{
    if (debuggee->state == WB_DEBUGGEE_STARTING) {
        set_state(debuggee, WB_DEBUGGEE_RUNNING);
    }
}

uint64_t wb_debuggee_move(struct wb_debuggee *debuggee)
{
    if (debuggee->state == WB_DEBUGGEE_STOPPED) {
        set_state(debuggee, WB_DEBUGGEE_RUNNING);
    }
    debuggee->pausing = false;
    return ++debuggee->moves;
}

void wb_debuggee_unmove(struct wb_debuggee *debuggee, uint64_t move)
{
    if (debuggee->moves == move && debuggee->state == WB_DEBUGGEE_RUNNING) {
        set_state(debuggee, WB_DEBUGGEE_STOPPED);
    }
}

void wb_debuggee_settle(struct wb_debuggee *debuggee, uint64_t epoch)
{
    if (debuggee->state == WB_DEBUGGEE_JUDGING && debuggee->stop.epoch == epoch) {
        debuggee->pausing = false;
        set_state(debuggee, WB_DEBUGGEE_STOPPED);
    }
}

bool wb_debuggee_pass_over(struct wb_debuggee *debuggee, uint64_t epoch)
{
    if (debuggee->state != WB_DEBUGGEE_JUDGING || debuggee->stop.epoch != epoch) {
        return false;
    }
    bool passes = !debuggee->pausing;
    debuggee->pausing = false;
    set_state(debuggee, passes ? WB_DEBUGGEE_RUNNING : WB_DEBUGGEE_STOPPED);
    return passes;
}

void wb_debuggee_lose_link(struct wb_debuggee *debuggee, unsigned link)
{
    bool is_here = debuggee->state == WB_DEBUGGEE_STOPPED || debuggee->state == WB_DEBUGGEE_JUDGING;
    if (is_here && debuggee->stop.link == link) {
        debuggee->pausing = false;
        set_state(debuggee, WB_DEBUGGEE_RUNNING);
    }
}

void wb_debuggee_end(struct wb_debuggee *debuggee, const char *reason)
{
    if (set_state(debuggee, WB_DEBUGGEE_ENDED)) {
        debuggee->end_reason = wb_strdup(reason);
    }
}

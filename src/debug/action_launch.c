/* action_launch: launch and attach: what is to be debugged, by which adapter, with what arguments. The
 * session does the rest. */
#include "base/clock.h"
#include "base/limits.h"
#include "debug/actions.h"
#include "debug/scratch.h"
#include "run/usable.h"
#include "sys/file.h"
#include "sys/path.h"

#define HEAD_BYTES 256     /* of a script without a telling name, for its interpreter */
#define ATTACH_WAIT_MS 300 /* for a stop after an attach: most targets just run on */

extern const struct wb_tool wb_tool_debug;

/* --- what it is --- */

static const char *language_of(struct wb_arena *arena, const struct wb_adapters *adapters,
                               const char *path)
{
    const struct wb_languages *languages = wb_adapters_languages(adapters);
    const struct wb_language *language = wb_languages_of_file(languages, path, (struct wb_span){0});
    struct wb_span content;
    if (language == NULL && wb_file_read(arena, path, WB_MIB, &content, NULL, NULL) == 0) {
        content.len = WB_MIN(content.len, (size_t)HEAD_BYTES);
        language = wb_languages_of_file(languages, path, content);
    }
    return language != NULL ? language->id : NULL;
}

static bool has_files_of(struct wb_arena *arena, const struct wb_languages *languages,
                         const char *folder, const char *id)
{
    const struct wb_language *language = wb_languages_find(languages, id);
    for (const char **extension = language != NULL ? language->extensions : NULL;
         extension != NULL && *extension != NULL; extension++) {
        const char *markers[] = {wb_arena_printf(arena, "*%s", *extension), NULL};
        if (wb_usable_marker(arena, folder, markers) != NULL) {
            return true;
        }
    }
    return false;
}

/* A folder is in the language of its files, as far as some adapter takes such folders. */
static const char *language_of_folder(struct wb_arena *arena, const struct wb_adapters *adapters,
                                      const char *folder, enum wb_target_kind kind)
{
    const struct wb_adapter_row *row;
    for (size_t cursor = 0; (row = wb_adapters_next(adapters, &cursor)) != NULL;) {
        for (const char **id = row->languages; row->launch[kind].arguments != NULL && *id != NULL;
             id++) {
            if (has_files_of(arena, wb_adapters_languages(adapters), folder, *id)) {
                return *id;
            }
        }
    }
    return NULL;
}

/* "tests/test_a.py::test_x" is the file, and a name that the test runner understands. */
static const char *selector_of(const struct wb_debug_args *args)
{
    const char *at = args->mode == WB_DEBUG_MODE_TEST && args->program.ptr != NULL
                         ? strstr(args->program.ptr, "::")
                         : NULL;
    return at != NULL ? at : "";
}

static const char *program_path(struct wb_call *call, const struct wb_debug_args *args,
                                struct wb_error *err)
{
    struct wb_span name = {args->program.ptr, args->program.len - strlen(selector_of(args))};
    name.ptr = wb_arena_strndup(call->arena, name.ptr, name.len);
    return wb_call_path(call, name, err);
}

static int classify(struct wb_call *call, const struct wb_adapters *adapters,
                    const struct wb_debug_args *args, struct wb_target *target,
                    struct wb_error *err)
{
    target->path = target->from = program_path(call, args, err);
    if (target->path == NULL || wb_program_look(target->path, &target->program, err) != 0) {
        return -1;
    }
    target->kind = args->core.ptr != NULL             ? WB_TARGET_CORE
                   : args->mode == WB_DEBUG_MODE_TEST ? WB_TARGET_TEST
                   : target->program.is_folder        ? WB_TARGET_FOLDER
                   : target->program.is_binary        ? WB_TARGET_BINARY
                                                      : WB_TARGET_SOURCE;
    if (target->program.is_folder) {
        target->language = language_of_folder(call->arena, adapters, target->path, target->kind);
    } else if (!target->program.is_binary) {
        target->language = language_of(call->arena, adapters, target->path);
    }
    return 0;
}

static int find_target(struct wb_debug *debug, struct wb_call *call,
                       const struct wb_adapters *adapters, const struct wb_debug_args *args,
                       struct wb_target *target, struct wb_error *err)
{
    *target = (struct wb_target){.kind = WB_TARGET_MODULE, .from = debug->workspace};
    if (args->mode != WB_DEBUG_MODE_MODULE) {
        return classify(call, adapters, args, target, err);
    }
    if (args->cwd.ptr != NULL) {
        target->from = wb_call_path(call, args->cwd, err);
    }
    return target->from != NULL ? 0 : -1;
}

/* --- what the adapter is told --- */

static const char *const *words_of(struct wb_arena *arena, const struct wb_arg_list *list)
{
    const char **words = wb_arena_alloc_array(arena, list->count + 1, sizeof(*words));
    for (size_t i = 0; i < list->count; i++) {
        words[i] = ((const struct wb_span *)list->items)[i].ptr;
    }
    return words;
}

static int fill_values(struct wb_debug *debug, struct wb_call *call,
                       const struct wb_debug_args *args, const struct wb_target *target,
                       const struct wb_adapter_choice *choice, struct wb_template_values *ret,
                       struct wb_error *err)
{
    const struct wb_json *arguments = choice->row->launch[target->kind].arguments;
    const char *cwd = args->cwd.ptr != NULL ? wb_call_path(call, args->cwd, err) : NULL;
    const char *core = args->core.ptr != NULL ? wb_call_path(call, args->core, err) : NULL;
    if ((args->cwd.ptr != NULL && cwd == NULL) || (args->core.ptr != NULL && core == NULL)) {
        return -1;
    }
    if (cwd != NULL && wb_file_kind(cwd, NULL) != WB_FILE_FOLDER) {
        return wb_error_set(err, WB_ERROR_NOT_FOUND, "there is no folder %s to run it in", cwd);
    }
    *ret = (struct wb_template_values){
        .program = target->path != NULL
                       ? wb_arena_printf(call->arena, "%s%s", target->path, selector_of(args))
                       : args->program.ptr,
        .folder = target->path == NULL        ? NULL
                  : target->program.is_folder ? target->path
                                              : wb_path_dir(call->arena, target->path),
        .args = words_of(call->arena, &args->args),
        .cwd = cwd != NULL ? cwd : debug->workspace,
        .cwd_given = cwd,
        .env = args->env,
        .root = choice->root,
        .interpreter = choice->interpreter,
        .core = core,
        .stop_on_entry = args->stop_on_entry,
    };
    if (wb_template_asks(call->arena, arguments, "{scratch}")) {
        ret->scratch = wb_debug_scratch_make(call->arena, choice->row->scratch_files, err);
        return ret->scratch != NULL ? 0 : -1;
    }
    return 0;
}

/* --- the start --- */

/* What an agent should know before the first stop. */
static void tell_start(struct wb_debug *debug, struct wb_call *call,
                       struct wb_debug_session *session, const struct wb_adapter_choice *choice,
                       const struct wb_target *target, struct wb_text *out)
{
    struct wb_debug_points *points = wb_debug_place_points(debug->place);
    struct wb_dap_capabilities can;
    struct wb_debug_view view;
    wb_debug_session_view(session, call->arena, &view);
    wb_text_printf(out, "%s, by %s (%s)\n", view.title, view.row->name,
                   *view.adapter != '\0' ? view.adapter : "on its port");
    if (target != NULL && choice->interpreter != NULL &&
        !wb_str_equal(choice->interpreter, view.adapter)) {
        wb_text_printf(out,
                       "The program runs with %s, which has no adapter of its own; install: %s\n",
                       choice->interpreter, choice->row->install);
    }
    if (target != NULL && target->program.is_binary && !target->program.has_debug_info) {
        wb_text_printf(out,
                       "NOTE: %s has no debug information: breakpoints on lines cannot bind, and "
                       "there are no source lines or locals. Build it with -g.\n",
                       wb_call_relative(call, target->path));
    }
    wb_debug_session_capabilities(session, call->arena, &can);
    pthread_mutex_lock(&points->lock);
    const char *const *filters = (const char *const *)points->table.exceptions;
    const char *unknown = filters != NULL ? wb_debug_unknown_filter(&can, filters) : NULL;
    if (unknown != NULL) {
        wb_text_printf(out, "NOTE: there is no exception filter `%s` here, only: ", unknown);
        wb_debug_list_filters(&can, out);
        wb_text_add_char(out, '\n');
    }
    for (size_t i = 0; i < points->table.count; i++) {
        const struct wb_breakpoint *it = &points->table.items[i];
        bool is_plain =
            it->state == WB_BREAKPOINT_BOUND && (it->bound_line == 0 || it->bound_line == it->line);
        if (!is_plain) {
            wb_text_add_str(out, "breakpoint ");
            wb_breakpoint_describe(it, debug->workspace, true, out);
        }
    }
    pthread_mutex_unlock(&points->lock);
}

static int run_session(struct wb_debug *debug, struct wb_call *call,
                       const struct wb_debug_options *options,
                       const struct wb_adapter_choice *choice, const struct wb_target *target,
                       int64_t wait_ms, struct wb_result *result, struct wb_error *err)
{
    WB_AUTO(wb_debug_session_unref_p)
    struct wb_debug_session *session = wb_debug_session_new(options);
    if (wb_debug_place_put(debug->place, debug->run, session, err) != 0) {
        wb_debug_session_abandon(session);
        return -1;
    }
    wb_call_progress(call, 0, 0, "starting %s", options->row->name);
    if (wb_debug_session_start(session, options, wb_call_deadline(call, options->row->start_ms),
                               call->cancel, err) != 0) {
        return -1;
    }
    int64_t deadline_ms = wb_call_deadline(call, wait_ms);
    (void)wb_debug_session_wait(session, deadline_ms, call->cancel);
    tell_start(debug, call, session, choice, target, &result->text);
    wb_debug_wait_and_report(debug, call, session, deadline_ms, false, result);
    return 0;
}

static struct wb_debug_options common_options(struct wb_debug *debug,
                                              const struct wb_adapter_choice *choice,
                                              const struct wb_template_values *values)
{
    return (struct wb_debug_options){
        .host = wb_run_host(debug->run),
        .points = wb_debug_place_points(debug->place),
        .row = choice->row,
        .workspace = debug->workspace,
        .root = choice->root != NULL ? choice->root : debug->workspace,
        .commands = choice->commands,
        .values = values,
        .answer_ms = debug->answer_ms,
        .lifetime_ms = debug->lifetime_ms,
    };
}

static int64_t wait_ms_of(const struct wb_debug_args *args, int64_t otherwise_ms)
{
    return args->wait_seconds >= 0 ? 1000 * args->wait_seconds : otherwise_ms;
}

static int launch(struct wb_debug *debug, struct wb_call *call, const struct wb_debug_args *args,
                  struct wb_result *result, struct wb_error *err)
{
    const struct wb_adapters *adapters = wb_debug_adapters(debug, err);
    struct wb_target target;
    struct wb_adapter_choice choice;
    struct wb_template_values values;
    if (adapters == NULL || find_target(debug, call, adapters, args, &target, err) != 0 ||
        wb_choose_for_launch(call->arena, adapters, debug->workspace, &target, args->adapter.ptr,
                             &choice, err) != 0 ||
        fill_values(debug, call, args, &target, &choice, &values, err) != 0) {
        return -1;
    }
    struct wb_debug_options options = common_options(debug, &choice, &values);
    options.request = &choice.row->launch[target.kind];
    options.arguments = options.request->arguments;
    options.is_ours = true;
    options.stop_on_entry = args->stop_on_entry;
    options.is_post_mortem = target.kind == WB_TARGET_CORE;
    options.title = target.path != NULL ? wb_call_relative(call, target.path) : args->program.ptr;
    return run_session(debug, call, &options, &choice, &target, wait_ms_of(args, debug->wait_ms),
                       result, err);
}

/* --- restart --- */

static void put_list(struct wb_json_writer *w, const char *key, const struct wb_arg_list *list)
{
    wb_json_key(w, key);
    wb_json_begin_array(w);
    for (size_t i = 0; i < list->count; i++) {
        wb_json_put_span(w, ((const struct wb_span *)list->items)[i]);
    }
    wb_json_end_array(w);
}

/* The launch as arguments of this tool, so that a restart is decoded like any other call. */
static void keep_launch(struct wb_debug *debug, const struct wb_debug_args *args)
{
    static const char *const modes[] = {"program", "module", "test"};

    const struct {
        const char *key;
        struct wb_span value;
    } texts[] = {{"program", args->program},
                 {"cwd", args->cwd},
                 {"core", args->core},
                 {"adapter", args->adapter}};
    WB_AUTO(wb_text_done) struct wb_text json = {0};
    struct wb_json_writer w;
    wb_json_writer_init(&w, &json);
    wb_json_begin_object(&w);
    wb_json_member_str(&w, "operation", "launch");
    wb_json_member_str(&w, "mode", modes[args->mode]);
    wb_json_member_bool(&w, "stop_on_entry", args->stop_on_entry);
    put_list(&w, "args", &args->args);
    for (size_t i = 0; i < WB_COUNT(texts); i++) {
        if (texts[i].value.ptr != NULL) {
            wb_json_member_span(&w, texts[i].key, texts[i].value);
        }
    }
    if (args->env != NULL) {
        wb_json_key(&w, "env");
        wb_json_put_value(&w, args->env);
    }
    wb_json_end_object(&w);
    wb_debug_place_keep_launch(debug->place, wb_text_cstr(&json));
}

static const struct wb_debug_args *last_launch(struct wb_debug *debug, struct wb_call *call,
                                               struct wb_error *err)
{
    WB_AUTO(wb_free_p) char *json = wb_debug_place_last_launch(debug->place);
    void *args = NULL;
    if (json == NULL) {
        wb_error_set(err, WB_ERROR_NOT_FOUND,
                     "nothing was launched in this conversation that could be restarted; send "
                     "`program`");
        return NULL;
    }
    const struct wb_json *value = wb_json_parse(call->arena, wb_span(json), err);
    return value != NULL && wb_args_decode(call->arena, &wb_tool_debug.args, wb_tool_debug.name,
                                           value, &args, err) == 0
               ? args
               : NULL;
}

static void end_present(struct wb_debug *debug)
{
    WB_AUTO(wb_debug_session_unref_p)
    struct wb_debug_session *session = wb_debug_place_session(debug->place);
    if (session != NULL) {
        wb_debug_session_end(session, "it was restarted");
    }
}

int wb_debug_do_launch(struct wb_debug *debug, struct wb_call *call,
                       const struct wb_debug_args *args, struct wb_result *result,
                       struct wb_error *err)
{
    struct wb_debug_args again;
    if (args->program.ptr == NULL) {
        if (!args->restart) {
            return wb_error_set(err, WB_ERROR_INVALID,
                                "launch needs `program`, or `restart` true for the last one");
        }
        const struct wb_debug_args *last = last_launch(debug, call, err);
        if (last == NULL) {
            return -1;
        }
        again = *last;
        again.wait_seconds = args->wait_seconds;
        args = &again;
        end_present(debug);
    } else if (args->restart) {
        end_present(debug);
    }
    int status = launch(debug, call, args, result, err);
    if (status == 0) {
        keep_launch(debug, args);
    }
    return status;
}

/* --- attach --- */

int wb_debug_do_attach(struct wb_debug *debug, struct wb_call *call,
                       const struct wb_debug_args *args, struct wb_result *result,
                       struct wb_error *err)
{
    const struct wb_adapters *adapters = wb_debug_adapters(debug, err);
    enum wb_attach_kind kind = args->port > 0 ? WB_ATTACH_PORT : WB_ATTACH_PID;
    struct wb_adapter_choice choice;
    const char *program = args->program.ptr != NULL ? wb_call_path(call, args->program, err) : NULL;
    if (args->port > 0 && args->pid > 0) {
        return wb_error_set(err, WB_ERROR_INVALID, "attach takes `port` or `pid`, not both");
    }
    if (adapters == NULL || (args->program.ptr != NULL && program == NULL) ||
        wb_choose_for_attach(call->arena, adapters, debug->workspace, kind, args->adapter.ptr,
                             &choice, err) != 0) {
        return -1;
    }
    const struct wb_template_values values = {
        .program = program,
        .cwd = debug->workspace,
        .root = choice.root,
        .interpreter = choice.interpreter,
        .port = args->port,
        .pid = args->pid,
        .stop_on_entry = args->stop_on_entry,
    };
    struct wb_debug_options options = common_options(debug, &choice, &values);
    options.request = &choice.row->attach[kind];
    options.arguments = options.request->arguments;
    options.stop_on_entry = args->stop_on_entry;
    options.title = kind == WB_ATTACH_PORT
                        ? wb_arena_printf(call->arena, "127.0.0.1:%lld", (long long)args->port)
                        : wb_arena_printf(call->arena, "process %lld", (long long)args->pid);
    if (options.request->is_direct) {
        options.commands = NULL;
        options.direct_port = args->port;
    }
    return run_session(debug, call, &options, &choice, NULL, wait_ms_of(args, ATTACH_WAIT_MS),
                       result, err);
}

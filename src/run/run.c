/* run: opening and closing, what is attached, and the surface that follows. The calls are in
 * call.c. */
#include <assert.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "run/nearest.h"
#include "run/run_private.h"
#include "sys/commit.h"
#include "sys/file.h"
#include "sys/path.h"

static char *random_id(struct wb_arena *arena)
{
    uint32_t bits;
    ssize_t got;
    do {
        got = getrandom(&bits, sizeof(bits), 0);
    } while (got != (ssize_t)sizeof(bits));
    return wb_arena_printf(arena, "%08x", bits);
}

/* "20261201-100000-1f2e3d4c": sorts by time in a folder. */
static char *new_conversation_id(struct wb_arena *arena)
{
    char time[32], digits[32];
    size_t n = 0;
    wb_clock_timestamp(time);
    for (const char *at = time; *at != '\0' && *at != '.'; at++) {
        if (*at == 'T') {
            digits[n++] = '-';
        } else if (*at >= '0' && *at <= '9') {
            digits[n++] = *at;
        }
    }
    return wb_arena_printf(arena, "%.*s-%s", (int)n, digits, random_id(arena));
}

char *wb_run_resolve_workspace(struct wb_arena *arena, const char *workspace, struct wb_error *err)
{
    WB_AUTO(wb_free_p) char *cwd = getcwd(NULL, 0);
    const char *absolute = wb_path_join(arena, cwd != NULL ? cwd : "/", workspace);
    char *real = wb_path_real(arena, absolute, err);
    if (real == NULL) {
        return NULL;
    }
    switch (wb_file_kind(real, NULL)) {
    case WB_FILE_FOLDER:
        return real;
    case WB_FILE_MISSING:
        wb_error_set(err, WB_ERROR_NOT_FOUND, "there is no folder %s to be the workspace", real);
        return NULL;
    default:
        wb_error_set(err, WB_ERROR_INVALID, "the workspace must be a folder, and %s is none", real);
        return NULL;
    }
}

static const char **tool_names(struct wb_run *run, size_t *ret_n)
{
    const struct wb_tool *const *tools = wb_host_tools(run->host);
    size_t n = 0;
    for (; tools[n] != NULL; n++) {
    }
    const char **names = wb_arena_alloc_array(&run->arena, n + 1, sizeof(*names));
    for (size_t i = 0; i < n; i++) {
        names[i] = tools[i]->name;
    }
    *ret_n = n;
    return names;
}

/* --tools: a name that no tool has would silently narrow the surface. */
static int copy_only(struct wb_run *run, const char *const *only, struct wb_error *err)
{
    size_t n_tools, n_only = 0;
    const char **names = tool_names(run, &n_tools);
    for (; only[n_only] != NULL; n_only++) {
        const char *near = wb_nearest(wb_span(only[n_only]), names, n_tools);
        if (near == NULL || !wb_str_equal(near, only[n_only])) {
            return wb_error_set(err, WB_ERROR_INVALID, "there is no tool `%.64s`%s%s%s",
                                only[n_only], near != NULL ? "; did you mean `" : "",
                                near != NULL ? near : "", near != NULL ? "`?" : "");
        }
    }
    run->only = wb_arena_alloc_array(&run->arena, n_only + 1, sizeof(*run->only));
    for (size_t i = 0; i < n_only; i++) {
        run->only[i] = wb_arena_strdup(&run->arena, only[i]);
    }
    return 0;
}

static enum wb_tier choose_tier(const struct wb_run *run, enum wb_tier option, const char *key,
                                enum wb_tier otherwise)
{
    enum wb_tier tier = otherwise;
    if (option != 0) {
        return option;
    }
    wb_tier_parse(wb_config_str(run->config, key, ""), &tier);
    return tier;
}

static void load_rules(struct wb_run *run)
{
    size_t n_files, n_tools = 0;
    const struct wb_rule_file *files = wb_config_rules(run->config, &n_files);
    const char **names = tool_names(run, &n_tools);
    run->rules = wb_rules_load(&run->arena, files, n_files, names, n_tools);
}

static void clean_transcripts(const struct wb_run *run)
{
    int64_t keep_days = wb_config_int(run->config, "conversations.keep_days", 0);
    if (keep_days > 0) {
        wb_transcripts_clean(keep_days);
    }
}

static int open_run(struct wb_run *run, const struct wb_run_options *options, struct wb_error *err)
{
    struct wb_error recover_err;
    run->workspace = wb_run_resolve_workspace(&run->arena, options->workspace, err);
    if (run->workspace == NULL) {
        return -1;
    }
    const struct wb_config_options config_options = {run->workspace, options->config_file,
                                                     options->trust};
    run->config = wb_config_load(&config_options, err);
    if (run->config == NULL) {
        return -1;
    }
    run->id = random_id(&run->arena);
    run->conversation_id = options->conversation_id != NULL
                               ? wb_arena_strdup(&run->arena, options->conversation_id)
                               : new_conversation_id(&run->arena);
    run->label = options->label != NULL ? wb_arena_strdup(&run->arena, options->label) : NULL;
    run->transcript = wb_transcript_open(run->conversation_id, err);
    if (run->transcript == NULL ||
        (options->only != NULL && copy_only(run, options->only, err) != 0)) {
        return -1;
    }
    run->cap = choose_tier(run, options->cap, "cap", WB_TIER_EXEC);
    run->allow = choose_tier(run, options->allow, "allow", WB_TIER_READ);
    load_rules(run);
    clean_transcripts(run);
    run->grants = wb_grants_new();
    run->port = options->port != NULL ? options->port : &wb_question_port_none;
    if (wb_commit_recover(run->workspace, &recover_err) < 0) {
        /* Nothing was touched and the journal is kept: the operator decides, and reading goes on. */
        wb_log(WB_LOG_WARNING, "%s", recover_err.message);
    }
    return 0;
}

static void free_run(struct wb_run *run)
{
    while (run->n_attached > 0) {
        struct wb_attached *attached = &run->attached[run->order[--run->n_attached]];
        if (attached->free_resource != NULL) {
            attached->free_resource(attached->resource);
        }
    }
    free(run->observers);
    wb_grants_free(run->grants);
    wb_transcript_close(run->transcript);
    wb_config_free(run->config);
    pthread_cond_destroy(&run->changed);
    pthread_mutex_destroy(&run->lock);
    wb_arena_done(&run->arena);
    free(run);
}

struct wb_run *wb_run_open(struct wb_host *host, const struct wb_run_options *options,
                           struct wb_error *err)
{
    struct wb_run *run = wb_alloc(sizeof(*run));
    run->host = host;
    wb_arena_init(&run->arena);
    pthread_mutex_init(&run->lock, NULL);
    wb_cond_init(&run->changed);
    if (open_run(run, options, err) != 0) {
        free_run(run);
        return NULL;
    }
    return run;
}

void wb_run_close(struct wb_run *run)
{
    if (run != NULL) {
        wb_run_end_calls(run);
        free_run(run);
    }
}

struct wb_host *wb_run_host(const struct wb_run *run)
{
    return run->host;
}

const char *wb_run_workspace(const struct wb_run *run)
{
    return run->workspace;
}

const char *wb_run_id(const struct wb_run *run)
{
    return run->id;
}

const char *wb_run_conversation_id(const struct wb_run *run)
{
    return run->conversation_id;
}

const struct wb_config *wb_run_config(const struct wb_run *run)
{
    return run->config;
}

struct wb_transcript *wb_run_transcript(const struct wb_run *run)
{
    return run->transcript;
}

const struct wb_question_port *wb_run_port(const struct wb_run *run)
{
    return run->port;
}

enum wb_tier wb_run_cap(const struct wb_run *run)
{
    return run->cap;
}

enum wb_tier wb_run_allow(const struct wb_run *run)
{
    return run->allow;
}

void wb_run_set_cap(struct wb_run *run, enum wb_tier cap)
{
    if (atomic_exchange(&run->cap, cap) != cap && run->surface_changed != NULL) {
        run->surface_changed(run->surface_ctx);
    }
}

void wb_run_on_surface_changed(struct wb_run *run, void (*changed)(void *ctx), void *ctx)
{
    run->surface_ctx = ctx;
    run->surface_changed = changed;
}

void wb_run_set_allow(struct wb_run *run, enum wb_tier allow)
{
    run->allow = allow;
}

void wb_run_attach(struct wb_run *run, enum wb_resource kind, void *resource,
                   void (*free_resource)(void *resource))
{
    assert(!run->attached[kind].is_attached);
    run->attached[kind] = (struct wb_attached){resource, free_resource, true};
    run->order[run->n_attached++] = kind;
}

void *wb_run_resource(const struct wb_run *run, enum wb_resource kind)
{
    return run->attached[kind].resource;
}

void wb_run_observe(struct wb_run *run, const struct wb_write_observer *observer)
{
    WB_GROW(run->observers, run->observers_capacity, run->n_observers + 1);
    run->observers[run->n_observers++] = *observer;
}

static bool is_named(const char *const *names, const char *name)
{
    while (*names != NULL && !wb_str_equal(*names, name)) {
        names++;
    }
    return *names != NULL;
}

static bool is_on_surface(const struct wb_run *run, const struct wb_tool *tool)
{
    return tool->tier <= run->cap && (run->only == NULL || is_named(run->only, tool->name)) &&
           (tool->available == NULL || tool->available(run));
}

const struct wb_tool *wb_run_next_tool(const struct wb_run *run, size_t *cursor)
{
    const struct wb_tool *const *tools = wb_host_tools(run->host);
    while (tools[*cursor] != NULL) {
        const struct wb_tool *tool = tools[(*cursor)++];
        if (is_on_surface(run, tool)) {
            return tool;
        }
    }
    return NULL;
}

const struct wb_tool *wb_run_find_tool(const struct wb_run *run, const char *name)
{
    const struct wb_tool *const *tools = wb_host_tools(run->host);
    for (; *tools != NULL; tools++) {
        if (wb_str_equal((*tools)->name, name)) {
            return is_on_surface(run, *tools) ? *tools : NULL;
        }
    }
    return NULL;
}

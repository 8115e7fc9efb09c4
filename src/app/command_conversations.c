/* conversations: the transcripts of this user, the latest first. */
#include <dirent.h>
#include <stdlib.h>
#include <time.h>

#include "app/command.h"
#include "app/output.h"
#include "base/json.h"
#include "sys/file.h"
#include "sys/path.h"

struct entry {
    const char *id, *workspace;
    struct wb_file_stamp stamp;
};

/* Where the conversation was, from its first events. */
static const char *find_workspace(struct wb_arena *arena, const char *path)
{
    struct wb_span content, line;
    struct wb_error ignored;
    if (wb_file_read(arena, path, WB_FILE_BYTES_MAX, &content, NULL, &ignored) != 0) {
        return "?";
    }
    while (wb_span_next_line(&content, &line)) {
        const struct wb_json *event =
            wb_utf8_valid(line) ? wb_json_parse(arena, line, &ignored) : NULL;
        const char *workspace = wb_json_str(wb_json_get(event, "workspace"));
        if (workspace != NULL) {
            return workspace;
        }
    }
    return "?";
}

static int latest_first(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return (x->stamp.mtime_ns < y->stamp.mtime_ns) - (x->stamp.mtime_ns > y->stamp.mtime_ns);
}

static size_t collect(struct wb_arena *arena, const char *folder, struct entry **ret)
{
    struct dirent *found;
    size_t n = 0, capacity = 0;
    DIR *dir = opendir(folder);
    *ret = NULL;
    while (dir != NULL && (found = readdir(dir)) != NULL) {
        const char *path = wb_path_join(arena, folder, found->d_name);
        struct entry entry = {0};
        if (wb_str_ends(found->d_name, ".jsonl") &&
            wb_file_kind(path, &entry.stamp) == WB_FILE_REGULAR) {
            entry.id =
                wb_arena_strndup(arena, found->d_name, strlen(found->d_name) - strlen(".jsonl"));
            entry.workspace = find_workspace(arena, path);
            *WB_ARENA_PUSH(arena, *ret, n, capacity) = entry;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return n;
}

static void put_entry(const struct entry *entry, struct wb_text *out)
{
    char when[32];
    struct tm tm;
    const time_t seconds = (time_t)(entry->stamp.mtime_ns / 1000000000);
    localtime_r(&seconds, &tm);
    strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
    wb_text_printf(out, "%s  %s  %s\n", entry->id, when, entry->workspace);
}

static int run(const struct wb_options *options, char **operands, int n_operands)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    WB_AUTO(wb_text_done) struct wb_text out = {0};
    struct entry *entries;
    struct wb_error err;
    (void)options;
    (void)operands;
    (void)n_operands;
    wb_arena_init(&arena);
    const char *state = wb_path_state_folder(&arena, &err);
    if (state == NULL) {
        return wb_command_refuse("%s", err.message);
    }
    size_t n = collect(&arena, wb_path_join(&arena, state, "conversations"), &entries);
    if (n > 0) {
        qsort(entries, n, sizeof(*entries), latest_first);
    }
    for (size_t i = 0; i < n; i++) {
        put_entry(&entries[i], &out);
    }
    return wb_output_write(wb_text_span(&out), &err) == 0 ? WB_EXIT_DONE : WB_EXIT_ERROR;
}

const struct wb_command wb_command_conversations = {
    .name = "conversations",
    .operands = "",
    .summary = "list the conversations that were recorded, the latest first",
    .details = "Each line has the id, when something was added last, and the workspace.\n"
               "`werkbank show ID` prints one.\n",
    .run = run,
};

/* assemble: see the header. */
#include "app/assemble.h"

#include <stdlib.h>
#include <unistd.h>

#include "ask/ask.h"
#include "ast/ast.h"
#include "debug/debug.h"
#include "kernel/kernels.h"
#include "lsp/lsp.h"
#include "staging/staging.h"
#include "sys/path.h"

/* Each in its own file, src/<folder>/tool_<name>.c. */
extern const struct wb_tool wb_tool_read, wb_tool_write, wb_tool_edit;
extern const struct wb_tool wb_tool_apply_patch, wb_tool_grep, wb_tool_glob, wb_tool_shell;
extern const struct wb_tool wb_tool_lsp, wb_tool_lsp_rename;
extern const struct wb_tool wb_tool_ast_grep, wb_tool_ast_edit, wb_tool_resolve;
extern const struct wb_tool wb_tool_ask_user;
extern const struct wb_tool wb_tool_debug;
extern const struct wb_tool wb_tool_eval;

const struct wb_tool *const wb_tools[] = {
    &wb_tool_read,     &wb_tool_write, &wb_tool_edit,       &wb_tool_apply_patch,
    &wb_tool_grep,     &wb_tool_glob,  &wb_tool_lsp,        &wb_tool_ast_grep,
    &wb_tool_ask_user, &wb_tool_shell, &wb_tool_lsp_rename, &wb_tool_ast_edit,
    &wb_tool_resolve,  &wb_tool_debug, &wb_tool_eval,       NULL,
};

/* The folder that the program's file is in. For a library, that of the program that loaded it. */
static const char *program_folder(struct wb_arena *arena)
{
    char path[WB_PATH_BYTES_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (len <= 0) {
        return NULL;
    }
    path[len] = '\0';
    return wb_path_dir(arena, path);
}

/* The last place is not looked at: starting a child names it in its error. */
static const char *find_guard(struct wb_arena *arena)
{
    static const char *const places[] = {"werkbank-guard", "../lib/werkbank/werkbank-guard"};
    const char *path = getenv("WERKBANK_GUARD");
    const char *folder = program_folder(arena);
    if (path != NULL && path[0] != '\0') {
        return path;
    }
    for (size_t i = 0; folder != NULL && i < WB_COUNT(places); i++) {
        path = wb_path_join(arena, folder, places[i]);
        if (access(path, X_OK) == 0) {
            return path;
        }
    }
    return WB_GUARD_INSTALLED;
}

struct wb_host *wb_assemble_host(const char *guard)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    wb_arena_init(&arena);
    const struct wb_host_options options = {
        .tools = wb_tools,
        .guard = guard != NULL ? guard : find_guard(&arena),
    };
    return wb_host_new(&options);
}

void wb_assemble_attach(struct wb_run *run)
{
    wb_lsp_attach(run);
    wb_ast_attach(run);
    wb_staging_attach(run);
    wb_ask_attach(run);
    wb_debug_attach(run);
    wb_kernel_attach(run);
}

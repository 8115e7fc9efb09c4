/* trust: the operator says that this workspace is believed, as it is now. */
#include "app/command.h"
#include "app/output.h"
#include "run/run.h"
#include "sys/file.h"
#include "sys/path.h"

static void describe(struct wb_arena *arena, struct wb_text *out, const char *workspace,
                     bool removed)
{
    const char *file = wb_path_join(arena, workspace, WB_CONFIG_PROJECT_FILE);
    if (removed) {
        wb_text_printf(out, "%s is not trusted any more.\n", workspace);
        return;
    }
    wb_text_printf(out, "%s is trusted: build scripts of the project may run.\n", workspace);
    if (wb_file_kind(file, NULL) == WB_FILE_REGULAR) {
        wb_text_printf(out, "%s is believed as it is now; a change asks again.\n", file);
    }
}

static int run(const struct wb_options *options, char **operands, int n_operands)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    WB_AUTO(wb_text_done) struct wb_text out = {0};
    struct wb_error err;
    (void)operands;
    (void)n_operands;
    wb_arena_init(&arena);
    const char *workspace = wb_run_resolve_workspace(&arena, options->workspace, &err);
    if (workspace == NULL) {
        return wb_command_refuse("%s", err.message);
    }
    if ((options->remove ? wb_config_distrust_workspace(workspace, &err)
                         : wb_config_trust(workspace, &err)) != 0) {
        wb_command_refuse("%s", err.message);
        return WB_EXIT_ERROR;
    }
    describe(&arena, &out, workspace, options->remove);
    return wb_output_write(wb_text_span(&out), NULL) == 0 ? WB_EXIT_DONE : WB_EXIT_ERROR;
}

const struct wb_command wb_command_trust = {
    .name = "trust",
    .operands = "",
    .options = WB_OPTION_WORKSPACE | WB_OPTION_REMOVE,
    .summary = "believe this workspace's build scripts and project file",
    .details =
        "A project's .werkbank.json that names commands or permissions is ignored, and project\n"
        "checks that run the project's own code are refused, until the workspace is trusted. The\n"
        "trust holds for the file's content as it is now. Read it first.\n",
    .run = run,
};

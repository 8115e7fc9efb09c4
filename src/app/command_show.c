/* show: one conversation, as text or as a page. */
#include "app/command.h"
#include "app/conversation_show.h"
#include "app/output.h"
#include "sys/file.h"
#include "sys/path.h"

static int read_transcript(struct wb_arena *arena, const char *id, const char **ret_folder,
                           struct wb_span *ret, struct wb_error *err)
{
    const char *state = wb_path_state_folder(arena, err);
    if (state == NULL) {
        return -1;
    }
    *ret_folder = wb_path_join(arena, state, "conversations");
    if (id[0] == '\0' || strchr(id, '/') != NULL) {
        return wb_error_set(err, WB_ERROR_INVALID, "`%.80s` is no conversation's id", id);
    }
    const char *path = wb_arena_printf(arena, "%s/%s.jsonl", *ret_folder, id);
    if (wb_file_kind(path, NULL) != WB_FILE_REGULAR) {
        return wb_error_set(err, WB_ERROR_NOT_FOUND,
                            "there is no conversation `%.80s`; `werkbank conversations` lists them",
                            id);
    }
    return wb_file_read(arena, path, SIZE_MAX / 4, ret, NULL, err);
}

static int run(const struct wb_options *options, char **operands, int n_operands)
{
    WB_AUTO(wb_arena_done) struct wb_arena arena;
    WB_AUTO(wb_text_done) struct wb_text out = {0};
    struct wb_span transcript;
    struct wb_error err;
    const char *folder;
    (void)n_operands;
    wb_arena_init(&arena);
    if (read_transcript(&arena, operands[0], &folder, &transcript, &err) != 0) {
        wb_command_refuse("%s", err.message);
        return WB_EXIT_ERROR;
    }
    if (options->html) {
        wb_conversation_show_html(transcript, operands[0], folder, &out);
    } else {
        wb_conversation_show_text(transcript, &out);
    }
    if (wb_output_write(wb_text_span(&out), &err) != 0) {
        wb_command_refuse("%s", err.message);
        return WB_EXIT_ERROR;
    }
    return WB_EXIT_DONE;
}

const struct wb_command wb_command_show = {
    .name = "show",
    .operands = "ID",
    .min_operands = 1,
    .max_operands = 1,
    .options = WB_OPTION_HTML,
    .summary = "print a conversation: calls, results, cards, answers, writes",
    .details = "--html makes one page with the pictures in it, to look at and to send.\n",
    .run = run,
};

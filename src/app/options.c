/* options: a table that says where each option goes, and getopt_long to walk argv. */
#include "app/options.h"

#include <getopt.h>

enum kind { KIND_FLAG, KIND_STRING, KIND_TIER, KIND_NAMES };

static const struct row {
    const char *name;
    const char *argument; /* NULL: none */
    unsigned group;       /* 0: every command takes it */
    enum kind kind;
    size_t offset;
    const char *doc;
} rows[] = {
    {"workspace", "DIR", WB_OPTION_WORKSPACE, KIND_STRING, offsetof(struct wb_options, workspace),
     "the folder to work in (default: the current one)"},
    {"cap", "TIER", WB_OPTION_RUN, KIND_TIER, offsetof(struct wb_options, cap),
     "the highest tier to show: read, write or exec (default)"},
    {"allow", "TIER", WB_OPTION_RUN, KIND_TIER, offsetof(struct wb_options, allow),
     "the highest tier that runs unasked: read (default), write or exec"},
    {"tools", "NAMES", WB_OPTION_RUN, KIND_NAMES, offsetof(struct wb_options, tools),
     "show only these tools: read,grep,lsp"},
    {"trust", NULL, WB_OPTION_RUN, KIND_FLAG, offsetof(struct wb_options, trust),
     "trust this workspace for this once, as `werkbank trust` does for good"},
    {"config", "FILE", WB_OPTION_RUN, KIND_STRING, offsetof(struct wb_options, config_file),
     "read this configuration after the user's and the project's"},
    {"conversation", "ID", WB_OPTION_RUN, KIND_STRING, offsetof(struct wb_options, conversation_id),
     "continue this conversation's transcript"},
    {"json", NULL, WB_OPTION_JSON, KIND_FLAG, offsetof(struct wb_options, json), "answer in JSON"},
    {"remove", NULL, WB_OPTION_REMOVE, KIND_FLAG, offsetof(struct wb_options, remove),
     "take the trust back"},
    {"plain", NULL, WB_OPTION_PLAIN, KIND_FLAG, offsetof(struct wb_options, plain),
     "lines of text only: no line editing, colours or pictures"},
    {"html", NULL, WB_OPTION_HTML, KIND_FLAG, offsetof(struct wb_options, html),
     "as one HTML page"},
    {"help", NULL, 0, KIND_FLAG, offsetof(struct wb_options, help), "say how this is used"},
    {"version", NULL, 0, KIND_FLAG, offsetof(struct wb_options, version),
     "say which version it is"},
};

static bool accepts(unsigned accepted, const struct row *row)
{
    return row->group == 0 || (row->group & accepted) != 0;
}

static int apply_tier(const struct row *row, enum wb_tier *ret, const char *value,
                      struct wb_error *err)
{
    if (!wb_tier_parse(value, ret)) {
        return wb_error_set(err, WB_ERROR_INVALID, "--%s takes read, write or exec, not `%.64s`",
                            row->name, value);
    }
    return 0;
}

static int apply_names(struct wb_arena *arena, const struct row *row, const char ***ret,
                       const char *value, struct wb_error *err)
{
    const char **names = NULL;
    size_t n = 0, capacity = 0;
    while (*value != '\0') {
        size_t len = strcspn(value, ",");
        if (len > 0) {
            *WB_ARENA_PUSH(arena, names, n, capacity) = wb_arena_strndup(arena, value, len);
        }
        value += len;
        value += *value == ',';
    }
    if (n == 0) {
        return wb_error_set(err, WB_ERROR_INVALID,
                            "--%s takes names with commas between them: read,grep", row->name);
    }
    *WB_ARENA_PUSH(arena, names, n, capacity) = NULL;
    *ret = names;
    return 0;
}

static int apply(struct wb_arena *arena, const struct row *row, struct wb_options *options,
                 const char *value, struct wb_error *err)
{
    void *field = (char *)options + row->offset;
    switch (row->kind) {
    case KIND_FLAG:
        *(bool *)field = true;
        return 0;
    case KIND_STRING:
        *(const char **)field = value;
        return 0;
    case KIND_TIER:
        return apply_tier(row, field, value, err);
    case KIND_NAMES:
        return apply_names(arena, row, field, value, err);
    }
    return 0;
}

/* getopt's table of the accepted rows; `val` is the row's place, above every character. */
static void build_long_options(unsigned accepted, struct option out[WB_COUNT(rows) + 1])
{
    size_t n = 0;
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        if (accepts(accepted, &rows[i])) {
            out[n++] = (struct option){.name = rows[i].name,
                                       .has_arg = rows[i].argument != NULL ? required_argument
                                                                           : no_argument,
                                       .val = 256 + (int)i};
        }
    }
    out[n] = (struct option){0};
}

int wb_options_parse(struct wb_arena *arena, int argc, char **argv, unsigned accepted,
                     struct wb_options *ret, char ***ret_operands, int *ret_n, struct wb_error *err)
{
    struct wb_options options = {.workspace = "."};
    struct option long_options[WB_COUNT(rows) + 1];
    int found;
    build_long_options(accepted, long_options);
    opterr = 0;
    optind = 1;
    while ((found = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
        if (found == ':') {
            return wb_error_set(err, WB_ERROR_INVALID, "%s needs a value", argv[optind - 1]);
        }
        if (found == '?') {
            return wb_error_set(err, WB_ERROR_INVALID, "there is no option %s here",
                                argv[optind - 1]);
        }
        if (found == 'h') {
            options.help = true;
        } else if (apply(arena, &rows[found - 256], &options, optarg, err) != 0) {
            return -1;
        }
    }
    *ret = options;
    *ret_operands = argv + optind;
    *ret_n = argc - optind;
    return 0;
}

void wb_options_help(struct wb_text *out, unsigned accepted)
{
    for (size_t i = 0; i < WB_COUNT(rows); i++) {
        const struct row *row = &rows[i];
        if (accepts(accepted, row)) {
            const char *argument = row->argument != NULL ? row->argument : "";
            wb_text_printf(out, "  --%s%s%-*s  %s\n", row->name, row->argument != NULL ? " " : "",
                           18 - (int)strlen(row->name) - (row->argument != NULL), argument,
                           row->doc);
        }
    }
}

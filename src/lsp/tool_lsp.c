/* lsp: asks the language servers of this checkout. The tool is the table; the work is in the
 * action_*.c files. */
#include "lsp/actions.h"
#include "run/gate.h"

static const char *const action_names[] = {
    [WB_LSP_DIAGNOSTICS] = "diagnostics",
    [WB_LSP_DEFINITION] = "definition",
    [WB_LSP_TYPE_DEFINITION] = "type_definition",
    [WB_LSP_IMPLEMENTATION] = "implementation",
    [WB_LSP_REFERENCES] = "references",
    [WB_LSP_HOVER] = "hover",
    [WB_LSP_SYMBOLS] = "symbols",
    [WB_LSP_CODE_ACTIONS] = "code_actions",
    [WB_LSP_STATUS] = "status",
    [WB_LSP_RELOAD] = "reload",
    NULL,
};

static wb_lsp_action_fn *const actions[] = {
    [WB_LSP_DIAGNOSTICS] = wb_lsp_diagnostics,
    [WB_LSP_DEFINITION] = wb_lsp_navigate,
    [WB_LSP_TYPE_DEFINITION] = wb_lsp_navigate,
    [WB_LSP_IMPLEMENTATION] = wb_lsp_navigate,
    [WB_LSP_REFERENCES] = wb_lsp_navigate,
    [WB_LSP_HOVER] = wb_lsp_hover,
    [WB_LSP_SYMBOLS] = wb_lsp_symbols,
    [WB_LSP_CODE_ACTIONS] = wb_lsp_code_actions,
    [WB_LSP_STATUS] = wb_lsp_status,
    [WB_LSP_RELOAD] = wb_lsp_reload,
};

static const struct wb_arg table[] = {
    {"action", WB_ARG_ENUM, offsetof(struct wb_lsp_args, action), .required = true,
     .choices = action_names, .doc = "what to ask"},
    {"file", WB_ARG_STRING, offsetof(struct wb_lsp_args, file), .max = 4096,
     .doc = "the file, relative to the workspace; for diagnostics also \"*\": the project check"},
    {"line", WB_ARG_INT, offsetof(struct wb_lsp_args, line), .min = 1, .max = INT32_MAX,
     .doc = "1-based line that the symbol stands on"},
    {"symbol", WB_ARG_STRING, offsetof(struct wb_lsp_args, symbol), .min = 1, .max = 1000,
     .doc = "the symbol as it is written on that line; name#2 is its second occurrence there, "
            "a.b asks about b"},
    {"query", WB_ARG_STRING, offsetof(struct wb_lsp_args, query), .max = 1000,
     .doc = "part of a symbol's name, to be searched in the whole workspace"},
};

static const struct wb_arg_rule rules[] = {
    {"diagnostics", "file", ""},
    {"definition", "file line symbol", ""},
    {"type_definition", "file line symbol", ""},
    {"implementation", "file line symbol", ""},
    {"references", "file line symbol", ""},
    {"hover", "file line symbol", ""},
    {"symbols", "file|query", ""},
    {"code_actions", "file line symbol", ""},
    {"status", "", ""},
    {"reload", "", "file"},
};

static int call_lsp(struct wb_call *call, const void *args, struct wb_result *result,
                    struct wb_error *err)
{
    const struct wb_lsp_args *a = args;
    return actions[a->action](wb_lsp_of_run(call->run), call, a, result, err);
}

static bool is_star(const struct wb_lsp_args *args)
{
    return args->action == WB_LSP_DIAGNOSTICS && wb_span_is(args->file, "*");
}

/* "*" is no file, so the argument is no WB_ARG_PATH; the gate hears of the file here. */
static int name_subject(struct wb_call *call, const void *args, struct wb_gate_subject *subject,
                        struct wb_error *err)
{
    const struct wb_lsp_args *a = args;
    if (a->file.ptr == NULL || is_star(a)) {
        return 0;
    }
    const char *path = wb_call_path(call, a->file, err);
    if (path == NULL) {
        return -1;
    }
    wb_gate_add_path(subject, path);
    return 0;
}

const struct wb_tool wb_tool_lsp = {
    .name = "lsp",
    .tier = WB_TIER_READ,
    .parallel_safe = true,
    .summary = "Ask the language server: definitions, references, hover, symbols, diagnostics",
    .description =
        "Asks the language servers of this workspace. Use it instead of searching text when you "
        "want to know what a name means: where it is declared (definition), its type "
        "(type_definition), concrete implementations (implementation), every use (references), "
        "signature and documentation (hover), the symbols of a file or of the workspace "
        "(symbols), errors and warnings of a file (diagnostics), quick fixes (code_actions). "
        "A place is named by file, 1-based line and the symbol's text on that line. "
        "diagnostics with file \"*\" runs the project's own check. status says which servers "
        "run and why others do not; reload restarts them.",
    .args = {table, WB_COUNT(table), sizeof(struct wb_lsp_args), rules, WB_COUNT(rules)},
    .available = wb_lsp_available,
    .subject = name_subject,
    .call = call_lsp,
};

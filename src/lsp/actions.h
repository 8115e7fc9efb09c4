/* actions: the lsp tool's actions, one function each; tool_lsp.c has the table. */
#ifndef WB_LSP_ACTIONS_H
#define WB_LSP_ACTIONS_H

#include "lsp/query.h"

enum wb_lsp_action {
    WB_LSP_DIAGNOSTICS,
    WB_LSP_DEFINITION,
    WB_LSP_TYPE_DEFINITION,
    WB_LSP_IMPLEMENTATION,
    WB_LSP_REFERENCES,
    WB_LSP_HOVER,
    WB_LSP_SYMBOLS,
    WB_LSP_CODE_ACTIONS,
    WB_LSP_STATUS,
    WB_LSP_RELOAD,
};

struct wb_lsp_args {
    int action; /* enum wb_lsp_action */
    struct wb_span file, symbol, query;
    int64_t line;
};

/* Each fills the result, or returns -1 with a sentence. */
typedef int wb_lsp_action_fn(struct wb_lsp *lsp, struct wb_call *call,
                             const struct wb_lsp_args *args, struct wb_result *result,
                             struct wb_error *err);

wb_lsp_action_fn wb_lsp_diagnostics;  /* action_diagnostics.c */
wb_lsp_action_fn wb_lsp_navigate;     /* action_navigate.c: the four that answer places */
wb_lsp_action_fn wb_lsp_hover;        /* action_hover.c */
wb_lsp_action_fn wb_lsp_symbols;      /* action_symbols.c */
wb_lsp_action_fn wb_lsp_code_actions; /* action_code.c */
wb_lsp_action_fn wb_lsp_status;       /* action_status.c */
wb_lsp_action_fn wb_lsp_reload;

#endif

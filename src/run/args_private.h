/* args_private: what args.c and args_rules.c share. Nobody else. */
#ifndef WB_RUN_ARGS_PRIVATE_H
#define WB_RUN_ARGS_PRIVATE_H

#include "run/args.h"

struct wb_args_decoder {
    struct wb_arena *arena;
    const char *tool_name;
    struct wb_error *err;
};

/* The argument's doc in parentheses, behind a sentence; "" where it has none. In the arena. */
const char *wb_args_doc_of(struct wb_arena *arena, const struct wb_arg *arg);

/* base: the decoded structure. */
int wb_args_check_rules(struct wb_args_decoder *d, const struct wb_args *args,
                        const struct wb_json *json, const char *base);

#endif

/* interpreter: which program runs the cells of a language in this workspace, and where: on the host
 * or behind the capsule's exec prefix. Any thread. */
#ifndef WB_KERNEL_INTERPRETER_H
#define WB_KERNEL_INTERPRETER_H

#include "base/arena.h"
#include "base/cancel.h"
#include "base/error.h"
#include "run/run.h"

enum wb_kernel_language { WB_KERNEL_PYTHON, WB_KERNEL_JAVASCRIPT, WB_KERNEL_LANGUAGES };

extern const char *const wb_kernel_language_names[WB_KERNEL_LANGUAGES + 1];

struct wb_interpreter {
    enum wb_kernel_language language;
    const char *program;         /* absolute on the host, as the capsule finds it there */
    const char *why;             /* "the project's .venv", "on PATH" */
    const char *const *argv;     /* for wb_kernel_options */
    const char *const *prefix;   /* the capsule's; NULL: on the host */
    const char *const *env;      /* additions and removals for the process */
    const char *const *cell_env; /* to set from inside: what a prefix does not pass on; or NULL */
    struct wb_span bootstrap;
    const char *told; /* a sentence for the first result, or NULL: the capsule does not run */
};

/* Chooses. In the arena. capsule_used: the conversation's kernels have run in the capsule: then its
 * absence is an error and not a reason to run on the host. */
WB_MUST_CHECK int wb_interpreter_choose(struct wb_arena *arena, const struct wb_run *run,
                                        enum wb_kernel_language language, bool capsule_used,
                                        struct wb_cancel *cancel, struct wb_interpreter *ret,
                                        struct wb_error *err);
/* For doctor; starts nothing. Appends "python: /usr/bin/python3 (on PATH)" or why there is none.
 * *ret_usable may be NULL. */
void wb_interpreter_survey(struct wb_arena *arena, const struct wb_run *run,
                           enum wb_kernel_language language, const char **ret_program,
                           const char **ret_why);

/* The environment of a kernel: additions, and names of ours that it must not see (secrets), as
 * wb_child_options takes them. environment.c */
const char *const *wb_kernel_environment(struct wb_arena *arena, const struct wb_run *run,
                                         const char *const *added);

#endif

/* interpreter: which program runs the cells of a language in this workspace, and where: on the host
 * or behind the capsule's exec prefix. Any thread. */
#ifndef WB_KERNEL_INTERPRETER_H
#define WB_KERNEL_INTERPRETER_H

#include "base/arena.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/json.h"
#include "run/run.h"

enum wb_kernel_language { WB_KERNEL_PYTHON, WB_KERNEL_JAVASCRIPT, WB_KERNEL_LANGUAGES };

/* "python", "javascript", NULL. */
extern const char *const wb_kernel_language_names[WB_KERNEL_LANGUAGES + 1];

/* A script of a version manager, and the program that it said is behind it: asked once. */
struct wb_interpreter_memory {
    char *script, *program; /* owned; NULL: nothing yet */
};

struct wb_interpreter {
    const char *program;         /* absolute on the host; behind a prefix as it was found there */
    const char *why;             /* "the project's .venv", "on PATH" */
    const char *const *argv;     /* the command line up to the nonce */
    const char *const *prefix;   /* the capsule's; NULL: on the host */
    const char *const *env;      /* of the process: additions, and removals of secrets */
    const char *const *cell_env; /* the additions again, for who has a prefix between; or NULL */
    struct wb_span bootstrap;
    const char
        *note; /* a sentence that the operator must read, or NULL: the capsule does not run */
};

/* Finds it on the host, and starts nothing. NULL: there is none, *ret_why says where it was looked
 * for and what to do. Else *ret_why says why this one. */
const char *wb_interpreter_find(struct wb_arena *arena, const struct wb_run *run,
                                enum wb_kernel_language language, const char **ret_why);

/* Chooses; everything is in the arena. capsule_was_used: kernels of this conversation have run in
 * the capsule: that it does not run now is an error then, and no reason to run on the host. Blocks
 * for probes: of the capsule, of a version manager's script. */
WB_MUST_CHECK int wb_interpreter_choose(struct wb_arena *arena, const struct wb_run *run,
                                        enum wb_kernel_language language, bool capsule_was_used,
                                        struct wb_interpreter_memory *memory, int64_t deadline_ms,
                                        struct wb_cancel *cancel, struct wb_interpreter *ret,
                                        struct wb_error *err);
void wb_interpreter_memory_done(struct wb_interpreter_memory *memory);
/* Is this version ("3.11.2") new enough for our side of the protocol? */
WB_MUST_CHECK int wb_interpreter_check_version(enum wb_kernel_language language,
                                               const char *version, struct wb_error *err);

/* For doctor; starts nothing. A line a language, and the same as a JSON array. */
void wb_interpreter_survey(struct wb_arena *arena, const struct wb_run *run, struct wb_text *out,
                           struct wb_json_writer *w);

/* environment.c: what a process sees of our environment: additions, and removals of secrets. */
const char *const *wb_kernel_environment(struct wb_arena *arena, const struct wb_run *run,
                                         const char *const *added);

#endif

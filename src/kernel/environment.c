/* environment: what a kernel sees of our environment: all but secrets, and what keeps programs from
 * waiting for a human, paging and colouring. */
#include <strings.h>
#include <unistd.h>

#include "kernel/interpreter.h"

static const char *const secret_words[] = {"KEY", "TOKEN", "SECRET", "PASSWORD", NULL};

static bool is_secret(const char *name, const char *const *words)
{
    while (*words != NULL && (**words == '\0' || strcasestr(name, *words) == NULL)) {
        words++;
    }
    return *words != NULL;
}

const char *const *wb_kernel_environment(struct wb_arena *arena, const struct wb_run *run,
                                         const char *const *added)
{
    const char *const *words =
        (const char *const *)wb_config_strings(wb_run_config(run), arena, "eval.secret_names");
    const char **env = NULL;
    size_t n = 0, capacity = 0;
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        const char *name = wb_arena_strndup(arena, *entry, strcspn(*entry, "="));
        if (is_secret(name, words != NULL ? words : secret_words)) {
            *WB_ARENA_PUSH(arena, env, n, capacity) = name;
        }
    }
    for (; added != NULL && *added != NULL; added++) {
        *WB_ARENA_PUSH(arena, env, n, capacity) = *added;
    }
    *WB_ARENA_PUSH(arena, env, n, capacity) = NULL;
    return env;
}

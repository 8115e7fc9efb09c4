/* kernels: see kernels.h. One part of the host; its lock guards the table and who has which kernel.
 * What a kernel is doing is behind the kernel's own lock. */
#include "kernel/kernels.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "kernel/spill.h"

#define START_S 20
#define LOOK_EVERY_MS 50   /* whether the cell before waits for a tool call by now */
#define KEPT_WITHOUT_RUN 4 /* conversations */

struct wb_kernel_slot {
    struct kernels *kernels;
    struct conversation *conversation;
    enum wb_kernel_language language;
    bool is_taken;            /* under the lock; the rest is the taker's */
    struct wb_kernel *kernel; /* NULL: none; read under the lock too */
    struct wb_bridge *bridge;
    struct wb_arena arena; /* of the kernel's start */
    const char *const *cell_env;
    struct wb_interpreter_memory memory;
    char *cwd;   /* NULL: not told yet */
    char *death; /* how the one before ended, not told yet */
};

struct conversation {
    char *id;
    unsigned n_runs;
    int64_t left_ms; /* when its last run was closed */
    bool capsule_was_used;
    struct wb_kernel_slot slots[WB_KERNEL_LANGUAGES];
    struct conversation *next;
};

struct kernels {
    pthread_mutex_t lock; /* of the table */
    pthread_cond_t changed;
    struct conversation *conversations;
};

/* What a run has. */
struct factory {
    struct kernels *kernels;
    struct conversation *conversation;
};

/* --- the table --- */

static void *make_kernels(struct wb_host *host)
{
    struct kernels *kernels = wb_alloc(sizeof(*kernels));
    (void)host;
    pthread_mutex_init(&kernels->lock, NULL);
    wb_cond_init(&kernels->changed);
    return kernels;
}

/* Whoever has the slot, or nobody. */
static void stop_kernel(struct wb_kernel_slot *slot)
{
    pthread_mutex_lock(&slot->kernels->lock);
    struct wb_kernel *kernel = WB_STEAL(slot->kernel);
    struct wb_bridge *bridge = WB_STEAL(slot->bridge);
    pthread_mutex_unlock(&slot->kernels->lock);
    if (bridge != NULL) {
        wb_bridge_end(bridge);
    }
    wb_kernel_free(kernel);
    wb_bridge_free(bridge);
    wb_arena_clear(&slot->arena);
    free(slot->cwd);
    slot->cwd = NULL;
    slot->cell_env = NULL;
}

static void free_conversation(struct conversation *conversation)
{
    for (size_t i = 0; i < WB_KERNEL_LANGUAGES; i++) {
        struct wb_kernel_slot *slot = &conversation->slots[i];
        stop_kernel(slot);
        wb_arena_done(&slot->arena);
        wb_interpreter_memory_done(&slot->memory);
        free(slot->death);
    }
    free(conversation->id);
    free(conversation);
}

static void free_kernels(void *part)
{
    struct kernels *kernels = part;
    while (kernels->conversations != NULL) {
        struct conversation *conversation = kernels->conversations;
        kernels->conversations = conversation->next;
        free_conversation(conversation);
    }
    pthread_cond_destroy(&kernels->changed);
    pthread_mutex_destroy(&kernels->lock);
    free(kernels);
}

/* Under the lock. */
static struct conversation *get_conversation(struct kernels *kernels, const char *id)
{
    struct conversation *conversation = kernels->conversations;
    while (conversation != NULL && !wb_str_equal(conversation->id, id)) {
        conversation = conversation->next;
    }
    if (conversation == NULL) {
        conversation = wb_alloc(sizeof(*conversation));
        conversation->id = wb_strdup(id);
        conversation->next = kernels->conversations;
        kernels->conversations = conversation;
        for (size_t i = 0; i < WB_KERNEL_LANGUAGES; i++) {
            struct wb_kernel_slot *slot = &conversation->slots[i];
            slot->kernels = kernels;
            slot->conversation = conversation;
            slot->language = (enum wb_kernel_language)i;
            wb_arena_init(&slot->arena);
        }
    }
    return conversation;
}

/* Under the lock: takes out the conversation that has been without a run longest, where there are
 * too many of them. */
static struct conversation *take_forgotten(struct kernels *kernels)
{
    struct conversation **oldest = NULL;
    size_t n = 0;
    for (struct conversation **link = &kernels->conversations; *link != NULL;
         link = &(*link)->next) {
        if ((*link)->n_runs == 0) {
            n++;
            oldest = oldest == NULL || (*link)->left_ms < (*oldest)->left_ms ? link : oldest;
        }
    }
    if (n <= KEPT_WITHOUT_RUN) {
        return NULL;
    }
    struct conversation *forgotten = *oldest;
    *oldest = forgotten->next;
    return forgotten;
}

static void detach(void *resource)
{
    struct factory *factory = resource;
    struct kernels *kernels = factory->kernels;
    pthread_mutex_lock(&kernels->lock);
    factory->conversation->n_runs--;
    factory->conversation->left_ms = wb_clock_now_ms();
    struct conversation *forgotten = take_forgotten(kernels);
    pthread_mutex_unlock(&kernels->lock);
    if (forgotten != NULL) {
        free_conversation(forgotten);
    }
    free(factory);
}

void wb_kernel_attach(struct wb_run *run)
{
    static const char part;
    struct factory *factory = wb_alloc(sizeof(*factory));
    factory->kernels = wb_host_part(wb_run_host(run), &part, make_kernels, free_kernels);
    pthread_mutex_lock(&factory->kernels->lock);
    factory->conversation = get_conversation(factory->kernels, wb_run_conversation_id(run));
    factory->conversation->n_runs++;
    pthread_mutex_unlock(&factory->kernels->lock);
    wb_run_attach(run, WB_RESOURCE_KERNELS, factory, detach);
}

bool wb_kernel_available(const struct wb_run *run)
{
    return wb_run_resource(run, WB_RESOURCE_KERNELS) != NULL;
}

/* --- taking one --- */

static void wake_takers(void *ctx)
{
    struct kernels *kernels = ctx;
    pthread_mutex_lock(&kernels->lock);
    pthread_cond_broadcast(&kernels->changed);
    pthread_mutex_unlock(&kernels->lock);
}

/* Under the lock: looks again now and then. -1: it is in vain. */
static int await_slot(struct wb_call *call, struct wb_kernel_slot *slot, bool reset,
                      struct wb_error *err)
{
    struct kernels *kernels = slot->kernels;
    while (slot->is_taken) {
        if (reset && slot->kernel != NULL) {
            wb_kernel_kill(slot->kernel, WB_CELL_STOP_RESET);
        } else if (slot->bridge != NULL && wb_bridge_outstanding(slot->bridge) > 0) {
            return wb_error_set(err, WB_ERROR_DENIED,
                                "the interpreter runs a cell that waits for a tool call, which "
                                "this call may be part of: `eval` inside `eval` is refused");
        }
        if (wb_cancel_is_fired(call->cancel)) {
            return wb_error_set(err, WB_ERROR_CANCELLED, "cancelled before the cell began");
        }
        if (wb_clock_left_ms(call->deadline_ms) == 0) {
            return wb_error_set(err, WB_ERROR_TIMEOUT,
                                "another cell of this conversation was still running at the "
                                "deadline");
        }
        wb_cond_wait(&kernels->changed, &kernels->lock,
                     WB_MIN(call->deadline_ms, wb_clock_deadline(LOOK_EVERY_MS)));
    }
    slot->is_taken = true;
    return 0;
}

static void leave_slot(struct wb_kernel_slot *slot)
{
    pthread_mutex_lock(&slot->kernels->lock);
    slot->is_taken = false;
    pthread_cond_broadcast(&slot->kernels->changed);
    pthread_mutex_unlock(&slot->kernels->lock);
}

/* The lines that the first result begins with. */
static void tell_fresh(struct wb_kernel_slot *slot, const struct wb_interpreter *interpreter,
                       bool reset, struct wb_text *out)
{
    const struct wb_kernel_hello *hello = wb_kernel_hello(slot->kernel);
    if (slot->death != NULL && !reset) {
        wb_text_printf(out, "[the earlier interpreter %s: its variables and imports are gone]\n",
                       slot->death);
    }
    wb_text_printf(out, "[fresh %s %s: %s (%s)]\n", wb_kernel_language_names[slot->language],
                   hello->version,
                   *hello->executable != '\0' ? hello->executable : interpreter->program,
                   interpreter->why);
    if (interpreter->note != NULL) {
        wb_text_printf(out, "[%s]\n", interpreter->note);
    }
}

static int start_kernel(struct wb_call *call, struct wb_kernel_slot *slot, bool reset,
                        struct wb_text *told, struct wb_error *err)
{
    const struct wb_run *run = call->run;
    const struct wb_config *config = wb_run_config(run);
    struct wb_host *host = wb_run_host(run);
    struct wb_interpreter interpreter;
    int64_t deadline_ms =
        wb_call_deadline(call, 1000 * wb_config_int(config, "eval.start_timeout_s", START_S));
    wb_spill_prune();
    if (wb_interpreter_choose(&slot->arena, run, slot->language,
                              slot->conversation->capsule_was_used, &slot->memory, deadline_ms,
                              call->cancel, &interpreter, err) != 0) {
        return -1;
    }
    struct wb_bridge *bridge = wb_bridge_new();
    const struct wb_kernel_options options = {
        .loop = wb_host_loop(host),
        .guard = wb_host_guard(host),
        .program = interpreter.program,
        .argv = interpreter.argv,
        .prefix = interpreter.prefix,
        .env = interpreter.env,
        .cwd = wb_run_workspace(run),
        .bootstrap = interpreter.bootstrap,
        .memory_bytes = (int64_t)WB_MIB * wb_config_int(config, "eval.memory_mb", 0),
        .port = wb_bridge_port(bridge),
    };
    struct wb_kernel *kernel = wb_kernel_start(&options, deadline_ms, call->cancel, err);
    if (kernel == NULL ||
        wb_interpreter_check_version(slot->language, wb_kernel_hello(kernel)->version, err) != 0) {
        wb_kernel_free(kernel);
        wb_bridge_free(bridge);
        return -1;
    }
    pthread_mutex_lock(&slot->kernels->lock);
    slot->kernel = kernel;
    slot->bridge = bridge;
    slot->conversation->capsule_was_used |= interpreter.prefix != NULL;
    pthread_mutex_unlock(&slot->kernels->lock);
    slot->cell_env = interpreter.cell_env;
    slot->cwd = wb_strdup(wb_kernel_hello(kernel)->cwd);
    tell_fresh(slot, &interpreter, reset, told);
    return 0;
}

/* The slot is ours: a kernel that can run a cell. */
static int prepare(struct wb_call *call, struct wb_kernel_slot *slot, bool reset,
                   struct wb_text *told, struct wb_error *err)
{
    struct wb_text cause = {0};
    if (slot->kernel != NULL && !wb_kernel_is_alive(slot->kernel, &cause) && slot->death == NULL) {
        slot->death = wb_text_steal(&cause);
    }
    wb_text_done(&cause);
    if (slot->kernel != NULL && (reset || slot->death != NULL)) {
        stop_kernel(slot);
    }
    if (slot->kernel == NULL && start_kernel(call, slot, reset, told, err) != 0) {
        return -1;
    }
    free(slot->death);
    slot->death = NULL;
    return 0;
}

int wb_kernels_take(struct wb_call *call, enum wb_kernel_language language, bool reset,
                    struct wb_kernel_lease *ret, struct wb_error *err)
{
    const struct factory *factory = wb_run_resource(call->run, WB_RESOURCE_KERNELS);
    struct wb_kernel_slot *slot = &factory->conversation->slots[language];
    struct wb_cancel_hook hook = {.fire = wake_takers, .ctx = slot->kernels};
    struct wb_text told = {0};
    wb_cancel_hook_add(call->cancel, &hook);
    pthread_mutex_lock(&slot->kernels->lock);
    int status = await_slot(call, slot, reset, err);
    pthread_mutex_unlock(&slot->kernels->lock);
    wb_cancel_hook_remove(call->cancel, &hook);
    if (status != 0) {
        return -1;
    }
    if (prepare(call, slot, reset, &told, err) != 0) {
        wb_text_done(&told);
        leave_slot(slot);
        return -1;
    }
    *ret =
        (struct wb_kernel_lease){slot, slot->kernel, slot->bridge, slot->cell_env, slot->cwd, told};
    slot->cell_env = NULL;
    return 0;
}

void wb_kernels_give(struct wb_kernel_lease *lease, const struct wb_cell *cell)
{
    struct wb_kernel_slot *slot = lease->slot;
    if (cell->cwd != NULL) {
        free(slot->cwd);
        slot->cwd = wb_strdup(cell->cwd);
    }
    if (cell->death != NULL) {
        slot->death = wb_strdup(cell->death);
    }
    leave_slot(slot);
}

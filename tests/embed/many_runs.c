/* many_runs: several runs of one host at once, through the embedding interface.
 *     many_runs WORKSPACE FOLDER
 * FOLDER has the configurations quick.json and slow.json, whose language server is
 * tests/peers/scripted_lsp.py; it notes its starts in quick.journal and slow.journal. 200 calls of 8 runs must share one process; 100 calls of 4 runs must each end with a
 * sentence while somebody kills the server; afterwards no descriptor and no process may be left. And
 * each attach call gives exactly its tools, which stay when nothing is usable. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <werkbank.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "many_runs: line %d: %s\n", __LINE__, #condition);                     \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define HOVER "{\"action\": \"hover\", \"file\": \"main.scr\", \"line\": 3, \"symbol\": \"hello\"}"

static const char *workspace, *config, *journal;
static char error[WERKBANK_ERROR_BYTES];

static void sleep_ms(long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static struct werkbank_run *open_run(struct werkbank_host *host)
{
    struct werkbank_run_options options = {
        .size = sizeof(options), .workspace = workspace, .config_file = config, .trust = true};
    struct werkbank_run *run = werkbank_run_open(host, &options, error);
    if (run == NULL) {
        fprintf(stderr, "many_runs: %s\n", error);
        exit(1);
    }
    return run;
}

/* The descriptors that are open; `tell` names them. */
static int count_descriptors(bool tell)
{
    char name[300], target[300];
    const struct dirent *entry;
    int n = 0;
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder != NULL);
    while ((entry = readdir(folder)) != NULL) {
        n++;
        snprintf(name, sizeof(name), "/proc/self/fd/%s", entry->d_name);
        ssize_t length = readlink(name, target, sizeof(target) - 1);
        if (tell && length > 0) {
            fprintf(stderr, "many_runs: descriptor %s is %.*s\n", entry->d_name, (int)length,
                    target);
        }
    }
    closedir(folder);
    return n;
}

/* --- the journal --- */

/* The starts so far; *ret_pid is the last one's, or 0. */
static int read_starts(int *ret_pid)
{
    char line[8192];
    int n = 0;
    FILE *file = fopen(journal, "re");
    *ret_pid = 0;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        const char *pid = strstr(line, "\"pid\": ");
        if (strstr(line, "\"event\": \"start\"") != NULL && pid != NULL) {
            *ret_pid = atoi(pid + 7);
            n++;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return n;
}

/* --- many calls at once --- */

struct tally {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int n_done, n_good, n_told; /* told: an error with the server's name in its sentence */
};

static void count_result(void *ctx, struct werkbank_result *result)
{
    struct tally *tally = ctx;
    const char *text = werkbank_result_text(result);
    bool good = !werkbank_result_is_error(result) && strstr(text, "def hello") != NULL;
    bool told = werkbank_result_is_error(result) && strstr(text, "scripted") != NULL;
    if (!good && !told) {
        fprintf(stderr, "many_runs: %s\n", text);
    }
    werkbank_result_free(result);
    pthread_mutex_lock(&tally->lock);
    tally->n_done++;
    tally->n_good += good;
    tally->n_told += told;
    pthread_cond_signal(&tally->changed);
    pthread_mutex_unlock(&tally->lock);
}

static void wait_for_all(struct tally *tally, int n)
{
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 120; /* only against a hang: each call has a deadline of its own */
    pthread_mutex_lock(&tally->lock);
    while (tally->n_done < n) {
        CHECK(pthread_cond_timedwait(&tally->changed, &tally->lock, &deadline) == 0);
    }
    pthread_mutex_unlock(&tally->lock);
}

static void call_from(struct werkbank_host *host, int n_runs, int n_calls, struct tally *tally)
{
    struct werkbank_run *runs[8];
    const struct werkbank_call_options options = {.size = sizeof(options), .timeout_ms = 20000};
    for (int i = 0; i < n_runs; i++) {
        runs[i] = open_run(host);
        werkbank_run_attach_language_servers(runs[i]);
    }
    for (int i = 0; i < n_calls; i++) {
        werkbank_run_submit(runs[i % n_runs], "lsp", HOVER, &options, count_result, tally);
        if (i % 10 == 9) {
            sleep_ms(5);
        }
    }
    wait_for_all(tally, n_calls);
    for (int i = 0; i < n_runs; i++) {
        werkbank_run_close(runs[i]);
    }
}

static void test_one_server(void)
{
    struct tally tally = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0};
    struct werkbank_host *host = werkbank_host_open(NULL, error);
    int pid;
    CHECK(host != NULL);
    call_from(host, 8, 200, &tally);
    CHECK(tally.n_good == 200);
    CHECK(read_starts(&pid) == 1);
    werkbank_host_close(host);
}

/* --- with somebody who kills the server --- */

static atomic_bool is_over;

static void *kill_servers(void *ctx)
{
    int last = 0, pid, *n_killed = ctx;
    while (!is_over) {
        read_starts(&pid);
        if (pid != last && pid > 0) {
            sleep_ms(30); /* somewhere among its first answers */
            if (kill(pid, SIGKILL) == 0) {
                ++*n_killed;
            }
            last = pid;
        }
        sleep_ms(2);
    }
    return NULL;
}

static void test_killed_servers(void)
{
    struct tally tally = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0};
    struct werkbank_host *host = werkbank_host_open(NULL, error);
    pthread_t killer;
    int n_killed = 0;
    CHECK(host != NULL);
    CHECK(pthread_create(&killer, NULL, kill_servers, &n_killed) == 0);
    call_from(host, 4, 100, &tally);
    is_over = true;
    pthread_join(killer, NULL);
    werkbank_host_close(host);
    CHECK(n_killed > 0);
    CHECK(tally.n_good + tally.n_told == 100);
    CHECK(tally.n_told > 0);
}

/* --- surfaces --- */

static bool has_tool(const struct werkbank_run *run, const char *name)
{
    const struct werkbank_tool *tool = NULL;
    while ((tool = werkbank_run_next_tool(run, tool)) != NULL) {
        if (strcmp(werkbank_tool_name(tool), name) == 0) {
            return true;
        }
    }
    return false;
}

static const struct resource {
    void (*attach)(struct werkbank_run *run);
    const char *tools[3];
    const char *call[2]; /* a tool and arguments that ask what is usable; or NULL */
} resources[] = {
    {werkbank_run_attach_language_servers,
     {"lsp", "lsp_rename"},
     {"lsp", "{\"action\": \"status\"}"}},
    {werkbank_run_attach_debugger, {"debug"}, {"debug", "{\"operation\": \"adapters\"}"}},
    {werkbank_run_attach_kernels,
     {"eval"},
     {"eval", "{\"code\": \"1\", \"description\": \"one and nothing else\"}"}},
    {werkbank_run_attach_parsers, {"ast_grep"}, {NULL, NULL}},
    {werkbank_run_attach_staging, {"resolve"}, {NULL, NULL}},
};

#define N_RESOURCES (sizeof(resources) / sizeof(resources[0]))

static void check_surface(const struct werkbank_run *run, size_t attached)
{
    for (size_t i = 0; i < N_RESOURCES; i++) {
        for (size_t k = 0; k < 3 && resources[i].tools[k] != NULL; k++) {
            CHECK(has_tool(run, resources[i].tools[k]) == (i == attached));
        }
    }
    CHECK(!has_tool(run, "ast_edit")); /* needs parsers and staging */
    CHECK(has_tool(run, "read") && has_tool(run, "shell"));
}

/* Attached with an empty PATH, the tools stay and say why nothing works. */
static void check_says_why(struct werkbank_run *run, const struct resource *resource)
{
    if (resource->call[0] != NULL) {
        struct werkbank_result *result =
            werkbank_run_call(run, resource->call[0], resource->call[1], NULL);
        CHECK(strlen(werkbank_result_text(result)) > 40);
        CHECK(strstr(werkbank_result_text(result), "PATH") != NULL);
        werkbank_result_free(result);
    }
}

static void test_surfaces(void)
{
    struct werkbank_host *host = werkbank_host_open(NULL, error);
    char *path = strdup(getenv("PATH"));
    CHECK(host != NULL);
    config = NULL;
    setenv("PATH", "", 1);
    for (size_t i = 0; i < N_RESOURCES; i++) {
        struct werkbank_run_options options = {
            .size = sizeof(options), .workspace = workspace, .allow = WERKBANK_EXEC};
        struct werkbank_run *run = werkbank_run_open(host, &options, error);
        CHECK(run != NULL);
        check_surface(run, N_RESOURCES);
        resources[i].attach(run);
        check_surface(run, i);
        check_says_why(run, &resources[i]);
        werkbank_run_close(run);
    }
    setenv("PATH", path, 1);
    free(path);
    struct werkbank_run *run = open_run(host);
    werkbank_run_attach_parsers(run);
    werkbank_run_attach_staging(run);
    CHECK(has_tool(run, "ast_edit"));
    werkbank_run_close(run);
    werkbank_host_close(host);
}

static void choose(const char *folder, const char *name)
{
    static char paths[2][4096];
    snprintf(paths[0], sizeof(paths[0]), "%s/%s.json", folder, name);
    snprintf(paths[1], sizeof(paths[1]), "%s/%s.journal", folder, name);
    config = paths[0];
    journal = paths[1];
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    workspace = argv[1];
    choose(argv[2], "quick");
    test_one_server();
    int n_descriptors =
        count_descriptors(false); /* what libuv keeps for the process is there now */
    choose(argv[2], "slow");
    test_killed_servers();
    test_surfaces();
    if (count_descriptors(false) != n_descriptors) {
        count_descriptors(true);
        CHECK(!"descriptors are left open");
    }
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    puts("many_runs: ok");
    return 0;
}

/* spawn: pipes, posix_spawn of the guard, its first report.
 *
 * posix_spawn and not fork: a fork copies the page tables of the host, 38 ms at 1 GiB. The guard
 * does in its own small process what posix_spawn cannot (a working directory whose failure can be
 * told from the program's, orphans). Must not know what becomes of the child later. */
#include "sys/spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "sys/guard/protocol.h"

#define START_TIMEOUT_MS 20000 /* a program on a dead network disk */

enum { IN_OURS, IN_CHILD, OUT_OURS, OUT_CHILD, ERR_OURS, ERR_CHILD, CONTROL_OURS, CONTROL_GUARD };

/* The two ends of each pipe; -1: none. */
struct ends {
    int fd[8];
};

static void close_ends(struct ends *ends)
{
    for (size_t i = 0; i < WB_COUNT(ends->fd); i++) {
        if (ends->fd[i] >= 0) {
            close(ends->fd[i]);
        }
    }
}

/* A host that was started with its own 0-2 closed gets pipes there, in the way of the child's. */
static int lift(int fd)
{
    if (fd > WB_GUARD_CONTROL_FD) {
        return fd;
    }
    int lifted = fcntl(fd, F_DUPFD_CLOEXEC, WB_GUARD_CONTROL_FD + 1);
    close(fd);
    return lifted;
}

static int open_pipe(struct ends *ends, int reader, int writer)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) {
        return -1;
    }
    ends->fd[reader] = lift(fds[0]);
    ends->fd[writer] = lift(fds[1]);
    return ends->fd[reader] < 0 || ends->fd[writer] < 0 ? -1 : 0;
}

static int open_ends(const struct wb_child_options *options, struct ends *ends)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
        return -1;
    }
    ends->fd[CONTROL_OURS] = lift(fds[0]);
    ends->fd[CONTROL_GUARD] = lift(fds[1]);
    if (ends->fd[CONTROL_OURS] < 0 || ends->fd[CONTROL_GUARD] < 0 ||
        open_pipe(ends, IN_CHILD, IN_OURS) != 0 ||
        (options->out.on_data != NULL && open_pipe(ends, OUT_OURS, OUT_CHILD) != 0) ||
        (!options->stderr_to_stdout && open_pipe(ends, ERR_OURS, ERR_CHILD) != 0)) {
        return -1;
    }
    return 0;
}

static void plan_files(const struct wb_child_options *options, const struct ends *ends,
                       posix_spawn_file_actions_t *files)
{
    posix_spawn_file_actions_adddup2(files, ends->fd[IN_CHILD], STDIN_FILENO);
    if (ends->fd[OUT_CHILD] >= 0) {
        posix_spawn_file_actions_adddup2(files, ends->fd[OUT_CHILD], STDOUT_FILENO);
    } else {
        posix_spawn_file_actions_addopen(files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    }
    posix_spawn_file_actions_adddup2(
        files, options->stderr_to_stdout ? STDOUT_FILENO : ends->fd[ERR_CHILD], STDERR_FILENO);
    posix_spawn_file_actions_adddup2(files, ends->fd[CONTROL_GUARD], WB_GUARD_CONTROL_FD);
    /* The embedder's descriptors may lack close-on-exec. */
    posix_spawn_file_actions_addclosefrom_np(files, WB_GUARD_CONTROL_FD + 1);
}

/* Signals as a fresh process has them, whatever the embedder blocks or ignores. */
static void plan_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setflags(attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
}

static size_t count_strings(const char *const *strings)
{
    size_t n = 0;
    while (strings != NULL && strings[n] != NULL) {
        n++;
    }
    return n;
}

/* By NAME=value, or removed by NAME alone. */
static bool is_replaced(const char *entry, const char *const *by)
{
    size_t name_len = strcspn(entry, "=");
    for (size_t i = 0; by != NULL && by[i] != NULL; i++) {
        if (strcspn(by[i], "=") == name_len && strncmp(entry, by[i], name_len) == 0) {
            return true;
        }
    }
    return false;
}

/* Ours without what is replaced or removed, then theirs. The array is the caller's, the strings are not. */
static const char **merge_environment(const char *const *added)
{
    const char *const *ours = (const char *const *)environ;
    const char **merged =
        wb_alloc_array(count_strings(ours) + count_strings(added) + 1, sizeof(*merged));
    size_t n = 0;
    for (size_t i = 0; ours != NULL && ours[i] != NULL; i++) {
        if (!is_replaced(ours[i], added)) {
            merged[n++] = ours[i];
        }
    }
    for (size_t i = 0; added != NULL && added[i] != NULL; i++) {
        if (strchr(added[i], '=') != NULL) {
            merged[n++] = added[i];
        }
    }
    return merged;
}

/* The guard's command line; see sys/guard/protocol.h. */
static pid_t spawn_guard(const struct wb_child_options *options, const struct ends *ends)
{
    char host[16], memory[24];
    snprintf(host, sizeof(host), "%d", (int)getpid());
    snprintf(memory, sizeof(memory), "%lld", (long long)options->memory_bytes);
    size_t n_prefix = count_strings(options->prefix), n_args = count_strings(options->argv);
    WB_AUTO(wb_free_p) const char **argv = wb_alloc_array(4 + n_prefix + n_args + 1, sizeof(*argv));
    WB_AUTO(wb_free_p) const char **env = merge_environment(options->env);
    argv[0] = options->guard;
    argv[1] = host;
    argv[2] = memory;
    argv[3] = options->cwd != NULL ? options->cwd : "";
    for (size_t i = 0; i < n_prefix; i++) {
        argv[4 + i] = options->prefix[i];
    }
    for (size_t i = 0; i < n_args; i++) {
        argv[4 + n_prefix + i] = options->argv[i];
    }
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    plan_files(options, ends, &files);
    plan_attributes(&attributes);
    pid_t pid;
    int error = posix_spawn(&pid, options->guard, &files, &attributes, (char *const *)argv,
                            (char *const *)env);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    errno = error;
    return error == 0 ? pid : -1;
}

static int explain_failure(const struct wb_child_options *options,
                           const struct wb_guard_record *report, struct wb_error *err)
{
    const char *program =
        count_strings(options->prefix) != 0 ? options->prefix[0] : options->argv[0];
    switch (report->flag) {
    case WB_GUARD_STEP_CWD:
        return wb_error_errno(err, report->value, "cannot start %s in %s", program, options->cwd);
    case WB_GUARD_STEP_EXEC:
        if (report->value == ENOENT && strchr(program, '/') != NULL && access(program, F_OK) == 0) {
            return wb_error_set(err, WB_ERROR_UNAVAILABLE,
                                "cannot start %s: the interpreter or loader that it names does "
                                "not exist",
                                program);
        }
        return wb_error_errno(err, report->value, "cannot start %s", program);
    default:
        return wb_error_errno(err, report->value, "cannot start %s: its guard failed", program);
    }
}

/* The first report: started, failed, or none. */
static int await_start(const struct wb_child_options *options, int control, pid_t *ret_pid,
                       struct wb_error *err)
{
    struct pollfd event = {.fd = control, .events = POLLIN};
    int n;
    do {
        n = poll(&event, 1, START_TIMEOUT_MS);
    } while (n < 0 && errno == EINTR);
    if (n == 0) {
        return wb_error_set(err, WB_ERROR_TIMEOUT, "cannot start %s: it did not start within %d s",
                            options->argv[0], START_TIMEOUT_MS / 1000);
    }
    struct wb_guard_record report;
    if (recv(control, &report, sizeof(report), 0) != (ssize_t)sizeof(report)) {
        return wb_error_set(err, WB_ERROR_IO, "cannot start %s: its guard %s ended at once",
                            options->argv[0], options->guard);
    }
    if (report.kind != WB_GUARD_STARTED) {
        return explain_failure(options, &report, err);
    }
    *ret_pid = report.value;
    return 0;
}

int wb_spawn(const struct wb_child_options *options, struct wb_spawned *ret, struct wb_error *err)
{
    assert(options->guard != NULL && options->argv[0] != NULL);
    WB_AUTO(close_ends) struct ends ends = {{-1, -1, -1, -1, -1, -1, -1, -1}};
    if (count_strings(options->argv) + count_strings(options->prefix) > WB_CHILD_ARGS_MAX) {
        return wb_error_set(err, WB_ERROR_LIMIT, "cannot start %s: more than %d arguments",
                            options->argv[0], WB_CHILD_ARGS_MAX);
    }
    if (open_ends(options, &ends) != 0) {
        return wb_error_errno(err, errno, "cannot open pipes for %s", options->argv[0]);
    }
    pid_t guard = spawn_guard(options, &ends);
    if (guard < 0) {
        return wb_error_errno(err, errno,
                              "cannot start %s, the guard of every process, which belongs beside "
                              "werkbank",
                              options->guard);
    }
    /* Held any longer, it would hide the guard's death. */
    close(ends.fd[CONTROL_GUARD]);
    ends.fd[CONTROL_GUARD] = -1;
    pid_t pid = -1;
    struct wb_error failure;
    if (await_start(options, ends.fd[CONTROL_OURS], &pid, &failure) != 0) {
        /* One that hangs in its exec removes itself later, because we close the control socket. */
        if (failure.code != WB_ERROR_TIMEOUT) {
            waitpid(guard, NULL, 0);
        }
        return wb_error_set(err, failure.code, "%s", failure.message);
    }
    *ret = (struct wb_spawned){
        guard, pid, ends.fd[CONTROL_OURS], ends.fd[IN_OURS], ends.fd[OUT_OURS], ends.fd[ERR_OURS]};
    ends.fd[CONTROL_OURS] = ends.fd[IN_OURS] = ends.fd[OUT_OURS] = ends.fd[ERR_OURS] = -1;
    return 0;
}

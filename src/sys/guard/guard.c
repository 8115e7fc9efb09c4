/* werkbank-guard: the parent of one child process, which outlives neither the child nor the host.
 *
 *   starting --exec failed--> exit
 *      |
 *   running --child died (50 ms)--------------+
 *      |  --host died or let go (0.8 s)-------+--> killing --nothing left--> exit
 *      |  --SIGKILL to the tree, memory (now)-+
 *      +--nothing left--> exit
 *
 * A subreaper, so that every orphan of the tree ends up here and the kernel's "no child left" is
 * the whole truth. In a session of its own with all signals blocked: what a terminal sends does not
 * end it. Must not know what it guards, must not allocate: many of these run beside each other.
 * The protocol is in sys/guard/protocol.h, the story in docs/internals/processes.md. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sys/guard/protocol.h"
#include "sys/guard/tree.h"

#define NEVER_MS INT64_MAX
#define HOST_DEAD_MS 800 /* well-behaved children end by themselves when their pipes close */
#define CHILD_DEAD_MS 50 /* so do a wrapper's children when the wrapper ends */
#define MEMORY_EVERY_MS 100
#define KILL_EVERY_MS 10
#define KILL_EVERY_SLOW_MS 100 /* something is stuck in the kernel or not ours to kill */
#define KILL_PASSES_FAST 100

struct guard {
    int control;     /* -1: the host has let go */
    int host;        /* its pidfd; -1: dead */
    int child_event; /* signalfd of SIGCHLD */
    pid_t child;     /* 0: dead and reaped */
    int64_t memory_bytes;
    bool over_memory;
    int64_t kill_at_ms; /* from then on everything that is left is killed */
    int kill_passes;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void kill_within(struct guard *guard, int64_t ms)
{
    int64_t at = now_ms() + ms;
    if (at < guard->kill_at_ms) {
        guard->kill_at_ms = at;
    }
}

/* A host that does not listen any more is no error. */
static void report(int control, enum wb_guard_kind kind, int value, int flag)
{
    struct wb_guard_record record = {kind, value, flag};
    (void)!send(control, &record, sizeof(record), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Takes hold of the host, of SIGCHLD and of orphans. The host's death also continues a guard that
 * somebody has stopped; the death of the thread that started it does too, which harms nothing. -1 with
 * errno, ESRCH: the host is dead. */
static int set_up(struct guard *guard, pid_t host_pid)
{
    sigset_t all, child;
    sigfillset(&all);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_SETMASK, &all, NULL);
    guard->child_event = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    guard->host = (int)syscall(SYS_pidfd_open, host_pid, 0);
    if (guard->child_event < 0 || guard->host < 0 ||
        fcntl(guard->control, F_SETFD, FD_CLOEXEC) != 0 ||
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0) != 0) {
        return -1;
    }
    /* Only now is it sure that the pidfd is our parent's and not a later process's. */
    if (getppid() != host_pid) {
        errno = ESRCH;
        return -1;
    }
    return 0;
}

/* vfork: the failed exec's errno comes back in our own memory, before this returns. */
static pid_t start_child(const char *cwd, char **argv, enum wb_guard_step *ret_step)
{
    volatile int error = 0;
    volatile enum wb_guard_step step = WB_GUARD_STEP_SETUP;
    pid_t pid = vfork();
    if (pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        setsid();
        sigprocmask(SIG_SETMASK, &none, NULL);
        step = WB_GUARD_STEP_CWD;
        if (*cwd == '\0' || chdir(cwd) == 0) {
            step = WB_GUARD_STEP_EXEC;
            execvp(argv[0], argv);
        }
        error = errno;
        _exit(127);
    }
    *ret_step = step;
    if (pid < 0) {
        return -1;
    }
    if (error != 0) {
        waitpid(pid, NULL, 0);
        errno = error;
        return -1;
    }
    return pid;
}

/* Held any longer, the child's pipes would never end, nor would writing to them fail. */
static void drop_pipes(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2; fd++) {
        if (null < 0 || dup2(null, fd) < 0) {
            close(fd);
        }
    }
    if (null > 2) {
        close(null);
    }
}

/* False when the kernel says that no child is left. */
static bool reap(struct guard *guard)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid <= 0) {
            return pid == 0;
        }
        if (pid == guard->child) {
            guard->child = 0;
            report(guard->control, WB_GUARD_ENDED, status, guard->over_memory);
            kill_within(guard, CHILD_DEAD_MS);
        }
    }
}

/* All are stopped before one is killed, so that none sees another's death and acts on it. */
static void kill_pass(struct guard *guard)
{
    wb_tree_signal(SIGSTOP);
    wb_tree_signal(SIGKILL);
    guard->kill_passes++;
}

static void obey(struct guard *guard, const struct wb_guard_record *order)
{
    if (order->kind != WB_GUARD_SIGNAL) {
        return;
    }
    if (order->flag != 0 && order->value == SIGKILL) {
        kill_within(guard, 0);
    } else if (order->flag != 0) {
        wb_tree_signal(order->value);
    } else if (guard->child != 0) {
        kill(guard->child, order->value);
    }
}

static void on_control(struct guard *guard)
{
    struct wb_guard_record order;
    ssize_t n = recv(guard->control, &order, sizeof(order), MSG_DONTWAIT);
    if (n == (ssize_t)sizeof(order)) {
        obey(guard, &order);
    } else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        /* Nobody holds the other end, also after an exec in the host. */
        close(guard->control);
        guard->control = -1;
        kill_within(guard, HOST_DEAD_MS);
    }
}

/* Copies of the socket in processes that the host forked do not hide its death. */
static void on_host_dead(struct guard *guard)
{
    close(guard->host);
    guard->host = -1;
    kill_within(guard, HOST_DEAD_MS);
}

static void check_memory(struct guard *guard)
{
    if (guard->memory_bytes != 0 && !guard->over_memory &&
        wb_tree_memory_bytes(guard->memory_bytes) > guard->memory_bytes) {
        guard->over_memory = true;
        kill_within(guard, 0);
    }
}

/* Milliseconds until the guard must act by itself; -1: only on events. */
static int next_timeout(const struct guard *guard)
{
    if (guard->kill_passes != 0) {
        return guard->kill_passes < KILL_PASSES_FAST ? KILL_EVERY_MS : KILL_EVERY_SLOW_MS;
    }
    int64_t left = -1;
    if (guard->kill_at_ms != NEVER_MS) {
        left = guard->kill_at_ms - now_ms();
        left = left > 0 ? left : 0;
    }
    if (guard->memory_bytes != 0 && (left < 0 || left > MEMORY_EVERY_MS)) {
        left = MEMORY_EVERY_MS;
    }
    return (int)left;
}

static void watch(struct guard *guard)
{
    while (reap(guard)) {
        if (now_ms() >= guard->kill_at_ms) {
            kill_pass(guard);
        }
        struct pollfd events[] = {{.fd = guard->control, .events = POLLIN},
                                  {.fd = guard->host, .events = POLLIN},
                                  {.fd = guard->child_event, .events = POLLIN}};
        int n = poll(events, 3, next_timeout(guard));
        if (n > 0 && events[0].revents != 0) {
            on_control(guard);
        }
        if (n > 0 && events[1].revents != 0) {
            on_host_dead(guard);
        }
        if (n > 0 && events[2].revents != 0) {
            struct signalfd_siginfo info;
            (void)!read(guard->child_event, &info, sizeof(info));
        }
        check_memory(guard);
    }
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        static const char words[] = "werkbank-guard is started by werkbank, not by hand.\n";
        (void)!write(STDERR_FILENO, words, sizeof(words) - 1);
        return 2;
    }
    struct guard guard = {.control = WB_GUARD_CONTROL_FD,
                          .memory_bytes = strtoll(argv[2], NULL, 10),
                          .kill_at_ms = NEVER_MS};
    enum wb_guard_step step = WB_GUARD_STEP_SETUP;
    if (set_up(&guard, (pid_t)strtol(argv[1], NULL, 10)) == 0) {
        guard.child = start_child(argv[3], argv + 4, &step);
    }
    if (guard.child <= 0) {
        report(guard.control, WB_GUARD_FAILED, errno, step);
        return 1;
    }
    drop_pipes();
    report(guard.control, WB_GUARD_STARTED, guard.child, 0);
    watch(&guard);
    report(guard.control, WB_GUARD_GONE, 0, 0);
    return 0;
}

/* tree: walks /proc/<pid>/task/<tid>/children from the guard downwards.
 *
 * A process's children are listed by the thread that started them, so every thread is asked. The
 * depth is bounded: what lies deeper comes up to the guard when its ancestors die. Must not know
 * why somebody wants the tree signalled. */
#include "sys/guard/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 64

struct walk {
    void (*visit)(struct walk *walk, pid_t pid);
    int signal;
    int64_t bytes;
};

/* One read of a small file in /proc; NUL-terminated. False if the process is gone. */
static bool read_proc(pid_t pid, const char *name, char *buffer, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t n = read(fd, buffer, size - 1);
    close(fd);
    buffer[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static void walk_process(struct walk *walk, pid_t pid, int depth);

/* Brothers before their children: what forks and exits all the time is gone a moment after it was
 * listed. */
static void visit_all(struct walk *walk, const pid_t *pids, size_t n, int depth)
{
    for (size_t i = 0; i < n; i++) {
        walk->visit(walk, pids[i]);
    }
    for (size_t i = 0; i < n; i++) {
        walk_process(walk, pids[i], depth + 1);
    }
}

/* The list of one thread: numbers, each followed by a space. */
static void walk_thread(struct walk *walk, pid_t pid, long tid, int depth)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task/%ld/children", (int)pid, tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    char buffer[512];
    pid_t pids[sizeof(buffer) / 2], last = 0;
    for (ssize_t len; (len = read(fd, buffer, sizeof(buffer))) > 0;) {
        size_t n = 0;
        for (ssize_t i = 0; i < len; i++) {
            if (buffer[i] >= '0' && buffer[i] <= '9') {
                last = last * 10 + (buffer[i] - '0');
            } else if (last != 0) {
                pids[n++] = last;
                last = 0;
            }
        }
        visit_all(walk, pids, n, depth);
    }
    close(fd);
}

static void walk_process(struct walk *walk, pid_t pid, int depth)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    int fd = depth < DEPTH_MAX ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return;
    }
    _Alignas(struct dirent64) char buffer[1024];
    for (ssize_t n; (n = getdents64(fd, buffer, sizeof(buffer))) > 0;) {
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *entry = (const struct dirent64 *)(buffer + at);
            if (entry->d_name[0] != '.') {
                walk_thread(walk, pid, strtol(entry->d_name, NULL, 10), depth);
            }
            at += entry->d_reclen;
        }
    }
    close(fd);
}

static void send_signal(struct walk *walk, pid_t pid)
{
    kill(pid, walk->signal);
}

void wb_tree_signal(int signal)
{
    struct walk walk = {.visit = send_signal, .signal = signal};
    walk_process(&walk, getpid(), 0);
}

/* statm: total and resident pages. */
static int64_t resident_bytes(pid_t pid)
{
    char text[128];
    if (!read_proc(pid, "statm", text, sizeof(text))) {
        return 0;
    }
    const char *resident = strchr(text, ' ');
    return resident != NULL ? strtoll(resident, NULL, 10) * sysconf(_SC_PAGESIZE) : 0;
}

static void add_resident(struct walk *walk, pid_t pid)
{
    walk->bytes += resident_bytes(pid);
}

/* The resident size stands in where the kernel does not let us look (another user's process). */
static void add_share(struct walk *walk, pid_t pid)
{
    char text[1024];
    const char *pss =
        read_proc(pid, "smaps_rollup", text, sizeof(text)) ? strstr(text, "\nPss:") : NULL;
    walk->bytes += pss != NULL ? strtoll(pss + 5, NULL, 10) * 1024 : resident_bytes(pid);
}

int64_t wb_tree_memory_bytes(int64_t enough_bytes)
{
    struct walk walk = {.visit = add_resident};
    walk_process(&walk, getpid(), 0);
    if (walk.bytes > enough_bytes) {
        walk = (struct walk){.visit = add_share};
        walk_process(&walk, getpid(), 0);
    }
    return walk.bytes;
}

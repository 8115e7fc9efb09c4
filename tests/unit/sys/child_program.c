/* child_program: the child of the tests of sys/child; argv[1] says how it behaves.
 *
 * Every mode that waits ends by itself after a minute, so that a failed test leaves nothing. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIFE_S 60

static void say(const char *line)
{
    (void)!write(STDOUT_FILENO, line, strlen(line));
}

static void wait_forever(void)
{
    alarm(LIFE_S);
    for (;;) {
        pause();
    }
}

static void ignore_polite_signals(void)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
}

static int mode_exit(const char *arg)
{
    return atoi(arg);
}

static int mode_raise(const char *arg)
{
    raise(atoi(arg));
    return 99;
}

static int mode_cat(const char *arg)
{
    static char buffer[65536];
    (void)arg;
    for (ssize_t n; (n = read(STDIN_FILENO, buffer, sizeof(buffer))) > 0;) {
        for (ssize_t done = 0, w; done < n; done += w) {
            w = write(STDOUT_FILENO, buffer + done, (size_t)(n - done));
            if (w < 0) {
                return 1;
            }
        }
    }
    return 0;
}

static int mode_environment(const char *arg)
{
    const char *value = getenv(arg);
    printf("%s\n", value != NULL ? value : "(none)");
    return 0;
}

static int mode_cwd(const char *arg)
{
    char path[4096];
    (void)arg;
    printf("%s\n", getcwd(path, sizeof(path)) != NULL ? path : "?");
    return 0;
}

static int mode_descriptors(const char *arg)
{
    DIR *dir = opendir("/proc/self/fd");
    (void)arg;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        int fd = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && fd != dirfd(dir)) {
            printf("%d ", fd);
        }
    }
    closedir(dir);
    return 0;
}

/* Blocked and ignored signals; without 32 and 33, which libc keeps for itself and lets nobody set. */
static int mode_signals(const char *arg)
{
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    (void)arg;
    while (fgets(line, sizeof(line), status) != NULL) {
        if (strncmp(line, "SigBlk:", 7) == 0 || strncmp(line, "SigIgn:", 7) == 0) {
            unsigned long long set = strtoull(line + 7, NULL, 16) & ~0x180000000ULL;
            printf("%.7s %llx\n", line, set);
        }
    }
    fclose(status);
    return 0;
}

static int mode_session(const char *arg)
{
    (void)arg;
    printf("%d\n", getsid(0) == getpid());
    return 0;
}

static int mode_out(const char *arg)
{
    for (long i = 0, n = atol(arg); i < n; i++) {
        printf("out %ld\n", i);
    }
    return 0;
}

static int mode_err(const char *arg)
{
    for (long i = 0, n = atol(arg); i < n; i++) {
        fprintf(stderr, "err %ld\n", i);
    }
    return 0;
}

static int mode_close_stdin(const char *arg)
{
    (void)arg;
    close(STDIN_FILENO);
    say("closed\n");
    wait_forever();
    return 0;
}

static int mode_wait(const char *arg)
{
    (void)arg;
    say("ready\n");
    wait_forever();
    return 0;
}

static int mode_stubborn(const char *arg)
{
    ignore_polite_signals();
    return mode_wait(arg);
}

/* A daemon as they are made: two forks and a session of its own; holds our stdout. */
static void start_daemon(void)
{
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            ignore_polite_signals();
            say("daemon\n");
            wait_forever();
        }
        _exit(0);
    }
    wait(NULL);
}

static int mode_daemon_exit(const char *arg)
{
    (void)arg;
    start_daemon();
    return 0;
}

static int mode_daemon_cat(const char *arg)
{
    start_daemon();
    return mode_cat(arg);
}

static void hear(int number)
{
    (void)number;
    say("heard\n");
}

static void *fork_on_thread(void *arg)
{
    if (fork() == 0) {
        signal(SIGUSR1, hear);
        mode_stubborn(NULL);
    }
    wait_forever();
    return arg;
}

/* A child that hangs on a thread which is not the first, and alone minds SIGUSR1. */
static int mode_thread(const char *arg)
{
    pthread_t thread;

    (void)arg;
    signal(SIGUSR1, SIG_IGN);
    pthread_create(&thread, NULL, fork_on_thread, NULL);
    pthread_join(thread, NULL);
    return 0;
}

/* Always one process further: each forks the next and is gone. */
static int mode_rabbit(const char *arg)
{
    time_t until = time(NULL) + 20;
    (void)arg;
    say("running\n");
    while (time(NULL) < until) {
        if (fork() != 0) {
            _exit(0);
        }
        setsid();
        usleep(200);
    }
    return 0;
}

/* Respawns its child as fast as it dies. */
static int mode_supervisor(const char *arg)
{
    time_t until = time(NULL) + 20;
    ignore_polite_signals();
    say("running\n");
    while (time(NULL) < until) {
        if (fork() == 0) {
            mode_stubborn(arg);
        }
        wait(NULL);
    }
    return 0;
}

/* Takes memory, a megabyte at a time, in a child of its own. */
static int mode_eat(const char *arg)
{
    if (fork() == 0) {
        for (long i = 0, n = atol(arg); i < n; i++) {
            char *block =
                mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (block == MAP_FAILED) {
                _exit(1);
            }
            memset(block, 1, 1 << 20);
            usleep(1000);
        }
        say("full\n");
        wait_forever();
    }
    wait_forever();
    return 0;
}

static const struct mode {
    const char *name;
    int (*run)(const char *arg);
} modes[] = {
    {"exit", mode_exit},
    {"raise", mode_raise},
    {"cat", mode_cat},
    {"environment", mode_environment},
    {"cwd", mode_cwd},
    {"descriptors", mode_descriptors},
    {"signals", mode_signals},
    {"session", mode_session},
    {"out", mode_out},
    {"err", mode_err},
    {"close-stdin", mode_close_stdin},
    {"wait", mode_wait},
    {"stubborn", mode_stubborn},
    {"daemon-exit", mode_daemon_exit},
    {"daemon-cat", mode_daemon_cat},
    {"thread", mode_thread},
    {"rabbit", mode_rabbit},
    {"supervisor", mode_supervisor},
    {"eat", mode_eat},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(argv[1], modes[i].name) == 0) {
            return modes[i].run(argc > 2 ? argv[2] : "");
        }
    }
    fprintf(stderr, "unknown mode\n");
    return 2;
}

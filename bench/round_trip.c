/* round_trip: starts a program that speaks JSON-RPC on its pipes and times requests to it, from the
 * write to the last byte of the answer. On a language server it is the bare client that
 * bench/lsp_calls.py measures `serve` against; on `serve` it is the harness. So both sides are
 * timed by the same code, and the bare side could not be leaner: one thread, blocking pipes, no
 * parsing of what it reads.
 *
 *     round_trip header|line COMMAND [ARG ...]
 *
 * Reads orders on stdin: "notify LENGTH\n" or "ask COUNT LENGTH\n", each with LENGTH bytes behind
 * it that are the message without its braces, `jsonrpc` and `id`. Answers an ask with a line of
 * COUNT times in nanoseconds, then the length of the last answer on a line, then the answer. */
#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READ_BYTES ((size_t)1 << 16)
#define COUNT_MAX 10000

struct span {
    const char *ptr;
    size_t len;
};

struct connection {
    bool header; /* Content-Length before each message, instead of a newline behind it */
    int to, from;
    pid_t pid;
    int last_id;
    char *in; /* bytes [taken, filled) are not used yet */
    size_t taken, filled, capacity;
    char *out; /* the message being sent */
    size_t out_capacity;
};

static void fail(const char *what)
{
    fprintf(stderr, "round_trip: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void *grow(void *memory, size_t bytes)
{
    memory = realloc(memory, bytes);
    if (memory == NULL) {
        fail("realloc");
    }
    return memory;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void connect_to(struct connection *c, char **argv)
{
    int input[2], output[2];
    posix_spawn_file_actions_t actions;
    extern char **environ;

    if (pipe(input) != 0 || pipe(output) != 0) {
        fail("pipe");
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], 0);
    posix_spawn_file_actions_adddup2(&actions, output[1], 1);
    for (int i = 0; i < 2; i++) {
        posix_spawn_file_actions_addclose(&actions, input[i]);
        posix_spawn_file_actions_addclose(&actions, output[i]);
    }
    errno = posix_spawnp(&c->pid, argv[0], &actions, NULL, argv, environ);
    if (errno != 0) {
        fail(argv[0]);
    }
    posix_spawn_file_actions_destroy(&actions);
    close(input[0]);
    close(output[1]);
    c->to = input[1];
    c->from = output[0];
}

/* Room in front is reclaimed only when the buffer is empty or full: answers are not moved. */
static void fill(struct connection *c)
{
    if (c->taken == c->filled) {
        c->taken = c->filled = 0;
    }
    if (c->capacity - c->filled < READ_BYTES) {
        memmove(c->in, c->in + c->taken, c->filled - c->taken);
        c->filled -= c->taken;
        c->taken = 0;
        c->capacity = c->filled + 4 * READ_BYTES;
        c->in = grow(c->in, c->capacity);
    }
    ssize_t got = read(c->from, c->in + c->filled, c->capacity - c->filled);
    if (got <= 0) {
        fail(got == 0 ? "the program has ended" : "read");
    }
    c->filled += (size_t)got;
}

/* Where the needle ends, counted from `taken`; reads until it is there. */
static size_t find_end(struct connection *c, const char *needle)
{
    size_t len = strlen(needle), searched = 0;

    for (;;) {
        const char *from = c->in + c->taken + searched;
        size_t available = c->filled - c->taken - searched;
        const char *hit = available >= len ? memmem(from, available, needle, len) : NULL;
        if (hit != NULL) {
            return searched + (size_t)(hit - from) + len;
        }
        searched += available >= len ? available - len + 1 : 0;
        fill(c);
    }
}

/* Valid until the next one. */
static struct span receive(struct connection *c)
{
    size_t len, end = find_end(c, c->header ? "\r\n\r\n" : "\n");

    if (c->header) {
        const char *field = memmem(c->in + c->taken, end, "Content-Length: ", 16);
        len = field != NULL ? strtoul(field + 16, NULL, 10) : 0;
        c->taken += end;
        while (c->filled - c->taken < len) {
            fill(c);
        }
    } else {
        len = end;
    }
    struct span body = {c->in + c->taken, len};
    c->taken += len;
    return body;
}

static void send_all(struct connection *c, size_t len)
{
    for (size_t sent = 0; sent < len;) {
        ssize_t put = write(c->to, c->out + sent, len - sent);
        if (put < 0) {
            fail("write");
        }
        sent += (size_t)put;
    }
}

static size_t put(struct connection *c, size_t at, struct span bytes)
{
    memcpy(c->out + at, bytes.ptr, bytes.len);
    return at + bytes.len;
}

/* `head` opens the object; the message follows it. */
static void send_message(struct connection *c, struct span head, struct span message)
{
    struct span tail = {"}\n", c->header ? 1 : 2};
    size_t len = head.len + message.len + tail.len, at = 0;

    if (c->out_capacity < len + 64) {
        c->out_capacity = len + 64;
        c->out = grow(c->out, c->out_capacity);
    }
    if (c->header) {
        at = (size_t)snprintf(c->out, 64, "Content-Length: %zu\r\n\r\n", len);
    }
    send_all(c, put(c, put(c, put(c, at, head), message), tail));
}

/* Whether it has this id; ids are large enough not to stand in a message by chance. */
static bool answers(struct span body, const char *id)
{
    const char *hit = memmem(body.ptr, body.len, id, strlen(id));
    return hit != NULL && (hit[strlen(id)] == ',' || hit[strlen(id)] == '}');
}

static struct span ask(struct connection *c, struct span message, int64_t *ret_ns)
{
    char head[64], id[32];
    struct span body;

    snprintf(id, sizeof(id), "\"id\":%d", ++c->last_id);
    int len = snprintf(head, sizeof(head), "{\"jsonrpc\":\"2.0\",%s,", id);
    int64_t begin = now_ns();
    send_message(c, (struct span){head, (size_t)len}, message);
    do {
        body = receive(c);
    } while (!answers(body, id));
    *ret_ns = now_ns() - begin;
    return body;
}

static void ask_often(struct connection *c, size_t count, struct span message)
{
    struct span body = {NULL, 0};

    for (size_t i = 0; i < count; i++) {
        int64_t ns;
        body = ask(c, message, &ns);
        printf("%" PRId64 "%c", ns, i + 1 < count ? ' ' : '\n');
    }
    printf("%zu\n", body.len);
    fwrite(body.ptr, 1, body.len, stdout);
    fflush(stdout);
}

static void obey(struct connection *c)
{
    char line[64], *message = NULL;
    size_t count, len;

    while (fgets(line, sizeof(line), stdin) != NULL) {
        bool is_ask = sscanf(line, "ask %zu %zu", &count, &len) == 2;
        if (!is_ask && sscanf(line, "notify %zu", &len) != 1) {
            fail("an order is neither notify nor ask");
        }
        message = grow(message, len + 1);
        if (fread(message, 1, len, stdin) != len) {
            fail("an order ends too early");
        }
        struct span body = {message, len};
        if (is_ask && count > 0 && count <= COUNT_MAX) {
            ask_often(c, count, body);
        } else {
            send_message(c, (struct span){"{\"jsonrpc\":\"2.0\",", 17}, body);
        }
    }
    free(message);
}

int main(int argc, char **argv)
{
    struct connection c = {.last_id = 7000000};

    if (argc < 3) {
        fprintf(stderr, "usage: round_trip header|line COMMAND [ARG ...]\n");
        return 2;
    }
    c.header = strcmp(argv[1], "header") == 0;
    connect_to(&c, argv + 2);
    obey(&c);
    close(c.to); /* language servers and `serve` both end with their input */
    waitpid(c.pid, NULL, 0);
    free(c.in);
    free(c.out);
    return 0;
}

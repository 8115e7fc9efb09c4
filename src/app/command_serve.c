/* serve: the run's tools over standard input and output, for the harness that started us and owns
 * the run. After the end of input the calls that were taken are still answered, as long as somebody
 * reads; SIGINT, SIGTERM, SIGHUP and a reader that is gone cancel them. Then all children are taken
 * down and we end.
 *
 *   serving --end of input--> draining --last answer, no reader--> stopping -> ended
 *      \-------- signal --------\-------- signal ------------------^ */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "app/command.h"
#include "app/mcp_server.h"
#include "app/session.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "sys/stream.h"

#define DRAIN_LOOK_MS 50 /* how often it is looked whether the last call has ended */
#define FLUSH_MS 2000    /* for the last answers, to a peer that may read them or not */

struct serve {
    struct wb_session session;
    struct wb_stream *stream;
    struct wb_mcp_server *server;
    struct wb_cards *cards;
    pthread_t main_thread;
    bool stopping;         /* loop thread */
    atomic_bool is_broken; /* a line could not be read */
};

static int write_line(void *ctx, const struct wb_span *spans, size_t n, struct wb_error *err)
{
    struct serve *serve = ctx;
    return wb_stream_write(serve->stream, spans, n, err);
}

static void on_data(void *ctx, const char *ptr, size_t len)
{
    struct serve *serve = ctx;
    if (serve->stopping || serve->is_broken) {
        return;
    }
    wb_mcp_server_feed(serve->server, ptr, len);
    if (wb_mcp_server_is_broken(serve->server)) {
        wb_log(WB_LOG_ERROR,
               "the input cannot be read any further: a line is over its limit of %zu "
               "bytes. No more requests are taken",
               WB_FRAME_LINE_BYTES_MAX);
        serve->is_broken = true;
        pthread_kill(serve->main_thread, SIGUSR1);
    }
}

static void on_end(void *ctx)
{
    struct serve *serve = ctx;
    pthread_kill(serve->main_thread, SIGUSR1);
}

static void stop_reading(void *ctx)
{
    struct serve *serve = ctx;
    serve->stopping = true;
}

/* The loop thread may deliver data before the opening call has returned: the server comes first, and
 * its stream is known before anything can be answered. */
static void open_stream(void *ctx)
{
    struct serve *serve = ctx;
    const struct wb_stream_handler handler = {on_data, on_end, serve};
    serve->stream = wb_stream_open_take(wb_host_loop(serve->session.host), STDIN_FILENO,
                                        STDOUT_FILENO, &handler);
}

static bool has_reader(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) >= 0 && (out.revents & (POLLERR | POLLHUP | POLLNVAL)) == 0;
}

/* The answers to what was taken: nothing is lost because its asker has no more to say. */
static void drain(struct serve *serve, const sigset_t *ends)
{
    const struct timespec look = {0, DRAIN_LOOK_MS * 1000000L};
    while (wb_mcp_server_is_busy(serve->server) && has_reader()) {
        int signal = sigtimedwait(ends, NULL, &look);
        if (signal > 0 && signal != SIGUSR1) {
            return;
        }
    }
}

static void serve_until(struct serve *serve, const sigset_t *ends)
{
    struct wb_loop *loop = wb_host_loop(serve->session.host);
    int signal;
    serve->server = wb_mcp_server_new(serve->session.run, serve->cards, write_line, serve);
    wb_loop_run_sync(loop, open_stream, serve);
    while (sigwait(ends, &signal) != 0) {
    }
    wb_mcp_server_end_input(serve->server);
    if (signal == SIGUSR1) {
        drain(serve, ends);
    }
    wb_loop_run_sync(loop, stop_reading, serve);
    wb_run_close(WB_STEAL(serve->session.run));
    wb_stream_flush(serve->stream, wb_clock_deadline(FLUSH_MS));
    wb_mcp_server_free(serve->server);
    wb_stream_free(serve->stream);
}

static int run(const struct wb_options *options, char **operands, int n_operands)
{
    struct serve serve = {.main_thread = pthread_self()};
    struct wb_error err;
    sigset_t ends;
    (void)operands;
    (void)n_operands;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigaddset(&ends, SIGUSR1); /* from on_end */
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    serve.cards = wb_cards_new();
    if (wb_session_open(options, wb_cards_port(serve.cards), &serve.session, &err) != 0) {
        wb_cards_free(serve.cards);
        return wb_command_refuse("%s", err.message);
    }
    serve_until(&serve, &ends);
    wb_session_close(&serve.session);
    wb_cards_free(serve.cards);
    return serve.is_broken ? WB_EXIT_ERROR : WB_EXIT_DONE;
}

const struct wb_command wb_command_serve = {
    .name = "serve",
    .operands = "",
    .options = WB_OPTION_WORKSPACE | WB_OPTION_RUN,
    .summary = "serve the tools to the program that started this one, over its pipes",
    .details =
        "Speaks MCP's wire format (JSON-RPC, a message a line) on standard input and output:\n"
        "versions 2024-11-05 to 2025-11-25 and 2026-07-28. The run belongs to the process that\n"
        "started it and ends with its input, when the calls that it took are answered.\n",
    .run = run,
};

/* save_check: the checker that some servers run behind a save (rust-analyzer's cargo check), whose
 * findings are pushed and whose beginning and end are told by progress.
 *
 * A save causes a check, and so does a load of the project that has ended. Causes are gathered for
 * 50 ms; a new one cancels the check that runs, which is told like an end. So the word on a text is
 * the end of a check that began long enough behind the last cause. A server that begins none for a
 * while has it switched off, and is not waited for until it begins one. Knows no server by name. */
#include "base/clock.h"
#include "lsp/server_internal.h"

#define BEGIN_LEAST_MS 45 /* behind its cause: an earlier beginning belongs to the cause before */
#define BEGIN_MOST_MS 3000
#define OFF_MS 10000 /* without a beginning, whatever was saved: it is switched off */
#define AGAIN_MS 300 /* from an end that may be a cancellation to the next beginning */

static bool has_begun(const struct wb_server *server)
{
    return server->check.begun_ms >= server->check.cause_ms + BEGIN_LEAST_MS;
}

void wb_server_check_caused(struct wb_server *server)
{
    struct wb_save_check *check = &server->check;
    /* The check of the cause before may still begin, late, and be cancelled by this one. */
    check->doubtful = check->cause_ms != 0 && !has_begun(server);
    check->cause_ms = wb_clock_now_ms();
    check->missed_ms = check->missed_ms != 0 ? check->missed_ms : check->cause_ms;
}

void wb_server_check_told(struct wb_server *server, bool ended, bool begun)
{
    struct wb_save_check *check = &server->check;
    int64_t now = wb_clock_now_ms();
    check->running = !ended;
    if (begun) {
        check->doubtful = check->doubtful && !has_begun(server);
        check->begun_ms = now;
        check->missed_ms = has_begun(server) ? 0 : check->cause_ms;
    } else if (ended) {
        check->ended_ms = now;
    }
}

/* Until when the wait may go on without a word; 0: there is nothing to wait for. */
static int64_t wait_until(const struct wb_server *server, int64_t deadline_ms)
{
    const struct wb_save_check *check = &server->check;
    int64_t until = deadline_ms;
    if (check->cause_ms == 0) {
        return 0;
    }
    if (!has_begun(server)) {
        bool is_off = wb_clock_now_ms() >= check->missed_ms + OFF_MS;
        until = is_off ? 0 : check->cause_ms + BEGIN_MOST_MS;
    } else if (!check->running) {
        until = check->doubtful ? check->ended_ms + AGAIN_MS : 0;
    }
    return until > wb_clock_now_ms() ? WB_MIN(until, deadline_ms) : 0;
}

bool wb_server_wait_check(struct wb_server *server, int64_t deadline_ms, struct wb_cancel *cancel)
{
    int64_t until;
    while ((until = wait_until(server, deadline_ms)) != 0 && server->state <= WB_SERVER_RUNNING &&
           !wb_cancel_is_fired(cancel) && wb_clock_left_ms(deadline_ms) > 0) {
        (void)wb_cond_wait(&server->changed, &server->lock, until);
    }
    return until == 0;
}

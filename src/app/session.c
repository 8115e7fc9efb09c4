/* session: see the header. */
#include "app/session.h"

#include "app/assemble.h"
#include "base/log.h"

int wb_session_open(const struct wb_options *options, const struct wb_question_port *port,
                    struct wb_session *ret, struct wb_error *err)
{
    const struct wb_run_options run_options = {
        .workspace = options->workspace,
        .conversation_id = options->conversation_id,
        .cap = options->cap,
        .allow = options->allow,
        .only = options->tools,
        .config_file = options->config_file,
        .trust = options->trust,
        .port = port,
    };
    struct wb_session session = {.host = wb_assemble_host(NULL)};
    session.run = wb_run_open(session.host, &run_options, err);
    if (session.run == NULL) {
        wb_host_free(session.host);
        return -1;
    }
    wb_assemble_attach(session.run);
    const char *distrust = wb_config_distrust(wb_run_config(session.run));
    if (distrust != NULL) {
        wb_log(WB_LOG_WARNING, "%s", distrust);
    }
    *ret = session;
    return 0;
}

void wb_session_close(struct wb_session *session)
{
    wb_run_close(session->run);
    wb_host_free(session->host);
    *session = (struct wb_session){0};
}

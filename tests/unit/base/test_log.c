/* Tests of base/log: what arrives on stderr. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"

/* Lets stderr go into a pipe while one message is logged, and returns what arrived. */
static const char *capture(char *buffer, size_t size, enum wb_log_level level, const char *text)
{
    int pipe_fds[2];
    int saved = dup(STDERR_FILENO);

    assert_int_equal(pipe2(pipe_fds, O_NONBLOCK), 0);
    dup2(pipe_fds[1], STDERR_FILENO);
    errno = 77;
    wb_log(level, "%s", text);
    int errno_after = errno;
    dup2(saved, STDERR_FILENO);
    ssize_t len = read(pipe_fds[0], buffer, size - 1);
    buffer[len > 0 ? len : 0] = '\0';
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    close(saved);
    assert_int_equal(errno_after, 77);
    return buffer;
}

static void levels_decide(void **state)
{
    static const struct {
        enum wb_log_level max, level;
        const char *line;
    } cases[] = {
        {WB_LOG_WARNING, WB_LOG_ERROR, "werkbank: error: text\n"},
        {WB_LOG_WARNING, WB_LOG_WARNING, "werkbank: warning: text\n"},
        {WB_LOG_WARNING, WB_LOG_INFO, ""},
        {WB_LOG_DEBUG, WB_LOG_INFO, "werkbank: info: text\n"},
        {WB_LOG_DEBUG, WB_LOG_DEBUG, "werkbank: debug: text\n"},
        {WB_LOG_ERROR, WB_LOG_WARNING, ""},
    };

    char buffer[256];

    (void)state;
    assert_true(wb_log_enabled(WB_LOG_WARNING)); /* the default */
    assert_false(wb_log_enabled(WB_LOG_INFO));
    for (size_t i = 0; i < WB_COUNT(cases); i++) {
        wb_log_set_level(cases[i].max);
        assert_string_equal(capture(buffer, sizeof(buffer), cases[i].level, "text"), cases[i].line);
        assert_int_equal(wb_log_enabled(cases[i].level), cases[i].line[0] != '\0');
    }
}

static void message_stays_on_one_line(void **state)
{
    char buffer[256];

    (void)state;
    wb_log_set_level(WB_LOG_WARNING);
    assert_string_equal(capture(buffer, sizeof(buffer), WB_LOG_ERROR, "a\nb\r\n\x1b[31mc\td"),
                        "werkbank: error: a b   [31mc\td\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_decide),
        cmocka_unit_test(message_stays_on_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests of run/transcript: whole lines whatever happens to the writers. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "../scratch.h"
#include "run/transcript.h"

static struct scratch scratch;

static int set_up(void **state)
{
    (void)state;
    scratch_init(&scratch);
    setenv("XDG_STATE_HOME", scratch.folder, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_done(&scratch);
    return 0;
}

/* Every line must be a JSON object, or empty: whoever opens the file while a line is being written
 * takes it for one that a crash has left. Returns the number of objects. */
static size_t count_lines(const char *relative)
{
    struct wb_span rest = wb_span(scratch_read(&scratch, relative)), line;
    size_t n = 0;
    while (wb_span_next_line(&rest, &line)) {
        if (line.len > 0) {
            assert_int_equal(wb_json_type(wb_json_parse(&scratch.arena, line, NULL)),
                             WB_JSON_OBJECT);
            n++;
        }
    }
    return n;
}

static void an_event_is_a_line(void **state)
{
    (void)state;
    struct wb_transcript *transcript = wb_transcript_open("talk_1", NULL);
    assert_null(wb_transcript_path(transcript));
    assert_null(scratch_read(&scratch, "werkbank/conversations/talk_1.jsonl"));
    wb_transcript_add(transcript, "r1", "call", WB_SPAN("\"tool\":\"read\""));
    wb_transcript_add(transcript, "r1", "note", (struct wb_span){0});
    assert_string_equal(wb_transcript_path(transcript),
                        scratch_path(&scratch, "werkbank/conversations/talk_1.jsonl"));
    wb_transcript_close(transcript);

    struct wb_span rest = wb_span(scratch_read(&scratch, "werkbank/conversations/talk_1.jsonl"));
    struct wb_span line;
    assert_true(wb_span_next_line(&rest, &line));
    const struct wb_json *event = wb_json_parse(&scratch.arena, line, NULL);
    assert_int_equal(wb_json_int_or(wb_json_get(event, "id"), 0), 1);
    assert_string_equal(wb_json_str(wb_json_get(event, "run")), "r1");
    assert_string_equal(wb_json_str(wb_json_get(event, "kind")), "call");
    assert_string_equal(wb_json_str(wb_json_get(event, "tool")), "read");
    assert_int_equal(strlen(wb_json_str(wb_json_get(event, "time"))), 24);
    assert_true(wb_span_next_line(&rest, &line));
    event = wb_json_parse(&scratch.arena, line, NULL);
    assert_int_equal(wb_json_int_or(wb_json_get(event, "id"), 0), 2);
}

static void the_file_is_the_users_alone(void **state)
{
    struct stat st;
    (void)state;
    struct wb_transcript *transcript = wb_transcript_open("t", NULL);
    wb_transcript_add(transcript, "r", "k", (struct wb_span){0});
    assert_int_equal(stat(wb_transcript_path(transcript), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    wb_transcript_close(transcript);
}

static void ids_that_could_leave_the_folder_are_refused(void **state)
{
    static const char *const bad[] = {
        "",    "a/b", "..",
        "a.b", "a b", "12345678901234567890123456789012345678901234567890123456789012345"};
    (void)state;
    for (size_t i = 0; i < WB_COUNT(bad); i++) {
        struct wb_error err;
        assert_null(wb_transcript_open(bad[i], &err));
        assert_int_equal(err.code, WB_ERROR_INVALID);
    }
}

#define WRITERS 8
#define EVENTS 200

static void *write_events(void *shared)
{
    char members[64];
    for (int i = 0; i < EVENTS; i++) {
        snprintf(members, sizeof(members), "\"n\":%d", i);
        wb_transcript_add(shared, "r", "k", wb_span(members));
    }
    return NULL;
}

/* Half of the writers share an object, the others have one each, as runs and processes do. */
static void lines_of_many_writers_never_mix(void **state)
{
    pthread_t threads[WRITERS];
    struct wb_transcript *transcripts[WRITERS];
    (void)state;
    for (size_t i = 0; i < WRITERS; i++) {
        transcripts[i] = i % 2 == 0 || i == 1 ? wb_transcript_open("many", NULL) : transcripts[1];
    }
    for (size_t i = 0; i < WRITERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, write_events, transcripts[i]), 0);
    }
    for (size_t i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (size_t i = 0; i < WRITERS; i++) {
        wb_transcript_close(i % 2 == 0 || i == 1 ? transcripts[i] : NULL);
    }
    assert_int_equal(count_lines("werkbank/conversations/many.jsonl"), WRITERS * EVENTS);
}

static void run_until_killed(int ready_fd)
{
    struct wb_transcript *transcript = wb_transcript_open("killed", NULL);
    for (int i = 0;; i++) {
        wb_transcript_add(transcript, "r", "k", WB_SPAN("\"text\":\"some text of a result\""));
        if (i == 100 && write(ready_fd, "x", 1) != 1) {
            _exit(1);
        }
    }
}

static void a_killed_writer_loses_at_most_the_last_line(void **state)
{
    int fds[2];
    char byte;
    (void)state;
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        run_until_killed(fds[1]);
    }
    assert_int_equal(read(fds[0], &byte, 1), 1);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    struct wb_transcript *transcript = wb_transcript_open("killed", NULL);
    wb_transcript_add(transcript, "r2", "k", (struct wb_span){0});
    wb_transcript_close(transcript);
    assert_true(count_lines("werkbank/conversations/killed.jsonl") >= 101);
    close(fds[0]);
    close(fds[1]);
}

static void a_torn_line_does_not_take_the_next_one_along(void **state)
{
    (void)state;
    scratch_write(&scratch, "werkbank/conversations/torn.jsonl", "{\"id\":1}\n{\"id\":2,\"te");
    struct wb_transcript *transcript = wb_transcript_open("torn", NULL);
    wb_transcript_add(transcript, "r", "k", (struct wb_span){0});
    wb_transcript_close(transcript);
    struct wb_span rest = wb_span(scratch_read(&scratch, "werkbank/conversations/torn.jsonl"));
    struct wb_span lines[4] = {0};
    size_t n = 0;
    while (n < 4 && wb_span_next_line(&rest, &lines[n])) {
        n++;
    }
    assert_int_equal(n, 3);
    assert_true(wb_span_is(lines[1], "{\"id\":2,\"te"));
    assert_non_null(wb_json_parse(&scratch.arena, lines[2], NULL));
}

static void a_transcript_that_cannot_be_written_is_not_fatal(void **state)
{
    (void)state;
    scratch_write(&scratch, "werkbank/conversations", "a file in the way");
    struct wb_transcript *transcript = wb_transcript_open("t", NULL);
    wb_transcript_add(transcript, "r", "k", (struct wb_span){0});
    wb_transcript_add(transcript, "r", "k", (struct wb_span){0});
    wb_transcript_close(transcript);
}

/* Its last event was so many days ago. */
static void make_older(const char *relative, int days)
{
    const struct timespec then = {.tv_sec = time(NULL) - days * 24 * 3600};
    const struct timespec times[2] = {then, then};
    assert_int_equal(utimensat(AT_FDCWD, scratch_path(&scratch, relative), times, 0), 0);
}

static void old_conversations_leave_unless_they_are_open(void **state)
{
    (void)state;
    static const char *const ids[] = {"old", "new", "open"};
    struct wb_transcript *transcripts[3];
    for (size_t i = 0; i < 3; i++) {
        transcripts[i] = wb_transcript_open(ids[i], NULL);
        wb_transcript_add(transcripts[i], "r", "k", (struct wb_span){0});
        assert_non_null(
            wb_transcript_keep(transcripts[i], &scratch.arena, "image/png", WB_SPAN("picture")));
    }
    wb_transcript_close(transcripts[0]);
    wb_transcript_close(transcripts[1]);
    scratch_write(&scratch, "werkbank/conversations/notes.txt", "somebody's");
    make_older("werkbank/conversations/old.jsonl", 8);
    make_older("werkbank/conversations/new.jsonl", 6);
    make_older("werkbank/conversations/open.jsonl", 8);
    make_older("werkbank/conversations/notes.txt", 8);
    wb_transcripts_clean(7);
    assert_null(scratch_read(&scratch, "werkbank/conversations/old.jsonl"));
    assert_int_equal(access(scratch_path(&scratch, "werkbank/conversations/old"), F_OK), -1);
    assert_non_null(scratch_read(&scratch, "werkbank/conversations/new.jsonl"));
    assert_int_equal(access(scratch_path(&scratch, "werkbank/conversations/new"), F_OK), 0);
    assert_non_null(scratch_read(&scratch, "werkbank/conversations/open.jsonl"));
    assert_non_null(scratch_read(&scratch, "werkbank/conversations/notes.txt"));
    wb_transcript_add(transcripts[2], "r", "k", (struct wb_span){0});
    assert_int_equal(count_lines("werkbank/conversations/open.jsonl"), 2);
    wb_transcript_close(transcripts[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_event_is_a_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_file_is_the_users_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ids_that_could_leave_the_folder_are_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(lines_of_many_writers_never_mix, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_killed_writer_loses_at_most_the_last_line, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_torn_line_does_not_take_the_next_one_along, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_transcript_that_cannot_be_written_is_not_fatal, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(old_conversations_leave_unless_they_are_open, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* transcript: what happened in a conversation, as append-only JSON lines in the user's state folder
 * (conversations/<id>.jsonl, 0600).
 *
 * Each event is one line, written with one write(2) on O_APPEND, so that lines of several runs
 * never mix and a crash loses at most the last one. What a crash left of a line is closed off by
 * whoever opens the file next; a line that is just being written may look like that, and an empty
 * line follows it then. Any thread. */
#ifndef WB_RUN_TRANSCRIPT_H
#define WB_RUN_TRANSCRIPT_H

#include "base/json.h"

struct wb_transcript;

/* id: [A-Za-z0-9_-]{1,64}. The file is opened with the first event. */
struct wb_transcript *wb_transcript_open(const char *conversation_id, struct wb_error *err);
void wb_transcript_close(struct wb_transcript *transcript);
/* NULL before the first event. */
const char *wb_transcript_path(struct wb_transcript *transcript);

/* Keeps a picture beside the transcript, in conversations/<id>/, named by its content's hash; NULL when
 * that fails (logged once). The name is relative to the folder of the transcript, in the arena. */
const char *wb_transcript_keep(struct wb_transcript *transcript, struct wb_arena *arena,
                               const char *mime, struct wb_span bytes);

/* Appends {"id": n, "time": "...", "run": run_id, "kind": kind, <members>}; n counts on from what
 * the file has. members: JSON object text without braces, or empty. A transcript that cannot be written
 * is logged once, not fatal. */
void wb_transcript_add(struct wb_transcript *transcript, const char *run_id, const char *kind,
                       struct wb_span members);
/* What was added is on the disk. */
void wb_transcript_sync(struct wb_transcript *transcript);

/* Deletes this user's transcripts, with their pictures, whose last event is more than so many days ago,
 * but none that is open anywhere. What cannot be deleted stays, and is logged. */
void wb_transcripts_clean(int64_t keep_days);

#endif

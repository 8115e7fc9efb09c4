/* inspect: looking at a stopped program: threads, stack, scopes, variables, evaluating, setting.
 *
 * Everything but threads needs a stop and refuses otherwise, whatever the adapter would allow. Ids in
 * and out are ours (handles.h). Results are in the arena. Any thread. */
#ifndef WB_DEBUG_INSPECT_H
#define WB_DEBUG_INSPECT_H

#include "debug/session.h"

#define WB_DEBUG_FRAMES_MAX 30
#define WB_DEBUG_FRAMES_SEARCHED 20 /* for the first one with source */
#define WB_DEBUG_VARIABLES_MAX 50
#define WB_DEBUG_VALUE_CHARACTERS_MAX 400

/* Where and until when: what each question takes. */
struct wb_inspect {
    struct wb_debug_session *session;
    struct wb_arena *arena;
    int64_t deadline_ms;
    struct wb_cancel *cancel;
};

struct wb_thread_item {
    int64_t thread_id;
    const char *name;
};

struct wb_frame_item {
    int64_t frame_id;
    const char *name;
    const char *path; /* absolute; NULL: no source */
    int64_t line;
    bool is_subtle; /* the adapter would hide it: runtime code */
};

struct wb_scope_item {
    const char *name;
    int64_t reference; /* 0: nothing inside */
    bool is_expensive;
};

struct wb_variable_item {
    const char *name, *value, *type; /* value: whole; type may be NULL */
    int64_t reference;               /* 0: a leaf */
};

WB_MUST_CHECK int wb_inspect_threads(struct wb_inspect *inspect, struct wb_thread_item **ret,
                                     size_t *ret_n, struct wb_error *err);
/* thread NULL: the stopped one. *ret_total: as far as the adapter tells; at least *ret_n. */
WB_MUST_CHECK int wb_inspect_stack(struct wb_inspect *inspect, const int64_t *thread, size_t max,
                                   struct wb_frame_item **ret, size_t *ret_n, size_t *ret_total,
                                   struct wb_error *err);
/* The frame that a stop's report shows: the top one where it has source, else the first that has, and
 * is not the runtime's. NULL: n is 0. */
const struct wb_frame_item *wb_inspect_shown_frame(const struct wb_frame_item *frames, size_t n);
WB_MUST_CHECK int wb_inspect_scopes(struct wb_inspect *inspect, int64_t frame_id,
                                    struct wb_scope_item **ret, size_t *ret_n,
                                    struct wb_error *err);
/* At most max children from start on. */
WB_MUST_CHECK int wb_inspect_variables(struct wb_inspect *inspect, int64_t reference, int64_t start,
                                       size_t max, struct wb_variable_item **ret, size_t *ret_n,
                                       size_t *ret_total, struct wb_error *err);
/* In the frame (0: the one that a stop's report shows), context "watch". */
WB_MUST_CHECK int wb_inspect_evaluate(struct wb_inspect *inspect, const char *expression,
                                      int64_t frame_id, struct wb_variable_item *ret,
                                      struct wb_error *err);
WB_MUST_CHECK int wb_inspect_set(struct wb_inspect *inspect, int64_t reference, const char *name,
                                 const char *value, struct wb_variable_item *ret,
                                 struct wb_error *err);

/* Appends value cut to 400 characters; where it is cut: " ... (1234 more characters)". */
void wb_inspect_add_value(struct wb_text *out, const char *value);

#endif

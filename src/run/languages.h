/* languages: the table of languages that several folders ask (catalogue/languages.json merged with
 * the configuration's "languages"): which language a file is in, what LSP calls it, what counts as
 * an identifier in it. Immutable after loading; any thread. */
#ifndef WB_RUN_LANGUAGES_H
#define WB_RUN_LANGUAGES_H

#include "base/arena.h"
#include "base/json.h"

/* Styles of identifiers; catalogue/README.md says what each allows. */
enum wb_identifier_style {
    WB_IDENTIFIER_C,
    WB_IDENTIFIER_DOLLAR,
    WB_IDENTIFIER_DASH,
    WB_IDENTIFIER_PRIME,
    WB_IDENTIFIER_RUBY,
    WB_IDENTIFIER_SIGIL,
    WB_IDENTIFIER_LISP,
};

struct wb_language {
    const char *id;                                                   /* ours */
    const char *name;                                                 /* for people */
    const char *lsp_id;                                               /* LSP's languageId */
    const char **extensions, **filenames, **interpreters, **keywords; /* NULL-terminated */
    enum wb_identifier_style identifier;
    const char *line_comment;      /* NULL: none */
    const struct wb_json *grammar; /* for structural search (ast/grammar.h); NULL: none */
};

struct wb_languages;

/* extra: the configuration's "languages" array, or NULL. Everything lives in the arena. */
const struct wb_languages *wb_languages_load(struct wb_arena *arena, const struct wb_json *extra,
                                             struct wb_error *err);
/* By file name, then extension (longest first), else by the interpreter named in `head`, the
 * beginning of the file (may be empty). NULL: unknown. */
const struct wb_language *wb_languages_of_file(const struct wb_languages *languages,
                                               const char *path, struct wb_span head);
const struct wb_language *wb_languages_find(const struct wb_languages *languages, const char *id);
/* Iterates: start with *cursor 0. */
const struct wb_language *wb_languages_next(const struct wb_languages *languages, size_t *cursor);

/* Is name one identifier of the language and no keyword of it? The error says what is wrong. */
WB_MUST_CHECK int wb_language_check_identifier(const struct wb_language *language,
                                               struct wb_span name, struct wb_error *err);

#endif

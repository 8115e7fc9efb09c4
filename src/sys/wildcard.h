/* wildcard: matching of names and paths against the patterns of gitignore(5), on memory.
 *
 * Bytes, not characters, as git does it. In a name: "*" any run, "?" one byte, "[a-z]" "[!a-z]"
 * "[[:alpha:]]" one of a set, "\" takes the next byte as it is; a pattern that ends inside a set or
 * an escape matches nothing. In a path none of them matches a slash, and a component "**" stands
 * for any number of components, also none (at the end: at least one).
 *
 * Time is at most |pattern| x |subject| for a name, and that once for each component of a path
 * against each of the pattern's: no pattern of a hostile checkout can stall a walk. Any thread. */
#ifndef WB_SYS_WILDCARD_H
#define WB_SYS_WILDCARD_H

#include "base/base.h"

/* The length of what stands in front of the first special character. */
size_t wb_wildcard_literal_len(struct wb_span pattern);
bool wb_wildcard_name(struct wb_span pattern, struct wb_span name);
bool wb_wildcard_path(struct wb_span pattern, struct wb_span path);

#endif

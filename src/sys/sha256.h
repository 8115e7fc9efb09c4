/* sha256: the content hash of journals (FIPS 180-4). Any thread. */
#ifndef WB_SYS_SHA256_H
#define WB_SYS_SHA256_H

#include "base/base.h"

#define WB_SHA256_HEX_BYTES 65 /* with the NUL */

struct wb_sha256 {
    uint8_t bytes[32];
};

struct wb_sha256 wb_sha256(struct wb_span content);
bool wb_sha256_equal(const struct wb_sha256 *a, const struct wb_sha256 *b);
void wb_sha256_hex(const struct wb_sha256 *hash, char out[WB_SHA256_HEX_BYTES]);
/* 64 lower-case digits; false on anything else. */
bool wb_sha256_parse(struct wb_span hex, struct wb_sha256 *ret);

#endif

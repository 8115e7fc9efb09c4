/* sha256: FIPS 180-4, section 6.2, for whole contents in memory. */
#include "sys/sha256.h"

#define BLOCK_BYTES 64

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static uint32_t load_word(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void store_word(uint8_t *p, uint32_t word)
{
    for (unsigned i = 0; i < 4; i++) {
        p[i] = (uint8_t)(word >> (24 - 8 * i));
    }
}

static void hash_block(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64];
    for (unsigned i = 0; i < 16; i++) {
        w[i] = load_word(block + (size_t)4 * i);
    }
    for (unsigned i = 16; i < 64; i++) {
        uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    uint32_t v[8]; /* the standard's a to h */
    memcpy(v, state, sizeof(v));
    for (unsigned i = 0; i < 64; i++) {
        uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + s1 + choice + round_constants[i] + w[i];
        uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof(v[0]));
        v[4] += t1;
        v[0] = t1 + s0 + majority;
    }
    for (unsigned i = 0; i < 8; i++) {
        state[i] += v[i];
    }
}

struct wb_sha256 wb_sha256(struct wb_span content)
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const uint8_t *bytes = (const uint8_t *)content.ptr;
    size_t whole = content.len / BLOCK_BYTES * BLOCK_BYTES;
    for (size_t i = 0; i < whole; i += BLOCK_BYTES) {
        hash_block(state, bytes + i);
    }
    /* The rest, a one bit, zeros, and the length in bits fill one block or two. */
    uint8_t tail[2 * BLOCK_BYTES] = {0};
    size_t rest = content.len - whole;
    if (rest != 0) {
        memcpy(tail, bytes + whole, rest);
    }
    tail[rest] = 0x80;
    size_t tail_len = rest < BLOCK_BYTES - 8 ? BLOCK_BYTES : 2 * BLOCK_BYTES;
    uint64_t bits = (uint64_t)content.len * 8;
    store_word(tail + tail_len - 8, (uint32_t)(bits >> 32));
    store_word(tail + tail_len - 4, (uint32_t)bits);
    for (size_t i = 0; i < tail_len; i += BLOCK_BYTES) {
        hash_block(state, tail + i);
    }
    struct wb_sha256 hash;
    for (unsigned i = 0; i < 8; i++) {
        store_word(hash.bytes + (size_t)4 * i, state[i]);
    }
    return hash;
}

bool wb_sha256_equal(const struct wb_sha256 *a, const struct wb_sha256 *b)
{
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

void wb_sha256_hex(const struct wb_sha256 *hash, char out[WB_SHA256_HEX_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof(hash->bytes); i++) {
        out[2 * i] = digits[hash->bytes[i] >> 4];
        out[2 * i + 1] = digits[hash->bytes[i] & 15];
    }
    out[2 * sizeof(hash->bytes)] = '\0';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool wb_sha256_parse(struct wb_span hex, struct wb_sha256 *ret)
{
    if (hex.len != 2 * sizeof(ret->bytes)) {
        return false;
    }
    struct wb_sha256 hash;
    for (size_t i = 0; i < sizeof(hash.bytes); i++) {
        int high = hex_digit(hex.ptr[2 * i]), low = hex_digit(hex.ptr[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        hash.bytes[i] = (uint8_t)(high * 16 + low);
    }
    *ret = hash;
    return true;
}

/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_MIX_H
#define VERIFY_MIX_H 1

/* Hashes of what is looked up millions of times: Fibonacci hashing (Knuth, The
 * Art of Computer Programming 3, 6.4), word by word.  Not for what an attacker
 * chooses: tables get long chains then, and nothing worse. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t
mix_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static inline uint64_t
mix_bytes(const void *data_, size_t size)
{
    const char *data = data_;
    uint64_t hash = size, word;

    for (; size >= sizeof word; size -= sizeof word, data += sizeof word) {
        memcpy(&word, data, sizeof word);
        hash = mix_word(hash, word);
    }
    if (size) {
        word = 0;
        memcpy(&word, data, size);
        hash = mix_word(hash, word);
    }
    return hash;
}

#endif /* verify/mix.h */

/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_ORIGIN_PRIVATE_H
#define VERIFY_ORIGIN_PRIVATE_H 1

/* The rooms behind origin.h: origin.c keeps who writes what, origin-find.c
 * follows it. */

#include "hash.h"
#include "verify/exec-private.h"
#include "verify/origin.h"

/* A flow that puts something there: what it is, or bits of another field. */
struct write {
    struct hmap_node node;      /* By value, of those of a whole field. */
    const struct table_flow *flow;
    u128 value, mask;           /* Of known bits; and which are written. */
    enum field from;            /* N_FIELDS: they are known. */
    uint8_t ofs, from_ofs;
};

/* 1-bits: tables. */
struct table_bits {
    unsigned long v[BITMAP_N_LONGS(N_TABLES_MAX)];
};

struct written {
    struct hmap whole;          /* Contains "struct write"s. */
    LIST(struct write *) parts; /* All others. */
    struct table_bits by;       /* Has a flow been there that writes it? */
    struct table_bits behind;   /* The tables behind those. */
};

struct origins {
    struct written of[N_FIELDS];
    struct table_bits next[N_TABLES_MAX];
    struct table_bits tracked[N_TABLES_MAX];    /* Those by tracking. */
    struct table_bits noted[N_TABLES_MAX];      /* Those once it is noted. */
    struct table_bits later;    /* Where packets may have been in two zones,
                                 * or be noted. */
    bool stale;                 /* What is behind what is not known. */
};

static inline uint32_t
origin_hash(u128 value)
{
    return hash_uint64_basis(value, hash_uint64(value >> 64));
}

#endif /* verify/origin-private.h */

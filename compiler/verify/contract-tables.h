/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_CONTRACT_TABLES_H
#define VERIFY_CONTRACT_TABLES_H 1

/* Tables, and what their registers hold, as docs/pipeline.md has them: said
 * again here, and not taken from the compiler, whose tables are asked about.
 * Where the two do not agree, nothing is proved. */

#include <stdint.h>

#define FRAME(TABLE, ASK, SETS, NEXT, ACTS) TABLE_##TABLE,
enum contract_table {
#include "verify/contract.def"
    N_TABLES,
};
#undef FRAME

/* What a packet is judged by, in reg8. */
#define SERVICE_TRACKED     UINT32_C(0x80000000)
#define SERVICE_STATELESS   UINT32_C(0x40000000)
#define SERVICE_REPLY       UINT32_C(0x20000000)
#define SERVICE_UNTRACKED   UINT32_C(0x10000000)
#define SERVICE_IPV6        UINT32_C(0x01000000)
#define SERVICE_PROTOCOL(P) ((uint32_t) (P) << 16)

/* Its direction, in reg7. */
enum noted_direction {
    DIRECTION_FORWARD = 1,
    DIRECTION_REPLY = 2,
    DIRECTION_STATELESS = 3,
};

/* Whether the receiver is another tenant's, in reg10. */
enum noted_crossing {
    CROSSING_NO = 0,
    CROSSING_YES = 1,
    CROSSING_NEW = 2,           /* And it opens a connection. */
    CROSSING_EXTERNAL = 3,      /* From an external. */
};

/* A class, in reg5; 0 is best-effort. */
#define CLASS_VALUE(DSCP, QUEUE) (1u << 31 | (QUEUE) << 8 | (DSCP))

#endif /* verify/contract-tables.h */

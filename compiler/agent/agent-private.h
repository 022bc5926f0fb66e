/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef AGENT_AGENT_PRIVATE_H
#define AGENT_AGENT_PRIVATE_H 1

/* Between agent.c, which works, and status.c, which tells. */

#include "agent/agent.h"
#include "agent/compiled.h"
#include "push/keep.h"

struct agent {
    const struct agent_options *options;
    struct files *files;
    struct compiled *compiled;
    struct keeper *keeper;
    unsigned int bridge_seqno;  /* Of what the compiled was bound to. */
    bool reload;                /* Are all files to be read? */
    bool ready;
    uint64_t pushes, saved;     /* Of the keeper; those that are kept. */
    long long int save_at;
    char *trouble;              /* With keeping. */
};

#endif /* agent/agent-private.h */

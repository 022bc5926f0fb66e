/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef CLUSTER_H
#define CLUSTER_H 1

/* Tenants that share an uplink, in virtual time, and what they should get.
 *
 * Each class of each tenant is a sender of its own.  What a scheme admits is
 * compared, window by window, with weighted max-min: a sender gets what it
 * sends, or else what it is owed and a share by weight of what is left.  The
 * reference is computed in floating point from what was offered, and shares
 * nothing with the schemes. */

#include <stdbool.h>
#include <stdint.h>

#include "proof.h"

enum {
    CLUSTER_MAX_TENANTS = 64,
    CLUSTER_MAX_CLASSES = 8,
    CLUSTER_MAX_LEAVES = CLUSTER_MAX_TENANTS * CLUSTER_MAX_CLASSES,
};

enum cluster_pattern {
    CLUSTER_CBR,                /* Evenly spaced. */
    CLUSTER_POISSON,
    CLUSTER_LOCKED,             /* A burst each 0.1 ms, at a phase of its
                                 * own. */
    CLUSTER_ON_OFF,             /* CBR; on or off for 0.1 to 10 ms. */
    CLUSTER_TURNS,              /* CBR; every other one for 1 ms, then the
                                 * rest. */
};

/* What the senders of a run are. */
struct cluster_conf {
    enum cluster_pattern pattern;
    uint32_t kbps;              /* Of the uplink. */
    uint64_t burst;             /* Of the uplink, in bytes. */
    unsigned int n_tenants, n_classes;
    bool tree;                  /* Classes under tenants; else all of them
                                 * under the uplink. */
    uint32_t frame;             /* Bytes; 0: 9000 and 1500 by turns. */
    unsigned int burst_frames;  /* What a leaf is owed at once. */
    double owed;                /* Share of the uplink that tenants are; their
                                 * classes five sixths of that... */
    bool only_tenants;          /* ...or nothing. */
    double asking;              /* Tenants ask for this part of their fair
                                 * share at least. */
    double window_ns;
    uint64_t seed;
};

/* A leaf, or a tenant that has some. */
struct cluster_share {
    uint32_t kbps;              /* Owed; 0 for none. */
    uint64_t burst;             /* In bytes. */
    uint32_t weight;
    uint64_t reach;             /* In bytes. */
};

struct cluster_sender {
    double rate;                /* In bytes a ns. */
    uint32_t frame;
    double next;                /* When it sends. */
    unsigned int left;          /* LOCKED: of this burst... */
    double period;              /* ...which began then. */
    bool on;
    double flip;                /* When it goes on or off. */
    unsigned int n_flips;       /* In this window. */
    double offered, admitted;   /* Bytes in this window. */
    double fluid;               /* ON_OFF, TURNS: what it should get. */
};

struct cluster {
    struct cluster_conf conf;
    struct proof_random random;
    double now;                 /* In ns: when the frame comes. */
    double flowed;              /* Until when 'fluid' is known. */
    struct cluster_share tenants[CLUSTER_MAX_TENANTS];
    struct cluster_share leaves[CLUSTER_MAX_LEAVES];
    struct cluster_sender senders[CLUSTER_MAX_LEAVES];
    unsigned int n;             /* Leaves: tenant by tenant. */
    unsigned int order[CLUSTER_MAX_LEAVES];     /* A heap, by 'next'. */
};

/* Draws who is owed what and who sends how fast: from 0.3 to 3 times what
 * would be its fair share if all wanted more, on average. */
void cluster_init(struct cluster *, const struct cluster_conf *);

/* The next frame, at 'c->now', is of sender '*leaf' and of '*bytes'.  Returns
 * false if there is none before 'window_end', and then 'c->now' is that. */
bool cluster_next(struct cluster *, double window_end, unsigned int *leaf,
                  uint32_t *bytes);

/* Counts what cluster_next() returned as admitted. */
void cluster_admit(struct cluster *, unsigned int leaf, uint32_t bytes);

/* What became of a window. */
struct cluster_result {
    double used;                /* Of what could be. */
    double l1;                  /* Sum of the distances from max-min, as a
                                 * share of what could be... */
    double l1_allowed;          /* ...each less what is allowed for. */
};

/* Judges a window, and begins the next.  Allowed is a frame for each leaf, and
 * for each time that it went on or off its burst and reach as well. */
struct cluster_result cluster_judge(struct cluster *);

#endif /* cluster.h */

/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H 1

/* The verifier: do flow tables do what an intent means, for every packet?
 *
 * It takes the tables as text or from a switch and knows nothing of how they
 * were made: tables.h reads them, exec.h finds what becomes of each packet,
 * expect.h what the intent means for it, and here the two are compared.
 * docs/verify.md says what is proved and what is assumed.
 *
 * Nobody says which conntrack zone, mark and meters are whose: what most
 * packets have is taken as it, must be one for each tenant, and no other
 * tenant's. */

#include "base/arena.h"
#include "base/vec.h"
#include "openvswitch/ofp-port.h"
#include "verify/exec.h"
#include "verify/expect.h"

/* What is wrong with a packet, the worst first. */
enum verify_kind {
    VERIFY_ISOLATION,           /* It goes to another tenant. */
    VERIFY_SPOOF,               /* It lies about its sender, and passes. */
    VERIFY_TUNNEL,              /* From an unknown tunnel, and passes. */
    VERIFY_LEAK,                /* It passes else, and should not. */
    VERIFY_BLACK_HOLE,          /* It should pass, and does not. */
    VERIFY_METER,               /* It passes by no meter, or a wrong one. */
    VERIFY_MEANING,             /* Anything else: rewrites, reasons, zones. */
    VERIFY_CONTRACT,            /* A table does by itself what it must not,
                                 * even if another one hides it. */
    N_VERIFY_KINDS,
};

struct verify_difference {
    enum verify_kind kind;
    const char *from;           /* "inference/model0", "external:NAME",
                                 * "tunnel", "port NAME". */
    const char *what;           /* Is wrong. */
    const char *meant, *found;  /* In words. */
    const char *packet;         /* As ofproto/trace takes it; NULL if it is
                                 * not about one packet. */
    const char *ct_next;        /* The options before it, or "". */
    const struct policy_rule *rule;     /* That decides, or NULL. */
    const struct value *at;     /* Else the place of what is meant, or
                                 * NULL. */
    bool of_table;              /* The packet is one that comes to 'table',
                                 * whatever is before that. */
    uint8_t table;
    step_vec steps;             /* The flows that it meets. */
};
VEC_TYPEDEF(difference_vec, struct verify_difference);

/* A flow that another, stronger one keeps from all packets. */
struct verify_shadow {
    const struct table_flow *flow, *by;
};

enum { VERIFY_MAX_DIFFERENCES = 20 };

struct verify_result {
    const char *unproved;       /* Why nothing is proved; or NULL. */
    difference_vec differences;
    size_t n_differences;       /* Those that were left out too. */
    size_t n_of_kind[N_VERIFY_KINDS];
    VEC(struct verify_shadow) shadowed;

    /* What was proved about, and what it took. */
    size_t n_endpoints, n_externals, n_tunnels, n_ports, n_tenants;
    bool whole;                 /* Of all tenants. */
    bool seam;                  /* Only of what POLICY decides: see seam.h. */
    bool symmetry;              /* By endpoints that are like one that came or
                                 * went: see base-symmetry.c. */
    size_t n_states, n_nodes, n_bytes;
    size_t n_jobs;              /* Processes beside this one. */
};

struct verify_task {
    const struct policy *policy;
    const char *node;
    struct table_set *tables;      /* After table_set_finish(). */
    const uint32_t *meters;     /* That the switch has; NULL: not known. */
    size_t n_meters;
    bool tags;                  /* Must packets that pass no meter of what is
                                 * sent here have a tag?  Else they may. */
    long long int deadline;     /* As time_msec(); 0: none. */
    const bool *tenants;        /* By number in the policy: whose packets are
                                 * asked about, with those that are nobody's;
                                 * NULL: all. */
    const struct exec_fields *fields;   /* If they are known, else NULL. */
    bool contracts;             /* Are those of tables asked, too? */
    unsigned int n_jobs;        /* At most so many processes; 0 as 1: none but
                                 * this one. */
};

/* As many processes as a proof of so many tenants is faster by, one for each
 * processor.  (jobs.c) */
unsigned int verify_n_jobs(size_t n_tenants);

/* Fills '*result', whose texts are in 'arena'.  Nothing is proved unless
 * 'unproved' is NULL and there are no differences and nothing is shadowed.
 *
 * All tenants are asked about too where it cannot be ruled out that others use
 * the zone, mark or meters of some. */
void verify(const struct verify_task *, struct arena *,
            struct verify_result *);

/* Adds to 'tenants', as in the task, those whose packets can come to ports of
 * these, or are meant to. */
void verify_widen(const struct verify_task *, bool tenants[]);

/* Stores for each tenant of the policy a SHA-1, in hexadecimal, of all that a
 * proof of it depends on.  So what is proved of a tenant is proved whenever it
 * has that digest again, as long as all that is nobody's is proved anew.
 * Returns false if that is not known. */
bool verify_digest(const struct verify_task *, struct arena *,
                   const char *digests[]);

bool verify_is_proved(const struct verify_result *);

/* "isolation", "spoofing", ...; and what is asked about it. */
const char *verify_kind_name(enum verify_kind);
const char *verify_kind_question(enum verify_kind);

#endif /* verify/verify.h */

/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_BASE_PRIVATE_H
#define VERIFY_BASE_PRIVATE_H 1

/* The rooms behind base.h: base.c keeps tables and what changes touch,
 * base-prove.c proves. */

#include "verify/base.h"
#include "verify/cookies.h"
#include "verify/seam.h"
#include "verify/slice.h"
#include "verify/touched.h"

struct verify_base {
    struct table_set *tables;
    struct slices *slices;
    struct exec_fields *fields; /* NULL: not known any more. */
    struct origins *origins;
    struct cookies cookies;
    char **names;               /* Of tenants, sorted: those of slices. */
    size_t n;                   /* Tenants; there is one slice more. */
    struct {
        uint32_t *v;
        size_t n, allocated;
    } meters;
    bool tags;
    uint32_t *owners;           /* By port: the slice whose it is, or 'n'. */
    struct slice_ports {
        uint16_t *v;
        size_t n, allocated;
    } *ports;                   /* By slice: those that it owns. */
    size_t n_gone;
    struct touched asked;       /* In the proof that has begun, or is to be
                                 * asked in the next. */
    struct touched later;       /* Since it began. */
    struct seam **seams;        /* By slice; NULL: there is none, ... */
    unsigned long *tried;       /* ... and if 1, none was found. */
    uint64_t state;             /* Another after each change, and of each
                                 * base. */
    char *lost;
};

/* The slice of the tenant; 'b->n', which is nobody's, if it has none. */
size_t base_find_slice(const struct verify_base *, const char *tenant);

/* The port of an endpoint that is here; OFPP_NONE if it is not. */
ofp_port_t base_port_of(const struct verify_task *,
                        const struct policy_endpoint *);

/* Is all that is asked about proved of an endpoint that came or went, if
 * nothing else is meant?  (base-symmetry.c) */
bool base_prove_endpoint(const struct verify_base *,
                         const struct verify_task *,
                         const struct verify_endpoint *, struct arena *);

/* The slices that are not asked about, nobody's too; to be freed. */
unsigned long *base_others(const struct verify_base *);

bool base_has_meter(const struct verify_base *, uint32_t id);

#endif /* verify/base-private.h */

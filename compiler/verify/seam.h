/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_SEAM_H
#define VERIFY_SEAM_H 1

/* A seam: the tables of a tenant cut in two at POLICY, and the meaning where
 * rules are asked.
 *
 * Of the tenant's packets is proved, once, that all is as expected whatever
 * POLICY decides of each, if that is what rules say of it: any of the outcomes
 * that there are, which is a digit of the packet (exec_cut()).  And that
 * POLICY is asked just where rules are, and about the same: by which numbers
 * it knows the two endpoints, and what else it looks at, are the same for all
 * packets of one question.
 *
 * So after a change of rules, and of flows of POLICY alone, all is as expected
 * if POLICY decides what rules say of the endpoints that it is about, by one
 * of those outcomes: by assume-guarantee reasoning (Misra and Chandy 1981),
 * with POLICY as the component that has changed.  Nothing else is run.
 *
 * There is a seam for tenants that have to do with no others, on nodes without
 * tunnels, in networks without groups, and without stateless rules. */

#include "verify/region.h"

struct ds;
struct seam;

/* Of the one tenant of the task.  Returns NULL if it has none. */
struct seam *seam_make(struct proof *);
void seam_destroy(struct seam *);       /* Accepts NULL. */

/* Does a seam depend on other flows only? */
bool seam_is_about(const struct table_flow *);

/* Proves that all is as expected of the packets that can meet the change, as
 * long as the seam's tenant is one of whom nothing else has changed.  Returns
 * false if it is not, or not known. */
bool seam_prove(struct proof *, const struct seam *, const struct region *);

/* Appends it, to be read again by a process of which this one is a copy.
 * Reading returns NULL if it is malformed.  (seam-text.c) */
void seam_format(const struct seam *, struct ds *);
struct seam *seam_parse(const char *text, size_t n);

#endif /* verify/seam.h */

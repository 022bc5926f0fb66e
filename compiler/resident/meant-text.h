/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef RESIDENT_MEANT_TEXT_H
#define RESIDENT_MEANT_TEXT_H 1

/* What an intent says of a tenant, its endpoints and rules, as texts that are
 * the same if the same is said, but for rates, of which no table knows.  They
 * are appended; each returns false if two that differ might be one text. */

#include <stdbool.h>
#include <stddef.h>

struct ds;
struct policy_endpoint;
struct policy_rule;
struct policy_tenant;

/* All but its rules and endpoints, to be freed; NULL where false would be. */
char *meant_rest(const struct policy_tenant *);

/* All that is known of the endpoint: interfaces and bindings may say it.  From
 * '*names' on it says who the endpoint is, before that what it is. */
bool meant_put_endpoint(struct ds *, const struct policy_endpoint *,
                        size_t *names);

bool meant_put_rule(struct ds *, const struct policy_rule *);

/* The same as it is written, which takes a fraction of the time: if that is as
 * it was, so are those texts; if it is not, they may be. */
void meant_put_written_endpoint(struct ds *, const struct policy_endpoint *);
void meant_put_written_rule(struct ds *, const struct policy_rule *);

#endif /* resident/meant-text.h */

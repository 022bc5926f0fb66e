/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_MEANING_RULE_H
#define SEMA_MEANING_RULE_H 1

/* The room behind meaning_judge() for what rules speak about: services,
 * directions, and the two sides. */

#include "sema/meaning.h"

/* Is it of a symmetric service, with 'port' as its destination? */
bool is_symmetric(const struct policy *, const struct flow *,
                  uint8_t protocol, ovs_be16 port);

/* Does it go round connection tracking: to the port of a symmetric service,
 * or a rule that is not stateful speaks of it?  Of a fragment nobody knows in
 * time. */
bool is_untracked(const struct policy *, const struct meaning_question *);

bool goes_backward(enum connection);
bool goes_forward(enum connection);

/* Does it go to the side that opened its connection? */
bool is_backward(const struct meaning_question *);

struct meaning_opener opener_of(const struct meaning_question *);

/* The rule that decides about a packet that reaches 'to', or what is outside
 * if that is NULL; or NULL. */
const struct policy_rule *find_rule(const struct policy *,
                                    const struct meaning_question *,
                                    const struct policy_endpoint *to);

#endif /* sema/meaning-rule.h */

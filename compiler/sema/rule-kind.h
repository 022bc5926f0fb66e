/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_RULE_KIND_H
#define SEMA_RULE_KIND_H 1

#include <stdbool.h>

/* What a rule does, and how strong it is; rule-kinds.def lists them. */

enum rule_kind {
#define RULE_KIND(NAME, WORD) RULE_##NAME,
#include "sema/rule-kinds.def"
#undef RULE_KIND
};

/* So many rules, each narrower than the one before, may overrule one. */
enum { MAX_DEPTH = 32 };

const char *rule_kind_name(enum rule_kind);

/* The lower, the stronger.  Allow rules and peerings are equal: where both
 * allow a packet, to or from an external, the deeper one decides. */
unsigned int rule_kind_rank(enum rule_kind);

bool rule_kind_denies(enum rule_kind);

/* Is it the operator's, named by a key of the intent, and "KIND:NAME"? */
bool rule_kind_is_operators(enum rule_kind);

#endif /* sema/rule-kind.h */

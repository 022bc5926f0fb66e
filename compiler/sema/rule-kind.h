/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_RULE_KIND_H
#define SEMA_RULE_KIND_H 1

/* What a rule does, and how strong it is; rule-kinds.def lists them. */

enum rule_kind {
#define RULE_KIND(NAME, WORD) RULE_##NAME,
#include "sema/rule-kinds.def"
#undef RULE_KIND
};

const char *rule_kind_name(enum rule_kind);

#endif /* sema/rule-kind.h */

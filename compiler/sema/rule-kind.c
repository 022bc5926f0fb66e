/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/rule-kind.h"

const char *
rule_kind_name(enum rule_kind kind)
{
    static const char *const names[] = {
#define RULE_KIND(NAME, WORD) WORD,
#include "sema/rule-kinds.def"
#undef RULE_KIND
    };

    return names[kind];
}

unsigned int
rule_kind_rank(enum rule_kind kind)
{
    return kind == RULE_PEERING ? RULE_ALLOW : kind;
}

bool
rule_kind_denies(enum rule_kind kind)
{
    return kind == RULE_GUARDRAIL || kind == RULE_DENY;
}

bool
rule_kind_is_operators(enum rule_kind kind)
{
    return kind == RULE_GUARDRAIL || kind == RULE_PEERING;
}

/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/verify.h"

static const struct {
    const char *name, *question;
} kinds[N_VERIFY_KINDS] = {
    [VERIFY_ISOLATION] = { "isolation", "nothing passes between two tenants "
                           "but what the intent allows" },
    [VERIFY_SPOOF] = { "spoofing", "nothing passes that lies about its "
                       "sender" },
    [VERIFY_TUNNEL] = { "tunnels", "nothing is taken from unknown tunnels" },
    [VERIFY_LEAK] = { "leaks", "nothing else passes that should not" },
    [VERIFY_BLACK_HOLE] = { "black-holes", "all that is allowed arrives" },
    [VERIFY_METER] = { "meters", "nothing passes without its meters" },
    [VERIFY_MEANING] = { "meaning", "headers, zones, rules and reasons are as "
                         "meant" },
    [VERIFY_CONTRACT] = { "contracts", "no table does by itself what another "
                          "one has to make good" },
};

const char *
verify_kind_name(enum verify_kind kind)
{
    return kinds[kind].name;
}

const char *
verify_kind_question(enum verify_kind kind)
{
    return kinds[kind].question;
}

bool
verify_is_proved(const struct verify_result *result)
{
    return (!result->unproved && !result->n_differences
            && !result->shadowed.n);
}

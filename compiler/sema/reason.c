/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/reason.h"

#include "util.h"

const struct reason_info reason_infos[] = {
#define REASON(NAME, NUMBER, WORD, TEXT, REMEDY) \
    { REASON_##NAME, WORD, TEXT, REMEDY },
#include "sema/reasons.def"
#undef REASON
};
const size_t n_reason_infos = ARRAY_SIZE(reason_infos);

const struct reason_info *
reason_info(enum reason reason)
{
    for (size_t i = 0; i < n_reason_infos; i++) {
        if (reason_infos[i].reason == reason) {
            return &reason_infos[i];
        }
    }
    OVS_NOT_REACHED();
}

/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_REASON_H
#define SEMA_REASON_H 1

/* Implicit reasons: why a packet is dropped where no rule of the intent says
 * so.  The reference meaning, the flows' cookies and what operators read use
 * the same ones; reasons.def lists them. */

#include <stddef.h>

enum reason {
#define REASON(NAME, NUMBER, WORD, TEXT, REMEDY) REASON_##NAME = NUMBER,
#include "sema/reasons.def"
#undef REASON
};

struct reason_info {
    enum reason reason;
    const char *name, *text, *remedy;
};
extern const struct reason_info reason_infos[];
extern const size_t n_reason_infos;

/* The entry of reason_infos[], which has one for each reason. */
const struct reason_info *reason_info(enum reason);

#endif /* sema/reason.h */

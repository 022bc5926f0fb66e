/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_MEANING_LEGACY_H
#define SEMA_MEANING_LEGACY_H 1

/* What a NIC in legacy mode does with what a VF of its sends: no flow sees
 * that, so meaning_judge(), whose answer backends are held against, has none
 * about it but "unbound". */

#include <stdbool.h>

#include "sema/meaning.h"

/* Is the sender a VF in legacy mode, of the question's node, that vf.sh can
 * set? */
bool legacy_sends(const struct meaning_question *);

/* Of such a sender: what has another source MAC is "spoof", a frame with a tag
 * "unbound".  For a MAC of many it is for 'many', all in the VLAN, without
 * copies that anybody could count.  Else the legacy VF of its network that has
 * the MAC gets it, unchecked; if there is none, "unreachable". */
struct meaning legacy_judge(const struct meaning_question *);

#endif /* sema/meaning-legacy.h */

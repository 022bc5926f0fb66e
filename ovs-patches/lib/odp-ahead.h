/*
 * Copyright (c) 2026 Bulkhead developers.
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at:
 *
 *     http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

#ifndef ODP_AHEAD_H
#define ODP_AHEAD_H 1

/* Where a packet would have gone
 * ==============================
 *
 * A packet that an action drops would have met those that follow it.  This
 * looks ahead to the first port that they would have sent it to, and the
 * priority that it would have had there.
 *
 *     action                       what it is here
 *     ---------------------------  -----------------------------------------
 *     output                       what is looked for
 *     set(skb_priority)            as the packet would have got it
 *     clone                        its actions come first, as for a packet;
 *                                  of a tunnel, they have the outer port
 *     recirc, tnl_pop, lb_output,  the end: where it goes from here on, only
 *     check_pkt_len                the packet itself could tell
 *     drop                         the end
 *     sample                       passed over: it is for some packets only
 *     all others                   passed over: the packet goes on after it,
 *                                  as it does after ct, userspace and meters
 *
 * An action in a list of its own, as in a clone, is followed by what is in
 * that list: its packets are copies, which end there. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "odp-util.h"

#ifdef  __cplusplus
extern "C" {
#endif

struct nlattr;

struct odp_ahead {
    odp_port_t port;            /* ODPP_NONE if that is not known, or none. */
    uint32_t priority;          /* These bits are set... */
    uint32_t priority_kept;     /* ...and these stay; all others are cleared.
                                 * All of them stay if there is no port. */
};

/* Looks at what follows 'action', which is one of the 'actions_len' bytes of
 * 'actions', or nested in one. */
void odp_look_ahead(const struct nlattr *actions, size_t actions_len,
                    const struct nlattr *action, struct odp_ahead *);

/* The priority that a packet of 'priority' would have had. */
static inline uint32_t
odp_ahead_priority(const struct odp_ahead *ahead, uint32_t priority)
{
    return ahead->priority | (priority & ahead->priority_kept);
}

/* What was found before, of actions that end alike: most packets that are
 * dropped meet ones that others met just before.  All 0 is nothing. */

enum { ODP_AHEAD_MEMOS = 32 };  /* A power of 2. */

struct odp_ahead_memo {
    struct odp_ahead ahead;
    void *aux;                  /* Of the caller, NULL at first. */

    /* What follows the action.  It is known by its bytes, since other actions
     * may come to be where these were. */
    size_t n_after;             /* 0 if there is nothing here. */
    char after[64];             /* What is longer is not kept. */
};

struct odp_ahead_memos {
    struct odp_ahead_memo memos[ODP_AHEAD_MEMOS];
    struct odp_ahead_memo other; /* Good for one answer. */
};

/* Stores in '*memop' one that has what odp_look_ahead() says.  Returns true if
 * it was there already, with its 'aux'. */
bool odp_ahead_recall(struct odp_ahead_memos *,
                      const struct nlattr *actions, size_t actions_len,
                      const struct nlattr *action,
                      struct odp_ahead_memo **memop);

#ifdef  __cplusplus
}
#endif

#endif /* odp-ahead.h */

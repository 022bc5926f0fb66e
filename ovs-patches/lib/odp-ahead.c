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

#include <config.h>
#include "odp-ahead.h"

#include <string.h>

#include "netlink.h"
#include "odp-netlink.h"
#include "unaligned.h"
#include "util.h"

static const struct odp_ahead nowhere = {
    .port = ODPP_NONE, .priority_kept = UINT32_MAX,
};

/* Sets the bits of the priority in 'mask' to those of 'value'. */
static void
set_priority(struct odp_ahead *ahead, uint32_t value, uint32_t mask)
{
    ahead->priority = (ahead->priority & ~mask) | (value & mask);
    ahead->priority_kept &= ~mask;
}

/* Does to '*ahead' what a set action with 'key' does to a packet. */
static void
look_at_set(struct odp_ahead *ahead, const struct nlattr *key, bool masked)
{
    if (nl_attr_type(key) == OVS_KEY_ATTR_PRIORITY) {
        const uint32_t *value = nl_attr_get(key);

        set_priority(ahead, value[0], masked ? value[1] : UINT32_MAX);
    }
}

/* Looks for an output in 'actions'.  Returns true if there is one, with
 * '*ahead' what it is, or if nothing can be said of what follows. */
static bool
look(const struct nlattr *actions, size_t actions_len,
     struct odp_ahead *ahead)
{
    const struct nlattr *a;
    unsigned int left;

    NL_ATTR_FOR_EACH_UNSAFE (a, left, actions, actions_len) {
        struct odp_ahead copy = *ahead;

        switch (nl_attr_type(a)) {
        case OVS_ACTION_ATTR_OUTPUT:
            ahead->port = nl_attr_get_odp_port(a);
            return true;

        case OVS_ACTION_ATTR_SET:
        case OVS_ACTION_ATTR_SET_MASKED:
            look_at_set(ahead, nl_attr_get(a),
                        nl_attr_type(a) == OVS_ACTION_ATTR_SET_MASKED);
            break;

        case OVS_ACTION_ATTR_CLONE:
            if (look(nl_attr_get(a), nl_attr_get_size(a), &copy)) {
                *ahead = copy;
                return true;
            }
            break;

        case OVS_ACTION_ATTR_RECIRC:
        case OVS_ACTION_ATTR_TUNNEL_POP:
        case OVS_ACTION_ATTR_LB_OUTPUT:
        case OVS_ACTION_ATTR_CHECK_PKT_LEN:
        case OVS_ACTION_ATTR_DROP:
            return true;

        default:
            break;
        }
    }
    return false;
}

/* Is 'inner' a part of 'a'? */
static bool
contains(const struct nlattr *a, const struct nlattr *inner)
{
    return ((const char *) inner > (const char *) a
            && (const char *) inner < (const char *) a + a->nla_len);
}

void
odp_look_ahead(const struct nlattr *actions, size_t actions_len,
               const struct nlattr *action, struct odp_ahead *ahead)
{
    const struct nlattr *a;
    unsigned int left;

    *ahead = nowhere;
    NL_ATTR_FOR_EACH_UNSAFE (a, left, actions, actions_len) {
        if (a == action) {
            look(nl_attr_next(a), left - MIN(left, NLA_ALIGN(a->nla_len)),
                 ahead);
            break;
        } else if (contains(a, action)) {
            /* A list of actions, or what a sample or check_pkt_len has around
             * one. */
            odp_look_ahead(nl_attr_get(a), nl_attr_get_size(a), action,
                           ahead);
            break;
        }
    }
    if (ahead->port == ODPP_NONE) {
        *ahead = nowhere;
    }
}

/* Returns what follows 'action' in 'actions', if it is not nested in another
 * one, which would end before; and in '*n' how many bytes that is, 0 if it is
 * nested. */
static const char *
after(const struct nlattr *actions, size_t actions_len,
      const struct nlattr *action, size_t *n)
{
    const char *end = (const char *) actions + actions_len;
    const char *next = (const char *) nl_attr_next(action);
    const struct nlattr *a = actions;

    while (a < action) {
        a = nl_attr_next(a);
    }
    *n = a == action && next < end ? end - next : 0;
    return next;
}

/* Are the 'n' bytes of 'a' and 'b' the same?  'n' is a multiple of 4, and
 * mostly so small that a call of memcmp() takes longer. */
static inline bool
equal(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i += 4) {
        if (get_unaligned_u32((const void *) &a[i])
            != get_unaligned_u32((const void *) &b[i])) {
            return false;
        }
    }
    return true;
}

bool
odp_ahead_recall(struct odp_ahead_memos *memos,
                 const struct nlattr *actions, size_t actions_len,
                 const struct nlattr *action, struct odp_ahead_memo **memop)
{
    size_t n;
    const char *bytes = after(actions, actions_len, action, &n);
    struct odp_ahead_memo *memo = &memos->other;

    if (n && n <= sizeof memo->after) {
        /* Mostly this is the output. */
        uint32_t last;

        memcpy(&last, bytes + n - sizeof last, sizeof last);
        memo = &memos->memos[last % ODP_AHEAD_MEMOS];
    } else {
        n = 0;
    }
    *memop = memo;
    if (n && memo->n_after == n && equal(memo->after, bytes, n)) {
        return true;
    }
    odp_look_ahead(actions, actions_len, action, &memo->ahead);
    memo->aux = NULL;
    memo->n_after = n;
    memcpy(memo->after, bytes, n);
    return false;
}

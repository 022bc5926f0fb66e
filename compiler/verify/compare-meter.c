/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* Which meters a packet passes. */

#include <inttypes.h>

#include "sema/meaning-meters.h"
#include "sema/tree.h"
#include "util.h"
#include "verify/compare.h"

static bool
has_meter(const struct comparison *c, uint64_t id)
{
    for (size_t i = 0; i < c->task->n_meters; i++) {
        if (c->task->meters[i] == id) {
            return true;
        }
    }
    return !c->task->meters;
}

/* In the place of diagrams. */
#define IS_THERE DD_LEAF(1)
#define IS_NOT_THERE DD_LEAF(2)

bool
compare_has_meter(struct comparison *c, uint64_t id)
{
    dd_t *known = memo_find(&c->meters, &id, sizeof id);

    if (*known == DD_NONE) {
        *known = has_meter(c, id) ? IS_THERE : IS_NOT_THERE;
    }
    return *known == IS_THERE;
}

/* Is what is meant the meter of a class that does not borrow? */
static bool
class_is_apart(const struct meaning_meter *meant)
{
    const struct policy_part *part = tenant_part(
        meant->tenant, meant->receive, meant->class->dscp,
        meant->class->queue);

    return part && part->bandwidth->no_borrow;
}

/* Is what is meant two meters, one in the tree of the tenant's limit and one
 * in that of the uplink?  See docs/pipeline.md, "Meters". */
static bool
is_twice(const struct comparison *c, const struct meaning_meter *meant)
{
    const struct policy_endpoint *own = meant->endpoint;
    const struct intent_bandwidth *all = tenant_bandwidth(meant->tenant,
                                                          meant->receive);
    const struct intent_uplink *uplink
        = own ? network_uplink(own->network, c->node) : meant->uplink;

    return (!meant->dscp_in && all->limit.at && !all->no_borrow
            && !(own && endpoint_bandwidth(own, meant->receive)->no_borrow)
            && !(meant->class && class_is_apart(meant))
            && tenant_is_split(meant->tenant, c->node, uplink, meant->receive)
            && tree_is_there(c->task->policy, c->node, uplink,
                             meant->receive));
}

static const char *
compare_meter(struct comparison *c, const struct meaning_meter *meant,
              bool limit, uint64_t id)
{
    struct usage usage = {
        .kind = (meant->dscp_in ? USE_DSCP_IN : meant->receive ? USE_RECEIVE
                 : USE_SEND),
        .tenant = meant->tenant, .endpoint = meant->endpoint,
        .uplink = meant->uplink, .class = meant->class, .limit = limit,
        .value = id,
    };

    return (!compare_is_named(c, &usage) || !usage_is_usual(c, usage)
            ? arena_printf(c->arena, "it passes meter %"PRIu64", not that of "
                           "what %s %s", id, meant->endpoint
                           ? meant->endpoint->name : meant->tenant->name,
                           meant->receive ? "gets" : "sends")
            : !compare_has_meter(c, id)
            ? arena_printf(c->arena, "meter %"PRIu64" is not there", id)
            : NULL);
}

/* Is the meter the one that tags what is of 'tenant' and passes no meter of
 * what is sent here? */
static bool
is_tag(struct comparison *c, const struct policy_tenant *tenant, uint64_t id)
{
    struct usage usage = { .kind = USE_TAG, .tenant = tenant, .value = id };

    return (compare_is_named(c, &usage) && usage_is_usual(c, usage)
            && compare_has_meter(c, id));
}

const char *
compare_meters(struct comparison *c, const uint64_t meters[], size_t n_meters,
               const struct expect *e, const struct expect_copy *copy)
{
    struct meaning m = {
        .from = e->from, .payer = e->payer, .charged = e->charged,
        .uplink = e->uplink, .node = e->node, .kept = copy->kept,
        .dscp = copy->dscp, .queue = copy->queue,
    };
    const struct policy_tenant *tag = meaning_tag(&m, copy->to);
    struct meaning_meter meant[MAX_MEANING_METERS];
    size_t n_meant = meaning_meters(&m, copy->to, meant), n = 0;
    const char *wrong = NULL;

    if (tag && n_meters && is_tag(c, tag, meters[0])) {
        n++;
    } else if (tag && c->task->tags) {
        return arena_printf(c->arena, "it passes no meter that gives it the "
                            "tag of %s", tag->name);
    }
    for (size_t i = 0; i < n_meant && !wrong; i++) {
        for (int limit = is_twice(c, &meant[i]); limit >= 0 && !wrong;
             limit--, n++) {
            wrong = (n < n_meters
                     ? compare_meter(c, &meant[i], limit, meters[n])
                     : arena_printf(c->arena, "it passes %"PRIuSIZE" meters, "
                                    "and lacks one of %s", n_meters,
                                    meant[i].tenant->name));
        }
    }
    return (wrong || n == n_meters ? wrong
            : arena_printf(c->arena, "it passes %"PRIuSIZE" meters, not "
                           "%"PRIuSIZE, n_meters, n));
}

/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/validate.h"

#include <inttypes.h>
#include <string.h>

/* That of an uplink, which stands before those of tenants. */
static void
check_pool(struct ir_validator *v, const struct ir_meter *pool,
           const struct ir_meter *previous)
{
    if (previous && previous->tenant) {
        ir_invalid(v, "it comes after '%s'", previous->name);
    } else if (!pool->number || pool->parent || pool->endpoint
               || pool->guarantee_kbps || pool->weight || pool->no_borrow
               || pool->microburst || pool->unlimited || pool->split
               || pool->limit_number || pool->apart_kbps || pool->class
               || ir_is_fabric(v->prog)) {
        ir_invalid(v, "it is no tenant's, and more than a rate");
    }
    ir_once(v, "meter's number %#"PRIx32, pool->number);
    ir_once(v, "meter to %s by uplink '%s'",
            pool->receive ? "receive" : "send", pool->uplink);
}

/* Who borrows is below its uplink, or below its tenant, which is split. */
static void
check_parent(struct ir_validator *v, const struct ir_meter *meter)
{
    const struct ir_meter *parent = meter->parent;

    if (!parent) {
        /* A guarantee may be left for a NIC to keep. */
        if (meter->weight && !meter->no_borrow && !ir_is_fabric(v->prog)) {
            ir_invalid(v, "it has nobody to borrow from");
        }
    } else if (parent->receive != meter->receive
               || strcmp(parent->uplink, meter->uplink) || meter->no_borrow
               || (parent->tenant
                   ? (!parent->split || parent->tenant != meter->tenant
                      || meter->split)
                   : meter->endpoint != NULL)) {
        ir_invalid(v, "it does not borrow from '%s'", parent->name);
    }
}

/* What is split has somebody to be shared by. */
static void
check_split(struct ir_validator *v, const struct ir_meter *meter)
{
    const struct ir_meter *all = (meter->split ? meter
                                  : meter->parent && meter->parent->split
                                  ? meter->parent : NULL);
    bool beside = all && all->parent && !all->unlimited;

    if (meter->class && (meter->endpoint || meter->split
                         || (!meter->parent && !meter->no_borrow
                             && !ir_is_fabric(v->prog)))) {
        ir_invalid(v, "it is of a class, and of no tenant that is split");
    } else if (meter->split && (!meter->number || meter->endpoint
                         || meter->apart_kbps > meter->rate_kbps
                         || ir_is_fabric(v->prog))) {
        ir_invalid(v, "it cannot be split");
    } else if (!meter->split && meter->apart_kbps) {
        ir_invalid(v, "it is not split, and sets something apart");
    } else if (beside != (meter->limit_number != 0)) {
        ir_invalid(v, "the limit of its tenant is kept beside it or not");
    } else if (meter->limit_number) {
        ir_once(v, "meter's number %#"PRIx32, meter->limit_number);
    }
}

/* The meters of a tenant stand together, and have numbers but the only one for
 * what it sends. */
void
ir_validate_meter(struct ir_validator *v, const struct ir_meter *meter)
{
    const struct ir_meter *previous = v->n ? v->prog->meters.v[v->n - 1]
                                           : NULL;

    if (!meter->tenant) {
        check_pool(v, meter, previous);
        return;
    }
    ir_check_prefix(v, meter->tenant, meter->name);
    check_parent(v, meter);
    check_split(v, meter);
    if (!meter->node == ir_is_fabric(v->prog)
        || (!meter->tenant->here && !meter->node && !meter->number)) {
        ir_invalid(v, "its tenant is not here, or it has no node");
    } else if (previous && previous->tenant
               && strcmp(previous->tenant->name, meter->tenant->name) > 0) {
        ir_invalid(v, "it comes after '%s'", previous->name);
    } else if (meter->endpoint && (meter->endpoint->tenant != meter->tenant
                                   || meter->endpoint->node != meter->node)) {
        ir_invalid(v, "its endpoint is another's, or not here");
    } else if (meter->node || meter->number) {
        ir_once(v, "meter of %s%s'%s' to %s by uplink '%s' of '%s'",
                ir_meter_is_rest(meter) ? "the rest of "
                : meter->class ? meter->class->name : "",
                meter->class ? " of " : "",
                meter->endpoint ? meter->endpoint->name : meter->tenant->name,
                meter->receive ? "receive" : "send", meter->uplink,
                meter->node ? meter->node->name : v->prog->node);
        if (meter->number) {
            ir_once(v, "meter's number %#"PRIx32, meter->number);
        }
    } else if (meter->endpoint || meter->receive) {
        ir_invalid(v, "it is not for what a tenant sends, and has no number");
    } else {
        ir_once(v, "meter of '%s' without number", meter->tenant->name);
    }
}

/* The first tenant of 'payers' that has no meter of what it sends by the
 * uplink, or NULL. */
static const struct ir_tenant *
find_unmetered(const struct ir_prog *prog, const ir_endpoint_vec *payers,
               const char *uplink)
{
    const struct ir_tenant *last = NULL;

    for (size_t i = 0; i < payers->n; i++) {
        const struct ir_tenant *tenant = payers->v[i]->tenant;

        if (tenant != last
            && !ir_find_meter(prog, (struct ir_account) { tenant, uplink },
                              false)) {
            return tenant;
        }
        last = tenant;
    }
    return NULL;
}

void
ir_validate_charges(struct ir_validator *v)
{
    for (size_t i = 0; i < v->prog->rules.n && !ir_is_fabric(v->prog); i++) {
        const struct ir_rule *rule = v->prog->rules.v[i];
        struct ir_charge charge = ir_charge_of(rule);
        const char *last = NULL;

        v->what = "rule";
        v->name = rule->name;
        v->place = &rule->place;
        for (size_t j = 0; charge.payers && j < charge.others->n; j++) {
            const char *uplink = charge.others->v[j]->network->uplink;

            if (!charge.others->v[j]->node && uplink != last) {
                const struct ir_tenant *tenant
                    = find_unmetered(v->prog, charge.payers, uplink);

                if (tenant) {
                    ir_invalid(v, "no meter of '%s', which pays, is for "
                               "uplink '%s'", tenant->name, uplink);
                    return;
                }
                last = uplink;
            }
        }
    }
}

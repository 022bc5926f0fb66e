/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <inttypes.h>
#include <string.h>

#include "flow.h"
#include "openvswitch/dynamic-string.h"
#include "sema/ident.h"
#include "util.h"
#include "verify/compare.h"

const char *
compare_port_name(const struct comparison *c, uint32_t port)
{
    char name[OFP_MAX_PORT_NAME_LEN];

    ofputil_port_to_string(u16_to_ofp(port), c->task->tables->ports, name,
                           sizeof name);
    return (port == ofp_to_u16(OFPP_IN_PORT) ? "that it came from"
            : arena_strdup(c->arena, name));
}

/* The endpoint of the node behind a port, or NULL. */
static const struct policy_endpoint *
find_endpoint(const struct comparison *c, uint32_t port)
{
    const struct policy *policy = c->task->policy;

    for (size_t i = 0; i < policy->tenants.n; i++) {
        for (size_t k = 0; k < policy->tenants.v[i]->endpoints.n; k++) {
            const struct policy_endpoint *e
                = policy->tenants.v[i]->endpoints.v[k];

            if (e->bound && !strcmp(e->node->name.s, c->task->node)
                && compare_port(c, e->intent->interface.s)
                   == u16_to_ofp(port)) {
                return e;
            }
        }
    }
    return NULL;
}

enum verify_kind
compare_wrong_port(const struct comparison *c, const struct expect *e,
                   uint32_t port)
{
    const struct policy_endpoint *to = find_endpoint(c, port);

    return (to && e->from && to->tenant != e->from->tenant ? VERIFY_ISOLATION
            : VERIFY_LEAK);
}

static const char *
to_arena(const struct comparison *c, struct ds *ds)
{
    const char *text = arena_strdup(c->arena, ds_cstr(ds));

    ds_destroy(ds);
    return text;
}

static void
put_cookie(struct ds *ds, const struct comparison *c, uint64_t cookie)
{
    const struct policy *policy = c->task->policy;

    for (size_t i = 0; i < policy->rules.n; i++) {
        if ((COOKIE_MARK | policy->rules.v[i]->id) == cookie) {
            ds_put_format(ds, "rule '%s'", policy->rules.v[i]->name);
            return;
        }
    }
    for (size_t i = 0; i < n_reason_infos; i++) {
        if ((COOKIE_MARK | reason_infos[i].reason) == cookie) {
            ds_put_cstr(ds, reason_infos[i].name);
            return;
        }
    }
    ds_put_format(ds, "cookie %#"PRIx64, cookie);
}

static void
put_effect(struct ds *ds, const struct comparison *c,
           const struct effect *e)
{
    switch (e->kind) {
    case EFFECT_RULE:
        put_cookie(ds, c, e->arg);
        break;
    case EFFECT_METER:
        ds_put_format(ds, "meter %"PRIu64, e->arg);
        break;
    case EFFECT_TRACK:
        ds_put_format(ds, "tracked in zone %"PRIu64, e->arg);
        break;
    case EFFECT_COMMIT:
        ds_put_format(ds, "noted in zone %"PRIu64" with mark %#"PRIx64,
                      e->arg & UINT16_MAX, e->arg >> 16);
        break;
    case EFFECT_OUT:
        ds_put_format(ds, "to port %s", compare_port_name(
            c, effects_out(c->effects, e->arg)->port));
        break;
    case EFFECT_OPEN: ds_put_cstr(ds, "a copy ("); break;
    case EFFECT_CLOSE: ds_put_char(ds, ')'); break;
    case EFFECT_END:
        ds_put_cstr(ds, "dropped as ");
        put_cookie(ds, c, e->arg);
        break;
    case EFFECT_MISS:
        ds_put_format(ds, "dropped by table %"PRIu64", which has no flow for "
                      "it", e->arg);
        break;
    case EFFECT_TTL: ds_put_cstr(ds, "dropped by dec_ttl"); break;
    case EFFECT_TAIL: break;    /* None is left. */
    case EFFECT_ASKED: break;   /* Of what is told, nothing is cut. */
    case EFFECT_AMBIGUOUS:
        ds_put_cstr(ds, "what two flows of one priority say, each otherwise");
        break;
    }
}

const char *
compare_effects_text(const struct comparison *c, dd_t effects)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    size_t n;
    const struct effect *e = effects_get(c->effects, effects, &n);

    for (size_t i = 0; i < n; i++) {
        if (i && e[i].kind != EFFECT_CLOSE && e[i - 1].kind != EFFECT_OPEN) {
            ds_put_cstr(&ds, ", ");
        }
        put_effect(&ds, c, &e[i]);
    }
    return n ? to_arena(c, &ds) : "nothing";
}

/* Who decides. */
static void
put_deciding(struct ds *ds, const struct comparison *c, uint32_t rules,
             uint32_t reason)
{
    size_t n;
    const struct policy_rule *const *v = expect_rules(c->judge, rules, &n);

    if (n) {
        ds_put_format(ds, " by rule '%s'", v[0]->name);
    } else if (reason) {
        ds_put_format(ds, " as %s", reason_info(reason)->name);
    }
}

const char *
compare_expect_text(const struct comparison *c, const struct expect *e)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    size_t n;
    const struct expect_copy *copies = expect_copies(c->judge, e->copies, &n);

    if (e->answered) {
        ds_put_cstr(&ds, "answered by the node");
    } else if (n) {
        ds_put_cstr(&ds, "copied");
        for (size_t i = 0; i < n; i++) {
            ds_put_format(&ds, "%s %s %s", i ? "," : "", copies[i].allow
                          ? "to" : "not to", copies[i].to->name);
            put_deciding(&ds, c, copies[i].rules, copies[i].reason);
        }
    } else {
        ds_put_cstr(&ds, e->allow ? "allowed" : "dropped");
        put_deciding(&ds, c, e->rules, e->reason);
        if (e->allow && e->to) {
            ds_put_format(&ds, ", to %s", e->to->name);
        } else if (e->allow) {
            ds_put_format(&ds, ", to external '%s'",
                          e->external->external->name);
        }
    }
    return to_arena(c, &ds);
}

/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "outcome.h"

#include <inttypes.h>
#include <string.h>

#include "packets.h"
#include "sema/ident.h"
#include "sema/meaning.h"
#include "util.h"

struct comparison {
    const struct compiled *compiled;
    const struct question *question;
    const struct meaning_question *q;
    const struct meaning *m;
    const struct outcome *o;
    struct arena *arena;
};

struct delivery *
outcome_deliver(struct outcome *o, ofp_port_t port,
                const struct meters *meters, uint32_t queue)
{
    struct delivery *out = &o->out[o->n_out];

    if (o->n_out + 1 >= MAX_ENDPOINTS) {
        o->broken = "it goes to too many ports";
    } else {
        o->n_out++;
    }
    out->port = port;
    out->rule = o->rule;
    out->meters = *meters;
    out->queue = queue;
    return out;
}

void
outcome_end_copy(struct outcome *o, size_t n_before)
{
    if (o->n_out > n_before) {
        return;
    } else if (o->n_dropped >= MAX_ENDPOINTS) {
        o->broken = "it has too many copies";
    } else {
        o->dropped[o->n_dropped++] = o->cookie;
    }
}

void
outcome_add_zone(struct outcome *o, struct zones *zones, uint16_t zone,
                 uint32_t mark)
{
    if (zones->n >= MAX_ZONES) {
        o->broken = "it enters too many zones";
    } else {
        zones->marks[zones->n] = mark;
        zones->v[zones->n++] = zone;
    }
}

static struct meaning_question
ask(const struct compiled *c, const struct question *q)
{
    struct meaning_question mq = question_ask(q, compiled_endpoint(c,
                                                                   q->from));

    mq.node = c->prog->node;
    mq.external = q->external[0] ? compiled_attachment(c, q->external) : NULL;
    return mq;
}

struct meaning
outcome_meaning(const struct compiled *c, const struct question *q)
{
    struct meaning_question mq = ask(c, q);

    return meaning_judge(c->policy, &mq);
}

static const struct policy_rule *
find_rule(const struct compiled *c, uint64_t cookie)
{
    for (size_t i = 0; i < c->policy->rules.n; i++) {
        if ((COOKIE_MARK | c->policy->rules.v[i]->id) == cookie) {
            return c->policy->rules.v[i];
        }
    }
    return NULL;
}

static bool
as_strong(const struct policy_rule *a, const struct policy_rule *b)
{
    return (rule_kind_rank(a->kind) == rule_kind_rank(b->kind)
            && a->depth == b->depth);
}

bool
cookies_differ(const struct compiled *c, uint64_t a, uint64_t b)
{
    const struct policy_rule *one = find_rule(c, a), *other = find_rule(c, b);

    return a != b && (!one || !other || !as_strong(one, other));
}

static bool
rule_speaks(const struct comparison *c, const struct policy_rule *rule,
            const struct policy_endpoint *to)
{
    struct meaning_question q = *c->q;

    if (c->m->untracked) {
        q.connection = CONNECTION_NONE;
        q.opener = NULL;
    }
    return meaning_rule_speaks(c->compiled->policy, rule, &q, to);
}

/* Is the flow's cookie that of the deciding rule, or of one as strong? */
static bool
is_deciding_rule(const struct comparison *c, const struct policy_rule *decides,
                 const struct policy_endpoint *to, uint64_t cookie)
{
    const struct policy_rule *rule = find_rule(c->compiled, cookie);

    return rule && as_strong(rule, decides) && rule_speaks(c, rule, to);
}

/* Adds the tenant's zone on this node, its own and nobody else's. */
static void
add_zone_of(const struct compiled *c, const struct policy_tenant *tenant,
            struct zones *zones)
{
    const struct ir_prog *prog = c->prog;
    uint16_t zone = 0;
    uint32_t number = 0;
    int n = 0;

    for (size_t i = 0; i < prog->tenants.n; i++) {
        if (!strcmp(prog->tenants.v[i]->name, tenant->name)) {
            zone = prog->tenants.v[i]->zone;
            number = prog->tenants.v[i]->number;
        }
    }
    for (size_t i = 0; i < prog->tenants.n; i++) {
        n += prog->tenants.v[i]->zone == zone;
    }
    zones->marks[zones->n] = number;
    zones->v[zones->n++] = n == 1 ? zone : 0;
}

/* The zones that the packet of an allowed connection goes through: those of
 * the tenants whose endpoint is here. */
static struct zones
expected_zones(const struct comparison *c)
{
    const struct policy_tenant *from = (c->m->from ? c->m->from->tenant
                                        : c->m->to->tenant);
    const struct policy_tenant *to = c->m->to ? c->m->to->tenant : from;
    struct zones zones = { .n = 0 };

    if (!c->q->tunnel) {
        add_zone_of(c->compiled, from, &zones);
    }
    if (c->q->tunnel || (to != from && !c->m->node)) {
        add_zone_of(c->compiled, to, &zones);
    }
    return zones;
}

/* Those of 'zones' in which the connection is new. */
static struct zones
zones_of_new(const struct comparison *c, const struct zones *zones)
{
    const enum connection states[] = {
        c->question->connection, c->question->beyond,
    };
    struct zones noted = { .n = 0 };

    for (size_t i = 0; i < zones->n && c->o->tracked.n; i++) {
        if (states[i] == CONNECTION_NEW) {
            noted.marks[noted.n] = zones->marks[i];
            noted.v[noted.n++] = zones->v[i];
        }
    }
    return noted;
}

static bool
zones_equal(const struct zones *a, const struct zones *b)
{
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        if (!a->v[i] || a->v[i] != b->v[i]) {
            return false;
        }
    }
    return a->n == b->n;
}

static const char *
compare_zones(const struct comparison *c)
{
    struct zones expected = expected_zones(c);
    struct zones noted = zones_of_new(c, &expected);
    bool tracked = c->o->tracked.n > 0;

    if (tracked == c->m->untracked) {
        return tracked ? "it is tracked" : "it is not tracked";
    } else if (tracked && !zones_equal(&c->o->tracked, &expected)) {
        return "it is tracked in other zones";
    } else if (!zones_equal(&c->o->committed, &noted)) {
        return "it is committed to other zones";
    }
    for (size_t i = 0; i < noted.n; i++) {
        if (c->o->committed.marks[i] != noted.marks[i]) {
            return "its connection is noted as another's";
        }
    }
    return NULL;
}

static const char *
compare_packets(const struct comparison *c, const struct delivery *out,
                uint8_t dscp)
{
    struct flow expected = outcome_packet(c->q->packet, c->m, dscp);

    return packets_differ(&expected, &out->packet, c->o->headers_only);
}

/* Of what leaves by tunnel. */
static const char *
compare_outer(const struct comparison *c, const struct delivery *out)
{
    const struct flow_tnl *outer = &out->packet.tunnel;
    struct in6_addr destination = flow_tnl_dst(outer);

    return (outer->tun_id != htonll(c->m->to->network->intent->vni)
            ? arena_printf(c->arena, "its VNI is %"PRIu64,
                           ntohll(outer->tun_id))
            : !ipv6_addr_equals(&destination, &c->m->node->tunnel.ip)
            ? "it goes to another node" : NULL);
}

/* What 'copy' gets, and how. */
static const char *
compare_delivery(const struct comparison *c, const struct delivery *out,
                 const struct meaning_copy *copy)
{
    const struct meaning *m = c->m;
    const char *wrong_meters = outcome_compare_meters(c->compiled, c->o, out,
                                                      m, copy->to, c->arena);

    if (out->port != u16_to_ofp(m->node ? TUNNEL_PORT
                                : copy->to ? endpoint_port(copy->to)
                                : external_port(m->external->external))) {
        return arena_printf(c->arena, "it goes to port %u", out->port);
    } else if (m->node && compare_outer(c, out)) {
        return compare_outer(c, out);
    } else if (copy->rule ? !is_deciding_rule(c, copy->rule, copy->to,
                                              out->rule) : out->rule) {
        return arena_printf(c->arena, "its rule is %#"PRIx64, out->rule);
    } else if (out->queue != copy->queue) {
        return arena_printf(c->arena, "its queue is %u", out->queue);
    } else if (wrong_meters) {
        return wrong_meters;
    }
    return compare_packets(c, out, copy->dscp);
}

static bool
has_copy(const struct meaning *m, const struct policy_endpoint *e)
{
    for (size_t i = 0; i < m->n_copies; i++) {
        if (m->copies[i].to == e) {
            return true;
        }
    }
    return false;
}

/* Of the copy for 'to', which nobody gets. */
static bool
is_denying(const struct comparison *c, const struct policy_endpoint *to,
           uint64_t cookie)
{
    uint64_t reason = to == c->m->from ? REASON_PIPELINE : REASON_DEFAULT;
    const struct policy_rule *best = NULL;

    for (size_t i = 0; i < c->compiled->policy->rules.n; i++) {
        const struct policy_rule *rule = c->compiled->policy->rules.v[i];

        if (rule_kind_denies(rule->kind) && (!best || rule->kind < best->kind)
            && rule_speaks(c, rule, to)) {
            best = rule;
        }
    }
    return (best ? is_deciding_rule(c, best, to, cookie)
            : cookie == (COOKIE_MARK | reason));
}

/* The copies of a multicast packet that are dropped: one for each endpoint of
 * the network here that does not get it, the sender among them. */
static const char *
compare_dropped(const struct comparison *c)
{
    const struct policy_endpoint *from = c->m->from;
    bool multicast = c->m->many && (!c->m->n_copies || c->m->copies[0].rule);
    size_t n = 0;

    for (size_t i = 0; multicast && i < from->tenant->endpoints.n; i++) {
        const struct policy_endpoint *to = from->tenant->endpoints.v[i];

        if (to->network != from->network || !to->bound
            || strcmp(to->node->name.s, c->q->node)
            || has_copy(c->m, to)) {
            continue;
        } else if (n >= c->o->n_dropped
                   || !is_denying(c, to, c->o->dropped[n])) {
            return arena_printf(c->arena, "the copy for %s is dropped by "
                                "%#"PRIx64, to->name, c->o->dropped[n]);
        }
        n++;
    }
    return n < c->o->n_dropped ? "it has more copies" : NULL;
}

/* Both are in the order of the receivers' names. */
static const char *
compare_copies(const struct comparison *c)
{
    const char *difference = compare_zones(c);

    if (c->o->n_out != c->m->n_copies) {
        return arena_printf(c->arena, "it goes to %"PRIuSIZE" receivers, not "
                            "%"PRIuSIZE, c->o->n_out, c->m->n_copies);
    }
    for (size_t i = 0; i < c->m->n_copies && !difference; i++) {
        difference = compare_delivery(c, &c->o->out[i], &c->m->copies[i]);
    }
    return difference ? difference : compare_dropped(c);
}

static const char *
compare_allowed(const struct comparison *c)
{
    const struct meaning *m = c->m;
    const struct outcome *o = c->o;
    const struct delivery *out = &o->out[0];

    if (!o->n_out) {
        return arena_printf(c->arena, "it is dropped by %#"PRIx64, o->cookie);
    } else if (m->n_copies) {
        return compare_copies(c);
    } else if (o->n_out > 1) {
        return "it goes to two ports";
    } else if (m->answered) {
        return out->port != OFPP_IN_PORT ? "it is not answered"
               : o->tracked.n + o->committed.n ? "it is tracked"
               : compare_packets(c, out, m->dscp);
    }

    struct meaning_copy only = {
        m->to, m->rule, m->kept, m->dscp, m->queue,
    };
    const char *difference = compare_zones(c);
    return difference ? difference : compare_delivery(c, out, &only);
}

static const char *
compare_denied(const struct comparison *c)
{
    const struct outcome *o = c->o;

    if (o->n_out) {
        return arena_printf(c->arena, "it goes to port %u by %#"PRIx64,
                            o->out[0].port, o->out[0].rule);
    } else if (o->committed.n && c->m->reason != REASON_CONNECTIONS) {
        return "its connection is committed";
    } else if (c->m->many) {    /* Each copy is dropped by its own flow. */
        return o->tracked.n ? "it is tracked" : compare_dropped(c);
    } else if (c->m->rule ? !is_deciding_rule(c, c->m->rule, c->m->to,
                                              o->cookie)
               : o->cookie != (COOKIE_MARK | c->m->reason)) {
        return arena_printf(c->arena, "it is dropped by %#"PRIx64, o->cookie);
    }
    return NULL;
}

/* Whatever the verdict. */
static const char *
compare_counters(const struct comparison *c)
{
    const char *counted = c->m->counted ? c->m->counted->name : "";
    const char *owner = outcome_meter_owner(c->compiled, c->o, c->o->counter);

    return (strcmp(counted, owner)
            ? arena_printf(c->arena, "meter %u of '%s' counts it",
                           c->o->counter, owner) : NULL);
}

const char *
outcome_compare(const struct compiled *compiled, const struct question *q,
                const struct outcome *o, struct arena *arena)
{
    struct meaning_question mq = ask(compiled, q);
    struct meaning m = meaning_judge(compiled->policy, &mq);
    struct comparison c = { compiled, q, &mq, &m, o, arena };

    if (m.from) {
        mq.from = m.from;       /* Also of what came by tunnel. */
    }

    const char *difference = o->broken ? o->broken : compare_counters(&c);

    return (difference ? difference
            : m.allow ? compare_allowed(&c) : compare_denied(&c));
}

const char *
outcome_compare_relayed(const struct compiled *compiled,
                        const struct question *q, const struct outcome *there,
                        struct arena *arena)
{
    struct meaning_question mq = ask(compiled, q);
    struct meaning m = meaning_judge(compiled->policy, &mq);
    struct comparison c = { compiled, q, &mq, &m, there, arena };

    return (there->n_out != 1 ? "it is dropped"
            : there->out[0].port != u16_to_ofp(endpoint_port(m.to))
            ? arena_printf(arena, "it goes to port %u, not to %s",
                           there->out[0].port, m.to->name)
            : compare_packets(&c, &there->out[0], m.dscp));
}

bool
question_is_tracked(const struct compiled *compiled, const struct question *q)
{
    return (is_ip_any(&q->packet) && q->connection != CONNECTION_NONE
            && q->connection != CONNECTION_INVALID
            && !outcome_meaning(compiled, q).untracked);
}

const char *
outcome_text(const struct outcome *o, struct arena *arena)
{
    const char *text = "";

    for (size_t i = 0; i < o->n_out; i++) {
        const struct delivery *out = &o->out[i];

        text = arena_printf(arena, "%s%sallow by %#"PRIx64" to port %u, queue "
                            "%u, meters", text, i ? "; " : "", out->rule,
                            out->port, out->queue);
        for (size_t j = 0; j < out->meters.n; j++) {
            text = arena_printf(arena, "%s %u", text, out->meters.v[j]);
        }
    }
    return o->n_out ? text : arena_printf(arena, "deny by %#"PRIx64,
                                          o->cookie);
}

const char *
meaning_text(const struct compiled *compiled, const struct question *q,
             struct arena *arena)
{
    struct meaning m = outcome_meaning(compiled, q);
    uint64_t id = m.rule ? m.rule->id : m.reason;

    if (m.answered) {
        return "answered by the node";
    } else if (m.n_copies) {
        const char *text = "allow to";

        for (size_t i = 0; i < m.n_copies; i++) {
            text = arena_printf(arena, "%s %s", text, m.copies[i].to->name);
        }
        return text;
    } else if (m.allow && !m.rule) {
        return arena_printf(arena, "allow as DHCP to %s", m.to->name);
    }
    return arena_printf(arena, "%s by %#"PRIx64" (%s)%s%s",
                        m.allow ? "allow" : "deny", COOKIE_MARK | id,
                        m.rule ? m.rule->name : reason_info(m.reason)->name,
                        m.to ? " to " : m.external ? " outside" : "",
                        m.to ? m.to->name : "");
}

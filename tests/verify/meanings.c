/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* What the verifier expects of packets, against the reference meaning that it
 * is made from: random packets near random intents, one by one.  Each must be
 * among those that the verifier takes for real. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "differential/questions.h"
#include "differential/world.h"
#include "openvswitch/vlog.h"
#include "sema/meaning-reach.h"
#include "util.h"
#include "verify/dd-private.h"
#include "verify/expect.h"

enum { PACKETS_A_WORLD = 400, STRANGER = 0x5eed };

/* What is expected of all that comes from there. */
struct known {
    const void *from;
    bool tunnel;
    dd_t all;
};

struct test {
    struct compiled c;
    VEC(struct known) known;
    struct space space;
    struct judge judge;
    uint32_t *marks;
    struct rng rng;
    uint64_t n_judged;          /* Packets. */
};

static enum track
to_track(enum connection connection)
{
    static const enum track tracks[N_CONNECTIONS] = {
        [CONNECTION_NONE] = TRACK_NONE,
        [CONNECTION_NEW] = TRACK_NEW,
        [CONNECTION_FORWARD] = TRACK_FORWARD,
        [CONNECTION_REPLY] = TRACK_REPLY,
        [CONNECTION_RELATED] = TRACK_RELATED,
        [CONNECTION_INVALID] = TRACK_INVALID,
    };

    return tracks[connection];
}

/* What connection tracking knows, in the zone of 'tenant', which is NULL if
 * there is none. */
static void
set_connection(const struct test *t, const struct question *q,
               enum connection connection,
               const struct policy_tenant *tenant, u128 *track, u128 *mark)
{
    bool foreign = connection == CONNECTION_FOREIGN;

    *track = to_track(foreign ? q->foreign : connection);
    *mark = STRANGER;
    for (size_t i = 0; i < t->c.policy->tenants.n && !foreign; i++) {
        if (t->c.policy->tenants.v[i] == tenant) {
            *mark = t->marks[i];
        }
    }
}

static const struct policy_tenant *
find_network(const struct policy *policy, uint64_t vni)
{
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t k = 0; k < tenant->networks.n; k++) {
            if (tenant->networks.v[k]->intent->vni == vni) {
                return tenant;
            }
        }
    }
    return NULL;
}

static bool
has_address(const struct policy_endpoint *e, const struct flow *packet)
{
    struct in6_addr ip = (packet->dl_type == htons(ETH_TYPE_IPV6)
                          ? packet->ipv6_dst
                          : in6_addr_mapped_ipv4(packet->nw_dst));

    for (size_t i = 0; i < e->intent->addresses.n; i++) {
        if (ipv6_addr_equals(&e->intent->addresses.v[i].ip, &ip)) {
            return true;
        }
    }
    return false;
}

/* The tenant of who has the destination of what comes from outside. */
static const struct policy_tenant *
find_receiver(const struct meaning_question *q)
{
    const tenant_vec *users = &q->external->external->users;

    for (size_t i = 0; i < users->n; i++) {
        for (size_t k = 0; k < users->v[i]->endpoints.n; k++) {
            const struct policy_endpoint *e = users->v[i]->endpoints.v[k];

            if (endpoint_is_here(q, e) && e->network->intent->gateways.n
                && has_address(e, q->packet)) {
                return users->v[i];
            }
        }
    }
    return NULL;
}

/* The tenant in whose zone the packet is first. */
static const struct policy_tenant *
find_zone(const struct test *t, const struct meaning_question *q)
{
    return (q->from ? q->from->tenant
            : q->tunnel ? find_network(t->c.policy,
                                       ntohll(q->packet->tunnel.tun_id))
            : q->external ? find_receiver(q) : NULL);
}

static void
to_values(const struct test *t, const struct question *question,
          const struct meaning_question *q, const struct meaning *m,
          u128 values[])
{
    bool ip6 = q->packet->dl_type == htons(ETH_TYPE_IPV6);
    u128 outside;

    memset(values, 0, N_FIELDS * sizeof *values);
    for (int f = F_FIRST_OF_PACKET; f < N_FIELDS; f++) {
        if (fields[f].mf != MFF_N_IDS) {
            const struct mf_field *mf = mf_from_id(fields[f].mf);
            union mf_value value;

            mf_get_value(mf, q->packet, &value);
            values[f] = field_from_value(&value, mf->n_bytes);
        }
    }
    if (q->packet->nw_frag) {
        values[F_TP_SRC] = values[F_TP_DST] = 0;
    }
    set_connection(t, question, question->connection, find_zone(t, q),
                   &values[F_CONN1], &values[F_MARK1]);
    set_connection(t, question, question->beyond,
                   m->to ? m->to->tenant : NULL,
                   &values[F_CONN2], &values[F_MARK2]);
    values[F_OPEN_PROTO] = question->opener.protocol;
    values[F_OPEN_SRC] = ntohs(question->opener.source);
    values[F_OPEN_DST] = ntohs(question->opener.destination);
    outside = field_from_ip(&question->opener.outside);
    if (ip6) {
        values[F_OUTSIDE6] = outside;
    } else {
        values[F_OUTSIDE] = (uint32_t) outside;
    }
}

/* With any opener, the one that the packet has: it may say so itself. */
static void
set_own_opener(u128 values[])
{
    bool icmp = (values[F_NW_PROTO] == IPPROTO_ICMP
                 || values[F_NW_PROTO] == IPPROTO_ICMPV6);
    bool back = values[F_CONN1] == TRACK_REPLY;

    if (values[F_CONN1] != TRACK_NEW && values[F_CONN1] != TRACK_FORWARD
        && !back) {
        return;
    }
    values[F_OPEN_PROTO] = values[F_NW_PROTO];
    if (!values[F_NW_FRAG] && !(back && icmp)) {
        values[F_OPEN_SRC] = values[back ? F_TP_DST : F_TP_SRC];
        values[F_OPEN_DST] = values[back ? F_TP_SRC : F_TP_DST];
    }
}

static bool
has_rule(const struct test *t, uint32_t rules, const struct policy_rule *rule)
{
    size_t n;
    const struct policy_rule *const *v = expect_rules(&t->judge, rules, &n);

    for (size_t i = 0; i < n; i++) {
        if (v[i] == rule) {
            return true;
        }
    }
    return !n && !rule;
}

static const char *
compare_copies(const struct test *t, const struct expect *e,
               const struct meaning *m)
{
    size_t n, k = 0;
    const struct expect_copy *copies = expect_copies(&t->judge, e->copies,
                                                     &n);

    for (size_t i = 0; i < n; i++) {
        if (copies[i].allow
            && (k == m->n_copies || m->copies[k].to != copies[i].to
                || m->copies[k].dscp != copies[i].dscp
                || m->copies[k].queue != copies[i].queue
                || !has_rule(t, copies[i].rules, m->copies[k++].rule))) {
            return "a copy";
        }
    }
    return k == m->n_copies ? NULL : "copies";
}

static const char *
compare_allowed(const struct test *t, const struct expect *e,
                const struct meaning *m)
{
    return (e->answered != m->answered ? "answer"
            : m->answered ? (eth_addr_equals(e->answer, m->answer)
                             && e->router == m->answer_router ? NULL
                             : "who answers")
            : e->many != m->many ? "many"
            : e->payer != m->payer || e->charged != m->charged
              || e->uplink != m->uplink ? "charge"
            : m->many ? compare_copies(t, e, m)
            : e->to != m->to || e->node != m->node ? "receiver"
            : (e->external != NULL) != (!m->to && m->external) ? "external"
            : e->routed != m->routed ? "route"
            : e->dscp != m->dscp || e->queue != m->queue ? "class" : NULL);
}

/* Returns NULL, or what differs. */
static const char *
compare(const struct test *t, const struct expect *e, const struct meaning *m)
{
    return (e->unknown ? "it is not known what is meant"
            : e->allow != m->allow ? "verdict"
            : e->counted != m->counted ? "whose limit counts"
            : !m->many && !has_rule(t, e->rules, m->rule) ? "rule"
            : !m->allow ? (m->rule || e->reason == m->reason ? NULL
                           : "reason")
            : compare_allowed(t, e, m));
}

/* Of all that comes from there. */
static dd_t
expect_all(struct test *t, const struct meaning_question *q)
{
    const void *from = (q->from ? (const void *) q->from
                        : q->external ? (const void *) q->external : NULL);
    struct known *known;

    for (size_t i = 0; i < t->known.n; i++) {
        known = &t->known.v[i];
        if (known->from == from && known->tunnel == q->tunnel) {
            return known->all;
        }
    }
    known = vec_push(t->c.arena, &t->known);
    *known = (struct known) { from, q->tunnel, DD_NONE };
    known->all = (q->from && !endpoint_is_here(q, q->from)
                  ? expect_from_nobody(&t->judge)
                  : q->from ? expect_from_endpoint(&t->judge, q->from)
                  : q->external ? expect_from_external(&t->judge, q->external)
                  : q->tunnel ? expect_from_tunnel(&t->judge)
                  : expect_from_nobody(&t->judge));
    return known->all;
}

/* The leaf of the packet, and the number that it is bound to on the way, or
 * 0. */
static dd_t
eval(const struct test *t, dd_t f, const u128 values[], uint32_t *number)
{
    const struct dd *dd = t->space.dd;

    *number = 0;
    while (!dd_is_leaf(f)) {
        const struct node *node = node_of(dd, f);
        const struct edge *e = node->edges;

        if (node->digit == dd->bound) {
            ovs_assert(!*number);
            *number = e->last;
        } else {
            const struct digit *d = &t->space.digits[node->digit];
            u128 value = values[d->field] >> d->ofs & field_ones(d->width);

            while (dd_value(dd, node->digit, e->last) < value) {
                e++;
            }
        }
        f = e->to;
    }
    return f;
}

/* What is expected is not one diagram if it is bound in two ways for the same
 * packets, or has too many ranges: then ports are asked by themselves. */
static bool
is_none(const struct test *t)
{
    return dd_is_mixed(t->space.dd) || dd_is_refused(t->space.dd);
}

/* Returns what is wrong with what is expected of the packet, or NULL. */
static const char *
judge(struct test *t, const struct meaning_question *q, const u128 values[],
      const struct meaning *m)
{
    uint32_t number;
    dd_t all, leaf;

    if (eval(t, space_real(&t->space), values, &number) != DD_ALL) {
        return "it is taken for none that a switch can meet";
    }
    all = expect_all(t, q);
    if (!t->judge.by_port && is_none(t)) {
        return NULL;
    }
    leaf = eval(t, all, values, &number);
    leaf = t->judge.by_port ? leaf : expect_based(&t->judge, number, leaf);
    t->n_judged++;
    return compare(t, expect_get(&t->judge, leaf), m);
}

static bool
try_packet(struct test *t)
{
    const struct policy *policy = t->c.policy;
    struct meaning_question q;
    struct question question;
    u128 values[N_FIELDS];
    const char *wrong;
    struct meaning m;

    question_init(&question, policy, &t->rng);
    /* What a full zone has not noted is proved by itself. */
    question.full = false;
    q = question_ask(&question, compiled_endpoint(&t->c, question.from));
    q.external = (question.external[0]
                  ? compiled_attachment(&t->c, question.external) : NULL);
    m = meaning_judge(policy, &q);
    to_values(t, &question, &q, &m, values);
    if (t->judge.any_opener) {
        set_own_opener(values);
    }
    wrong = judge(t, &q, values, &m);
    if (wrong) {
        printf("not ok - %s: connection %s, beyond %s: %s\nmeaning: %s\n",
               wrong, connection_name(question.connection),
               connection_name(question.beyond),
               question_text(&question, t->c.arena),
               m.allow ? "allow" : m.rule ? m.rule->name
               : reason_info(m.reason)->name);
    }
    return !wrong;
}

/* A way to ask.  Where not all is one diagram, few packets are judged. */
struct way {
    enum layout layout;
    bool by_port, any_opener;
    uint64_t n_judged;          /* Packets. */
};

static bool
try_world(uint64_t seed, struct way *way, int n_packets)
{
    struct test t = { .rng = { ~seed } };
    struct world w;
    bool ok = true;

    world_init(&w, seed);
    world_compile(&w, &t.c);
    compiled_lower(&t.c, WORLD_NODE);
    t.marks = arena_zalloc(t.c.arena, (t.c.policy->tenants.n + 1)
                           * sizeof *t.marks);
    for (size_t i = 0; i < t.c.policy->tenants.n; i++) {
        t.marks[i] = i + 1;
    }
    space_init(&t.space, way->layout);
    judge_init(&t.judge,
               judge_facts_create(t.c.policy, WORLD_NODE, t.c.arena),
               &t.space, t.marks, t.c.arena);
    t.judge.by_port = way->by_port;
    t.judge.any_opener = way->any_opener;
    for (int i = 0; i < n_packets && ok; i++) {
        ok = try_packet(&t);
    }
    if (!ok) {
        printf("# seed %"PRIu64", layout %d%s%s\n%s", seed, way->layout,
               way->by_port ? ", by port" : "",
               way->any_opener ? ", any opener" : "", t.c.text);
    }
    way->n_judged += t.n_judged;
    judge_destroy(&t.judge);
    space_destroy(&t.space);
    compiled_destroy(&t.c);
    return ok;
}

int
main(int argc, char *argv[])
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int n_worlds = argc > 2 ? atoi(argv[2]) : 20;
    struct way ways[] = {
        { LAYOUT_BITS, true, false, 0 }, { LAYOUT_BITS, true, true, 0 },
        { LAYOUT_WHOLE, false, false, 0 }, { LAYOUT_OPENER, false, true, 0 },
    };
    bool ok = true;
    int i;

    ovs_set_program_name(argv[0], PACKAGE_VERSION);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("# seed %"PRIu64"\n", seed);
    for (i = 0; i < n_worlds && ok; i++) {
        for (size_t k = 0; k < ARRAY_SIZE(ways) && ok; k++) {
            ok = try_world(seed + i, &ways[k], PACKETS_A_WORLD);
        }
    }
    for (size_t k = 0; k < ARRAY_SIZE(ways) && ok; k++) {
        printf("# layout %d%s%s: %"PRIu64" packets\n", ways[k].layout,
               ways[k].by_port ? ", by port" : "",
               ways[k].any_opener ? ", any opener" : "", ways[k].n_judged);
        ok = ways[k].n_judged >= (uint64_t) PACKETS_A_WORLD * i / 32;
    }
    printf("%sok - %d packets of each of %d intents are expected as they are "
           "meant, in each of %"PRIuSIZE" ways that says so\n",
           ok ? "" : "not ", PACKETS_A_WORLD, i, ARRAY_SIZE(ways));
    return ok ? 0 : 1;
}

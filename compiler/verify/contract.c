/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/contract-private.h"

#include "openvswitch/dynamic-string.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-actions.h"
#include "util.h"

/* What a table may do; what its flows must match and note that pass something,
 * if more than that is asked. */
static const struct frame {
    const char *name;
    field_set sets;
    uint32_t next, acts;
    void (*ask)(struct contract *);
} frames[N_TABLES] = {
#define FRAME(TABLE, ASK, SETS, NEXT, ACTS) \
    [TABLE_##TABLE] = { #TABLE, SETS, NEXT, ACTS, ASK },
#include "verify/contract.def"
#undef FRAME
};

void
contract_wrong(struct contract *c, const char *wrong, const char *meant,
               const struct value *at)
{
    if (!c->wrong) {
        c->wrong = wrong;
        c->meant = meant;
        c->at = at;
    }
}

/* What it does, in words. */
static const char *
deed_words(const struct contract *c)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *words;

    for (int i = 0; i < N_TABLES; i++) {
        if (c->deed.next >> i & 1) {
            ds_put_format(&ds, "%s%s", ds.length ? " or " : "goes on to ",
                          frames[i].name);
        }
    }
    if (!ds.length) {
        ds_put_cstr(&ds, c->deed.copies.n ? "is copied"
                    : c->deed.port != OFPP_NONE ? "goes out" : "is dropped");
    }
    words = arena_strdup(c->arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return words;
}

/* A packet as it comes to the table, as ofproto/trace-packet-out takes it. */
static const char *
packet_words(const struct contract *c, const struct condition *v, size_t n)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct match match;
    const char *words;

    match_init_catchall(&match);
    for (size_t i = 0; i < n; i++) {
        if (fields[v[i].field].mf != MFF_N_IDS) {
            const struct mf_field *mf = mf_from_id(fields[v[i].field].mf);
            union mf_value value;

            field_to_value(v[i].value, mf->n_bytes, &value);
            mf_set_value(mf, &value, &match, NULL);
        }
    }
    match_format(&match, c->task->tables->ports, &ds,
                 OFP_DEFAULT_PRIORITY);
    words = arena_strdup(c->arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return words;
}

struct verify_difference *
contract_report(struct contract *c, const struct condition *packet, size_t n)
{
    struct verify_difference *d = proof_add_difference(c->proof,
                                                       VERIFY_CONTRACT);
    struct arena *arena = c->proof->arena;

    if (d) {
        *d = (struct verify_difference) {
            .kind = VERIFY_CONTRACT, .what = arena_strdup(arena, c->wrong),
            .meant = arena_strdup(arena, c->meant),
            .from = arena_printf(arena, "table %d, %s", c->flow->table,
                                 frames[c->flow->table].name),
            .found = arena_strdup(arena, deed_words(c)),
            .packet = arena_strdup(arena, packet_words(c, packet, n)),
            .ct_next = "", .of_table = true, .table = c->flow->table,
            .at = c->at,
        };
        *vec_push(arena, &d->steps) = c->flow;
    }
    c->wrong = NULL;
    return d;
}

/* Does it, or what it does with copies, go beyond what its table is for? */
static const char *
beyond_frame(const struct contract *c, const struct frame *f,
             const struct deed *d)
{
    const char *wrong = NULL;

    for (size_t i = 0; i < d->n_writes; i++) {
        enum field to = d->writes[i].to;

        if (to == N_FIELDS || !(FIELD_BIT(to) & f->sets)) {
            return arena_printf(c->arena, "it changes %s, which this table "
                                "is not for", to == N_FIELDS ? "a field"
                                : fields[to].name);
        }
    }
    if (d->next & ~f->next) {
        return "it leads to a table that is not behind this one";
    } else if (d->acts & ~f->acts) {
        return "it does what this table is not for";
    }
    for (size_t i = 0; i < d->copies.n && !wrong; i++) {
        wrong = beyond_frame(c, f, &d->copies.v[i]);
    }
    return wrong;
}

static void
ask_flow(struct contract *c, const struct table_flow *flow)
{
    const struct frame *f = &frames[flow->table];
    const char *beyond;
    bool asked;

    c->flow = flow;
    deed_read(c, flow->ofpacts, ofpact_end(flow->ofpacts, flow->ofpacts_len),
              &c->deed);
    asked = deed_passes(&c->deed) || c->deed.n_tracks;
    if (!asked && !(c->deed.acts & ACT_OTHER)) {
        return;
    }
    beyond = c->learning ? NULL : beyond_frame(c, f, &c->deed);
    if (beyond) {
        contract_wrong(c, beyond, "no more than the table is for", NULL);
    } else if (f->ask && asked) {
        f->ask(c);
    }
    if (c->wrong && !c->learning) {
        contract_report(c, flow->conditions, flow->n_conditions);
    }
    c->wrong = NULL;
}

/* Asks the flows of the tables from 'first' to 'last'. */
static void
ask_tables(struct contract *c, int first, int last)
{
    const flow_vec *flows = &c->task->tables->flows;

    for (size_t i = 0; i < flows->n; i++) {
        const struct table_flow *flow = flows->v[i];

        if (flow->table >= first && flow->table <= last && !flow->clause) {
            ask_flow(c, flow);
        }
    }
}

void
contract_ask(struct proof *p)
{
    struct contract c = {
        .proof = p, .task = p->task, .arena = arena_create(),
        .node = p->comparison.node, .tunnel = p->comparison.tunnel,
    };

    notes_init(&c);
    c.learning = true;
    ask_tables(&c, TABLE_ADMIT, TABLE_ADMIT);
    ask_tables(&c, TABLE_TUNNEL, TABLE_GATEWAY);
    c.learning = false;
    ask_tables(&c, TABLE_ADMIT, N_TABLES - 1);
    ask_limits(&c);
    ask_policy(&c);
    notes_destroy(&c);
    arena_destroy(c.arena);
}

/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/flow-tables.h"

#include "classifier.h"
#include "flow.h"
#include "openvswitch/ofp-actions.h"
#include "util.h"

enum { N_CLASSIFIERS = 255 };

static const enum mf_field_id prefix_fields[] = {
    MFF_IPV4_DST, MFF_IPV4_SRC,
};

struct table_rule {
    struct cls_rule cls_rule;
    const struct flow_entry *flow;
};

struct flow_tables {
    struct switch_state state;
    struct classifier *classifiers[N_CLASSIFIERS];
    struct table_rule *rules;
    size_t n_rules;
};

/* The clauses of conjunctions that 'flow' is part of. */
static struct cls_conjunction *
get_conjunctions(const struct flow_entry *flow, size_t *n)
{
    struct cls_conjunction *conjunctions = NULL;
    size_t allocated = 0;
    const struct ofpact *a;

    *n = 0;
    OFPACT_FOR_EACH (a, flow->ofpacts, flow->ofpacts_len) {
        if (a->type == OFPACT_CONJUNCTION) {
            const struct ofpact_conjunction *oc = ofpact_get_CONJUNCTION(a);

            if (*n >= allocated) {
                conjunctions = x2nrealloc(conjunctions, &allocated,
                                          sizeof *conjunctions);
            }
            conjunctions[(*n)++] = (struct cls_conjunction) {
                .id = oc->id, .clause = oc->clause,
                .n_clauses = oc->n_clauses,
            };
        }
    }
    return conjunctions;
}

/* Returns false if there is a flow with the same match already. */
static bool
insert(struct flow_tables *t, const struct flow_entry *flow)
{
    struct table_rule *rule = &t->rules[t->n_rules++];
    struct classifier **cls = &t->classifiers[flow->table];
    size_t n;
    struct cls_conjunction *conjunctions = get_conjunctions(flow, &n);
    bool unique;

    if (!*cls) {
        *cls = xmalloc(sizeof **cls);
        classifier_init(*cls, flow_segment_u64s);
        /* As default_prefix_fields of ofproto.c: of an address no more bits
         * are looked at than tell its prefix from others. */
        classifier_set_prefix_fields(*cls, prefix_fields,
                                     ARRAY_SIZE(prefix_fields));
        classifier_defer(*cls);
    }
    rule->flow = flow;
    cls_rule_init_from_minimatch(&rule->cls_rule, &flow->match,
                                 flow->priority);
    unique = !classifier_find_rule_exactly(*cls, &rule->cls_rule,
                                           OVS_VERSION_MIN);
    if (unique) {
        classifier_insert(*cls, &rule->cls_rule, OVS_VERSION_MIN,
                          conjunctions, n);
    }
    free(conjunctions);
    return unique;
}

struct flow_tables *
flow_tables_create(const struct plan *plan,
                   const struct ofputil_port_map *ports,
                   const char **reason)
{
    struct flow_tables *t = xzalloc(sizeof *t);
    const struct flow_entry *flow;

    switch_state_init(&t->state);
    *reason = (plan->conflict ? plan->conflict
               : plan_to_flows(plan, ports, &t->state));
    t->rules = xcalloc(hmap_count(&t->state.flows) + 1, sizeof *t->rules);
    HMAP_FOR_EACH (flow, node, &t->state.flows) {
        if (!insert(t, flow)) {
            *reason = "two flows with the same match and priority";
        }
    }
    for (int i = 0; i < N_CLASSIFIERS; i++) {
        if (t->classifiers[i]) {
            classifier_publish(t->classifiers[i]);
        }
    }
    if (*reason) {
        flow_tables_destroy(t);
        return NULL;
    }
    return t;
}

void
flow_tables_destroy(struct flow_tables *t)
{
    if (!t) {
        return;
    }
    for (size_t i = 0; i < t->n_rules; i++) {
        struct table_rule *rule = &t->rules[i];

        if (cls_rule_visible_in_version(&rule->cls_rule, OVS_VERSION_MIN)) {
            classifier_remove(t->classifiers[rule->flow->table],
                              &rule->cls_rule);
        }
        cls_rule_destroy(&rule->cls_rule);
    }
    for (int i = 0; i < N_CLASSIFIERS; i++) {
        if (t->classifiers[i]) {
            classifier_destroy(t->classifiers[i]);
            free(t->classifiers[i]);
        }
    }
    free(t->rules);
    switch_state_destroy(&t->state);
    free(t);
}

const struct flow_entry *
flow_tables_lookup(const struct flow_tables *t, uint8_t table,
                   const struct flow *packet, struct flow_wildcards *wc)
{
    const struct classifier *cls = t->classifiers[table];
    struct flow key = *packet;
    const struct cls_rule *match;

    /* As ofproto-dpif does with fragments unless it is told otherwise. */
    if (key.nw_frag & FLOW_NW_FRAG_ANY) {
        key.tp_src = key.tp_dst = 0;
    }
    match = cls ? classifier_lookup(cls, OVS_VERSION_MIN, &key, wc) : NULL;
    return match ? CONTAINER_OF(match, struct table_rule, cls_rule)->flow
           : NULL;
}

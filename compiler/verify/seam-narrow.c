/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "util.h"
#include "verify/proof.h"
#include "verify/seam-private.h"

/* Most rules are about a port or a few.  POLICY finds few flows if it is known
 * which they are, and rules of other services need not be asked. */

bool
seam_may_meet(const struct exec_view *view, const struct condition *c)
{
    for (size_t i = 0; i < view->n; i++) {
        const struct term *term = &view->v[i].term;

        if (view->v[i].field == c->field
            && (c->value ^ term->value) & c->mask & term->known) {
            return false;
        }
    }
    return true;
}

bool
seam_may_speak(const struct judge *j, const struct region_rule *rule,
               enum judge_question question)
{
    const struct service_match *asked = expect_match(j, question);

    for (size_t i = 0; asked && i < rule->matches.n; i++) {
        const struct service_match *m = &rule->matches.v[i];

        if (m->protocol == asked->protocol
            && (!m->ports.last || !asked->ports.last
                || (m->ports.first <= asked->ports.last
                    && asked->ports.first <= m->ports.last))) {
            return true;
        }
    }
    return !asked || !rule->matches.n;
}

/* Can packets of the view match the flow, whoever sends them to whom? */
static bool
may_meet(const struct exec_view *view, const struct table_flow *flow)
{
    for (size_t i = 0; i < flow->n_conditions; i++) {
        if (!seam_may_meet(view, &flow->conditions[i])) {
            return false;
        }
    }
    return true;
}

/* The packets of the view that can match the flow: these, or more. */
static dd_t
find_meeting(struct proof *p, struct side *side, const struct exec_view *view,
             const struct table_flow *flow)
{
    dd_t set = DD_ALL, match;

    for (size_t i = 0; i < flow->n_conditions; i++) {
        const struct condition *c = &flow->conditions[i];

        for (size_t k = 0; k < view->n; k++) {
            if (view->v[k].field == c->field
                && term_match(p->terms, term_add(p->terms, &view->v[k].term),
                              c->value, c->mask, &side->space, &match)) {
                set = dd_and(side->space.dd, set, match);
            }
        }
    }
    return set;
}

/* The packets of the question that the rule can speak of. */
static dd_t
find_spoken(struct side *side, const struct region_rule *rule,
            enum judge_question question)
{
    dd_t set = rule->matches.n ? DD_NONE : DD_ALL;

    for (size_t i = 0; i < rule->matches.n; i++) {
        set = dd_or(side->space.dd, set, expect_is_of(
            &side->judge, question, &rule->matches.v[i]));
    }
    return set;
}

/* Bits that all of some flows match, and as the same. */
struct bits {
    bool any;                   /* Is there such a flow? */
    u128 value, mask;
};

static void
add_flow(struct bits *bits, const struct table_flow *flow, enum field f)
{
    u128 value = 0, mask = 0;

    for (size_t i = 0; i < flow->n_conditions; i++) {
        const struct condition *c = &flow->conditions[i];

        if (c->field == f) {
            value |= c->value & c->mask;
            mask |= c->mask;
        }
    }
    bits->mask = (bits->any ? bits->mask & mask & ~(bits->value ^ value)
                  : mask);
    bits->value = value & bits->mask;
    bits->any = true;
}

/* Leaves the bits that are one prefix with what is known of the term, as
 * ranges of packets are. */
static void
keep_prefix(struct bits *bits, const struct term *term)
{
    u128 known = bits->mask | term->known;
    int low = term->width;

    while (low > 0 && known >> (low - 1) & 1) {
        low--;
    }
    bits->mask &= ~field_ones(low);
    bits->value &= bits->mask;
}

/* Makes the bits known, if the term has room for that. */
static void
make_known(struct terms *terms, struct term *term, const struct bits *bits)
{
    term_t known = term_add(terms, term);
    term_t value = term_const(terms, term->width, bits->value);

    for (int ofs = 0; ofs < term->width; ) {
        int n = 0;

        while (ofs + n < term->width && bits->mask >> (ofs + n) & 1) {
            n++;
        }
        if (n && !term_copy(terms, &known, ofs, n, value, ofs)) {
            return;
        }
        ofs += n + 1;
    }
    *term = *term_get(terms, known);
}

/* What all of the packets have that can meet the change is known of them. */
static void
note_known(struct proof *p, struct side *side, const struct region *region,
           struct seam_part *part)
{
    struct dd *dd = side->space.dd;

    for (size_t i = 0; i < part->view.n; i++) {
        struct exec_viewed *viewed = &part->view.v[i];
        struct bits bits = { .any = false };
        dd_t set;

        for (size_t k = 0; k < region->n_flows; k++) {
            if (may_meet(&part->view, region->flows[k])) {
                add_flow(&bits, region->flows[k], viewed->field);
            }
        }
        keep_prefix(&bits, &viewed->term);
        if (bits.mask & ~viewed->term.known
            && term_match(p->terms, term_add(p->terms, &viewed->term),
                          bits.value, bits.mask, &side->space, &set)
            && dd_and(dd, part->packets, dd_not(dd, set)) == DD_NONE) {
            make_known(p->terms, &viewed->term, &bits);
        }
    }
}

struct seam_part
seam_narrow(struct proof *p, struct side *side, const struct region *region,
            const struct seam_view *view)
{
    struct seam_part part = { DD_NONE, view->view };
    enum judge_question question = (view->asked - 1) / 2;
    struct dd *dd = side->space.dd;

    if (!region) {
        part.packets = DD_ALL;
        return part;
    }
    for (size_t i = 0; i < region->n_flows; i++) {
        if (may_meet(&view->view, region->flows[i])) {
            part.packets = dd_or(dd, part.packets, find_meeting(
                p, side, &view->view, region->flows[i]));
        }
    }
    for (size_t i = 0; i < region->n_rules; i++) {
        if (seam_may_speak(&side->judge, &region->rules[i], question)) {
            part.packets = dd_or(dd, part.packets, find_spoken(
                side, &region->rules[i], question));
        }
    }
    note_known(p, side, region, &part);
    return part;
}

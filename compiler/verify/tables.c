/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/tables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bitmap.h"
#include "flow.h"
#include "hash.h"
#include "openvswitch/hmap.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-port.h"
#include "packets.h"
#include "util.h"

void
table_set_init(struct table_set *t, const char *file, struct arena *arena,
            struct ofputil_port_map *ports)
{
    memset(t, 0, sizeof *t);
    t->arena = arena;
    t->file = file;
    t->ports = ports;
    t->next_port = ofp_to_u16(OFPP_MAX) - 1;
    t->taken = arena_zalloc(arena, bitmap_n_bytes(UINT16_MAX + 1));
}

const char *
flow_place(const struct table_set *t, const struct table_flow *flow)
{
    return (flow->line
            ? arena_printf(t->arena, "%s:%u", t->file, flow->line)
            : t->file);
}

/* What 'match' says about 'f'; says the same in 'said'. */
static struct condition
make_condition(enum field f, const struct match *match, struct match *said)
{
    const struct mf_field *mf = mf_from_id(fields[f].mf);
    struct condition c = { .field = f };
    union mf_value value, mask;

    mf_get(mf, match, &value, &mask);
    c.value = field_from_value(&value, mf->n_bytes);
    c.mask = (field_from_value(&mask, mf->n_bytes)
              & field_ones(fields[f].width));
    /* Bytes of a DSCP are never all ones. */
    mf_set(mf, &value, c.mask == field_ones(fields[f].width) ? NULL : &mask,
           said, NULL);
    return c;
}

/* The name of a field of 'match' that no condition says. */
static const char *
find_unsaid(const struct match *match, const struct match *said)
{
    for (int i = 0; i < MFF_N_IDS; i++) {
        const struct mf_field *mf = mf_from_id(i);
        union mf_value v1, m1, v2, m2;

        mf_get(mf, match, &v1, &m1);
        mf_get(mf, said, &v2, &m2);
        if (memcmp(&m1, &m2, mf->n_bytes)) {
            return mf->name;
        }
    }
    return "a field";
}

static const char *
set_conditions(struct table_set *t, struct table_flow *flow,
               const struct match *match)
{
    struct condition v[N_FIELDS];
    struct match said;
    size_t n = 0;

    /* What neighbor advertisements have in the place of TCP's flags and of
     * IGMP's group is set only. */
    match_init_catchall(&said);
    for (int f = 0; f < N_FIELDS; f++) {
        if (fields[f].mf != MFF_N_IDS
            && f != F_ND_RESERVED && f != F_ND_OPTIONS
            && !mf_is_all_wild(mf_from_id(fields[f].mf), &match->wc)) {
            v[n++] = make_condition(f, match, &said);
        }
    }
    flow->conditions = arena_zalloc(t->arena, (n + 1) * sizeof *v);
    flow->n_conditions = n;
    memcpy(flow->conditions, v, n * sizeof *v);
    if (match->flow.packet_type == htonl(PT_ETH)) {
        /* As all packets are. */
        said.flow.packet_type = match->flow.packet_type;
        said.wc.masks.packet_type = match->wc.masks.packet_type;
    }
    return (match_equal(match, &said) ? NULL
            : arena_printf(t->arena, "%s: it matches %s, which is not "
                           "modelled", flow_place(t, flow),
                           find_unsaid(match, &said)));
}

/* OpenFlow 1.0 takes actions on fields that a packet may not have, and leaves
 * them undone. */
static const char *
check_actions(struct table_set *t, const struct table_flow *flow,
              struct match *match)
{
    struct ofpact_check_params params = {
        .match = match, .max_ports = OFPP_MAX, .table_id = flow->table,
        .n_tables = N_TABLES_MAX,
    };
    struct ofpact *ofpacts = xmemdup(flow->ofpacts, flow->ofpacts_len);
    enum ofperr error = ofpacts_check(ofpacts, flow->ofpacts_len, &params);

    free(ofpacts);
    return (!error && params.usable_protocols & OFPUTIL_P_OF14_OXM ? NULL
            : arena_printf(t->arena, "%s: its actions are about fields that "
                           "not all packets have which it matches",
                           flow_place(t, flow)));
}

/* Does the flow only say that it is part of conjunctions? */
static bool
is_clause(const struct table_flow *flow)
{
    const struct ofpact *a;
    bool clause = false;

    OFPACT_FOR_EACH (a, flow->ofpacts, flow->ofpacts_len) {
        clause |= a->type == OFPACT_CONJUNCTION;
    }
    return clause;
}

/* Clears the bytes of actions that say nothing: the same bytes, the same
 * actions. */
static void
clear_padding(struct ofpact *ofpacts, size_t len)
{
    struct ofpact *a;

    OFPACT_FOR_EACH_FLATTENED (a, ofpacts, len) {
        if (a->type == OFPACT_SET_FIELD) {
            struct ofpact_set_field *set = ofpact_get_SET_FIELD(a);
            size_t n = set->field->n_bytes;
            size_t pad = ROUND_UP(n, OFPACT_ALIGNTO) - n;

            memset((uint8_t *) set->value + n, 0, pad);
            memset((uint8_t *) ofpact_set_field_mask(set) + n, 0, pad);
        }
    }
}


/* Makes a flow, which is in no table yet.  Returns NULL, or what is wrong. */
static const char *
make_flow(struct table_set *t, const struct ofputil_flow_mod *fm,
          const char *text, unsigned int line, struct table_flow *flow)
{
    struct ofpact *ofpacts = arena_zalloc(t->arena, fm->ofpacts_len + 1);
    const char *reason;
    struct match match;

    memcpy(ofpacts, fm->ofpacts, fm->ofpacts_len);
    clear_padding(ofpacts, fm->ofpacts_len);
    minimatch_expand(&fm->match, &match);
    flow->table = fm->table_id == OFPTT_ALL ? 0 : fm->table_id;
    flow->priority = fm->priority;
    flow->cookie = ntohll(fm->new_cookie);
    flow->ofpacts = ofpacts;
    flow->ofpacts_len = fm->ofpacts_len;
    flow->text = text;
    flow->line = line;
    flow->clause = is_clause(flow);
    flow->temporary = fm->idle_timeout || fm->hard_timeout || fm->importance;
    reason = set_conditions(t, flow, &match);
    return reason ? reason : check_actions(t, flow, &match);
}

/* Notes all numbers that stand in 'text': none of them is given to a name. */
static void
take_numbers(struct table_set *t, const char *text)
{
    for (const char *p = text; *p; ) {
        char *end;

        p += strcspn(p, "0123456789");
        if (*p) {
            bitmap_set1(t->taken, MIN(strtoul(p, &end, 10), UINT16_MAX));
            p = end;
        }
    }
}

/* Gives numbers to the names of ports that 'text' has after 'before'. */
static void
add_ports(struct table_set *t, const char *text, const char *before)
{
    for (const char *p = strstr(text, before); p; p = strstr(p, before)) {
        bool quoted;
        size_t n;
        char *name;

        p += strlen(before);
        quoted = *p == '"';
        p += quoted;
        n = strcspn(p, quoted ? "\"" : ",) \n");
        name = xmemdup0(p, n);
        table_set_port(t, name);
        free(name);
        p += n;
    }
}

/* From above: few texts have such numbers. */
ofp_port_t
table_set_free_port(struct table_set *t)
{
    while (t->next_port
           && (bitmap_is_set(t->taken, t->next_port)
               || ofputil_port_map_get_name(t->ports,
                                            u16_to_ofp(t->next_port)))) {
        t->next_port--;
    }
    return t->next_port ? u16_to_ofp(t->next_port--) : OFPP_NONE;
}

ofp_port_t
table_set_port(struct table_set *t, const char *name)
{
    ofp_port_t port;

    if (ofputil_port_from_string(name, t->ports, &port)) {
        return port;
    }
    port = table_set_free_port(t);
    if (port != OFPP_NONE) {
        ofputil_port_map_put(t->ports, port, name);
    }
    return port;
}

/* Stores the flow that 'line' says, in no table yet.  Returns NULL, or what is
 * wrong. */
static const char *
parse_line(struct table_set *t, const char *line, unsigned int number,
           struct table_flow **flow)
{
    struct ofputil_flow_mod fm;
    enum ofputil_protocol usable;
    const char *reason;
    char *error;

    *flow = arena_zalloc(t->arena, sizeof **flow);

    error = parse_ofp_str(&fm, OFPFC_ADD, line, t->ports, NULL, &usable);
    if (error) {
        reason = arena_printf(t->arena, "%s:%u: %s", t->file, number, error);
        free(error);
        return reason;
    }
    reason = make_flow(t, &fm, line, number, *flow);
    minimatch_destroy(&fm.match);
    free(fm.ofpacts);
    return reason;
}

static void
put_flow(struct table_set *t, struct table_flow *flow)
{
    flow->order = t->flows.n;
    *vec_push(t->arena, &t->flows) = flow;
}

static const char *
read_line(struct table_set *t, const char *line, unsigned int number)
{
    struct table_flow *flow;
    const char *reason = parse_line(t, line, number, &flow);

    if (!reason) {
        put_flow(t, flow);
    }
    return reason;
}

/* What ovs-ofctl prints before the flows. */
static bool
is_heading(const char *line)
{
    return (!strncmp(line, "NXST_FLOW reply", 15)
            || !strncmp(line, "OFPST_FLOW reply", 16));
}

/* Where the first byte is that no text has, as a reason, or NULL. */
static const char *
find_nul(const struct table_set *t, const char *text, size_t size)
{
    const char *nul = memchr(text, '\0', size);
    const char *line = text;
    unsigned int number = 1;

    for (const char *p = text; nul && p < nul; p++) {
        if (*p == '\n') {
            line = p + 1;
            number++;
        }
    }
    return nul ? arena_printf(t->arena, "%s:%u:%"PRIuSIZE": a byte that is 0",
                              t->file, number, (size_t) (nul - line) + 1)
           : NULL;
}

const char *
table_set_parse(struct table_set *t, const char *text, size_t size)
{
    const char *reason = find_nul(t, text, size);

    take_numbers(t, text);
    add_ports(t, text, "in_port=");
    add_ports(t, text, "output:");
    for (unsigned int number = 1; *text && !reason; number++) {
        size_t n = strcspn(text, "\n");
        char *line = arena_strndup(t->arena, text, n);

        line += strspn(line, " \t");
        if (line[0] && line[0] != '#' && !is_heading(line)) {
            reason = (strstr(line, "actions=") ? read_line(t, line, number)
                      : arena_printf(t->arena, "%s:%u:1: this is no flow: it "
                                     "has no actions", t->file, number));
        }
        text += n + (text[n] == '\n');
    }
    return reason;
}

/* Is there a number in 'text' that has been given to a name? */
static bool
has_given(const struct table_set *t, const char *text)
{
    for (const char *p = text; *p; ) {
        unsigned long int number;
        char *end;

        p += strcspn(p, "0123456789");
        if (!*p) {
            break;
        }
        number = strtoul(p, &end, 10);
        if (number < ofp_to_u16(OFPP_MAX)
            && ofputil_port_map_get_name(t->ports, u16_to_ofp(number))) {
            return true;
        }
        p = end;
    }
    return false;
}

const char *
table_set_add(struct table_set *t, const char *text_,
              struct table_flow **flow)
{
    const char *text = arena_strdup(t->arena, text_), *reason;

    if (has_given(t, text)) {
        return arena_printf(t->arena, "a number in '%s' is a port's", text);
    }
    take_numbers(t, text);
    add_ports(t, text, "in_port=");
    add_ports(t, text, "output:");
    reason = parse_line(t, text, 0, flow);
    if (!reason) {
        put_flow(t, *flow);
        reason = table_set_index(t, *flow);
    }
    return reason;
}

const char *
table_set_remove(struct table_set *t, const char *text,
                 struct table_flow **gone)
{
    struct table_flow *flow, *last;
    const char *reason = parse_line(t, text, 0, &flow);

    if (reason) {
        return reason;
    }
    *gone = table_set_unindex(t, flow);
    if (!*gone) {
        return arena_printf(t->arena, "there is no flow '%s'", text);
    }
    last = t->flows.v[--t->flows.n];
    t->flows.v[(*gone)->order] = last;
    last->order = (*gone)->order;
    return NULL;
}

/* A conjunction, by one of the flows that name it. */
struct seen {
    struct hmap_node node;
    const struct table_flow *flow;
    const struct ofpact_conjunction *conjunction;
};

/* The one of that id in the table of 'flow', which is the first if none is
 * known. */
static const struct seen *
see(struct hmap *all, struct arena *arena, const struct table_flow *flow,
    const struct ofpact_conjunction *c)
{
    uint32_t hash = hash_2words(c->id, flow->table);
    struct seen *seen;

    HMAP_FOR_EACH_WITH_HASH (seen, node, hash, all) {
        if (seen->conjunction->id == c->id
            && seen->flow->table == flow->table) {
            return seen;
        }
    }
    seen = arena_zalloc(arena, sizeof *seen);
    seen->flow = flow;
    seen->conjunction = c;
    hmap_insert(all, &seen->node, hash);
    return seen;
}

static const char *
compare_conjunctions(const struct table_set *t, struct hmap *all,
                     struct arena *arena, const struct table_flow *flow)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH (a, flow->ofpacts, flow->ofpacts_len) {
        const struct ofpact_conjunction *c, *before;
        const struct seen *seen;

        if (a->type != OFPACT_CONJUNCTION) {
            continue;
        }
        c = ofpact_get_CONJUNCTION(a);
        seen = see(all, arena, flow, c);
        before = seen->conjunction;
        if (before->n_clauses != c->n_clauses
            || seen->flow->priority != flow->priority) {
            return arena_printf(
                t->arena, "conjunction %"PRIu32" of table %u is two: at "
                "%s with priority %u and %u clauses, at %s with priority "
                "%u and %u", c->id, flow->table,
                flow_place(t, seen->flow), seen->flow->priority,
                before->n_clauses, flow_place(t, flow), flow->priority,
                c->n_clauses);
        }
    }
    return NULL;
}

const char *
table_set_colliding_conjunction(const struct table_set *t)
{
    struct hmap all = HMAP_INITIALIZER(&all);
    struct arena *arena = arena_create();
    const char *colliding = NULL;

    for (size_t i = 0; i < t->flows.n && !colliding; i++) {
        if (t->flows.v[i]->clause) {
            colliding = compare_conjunctions(t, &all, arena,
                                             t->flows.v[i]);
        }
    }
    hmap_destroy(&all);
    arena_destroy(arena);
    return colliding;
}

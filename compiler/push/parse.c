/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/flows.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "hash.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofp-port.h"
#include "openvswitch/ofpbuf.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "push/session.h"
#include "util.h"

/* Flows of a plan, from text. */

enum {
    MAX_PARSERS = 4,            /* Threads that parse a plan's flows, ... */
    MIN_FLOWS = 1000,           /* ...one for so many at least, ... */
    SHARE = 100,                /* ...each so many at a time. */
};

/* Turns 'fm' into what a switch would make of it: text and wire have more
 * than one way to say the same match.  Moves 'fm''s contents to 'flow'.
 * Returns NULL, or a reason that the caller must free. */
static char *
normalize_flow(struct ofputil_flow_mod *fm, struct flow_entry *flow)
{
    struct ofpbuf *msg = ofputil_encode_flow_mod(fm, SESSION_PROTOCOL);
    struct ofputil_flow_mod decoded;
    uint64_t stub[64];
    struct ofpbuf ofpacts = OFPBUF_STUB_INITIALIZER(stub);
    enum ofperr ofperr;

    ofpmsg_update_length(msg);
    ofperr = ofputil_decode_flow_mod(&decoded, msg->data, SESSION_PROTOCOL,
                                     NULL, NULL, &ofpacts, OFPP_MAX,
                                     OFPTT_MAX);
    if (!ofperr) {
        flow->table = decoded.table_id;
        flow->priority = decoded.priority;
        flow->cookie = ntohll(decoded.new_cookie);
        flow->match = decoded.match;    /* Moves ownership. */
        flow->ofpacts = xmemdup(decoded.ofpacts, decoded.ofpacts_len);
        flow->ofpacts_len = decoded.ofpacts_len;
    }
    ofpbuf_uninit(&ofpacts);
    ofpbuf_delete(msg);
    minimatch_destroy(&fm->match);
    free(fm->ofpacts);
    return ofperr ? xstrdup(ofperr_to_string(ofperr)) : NULL;
}

/* The name of the flow's in_port, or NULL. */
static char *
port_name(const struct flow_entry *flow, const struct ofputil_port_map *ports)
{
    ofp_port_t port = u16_to_ofp(MINIFLOW_GET_U32(flow->match.flow,
                                                  in_port.ofp_port));

    return nullable_xstrdup(ofputil_port_map_get_name(ports, port));
}

uint32_t
flow_named(const char *interface, size_t len)
{
    return hash_bytes(interface, len, 0) | 2;
}

/* What 'named' of a flow with this text is. */
static uint32_t
find_names(const char *text)
{
    uint32_t named = 0;

    while ((text = strchr(text, '"')) != NULL) {
        size_t len = strcspn(++text, "\"");
        uint32_t this = flow_named(text, len);

        named = !named || named == this ? this : FLOW_NAMES_MORE;
        text += len + (text[len] != '\0');
    }
    return named;
}

/* Makes an entry of one flow of a plan.  Returns NULL, or a reason that the
 * caller must free. */
static char *
parse_flow(const char *text, const struct ofputil_port_map *ports,
           struct flow_entry **flowp)
{
    enum ofputil_protocol usable;
    struct ofputil_flow_mod fm;
    char *error = parse_ofp_str(&fm, OFPFC_ADD, text, ports, NULL, &usable);

    if (error) {
        return error;
    }

    struct flow_entry *flow = xzalloc(sizeof *flow);
    error = normalize_flow(&fm, flow);
    if (error) {
        free(flow);
        return error;
    }
    ovs_list_init(&flow->changed);
    flow->plain = true;
    flow->text = xstrdup(text);
    flow->named = find_names(text);
    if (flow_find_note(flow, PLAN_UPCALLS_NOTE_BYTES)) {
        flow->port = port_name(flow, ports);
    }
    if (!(usable & SESSION_PROTOCOL)) {
        flow_destroy(flow);
        return xstrdup("needs another version of OpenFlow");
    }
    *flowp = flow;
    return NULL;
}

const char *
flow_parse(const char *text, const struct ofputil_port_map *ports,
           struct arena *arena, struct flow_entry **flowp)
{
    char *error = parse_flow(text, ports, flowp);
    const char *reason = NULL;

    if (error) {
        reason = arena_printf(arena, "flow '%s': %s", text, error);
        free(error);
    }
    return reason;
}

/* The same, whose text is made in 'ds', which is emptied first. */
static const char *
parse_in(struct ds *ds, const struct plan_flow *pf,
         const struct ofputil_port_map *ports, struct arena *arena,
         struct flow_entry **flowp)
{
    ds_clear(ds);
    plan_put_flow(pf, ds);
    return flow_parse(ds_cstr(ds), ports, arena, flowp);
}

const char *
plan_flow_parse(const struct plan *plan, const struct plan_flow *pf,
                const struct ofputil_port_map *ports,
                struct flow_entry **flowp)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *reason = parse_in(&ds, pf, ports, plan->arena, flowp);

    ds_destroy(&ds);
    return reason;
}

/* The flows of a plan, which threads parse together. */
struct parsing {
    const struct plan *plan;
    const struct ofputil_port_map *ports;
    struct flow_entry **flows;  /* What the plan's become; NULL: not yet. */
    atomic_count next;          /* The first share that nobody has taken. */
};

/* One thread of them. */
struct parser {
    struct parsing *parsing;
    struct arena *arena;        /* Its own, for 'reason'. */
    const char *reason;         /* Why one cannot be parsed, or NULL... */
    size_t at;                  /* ...and which of the plan's. */
    pthread_t thread;
    bool threaded;
};

/* Takes shares until none is left, or a flow cannot be parsed. */
static void *
parse_shares(void *parser_)
{
    struct parser *parser = parser_;
    struct parsing *p = parser->parsing;
    struct ds ds = DS_EMPTY_INITIALIZER;
    size_t n = p->plan->flows.n, i;

    while (!parser->reason && (i = SHARE * atomic_count_inc(&p->next)) < n) {
        size_t end = MIN(n, i + SHARE);

        for (; i < end && !parser->reason; i++) {
            parser->reason = parse_in(&ds, &p->plan->flows.v[i], p->ports,
                                      parser->arena, &p->flows[i]);
            parser->at = i;
        }
    }
    ds_destroy(&ds);
    return NULL;
}

/* Parses all, by 'n_parsers' threads, of which this is one.  Returns NULL, or
 * what is wrong with the first flow that cannot be parsed: shares are taken in
 * order, so that somebody comes to it. */
static const char *
parse_all(struct parsing *p, size_t n_parsers)
{
    struct parser parsers[MAX_PARSERS], *wrong = NULL;
    const char *reason;

    for (size_t i = 0; i < n_parsers; i++) {
        parsers[i] = (struct parser) {
            .parsing = p, .arena = arena_create(),
        };
        parsers[i].threaded = (i && !pthread_create(&parsers[i].thread, NULL,
                                                    parse_shares,
                                                    &parsers[i]));
    }
    parse_shares(&parsers[0]);
    for (size_t i = 0; i < n_parsers; i++) {
        if (parsers[i].threaded) {
            pthread_join(parsers[i].thread, NULL);
        }
        if (parsers[i].reason && (!wrong || parsers[i].at < wrong->at)) {
            wrong = &parsers[i];
        }
    }
    reason = wrong ? arena_strdup(p->plan->arena, wrong->reason) : NULL;
    for (size_t i = 0; i < n_parsers; i++) {
        arena_destroy(parsers[i].arena);
    }
    return reason;
}

/* Most of the time to load a large plan would be spent here. */
const char *
plan_to_flows(const struct plan *plan, const struct ofputil_port_map *ports,
              struct switch_state *state)
{
    size_t n = plan->flows.n;
    struct parsing parsing = {
        .plan = plan, .ports = ports,
        .flows = xcalloc(MAX(1, n), sizeof *parsing.flows),
        .next = ATOMIC_COUNT_INIT(0),
    };
    const char *reason = parse_all(
        &parsing, MAX(1, MIN(MIN(MAX_PARSERS, count_cpu_cores()),
                             n / MIN_FLOWS)));

    for (size_t i = 0; i < n; i++) {
        if (parsing.flows[i]) {
            switch_state_put(state, parsing.flows[i]);
        }
    }
    free(parsing.flows);
    return reason;
}

const char *
flows_resolve(struct switch_state *state, const struct ofputil_port_map *ports,
              struct arena *arena)
{
    const struct flow_entry *flow;
    struct switch_state anew;
    const char *reason = NULL;

    switch_state_init(&anew);
    HMAP_FOR_EACH (flow, node, &state->flows) {
        struct flow_entry *resolved;

        reason = flow_parse(flow->text, ports, arena, &resolved);
        if (reason) {
            break;
        }
        switch_state_put(&anew, resolved);
    }
    if (!reason) {
        flows_swap(state, &anew);
    }
    switch_state_destroy(&anew);
    return reason;
}

/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "offload/held.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "plan/plan.h"
#include "simap.h"
#include "util.h"

/* What is before the actions of a megaflow; and what may be behind them, of
 * the userspace datapath. */
#define ACTIONS ", actions:"
#define EXTRA ", dp-extra-info:"

const char *const held_where_names[N_HELD] = {
    [HELD_SOFTWARE] = "software",
    [HELD_MARKED] = "marked",
    [HELD_HARDWARE] = "hardware",
};

struct holder {
    const struct ir_prog *prog;
    const struct plan *plan;
    const struct profile *profile;
    cap_set carried;
    struct simap rows;          /* Row + 1 by the number of a port, as */
    struct simap ports;         /* text; and its number in the plan. */
    struct arena *arena;
    struct held_report *report;
};

static void
add_row(struct holder *h, const char *name)
{
    struct held_row *row = vec_push(h->arena, &h->report->rows);

    memset(row, 0, sizeof *row);
    row->name = name;
}

/* The row of a tenant, or NULL if it is not here. */
static struct held_row *
tenant_row(struct held_report *report, const struct ir_tenant *tenant)
{
    for (size_t i = 0; i < report->rows.n; i++) {
        if (!strcmp(report->rows.v[i].name, tenant->name)) {
            return &report->rows.v[i];
        }
    }
    return NULL;
}

static void
add_rows(struct holder *h)
{
    for (size_t i = 0; i < h->prog->tenants.n; i++) {
        if (h->prog->tenants.v[i]->here) {
            add_row(h, h->prog->tenants.v[i]->name);
        }
    }
    for (size_t i = 0; i < h->prog->externals.n; i++) {
        add_row(h, arena_printf(h->arena, "external:%s",
                                h->prog->externals.v[i]->name));
    }
}

/* The row of the port of this name, or NULL. */
static struct held_row *
port_row(const struct holder *h, const char *name)
{
    struct held_report *report = h->report;

    for (size_t i = 0; i < h->prog->endpoints.n; i++) {
        const struct ir_endpoint *e = h->prog->endpoints.v[i];

        if (e->interface && !strcmp(e->interface, name)) {
            return tenant_row(report, e->tenant);
        }
    }
    for (size_t i = 0; i < h->prog->externals.n; i++) {
        if (!strcmp(h->prog->externals.v[i]->interface, name)) {
            return &report->rows.v[report->rows.n - h->prog->externals.n + i];
        }
    }
    return NULL;
}

/* The number of a port of the switch in the plan; one behind all if it is none
 * of the plan's. */
static uint32_t
plan_port(const struct holder *h, uint32_t port)
{
    char number[16];
    uint32_t found;

    snprintf(number, sizeof number, "%"PRIu32, port);
    found = simap_get(&h->ports, number);
    return found ? found : h->plan->ports.n + 1;
}

/* Notes the ports of "dpctl/show": "  port 2: rep0 (...)". */
static void
read_ports(struct holder *h, const char *show)
{
    for (const char *line = show; line; line = strchr(line, '\n')) {
        char name[64], number[16];
        uint32_t port;

        line += *line == '\n';
        if (ovs_scan(line, " port %"SCNu32": %63[^ \n]", &port, name)) {
            const struct held_row *row = port_row(h, name);

            snprintf(number, sizeof number, "%"PRIu32, port);
            if (row) {
                simap_put(&h->rows, number, row - h->report->rows.v + 1);
            }
            for (size_t i = 0; i < h->plan->ports.n; i++) {
                if (!strcmp(h->plan->ports.v[i].interface, name)) {
                    simap_put(&h->ports, number, i + 1);
                }
            }
        }
    }
}

/* The row of who sends the packets of a megaflow, or NULL. */
static struct held_row *
sender_row(const struct holder *h, const struct flow *key)
{
    const struct ir_prog *prog = h->prog;
    unsigned int row;
    char number[16];

    if (flow_tnl_dst_is_set(&key->tunnel)) {
        for (size_t i = 0; i < prog->networks.n; i++) {
            if (prog->networks.v[i]->here
                && htonll(prog->networks.v[i]->vni) == key->tunnel.tun_id) {
                return tenant_row(h->report, prog->networks.v[i]->tenant);
            }
        }
        return NULL;
    }
    snprintf(number, sizeof number, "%"PRIu32,
             odp_to_u32(key->in_port.odp_port));
    row = simap_get(&h->rows, number);
    return row ? &h->report->rows.v[row - 1] : NULL;
}

/* A meter of the plan that counts packets, if 'packets'; or 0. */
static uint32_t
meter_like(const struct plan *plan, const char *tenant, bool packets)
{
    for (size_t i = 0; i < plan->meters.n; i++) {
        const struct plan_meter *meter = &plan->meters.v[i];

        if (meter->packets == packets
            && (!packets || !strcmp(meter->name, tenant))) {
            return meter->id;
        }
    }
    return 0;
}

/* Datapaths have numbers of their own for ports and meters: they become the
 * plan's.  The meter of a tenant's packets is the first that what comes from
 * its ports meets, in the first pass; all others are alike. */
static void
take_numbers(const struct holder *h, struct ofpbuf *actions,
             const struct flow *key, const char *tenant)
{
    uint32_t packets = (key->recirc_id || flow_tnl_dst_is_set(&key->tunnel)
                        ? 0 : meter_like(h->plan, tenant, true));
    uint32_t other = meter_like(h->plan, tenant, false);
    struct nlattr *a;
    size_t left;

    NL_ATTR_FOR_EACH (a, left, actions->data, actions->size) {
        if (nl_attr_type(a) == OVS_ACTION_ATTR_METER) {
            uint32_t id = packets ? packets : other;

            memcpy(CONST_CAST(void *, nl_attr_get(a)), &id, sizeof id);
            packets = 0;
        } else if (nl_attr_type(a) == OVS_ACTION_ATTR_OUTPUT) {
            uint32_t port = plan_port(h, nl_attr_get_u32(a));

            memcpy(CONST_CAST(void *, nl_attr_get(a)), &port, sizeof port);
        }
    }
}

/* Does a megaflow's text have 'word' before its actions? */
static bool
says(const char *text, const char *word)
{
    const char *actions = strstr(text, ACTIONS);
    const char *found = strstr(text, word);

    return found && (!actions || found < actions);
}

static enum held_where
where_is(const struct profile *profile, const char *text)
{
    return (!profile->hardware ? (says(text, ", dp:tc") ? HELD_HARDWARE
                                  : HELD_SOFTWARE)
            : says(text, ", offloaded:yes") ? HELD_HARDWARE
            : says(text, ", offloaded:partial") ? HELD_MARKED
            : HELD_SOFTWARE);
}

/* Reads match and mask.  Returns NULL, or why that is not possible. */
static const char *
read_match(const struct holder *h, const char *text, struct megaflow *m)
{
    uint64_t key_stub[1024 / 8], mask_stub[1024 / 8];
    struct ofpbuf key = OFPBUF_STUB_INITIALIZER(key_stub);
    struct ofpbuf mask = OFPBUF_STUB_INITIALIZER(mask_stub);
    const char *reason = NULL;
    char *error = NULL;

    if (odp_flow_from_string(text, NULL, &key, &mask, &error)
        || odp_flow_key_to_flow(key.data, key.size, &m->key, &error)
           == ODP_FIT_ERROR
        || odp_flow_key_to_mask(mask.data, mask.size, &m->wc, &m->key, &error)
           == ODP_FIT_ERROR) {
        reason = (error ? arena_strdup(h->arena, error)
                  : "its match is not understood");
    }
    free(error);
    ofpbuf_uninit(&key);
    ofpbuf_uninit(&mask);
    return reason;
}

/* Reads actions, as far as odp_actions_from_string() takes what
 * format_odp_actions() makes: that prints chains as hexadecimal, which it does
 * not read, and nothing as "drop".  Which chain it is does not matter here. */
static bool
read_actions(const struct holder *h, const char *text, struct ofpbuf *actions)
{
    const char *end = strstr(text, EXTRA);
    char *copy = arena_strndup(h->arena, text,
                               end ? end - text : strlen(text));

    for (char *s = copy; (s = strstr(s, "recirc(0x")); s++) {
        char *digits = s + strlen("recirc(");

        digits[1] = '0';
        memset(digits + 2, '1', strspn(digits + 2, "0123456789abcdef"));
    }
    return (!strcmp(copy, "drop")
            || !odp_actions_from_string(copy, NULL, actions));
}

/* Compares the megaflow, of 'row', with what is predicted of it. */
static void
compare(struct holder *h, struct held_row *row, struct megaflow *m,
        const char *text, struct held_flow *flow)
{
    const char *actions_at = strstr(text, ACTIONS);
    struct offload_pass pass = { .megaflow = m };
    struct ofpbuf actions;

    ofpbuf_init(&actions, 256);
    if (!actions_at
        || !read_actions(h, actions_at + strlen(ACTIONS), &actions)) {
        flow->unread = "its actions are not understood";
    } else {
        take_numbers(h, &actions, &m->key, row->name);
        m->key.in_port.ofp_port = u16_to_ofp(
            plan_port(h, odp_to_u32(m->key.in_port.odp_port)));
        m->chain = m->key.recirc_id;
        m->actions = actions.data;
        m->actions_len = actions.size;
        offload_judge_pass(h->carried, h->plan, &pass);
        flow->refused = pass.refused;
        flow->predicted = (!pass.refused ? HELD_HARDWARE
                           : pass.marked ? HELD_MARKED : HELD_SOFTWARE);
    }
    ofpbuf_uninit(&actions);
}

static void
count(struct held_row *row, const struct held_flow *flow)
{
    row->actual[flow->actual]++;
    row->n_in_tc += (flow->actual != HELD_HARDWARE
                     && says(flow->text, ", dp:tc"));
    row->n_unread += flow->unread != NULL;
    if (!flow->unread) {
        row->predicted[flow->predicted]++;
        row->n_lost += flow->actual < flow->predicted;
        row->n_gained += flow->actual > flow->predicted;
    }
}

/* Is 'text' "N(VALUE/MASK)", with a mask of zeros?  Stores what is behind. */
static bool
is_unmatched(const char *text, const char **end)
{
    const char *mask = strchr(text, '/');
    size_t digits = strspn(text, "0123456789");

    *end = strchr(text, ')');
    return (digits && text[digits] == '(' && *end && mask && mask < *end
            && mask + 1 + strspn(mask + 1, "0 ") == *end);
}

/* Replaces each 'from' in 's' by 'to', which is not longer. */
static void
respell(char *s, const char *from, const char *to)
{
    while ((s = strstr(s, from))) {
        char *behind = s + strlen(from);

        memcpy(s, to, strlen(to));
        s += strlen(to);
        memmove(s, behind, strlen(behind) + 1);
    }
}

/* The match of a megaflow, up to 'end', in the arena, as
 * odp_flow_from_string() takes it: without a UFID that has a comma behind it,
 * and fields that only a newer kernel knows and that nothing is matched of;
 * and ports of ct_tuple6 by the names that it reads, not prints. */
static const char *
match_text(const struct holder *h, const char *text, const char *end)
{
    const char *comma = strstr(text, ", ");
    char *copy;

    if (!strncmp(text, "ufid:", strlen("ufid:")) && comma < end) {
        text = comma + strlen(", ");
    }
    copy = arena_strndup(h->arena, text, end - text);
    for (char *key = copy; (key = strstr(key, ",key")); ) {
        const char *behind;

        if (is_unmatched(key + strlen(",key"), &behind)) {
            memmove(key, behind + 1, strlen(behind + 1) + 1);
        } else {
            key++;
        }
    }
    respell(copy, ",src_port=", ",tp_src=");
    respell(copy, ",dst_port=", ",tp_dst=");
    return copy;
}

/* One that cannot be read may be anybody's. */
static void
read_flow(struct holder *h, const char *text)
{
    const char *end = strstr(text, ", packets:");
    struct held_flow flow = { .text = text };
    struct megaflow m = { .chain = 0 };
    struct held_row *row = NULL;

    flow.actual = where_is(h->profile, text);
    flow.unread = (end ? read_match(h, match_text(h, text, end), &m)
                   : "it is no line of dpctl/dump-flows");
    if (!flow.unread) {
        row = sender_row(h, &m.key);
        if (!row) {
            h->report->n_others++;
            return;
        }
        flow.tenant = row->name;
        compare(h, row, &m, text, &flow);
        count(row, &flow);
    }
    count(&h->report->all, &flow);
    if (flow.unread || flow.actual != flow.predicted) {
        *vec_push(h->arena, &h->report->flows) = flow;
    }
}

void
offload_hold(const struct ir_prog *prog, const struct plan *plan,
             const struct profile *profile, const char *show,
             const char *dump, struct arena *arena,
             struct held_report *report)
{
    struct holder h = {
        .prog = prog, .plan = plan, .profile = profile,
        .carried = offload_carried(profile), .arena = arena,
        .report = report,
    };

    memset(report, 0, sizeof *report);
    report->profile = profile;
    simap_init(&h.rows);
    simap_init(&h.ports);
    add_rows(&h);
    read_ports(&h, show);
    for (const char *line = dump; line; ) {
        const char *end = strchr(line, '\n');

        if (strncmp(line, "flow-dump from", strlen("flow-dump from"))
            && *line && *line != '\n') {
            read_flow(&h, arena_strndup(arena, line,
                                        end ? end - line : strlen(line)));
        }
        line = end ? end + 1 : NULL;
    }
    simap_destroy(&h.ports);
    simap_destroy(&h.rows);
}

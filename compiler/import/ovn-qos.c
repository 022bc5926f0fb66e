/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/ovn.h"

#include <stdlib.h>
#include <string.h>

#include "bitmap.h"
#include "openvswitch/json.h"
#include "sema/northbound.h"
#include "util.h"

/* Rows of the table QoS: DSCP and limits. */

struct mark {
    struct ovn_box box;
    int dscp;
};

struct ovn_marks {
    VEC(struct mark) list;
};

struct ovn_limit {
    const struct ovn_row *row;
    ovn_set at;                 /* Addresses that send, or get. */
    bool to_lport;
    int64_t rate, burst;        /* In kbps, and in bytes. */
    bool ours;                  /* All of a tenant's by an uplink. */
    bool used;
};

enum {
    MAX_RATE = 1600 * 1000 * 1000,      /* In kbps. */
    MIN_BURST = 1518, MAX_BURST = 1024 * 1024 * 1024,   /* In bytes. */
    MIN_PACKETS = 32,           /* As the intent takes. */
};

/* The marks of a rule, which the id of a row of ours begins with. */
static void
read_mark(struct ovn *m, const struct ovn_row *row, int dscp,
          const ovn_boxes *boxes)
{
    const char *id = (ovn_is_ours(m, row)
                      ? ovn_key(m, row, "external_ids", NB_ID_KEY) : NULL);
    const char *end = id ? strchr(id, ' ') : NULL;
    struct ovn_marks *marks;
    const char *rule;

    if (!end) {
        if (!id || strcmp(id, "best-effort")) {
            ovn_warn(m, row, "give the rules that allow it a class",
                     "the DSCP is not kept: in an intent the rule decides");
        }
        return;
    }
    rule = arena_strndup(m->arena, id, end - id);
    marks = shash_find_data(&m->marks, rule);
    if (!marks) {
        marks = arena_zalloc(m->arena, sizeof *marks);
        shash_add(&m->marks, rule, marks);
    }
    for (size_t i = 0; i < boxes->n; i++) {
        *vec_push(m->arena, &marks->list) = (struct mark) {
            boxes->v[i], dscp,
        };
    }
}

/* The burst in bytes: what was asked for, of a row of ours; what the row has;
 * or what a meter has whose row says none.  -1 if the row has no such one. */
static int64_t
read_burst(struct ovn *m, const struct ovn_row *row, int64_t rate)
{
    int64_t kbit = ovn_number(m, row, "bandwidth", "burst", 0);
    uint64_t asked;
    const char *said;

    if (kbit < 0 || kbit > MAX_BURST / 125) {
        return -1;
    }
    said = (ovn_is_ours(m, row)
            ? ovn_key(m, row, "external_ids", NB_BURST_KEY) : NULL);
    if (!nb_burst_parse(said, kbit, MIN_BURST, kbit * 125, &asked)) {
        asked = (kbit ? kbit : MIN(rate, MAX_RATE)) * 125;
    }
    return MIN(MAX(asked, MIN_BURST), MAX_BURST);
}

/* Is the limit that of the uplink, as Bulkhead has written it?  The fabric
 * says that again. */
static bool
is_of_uplink(struct ovn *m, const struct ovn_row *row, int64_t rate)
{
    const char *said = (m->fabric && ovn_is_ours(m, row)
                        ? ovn_key(m, row, "external_ids", NB_UPLINK_LIMIT_KEY)
                        : NULL);
    int64_t burst = ovn_number(m, row, "bandwidth", "burst", 0);
    uint64_t asked;

    return nb_burst_parse(said, burst, rate, rate, &asked);
}

static void
read_limit(struct ovn *m, const struct ovn_row *row, bool to_lport,
           int64_t rate, const ovn_set at, const ovn_boxes *boxes)
{
    struct ovn_limit *limit = arena_zalloc(m->arena, sizeof *limit);
    bool exact = boxes->n > 0;

    *limit = (struct ovn_limit) {
        .row = row, .at = ovn_empty(m), .to_lport = to_lport, .rate = rate,
        .burst = read_burst(m, row, rate),
        .ours = ovn_is_ours(m, row),
    };
    for (size_t i = 0; i < boxes->n; i++) {
        const struct ovn_box *box = &boxes->v[i];
        const unsigned long *near = to_lport ? box->to : box->from;

        exact &= (ovn_is_exact(m, box) && box->dst.any && !box->at_router
                  && ovn_has(m, to_lport ? box->from : box->to, near));
        ovn_add(m, limit->at, ovn_and(m, near, at));
    }
    if (!exact || rate < 1 || rate > MAX_RATE || limit->burst < 0) {
        ovn_warn(m, row, "limit a tenant, or an endpoint",
                 "the limit is not kept: it is for a part of what ports send "
                 "or get");
        return;
    }
    *vec_push(m->arena, &m->limits) = limit;
}

static void
read_row(struct ovn *m, const struct ovn_row *row, const ovn_set at)
{
    const char *match = ovn_string(m, row, "match");
    bool to_lport = !strcmp(ovn_string(m, row, "direction"), "to-lport");
    int64_t rate = ovn_number(m, row, "bandwidth", "rate", -1);
    int64_t dscp = ovn_number(m, row, "action", "dscp", -1);
    struct ovn_match parsed;
    ovn_boxes boxes;

    if (!ovn_parse_match(m, match, to_lport, &parsed) || parsed.is_void) {
        ovn_warn(m, row, "say it in the intent", "'%s' is not kept", match);
        return;
    }
    boxes = parsed.boxes;
    for (size_t i = 0; i < boxes.n; i++) {
        boxes.v[i].from = ovn_and(m, boxes.v[i].from, NULL);
        boxes.v[i].to = ovn_and(m, boxes.v[i].to, NULL);
    }
    ovn_join(m, &boxes);
    if (dscp >= 0 && dscp < 64) {
        read_mark(m, row, dscp, &boxes);
    }
    if (rate >= 0 && !is_of_uplink(m, row, rate)) {
        read_limit(m, row, to_lport, rate, at, &boxes);
    }
}

/* A row and where it stands; the highest priority decides, so it comes
 * first. */
struct placed {
    const struct ovn_row *row;
    int64_t priority;
    ovn_set at;
};

static int
compare_placed(const void *a_, const void *b_)
{
    const struct placed *a = a_, *b = b_;

    return (a->priority != b->priority ? (a->priority < b->priority ? 1 : -1)
            : a->row->cells < b->row->cells ? -1 : a->row != b->row);
}

/* What ports ask of the interface that they are on. */
static void
report_ports(struct ovn *m)
{
    static const char *const keys[] = {
        "qos_min_rate", "qos_max_rate", "qos_burst",
    };

    for (size_t i = 0; i < m->endpoints.n; i++) {
        const struct ovn_row *row = m->endpoints.v[i].row;

        for (size_t j = 0; j < ARRAY_SIZE(keys); j++) {
            if (ovn_key(m, row, "options", keys[j])) {
                ovn_warn(m, row, "write it as the endpoint's bandwidth",
                         "the option %s is not kept", keys[j]);
            }
        }
    }
}

void
ovn_read_qos(struct ovn *m)
{
    struct shash rows = SHASH_INITIALIZER(&rows);
    VEC(struct placed) all = VEC_INIT;
    struct shash_node *node;

    report_ports(m);
    for (size_t i = 0; i < m->switches.n; i++) {
        struct ovn_switch *s = m->switches.v[i];
        ovn_row_vec refs = ovn_refs(m, s->row, "qos_rules", "QoS");

        for (size_t j = 0; j < refs.n; j++) {
            const char *uuid = ovn_uuid(m, refs.v[j]);
            ovn_set at = shash_find_data(&rows, uuid);

            if (!at) {
                at = ovn_empty(m);
                shash_add(&rows, uuid, at);
            }
            ovn_add(m, at, s->own);
        }
    }
    SHASH_FOR_EACH (node, &rows) {
        const struct ovn_row *row = shash_find_data(
            &ovn_table(m, "QoS")->by_uuid, node->name);

        *vec_push(m->arena, &all) = (struct placed) {
            row, ovn_number(m, row, "priority", NULL, 0), node->data,
        };
    }
    shash_destroy(&rows);
    if (all.n) {
        qsort(all.v, all.n, sizeof *all.v, compare_placed);
    }
    for (size_t i = 0; i < all.n; i++) {
        read_row(m, all.v[i].row, all.v[i].at);
    }
}

/* Does the mark speak of what the service is, or of replies to that? */
static bool
speaks_of(struct ovn *m, const struct ovn_box *box,
          const struct ovn_service *service, bool reply)
{
    struct ovn_service one = ovn_one_way(m, service);
    const struct ovn_service *wanted
        = ovn_service_is_empty(&one) ? service : &one;

    return (!box->vague && !box->fragment
            && (reply ? !box->forward && (box->reply || !box->established)
                : !box->reply && !box->established)
            && ovn_service_has(m, reply ? &box->src : &box->dst,
                               service->any && box->dst.any ? service
                               : wanted));
}

/* Adds where the marks of one DSCP lead from address 'a'. */
static ovn_set
marked(struct ovn *m, const struct ovn_marks *marks, size_t a,
       const struct ovn_service *service, bool reply, int *dscp)
{
    ovn_set out = ovn_empty(m);

    for (size_t i = 0; i < marks->list.n; i++) {
        const struct mark *mark = &marks->list.v[i];

        if (bitmap_is_set(mark->box.from, a)
            && speaks_of(m, &mark->box, service, reply)) {
            if (bitmap_is_all_zeros(out, m->n)) {
                *dscp = mark->dscp;
            }
            if (mark->dscp == *dscp) {
                ovn_add(m, out, mark->box.to);
            }
        }
    }
    return out;
}

/* The addresses of endpoints. */
static ovn_set
addresses_of(struct ovn *m, const unsigned long *endpoints)
{
    ovn_set out = ovn_empty(m);

    for (size_t i = bitmap_scan(endpoints, true, 0, m->endpoints.n);
         i < m->endpoints.n;
         i = bitmap_scan(endpoints, true, i + 1, m->endpoints.n)) {
        bitmap_set_multiple(out, m->endpoints.v[i].first,
                            m->endpoints.v[i].n, true);
    }
    return out;
}

int
ovn_dscp(struct ovn *m, const char *rule, const struct ovn_pair *pair,
         const struct ovn_service *service, bool reply)
{
    const struct ovn_marks *marks = shash_find_data(&m->marks, rule);
    ovn_set from, to;
    int dscp = 0;

    if (!marks) {
        return 0;
    }
    from = addresses_of(m, reply ? pair->to : pair->from);
    to = addresses_of(m, reply ? pair->from : pair->to);
    for (size_t a = bitmap_scan(from, true, 0, m->n); a < m->n;
         a = bitmap_scan(from, true, a + 1, m->n)) {
        ovn_set family = ovn_and(m, to, bitmap_is_set(m->ip4, a) ? m->ip4
                                 : m->ip6);

        /* A rule has one class: a part that has none is nobody's work. */
        if (!ovn_has(m, marked(m, marks, a, service, reply, &dscp), family)) {
            return 0;
        }
    }
    return dscp;
}

static void
put_limit(struct json *bandwidth, const struct ovn_limit *limit)
{
    json_object_put(bandwidth, "limit", json_string_create_nocopy(
        xasprintf("%lldkbps", (long long) limit->rate)));
    json_object_put(bandwidth, "burst", json_string_create_nocopy(
        xasprintf("%lldB", (long long) limit->burst)));
}

/* Is the limit one of 'addresses', a tenant's or an endpoint's? */
static bool
is_of(struct ovn *m, const struct ovn_limit *l, const unsigned long *addresses,
      bool tenant, bool to_lport)
{
    return (l->to_lport == to_lport && !l->used && (tenant || !l->ours)
            && ovn_has(m, addresses, l->at) && !ovn_is_empty(m, l->at));
}

/* The limit of all of 'addresses' in one direction, by one row or by several
 * that say the same; NULL: none. */
static struct ovn_limit *
find_limit(struct ovn *m, const unsigned long *addresses, bool tenant,
           bool to_lport)
{
    struct ovn_limit *first = NULL;
    ovn_set covered = ovn_empty(m);

    for (size_t i = 0; i < m->limits.n; i++) {
        struct ovn_limit *l = m->limits.v[i];

        if (is_of(m, l, addresses, tenant, to_lport)
            && (!first || (l->rate == first->rate
                           && l->burst == first->burst))) {
            first = first ? first : l;
            ovn_add(m, covered, l->at);
        }
    }
    if (!first || !ovn_has(m, covered, addresses)) {
        return NULL;
    }
    for (size_t i = 0; i < m->limits.n; i++) {
        struct ovn_limit *l = m->limits.v[i];

        l->used |= (is_of(m, l, addresses, tenant, to_lport)
                    && l->rate == first->rate && l->burst == first->burst);
    }
    return first;
}

struct json *
ovn_bandwidth(struct ovn *m, const unsigned long *addresses, bool tenant)
{
    const struct ovn_limit *send = find_limit(m, addresses, tenant, false);
    const struct ovn_limit *receive = find_limit(m, addresses, tenant, true);
    struct json *bandwidth;

    if (!send && !receive) {
        return NULL;
    }
    bandwidth = json_object_create();
    if (send && receive && send->rate == receive->rate
        && send->burst == receive->burst) {
        put_limit(bandwidth, send);
        return bandwidth;
    }
    if (send) {
        json_object_put(bandwidth, "send", json_object_create());
        put_limit(shash_find_data(json_object(bandwidth), "send"), send);
    }
    if (receive) {
        json_object_put(bandwidth, "receive", json_object_create());
        put_limit(shash_find_data(json_object(bandwidth), "receive"),
                  receive);
    }
    return bandwidth;
}

void
ovn_report_limits(struct ovn *m)
{
    for (size_t i = 0; i < m->limits.n; i++) {
        if (!m->limits.v[i]->used && !ovn_is_empty(m, m->limits.v[i]->at)) {
            ovn_warn(m, m->limits.v[i]->row,
                     "say it as \"bandwidth\" of the tenant or the endpoint",
                     m->limits.v[i]->ours ? "the limit is not kept: others of "
                     "the tenant have another" : "the limit is not kept: its "
                     "ports are neither one endpoint nor all of a tenant, or "
                     "another row decides");
        }
    }
}

/* The row of a Copp of ours for this tenant, or NULL. */
static const struct ovn_row *
find_control(struct ovn *m, const struct ovn_tenant *t)
{
    const struct ovn_table *table = ovn_table(m, "Copp");

    for (size_t i = 0; i < table->rows.n; i++) {
        const struct ovn_row *row = &table->rows.v[i];
        const char *id = ovn_key(m, row, "external_ids", NB_ID_KEY);

        if (ovn_is_ours(m, row) && id
            && !strncmp(id, NB_CONTROL_ID, strlen(NB_CONTROL_ID))
            && !strcmp(id + strlen(NB_CONTROL_ID), t->name)) {
            return row;
        }
    }
    return NULL;
}

/* The band of packets that limits all that a Copp of ours speaks of, or NULL:
 * somebody has changed that. */
static const struct ovn_row *
find_control_band(struct ovn *m, const struct ovn_row *copp,
                  const struct ovn_row **meter)
{
    const char *name = ovn_key(m, copp, "meters", nb_control_kinds[0]);
    ovn_row_vec bands;

    for (size_t i = 0; i < NB_N_CONTROL_KINDS; i++) {
        const char *other = ovn_key(m, copp, "meters", nb_control_kinds[i]);

        if (!other || strcmp(other, name)) {
            return NULL;
        }
    }
    *meter = ovn_find(m, "Meter", name);
    if (!*meter || strcmp(ovn_string(m, *meter, "unit"), "pktps")) {
        return NULL;
    }
    bands = ovn_refs(m, *meter, "bands", "Meter_Band");
    return bands.n == 1 ? bands.v[0] : NULL;
}

struct json *
ovn_upcalls(struct ovn *m, const struct ovn_tenant *t)
{
    const struct ovn_row *copp = find_control(m, t), *meter, *band;
    struct json *limits, *upcalls;
    const char *said;
    uint64_t asked;
    int64_t burst;

    band = copp ? find_control_band(m, copp, &meter) : NULL;
    if (!band) {
        if (copp) {
            ovn_warn(m, copp, "say it as \"limits\" of the tenant",
                     "the limit of upcalls is not kept: somebody has changed "
                     "it");
        }
        return NULL;
    }
    burst = ovn_number(m, band, "burst_size", NULL, 0);
    said = (ovn_is_ours(m, meter)
            ? ovn_key(m, meter, "external_ids", NB_BURST_KEY) : NULL);
    if (!nb_burst_parse(said, burst, MIN_PACKETS, MAX(burst, 0), &asked)) {
        asked = burst;
    }
    upcalls = json_object_create();
    json_object_put_format(upcalls, "rate", "%"PRId64"pps",
                           ovn_number(m, band, "rate", NULL, 0));
    json_object_put_format(upcalls, "burst", "%"PRId64"pkt", (int64_t) asked);
    limits = json_object_create();
    json_object_put(limits, "upcalls", upcalls);
    return limits;
}

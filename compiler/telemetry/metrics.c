/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "telemetry/metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "telemetry/names.h"
#include "telemetry/tally.h"
#include "util.h"

/* What all families are made of. */
struct page {
    struct ds *ds;
    enum metrics_form form;
    struct arena *arena;
    const struct tenant_names *names;
    VEC(const struct queue_port *) ports;       /* Each name once. */
    VEC(struct row) rows;
    VEC(struct role_row) roles;
};

/* What the queues of a port with the same labels have sent. */
struct row {
    const char *port, *tenant;
    uint64_t queue;
    struct tq_counts counts;
};

/* A tenant's part in the bursts of a port. */
struct role_row {
    const char *port, *tenant;
    struct tally_role culprit, victim;
};

/* A counter's family has the name without "_total" in OpenMetrics. */
static void
put_family(struct page *p, const char *name, const char *type,
           const char *help)
{
    const char *suffix = (!strcmp(type, "counter")
                          && p->form == METRICS_TEXT ? "_total" : "");

    ds_put_format(p->ds, "# HELP bulkhead_%s%s %s\n# TYPE bulkhead_%s%s %s\n",
                  name, suffix, help, name, suffix, type);
}

static void
put_single(struct page *p, const char *name, const char *type,
           const char *help, uint64_t value)
{
    put_family(p, name, type, help);
    ds_put_format(p->ds, "bulkhead_%s%s %"PRIu64"\n", name,
                  strcmp(type, "counter") ? "" : "_total", value);
}

/* The value of a label: a quote or backslash has a backslash before it. */
static const char *
label(struct page *p, const char *text)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *value;

    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\') {
            ds_put_char(&ds, '\\');
        }
        ds_put_char(&ds, *c);
    }
    value = arena_strdup(p->arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return value;
}

/* Ports. */

/* Of ports of one name, the last one is there; they are sorted so. */
static void
choose_ports(struct page *p, const struct sample *s)
{
    for (size_t i = 0; i < s->ports.n; i++) {
        const struct queue_port *port = &s->ports.v[i];

        if (i + 1 >= s->ports.n
            || strcmp(port->name, s->ports.v[i + 1].name)) {
            *vec_push(p->arena, &p->ports) = port;
        }
    }
}

static const struct port_family {
    const char *name, *type, *help;
    size_t offset;
    double scale;
} port_families[] = {
    { "port_speed_bytes", "gauge",
      "Bytes a second that the port's phantom queue drains.",
      offsetof(struct queue_port, rate), 125 },
    { "port_queue_bytes", "gauge",
      "Bytes in the port's phantom queue.",
      offsetof(struct queue_port, depth), 1 },
    { "port_queue_recent_max_bytes", "gauge",
      "Most bytes in the port's phantom queue in the last 6 seconds.",
      offsetof(struct queue_port, recent_depth), 1 },
    { "port_queue_max_bytes", "gauge",
      "Most bytes in the port's phantom queue since the port is there.",
      offsetof(struct queue_port, max_depth), 1 },
    { "port_poll_gap_max_seconds", "gauge",
      "Longest time between polls; bursts of less than twice that may go "
      "unseen.", offsetof(struct queue_port, gap_ns), 1e-9 },
    { "port_bursts", "counter",
      "Bursts of the port's phantom queue.",
      offsetof(struct queue_port, n_bursts), 1 },
    { "port_burst_bytes", "counter",
      "Bytes that were sent in bursts.",
      offsetof(struct queue_port, burst_bytes), 1 },
};

static void
put_port_family(struct page *p, const struct port_family *f)
{
    bool counter = !strcmp(f->type, "counter");

    put_family(p, f->name, f->type, f->help);
    for (size_t i = 0; i < p->ports.n; i++) {
        const struct queue_port *port = p->ports.v[i];
        uint64_t n = *(const uint64_t *) ((const char *) port + f->offset);

        ds_put_format(p->ds, "bulkhead_%s%s{port=\"%s\"} ", f->name,
                      counter ? "_total" : "", label(p, port->name));
        if (f->scale >= 1) {
            ds_put_format(p->ds, "%"PRIu64"\n", n * (uint64_t) f->scale);
        } else {
            ds_put_format(p->ds, "%.9g\n", n * f->scale);
        }
    }
}

/* The buckets of the file have no upper limits of their own: what is in bucket
 * i is less than 2**(i + 1). */
static void
put_histogram(struct page *p, const char *name, const char *help,
              size_t offset, double scale)
{
    put_family(p, name, "histogram", help);
    for (size_t i = 0; i < p->ports.n; i++) {
        const struct queue_port *port = p->ports.v[i];
        const uint64_t *buckets = (const void *) ((const char *) port
                                                  + offset);
        const char *port_label = label(p, port->name);
        uint64_t sum = 0;

        for (int j = 0; j < TQ_BUCKETS - 1; j++) {
            uint64_t limit = (UINT64_C(2) << j) - 1;

            sum += buckets[j];
            ds_put_format(p->ds, "bulkhead_%s_bucket{port=\"%s\",le=\"%.12g\"}"
                          " %"PRIu64"\n", name, port_label, limit * scale,
                          sum);
        }
        ds_put_format(p->ds, "bulkhead_%s_bucket{port=\"%s\",le=\"+Inf\"} "
                      "%"PRIu64"\n", name, port_label,
                      sum + buckets[TQ_BUCKETS - 1]);
    }
}

static void
put_ports(struct page *p)
{
    for (size_t i = 0; i < ARRAY_SIZE(port_families); i++) {
        put_port_family(p, &port_families[i]);
    }
    put_histogram(p, "port_burst_length_seconds",
                  "How long bursts of the port lasted.",
                  offsetof(struct queue_port, lengths), 1e-9);
    put_histogram(p, "port_burst_depth_bytes",
                  "Most bytes in the port's phantom queue in a burst.",
                  offsetof(struct queue_port, depths), 1);
}

/* What tenants sent. */

static const char *
tenant_label(struct page *p, uint64_t tag)
{
    char buffer[32];

    return label(p, tenant_names_text(p->names, tag, buffer));
}

static int
compare_rows(const void *a_, const void *b_)
{
    const struct row *a = a_, *b = b_;
    int order = strcmp(a->port, b->port);

    order = order ? order : strcmp(a->tenant, b->tenant);
    return order ? order : a->queue < b->queue ? -1 : a->queue > b->queue;
}

/* Adds 'from' to '*to', both of words. */
static void
add_words(void *to_, const void *from_, size_t size)
{
    const uint64_t *from = from_;
    uint64_t *to = to_;

    for (size_t i = 0; i < size / sizeof *to; i++) {
        to[i] += from[i];
    }
}

static void
make_rows(struct page *p, const struct sample *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->totals.n; i++) {
        const struct queue_total *total = &s->totals.v[i];

        *vec_push(p->arena, &p->rows) = (struct row) {
            label(p, sample_port_name(s, total->generation)),
            tenant_label(p, total->tag), total->queue, total->counts,
        };
    }
    if (p->rows.n) {
        qsort(p->rows.v, p->rows.n, sizeof *p->rows.v, compare_rows);
    }
    for (size_t i = 0; i < p->rows.n; i++) {
        if (n && !compare_rows(&p->rows.v[n - 1], &p->rows.v[i])) {
            add_words(&p->rows.v[n - 1].counts, &p->rows.v[i].counts,
                      sizeof p->rows.v[i].counts);
        } else {
            p->rows.v[n++] = p->rows.v[i];
        }
    }
    p->rows.n = n;
}

#define COUNTER(NAME, UNIT, WHAT)                                       \
    { "tenant_" #NAME "_" #UNIT, WHAT,                                  \
      offsetof(struct tq_counts, NAME.UNIT), false }
#define METERED(UNIT, WHAT)                                             \
    { "tenant_metered_" #UNIT, WHAT,                                    \
      offsetof(struct tq_counts, metered[0].UNIT), true }
static const struct row_family {
    const char *name, *help;
    size_t offset;
    bool by_reason;             /* Is it a struct tq_counter [TQ_REASONS]? */
} row_families[] = {
    COUNTER(sent, packets, "Packets of the tenant handed to the port."),
    COUNTER(sent, bytes, "Bytes of the tenant handed to the port."),
    COUNTER(dropped, packets, "Of the packets sent, those that the port "
            "dropped."),
    COUNTER(dropped, bytes, "Of the bytes sent, those that the port "
            "dropped."),
    COUNTER(marked, packets, "Of the packets sent, those that a meter set CE "
            "in."),
    COUNTER(marked, bytes, "Of the bytes sent, those that a meter set CE "
            "in."),
    COUNTER(borrowed, packets, "Of the packets sent, those that a meter let "
            "borrow."),
    COUNTER(borrowed, bytes, "Of the bytes sent, those that a meter let "
            "borrow."),
    COUNTER(remarked, packets, "Of the packets sent, those whose DSCP a meter "
            "changed."),
    COUNTER(remarked, bytes, "Of the bytes sent, those whose DSCP a meter "
            "changed."),
    METERED(packets, "Packets that a meter dropped before they were sent."),
    METERED(bytes, "Bytes that a meter dropped before they were sent."),
};

static void
put_row(struct page *p, const struct row_family *f, const struct row *row,
        enum tq_reason reason)
{
    const char *value = ((const char *) &row->counts + f->offset
                         + reason * sizeof(struct tq_counter));

    ds_put_format(p->ds, "bulkhead_%s_total{port=\"%s\",tenant=\"%s\","
                  "queue=\"%"PRIu64"\"", f->name, row->port, row->tenant,
                  row->queue);
    if (f->by_reason) {
        ds_put_format(p->ds, ",reason=\"%s\"", tq_reason_name(reason));
    }
    ds_put_format(p->ds, "} %"PRIu64"\n", *(const uint64_t *) value);
}

static void
put_rows(struct page *p)
{
    for (size_t i = 0; i < ARRAY_SIZE(row_families); i++) {
        const struct row_family *f = &row_families[i];
        int n = f->by_reason ? TQ_REASONS : 1;

        put_family(p, f->name, "counter", f->help);
        for (size_t j = 0; j < p->rows.n; j++) {
            for (int k = 0; k < n; k++) {
                put_row(p, f, &p->rows.v[j], k);
            }
        }
    }
}

/* Whose bursts they were. */

static int
compare_roles(const void *a_, const void *b_)
{
    const struct role_row *a = a_, *b = b_;
    int order = strcmp(a->port, b->port);

    return order ? order : strcmp(a->tenant, b->tenant);
}

static void
make_roles(struct page *p, const struct tally *tally)
{
    const struct tally_entry *e;
    size_t n = 0;

    HMAP_FOR_EACH (e, node, &tally->entries) {
        *vec_push(p->arena, &p->roles) = (struct role_row) {
            label(p, e->port), tenant_label(p, e->tag), e->culprit,
            e->victim,
        };
    }
    if (p->roles.n) {
        qsort(p->roles.v, p->roles.n, sizeof *p->roles.v, compare_roles);
    }
    for (size_t i = 0; i < p->roles.n; i++) {
        struct role_row *row = &p->roles.v[i];

        if (n && !compare_roles(&p->roles.v[n - 1], row)) {
            add_words(&p->roles.v[n - 1].culprit, &row->culprit,
                      sizeof row->culprit);
            add_words(&p->roles.v[n - 1].victim, &row->victim,
                      sizeof row->victim);
        } else {
            p->roles.v[n++] = *row;
        }
    }
    p->roles.n = n;
}

static void
put_role_family(struct page *p, const char *name, const char *help,
                size_t offset)
{
    put_family(p, name, "counter", help);
    for (size_t i = 0; i < p->roles.n; i++) {
        const struct role_row *row = &p->roles.v[i];
        const struct tally_role *roles[] = { &row->culprit, &row->victim };
        static const char *const role_names[] = { "culprit", "victim" };

        for (int j = 0; j < 2; j++) {
            ds_put_format(p->ds, "bulkhead_%s_total{port=\"%s\",tenant=\"%s\","
                          "role=\"%s\"} %"PRIu64"\n", name, row->port,
                          row->tenant, role_names[j],
                          *(const uint64_t *) ((const char *) roles[j]
                                               + offset));
        }
    }
}

static void
put_roles(struct page *p)
{
    put_role_family(p, "tenant_bursts",
                    "Bursts in which the tenant filled the port's queue "
                    "(culprit), or waited in it (victim), since this exporter "
                    "runs.", offsetof(struct tally_role, n));
    put_role_family(p, "tenant_burst_bytes",
                    "Bytes of the tenant in the port's queue when it was "
                    "deepest.", offsetof(struct tally_role, bytes));
}

void
metrics_format(enum metrics_form form, const struct sample *sample,
               const struct tally *tally, const struct tenant_names *names,
               struct ds *ds)
{
    struct page p = {
        .ds = ds, .form = form, .arena = arena_create(), .names = names,
    };

    put_single(&p, "telemetry_up", "gauge",
               "Could the switch's telemetry be read?", sample != NULL);
    put_single(&p, "telemetry_left_out", "gauge",
               "Ports and counters that find no room in it.",
               sample ? sample->n_left_out : 0);
    put_single(&p, "telemetry_unread", "gauge",
               "Records of it that were being written, and are as they were "
               "before.", sample ? sample->n_unread : 0);
    put_single(&p, "bursts_missed", "counter",
               "Bursts that were gone before this exporter could read whose "
               "they were.", tally->n_missed);
    if (sample) {
        choose_ports(&p, sample);
        make_rows(&p, sample);
        put_ports(&p);
        put_rows(&p);
    }
    make_roles(&p, tally);
    put_roles(&p);
    if (form == METRICS_OPENMETRICS) {
        ds_put_cstr(ds, "# EOF\n");
    }
    arena_destroy(p.arena);
}

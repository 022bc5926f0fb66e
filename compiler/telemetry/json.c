/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "telemetry/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "telemetry/names.h"
#include "util.h"

#define NS_PER_S UINT64_C(1000000000)

/* A number of 64 bits, by its name. */
struct member {
    const char *name;
    size_t offset;
};

static const struct member event_members[] = {
    { "length_ns", offsetof(struct tq_event, length_ns) },
    { "rise_ns", offsetof(struct tq_event, rise_ns) },
    { "max_depth", offsetof(struct tq_event, peak_depth) },
    { "bytes", offsetof(struct tq_event, bytes) },
    { "max_gap_ns", offsetof(struct tq_event, gap_ns) },
    { "n_tenants", offsetof(struct tq_event, n_tenants) },
    { "other_bytes", offsetof(struct tq_event, other_bytes) },
    { "unknown_bytes", offsetof(struct tq_event, unknown_bytes) },
};

static const struct member port_members[] = {
    { "generation", offsetof(struct queue_port, generation) },
    { "rate_kbps", offsetof(struct queue_port, rate) },
    { "threshold", offsetof(struct queue_port, threshold) },
    { "depth", offsetof(struct queue_port, depth) },
    { "recent_max_depth", offsetof(struct queue_port, recent_depth) },
    { "max_depth", offsetof(struct queue_port, max_depth) },
    { "max_gap_ns", offsetof(struct queue_port, gap_ns) },
    { "bursts", offsetof(struct queue_port, n_bursts) },
    { "burst_bytes", offsetof(struct queue_port, burst_bytes) },
};

#define COUNTER(NAME)                                                   \
    { #NAME "_packets", offsetof(struct queue_total, counts.NAME.packets) }, \
    { #NAME "_bytes", offsetof(struct queue_total, counts.NAME.bytes) }
static const struct member total_members[] = {
    { "generation", offsetof(struct queue_total, generation) },
    { "tag", offsetof(struct queue_total, tag) },
    { "queue", offsetof(struct queue_total, queue) },
    COUNTER(sent), COUNTER(dropped), COUNTER(marked), COUNTER(borrowed),
};

static const struct member sample_members[] = {
    { "clock_ns", offsetof(struct sample, clock_ns) },
    { "pid", offsetof(struct sample, pid) },
    { "left_out", offsetof(struct sample, n_left_out) },
    { "unread", offsetof(struct sample, n_unread) },
};

/* What recordings did not always have. */
static const struct member file_member = {
    "file", offsetof(struct sample, file),
};
#define METERED(NAME, REASON)                                           \
    { "metered_" #NAME "_packets",                                      \
      offsetof(struct queue_total, counts.metered[REASON].packets) },   \
    { "metered_" #NAME "_bytes",                                        \
      offsetof(struct queue_total, counts.metered[REASON].bytes) }
static const struct member meter_members[] = {
    COUNTER(remarked),
    METERED(rate, TQ_RATE), METERED(limit, TQ_LIMIT),
    METERED(parent, TQ_PARENT), METERED(missing, TQ_MISSING),
};

/* Writing. */

static void
put_number(struct json *object, const char *name, uint64_t n)
{
    json_object_put(object, name, json_integer_create(MIN(n, INT64_MAX)));
}

static void
put_string(struct json *object, const char *name, const char *s)
{
    json_object_put(object, name,
                    s ? json_string_create(s) : json_null_create());
}

static void
put_members(struct json *object, const void *from,
            const struct member members[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        put_number(object, members[i].name,
                   *(const uint64_t *) ((const char *) from
                                        + members[i].offset));
    }
}

char *
time_to_text(uint64_t ns, char buffer[64])
{
    time_t seconds = MIN(ns, INT64_MAX) / NS_PER_S;
    struct tm tm;

    if (!gmtime_r(&seconds, &tm)
        || !strftime(buffer, 32, "%Y-%m-%dT%H:%M:%S", &tm)) {
        buffer[0] = '\0';
    }
    snprintf(buffer + strlen(buffer), 32, ".%09"PRIu64"Z", ns % NS_PER_S);
    return buffer;
}

static void
put_time(struct json *object, uint64_t ns)
{
    char buffer[64];

    put_string(object, "time", time_to_text(ns, buffer));
}

struct json *
burst_to_json(const struct burst *b, const struct tenant_names *names)
{
    struct json *object = json_object_create();
    struct json *tenants = json_array_create_empty();

    put_time(object, b->start_ns);
    put_string(object, "port", b->port);
    put_number(object, "generation", b->generation);
    put_members(object, &b->event, event_members,
                ARRAY_SIZE(event_members));
    for (unsigned int i = 0; i < b->n_shares; i++) {
        const struct tq_share *share = &b->event.shares[i];
        struct json *tenant = json_object_create();

        put_string(tenant, "tenant", tenant_names_find(names, share->tag));
        put_number(tenant, "tag", share->tag);
        put_number(tenant, "bytes", share->bytes);
        put_string(tenant, "role", tq_is_culprit(&b->event, share)
                   ? "culprit" : "victim");
        json_array_add(tenants, tenant);
    }
    json_object_put(object, "tenants", tenants);
    return object;
}

struct json *
missed_to_json(const struct missed *missed)
{
    struct json *object = json_object_create();

    put_string(object, "port", missed->port);
    put_number(object, "count", missed->n);
    return object;
}

struct json *
sample_to_json(const struct sample *s, const struct tenant_names *names)
{
    struct json *object = json_object_create();
    struct json *ports = json_array_create_empty();
    struct json *totals = json_array_create_empty();

    put_time(object, s->time_ns);
    put_members(object, s, sample_members, ARRAY_SIZE(sample_members));
    put_members(object, s, &file_member, 1);
    for (size_t i = 0; i < s->ports.n; i++) {
        struct json *port = json_object_create();

        put_string(port, "port", s->ports.v[i].name);
        put_members(port, &s->ports.v[i], port_members,
                    ARRAY_SIZE(port_members));
        json_array_add(ports, port);
    }
    for (size_t i = 0; i < s->totals.n; i++) {
        struct json *total = json_object_create();

        put_string(total, "tenant",
                   tenant_names_find(names, s->totals.v[i].tag));
        put_members(total, &s->totals.v[i], total_members,
                    ARRAY_SIZE(total_members));
        put_members(total, &s->totals.v[i], meter_members,
                    ARRAY_SIZE(meter_members));
        json_array_add(totals, total);
    }
    json_object_put(object, "ports", ports);
    json_object_put(object, "queues", totals);
    return object;
}

/* Reading. */

static const struct json *
get_member(const struct json *object, const char *name, enum json_type type)
{
    const struct json *member
        = (object && object->type == JSON_OBJECT
           ? shash_find_data(object->object, name) : NULL);

    return member && member->type == type ? member : NULL;
}

static bool
get_members(const struct json *object, void *to,
            const struct member members[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct json *number = get_member(object, members[i].name,
                                               JSON_INTEGER);

        if (!number || number->integer < 0) {
            return false;
        }
        *(uint64_t *) ((char *) to + members[i].offset) = number->integer;
    }
    return true;
}

/* A string that is fit for a terminal, or NULL. */
static const char *
get_string(const struct json *object, const char *name, struct arena *arena)
{
    const struct json *string = get_member(object, name, JSON_STRING);

    if (!string) {
        return NULL;
    }
    for (const char *c = json_string(string); *c; c++) {
        if (*c < ' ' || *c > '~') {
            return NULL;
        }
    }
    return arena_strdup(arena, json_string(string));
}

bool
time_from_text(const char *text, uint64_t *ns)
{
    struct tm tm;
    const char *end;

    memset(&tm, 0, sizeof tm);
    end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    if (!end || end[0] != '.' || strspn(end + 1, "0123456789") != 9
        || strcmp(end + 10, "Z") || tm.tm_year < 70) {
        return false;
    }
    *ns = timegm(&tm) * NS_PER_S + strtoull(end + 1, NULL, 10);
    return true;
}

static bool
get_time(const struct json *object, uint64_t *ns)
{
    const struct json *time = get_member(object, "time", JSON_STRING);

    return time && time_from_text(json_string(time), ns);
}

/* Takes the name of the tenant of 'tag', if there is one. */
static void
get_tenant(const struct json *object, struct arena *arena,
           struct tenant_names *names, uint64_t tag)
{
    const char *tenant = get_string(object, "tenant", arena);

    if (tenant) {
        tenant_names_add(names, tag, tenant);
    }
}

static bool
get_shares(const struct json *tenants, struct arena *arena,
           struct tenant_names *names, struct burst *b)
{
    if (!tenants || tenants->array.n > TQ_SHARES
        || tenants->array.n > b->event.n_tenants) {
        return false;
    }
    for (size_t i = 0; i < tenants->array.n; i++) {
        static const struct member share_members[] = {
            { "tag", offsetof(struct tq_share, tag) },
            { "bytes", offsetof(struct tq_share, bytes) },
        };

        if (!get_members(tenants->array.elems[i], &b->event.shares[i],
                         share_members, ARRAY_SIZE(share_members))) {
            return false;
        }
        get_tenant(tenants->array.elems[i], arena, names,
                   b->event.shares[i].tag);
    }
    b->n_shares = tenants->array.n;
    return true;
}

bool
burst_from_json(const struct json *json, struct arena *arena,
                struct tenant_names *names, struct burst *b)
{
    static const struct member generation = {
        "generation", offsetof(struct burst, generation),
    };

    *b = (struct burst) { .port = get_string(json, "port", arena) };
    return (b->port && get_time(json, &b->start_ns)
            && get_members(json, b, &generation, 1)
            && get_members(json, &b->event, event_members,
                           ARRAY_SIZE(event_members))
            && b->event.unknown_bytes <= b->event.peak_depth
            && get_shares(get_member(json, "tenants", JSON_ARRAY), arena,
                          names, b));
}

bool
missed_from_json(const struct json *json, struct arena *arena,
                 struct missed *missed)
{
    static const struct member count = {
        "count", offsetof(struct missed, n),
    };

    missed->port = get_string(json, "port", arena);
    return missed->port && get_members(json, missed, &count, 1);
}

static bool
get_ports(const struct json *ports, struct arena *arena, struct sample *s)
{
    for (size_t i = 0; ports && i < ports->array.n; i++) {
        const struct json *json = ports->array.elems[i];
        struct queue_port *port = vec_push(arena, &s->ports);

        port->name = get_string(json, "port", arena);
        if (!port->name || !get_members(json, port, port_members,
                                        ARRAY_SIZE(port_members))) {
            return false;
        }
    }
    return ports;
}

static bool
get_totals(const struct json *totals, struct arena *arena,
           struct tenant_names *names, struct sample *s)
{
    for (size_t i = 0; totals && i < totals->array.n; i++) {
        const struct json *json = totals->array.elems[i];
        struct queue_total *total = vec_push(arena, &s->totals);

        if (!get_members(json, total, total_members,
                         ARRAY_SIZE(total_members))) {
            return false;
        }
        ignore(get_members(json, total, meter_members,
                           ARRAY_SIZE(meter_members)));
        get_tenant(json, arena, names, total->tag);
    }
    return totals;
}

bool
sample_from_json(const struct json *json, struct arena *arena,
                 struct tenant_names *names, struct sample *s)
{
    *s = (struct sample) { .time_ns = 0 };
    if (!get_time(json, &s->time_ns)
        || !get_members(json, s, sample_members, ARRAY_SIZE(sample_members))
        || !get_ports(get_member(json, "ports", JSON_ARRAY), arena, s)
        || !get_totals(get_member(json, "queues", JSON_ARRAY), arena, names,
                       s)) {
        return false;
    }
    ignore(get_members(json, s, &file_member, 1));
    sample_sort(s);
    return true;
}

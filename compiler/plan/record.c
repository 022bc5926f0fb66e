/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "plan/record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "plan/record-rows.h"
#include "sema/ident.h"
#include "sha1.h"
#include "util.h"

#define MAGIC "bulkhead-plan 1 "

/* How a member of a structure is written. */
enum kind {
    TEXT,                       /* A string... */
    TEXT_OR_NULL,               /* ...or null. */
    FLAG,
    NUMBER_8, NUMBER_16, NUMBER_32, NUMBER_64,
    COOKIE,                     /* In hexadecimal: JSON has no 64 bits. */
};

struct member {
    size_t offset;
    enum kind kind;
};

/* A structure is an array of its members; what is listed here is what is
 * written and read. */
enum { MAX_MEMBERS = 25 };
struct shape {
    size_t size, n;
    struct member members[MAX_MEMBERS];
    size_t n_first;             /* So many are in all records, the others 0 in
                                 * those of before; 0: all are. */
};

#define MEMBER(TYPE, NAME, KIND) { offsetof(struct TYPE, NAME), KIND }

static const struct shape flow_shape = {
    sizeof(struct plan_flow), 5, {
        MEMBER(plan_flow, table, NUMBER_8),
        MEMBER(plan_flow, priority, NUMBER_16),
        MEMBER(plan_flow, cookie, COOKIE),
        MEMBER(plan_flow, match, TEXT),
        MEMBER(plan_flow, actions, TEXT),
    },
};

static const struct shape meter_shape = {
    sizeof(struct plan_meter), 25, {
        MEMBER(plan_meter, id, NUMBER_32),
        MEMBER(plan_meter, name, TEXT),
        MEMBER(plan_meter, lends, FLAG),
        MEMBER(plan_meter, split, FLAG),
        MEMBER(plan_meter, rest, FLAG),
        MEMBER(plan_meter, limits, FLAG),
        MEMBER(plan_meter, endpoint, TEXT_OR_NULL),
        MEMBER(plan_meter, class, TEXT_OR_NULL),
        MEMBER(plan_meter, dscp_in, FLAG),
        MEMBER(plan_meter, uplink, TEXT_OR_NULL),
        MEMBER(plan_meter, receive, FLAG),
        MEMBER(plan_meter, packets, FLAG),
        MEMBER(plan_meter, rate, NUMBER_64),
        MEMBER(plan_meter, burst, NUMBER_32),
        MEMBER(plan_meter, microburst, FLAG),
        MEMBER(plan_meter, exceed, NUMBER_8),
        MEMBER(plan_meter, peak, NUMBER_64),
        MEMBER(plan_meter, mark, NUMBER_32),
        MEMBER(plan_meter, depth, NUMBER_32),
        MEMBER(plan_meter, limit, NUMBER_32),
        MEMBER(plan_meter, tag, NUMBER_32),
        MEMBER(plan_meter, parent, NUMBER_32),
        MEMBER(plan_meter, weight, NUMBER_16),
        MEMBER(plan_meter, place, TEXT_OR_NULL),
        MEMBER(plan_meter, tags, FLAG),
    }, .n_first = 24,
};

static const struct shape cookie_shape = {
    sizeof(struct plan_cookie), 4, {
        MEMBER(plan_cookie, cookie, COOKIE),
        MEMBER(plan_cookie, kind, TEXT),
        MEMBER(plan_cookie, name, TEXT),
        MEMBER(plan_cookie, text, TEXT),
    },
};

static const struct shape number_shape = {
    sizeof(struct plan_number), 3, {
        MEMBER(plan_number, name, TEXT),
        MEMBER(plan_number, number, NUMBER_32),
        MEMBER(plan_number, zone, NUMBER_16),
    },
};

static const struct shape network_shape = {
    sizeof(struct plan_network), 3, {
        MEMBER(plan_network, name, TEXT),
        MEMBER(plan_network, vni, NUMBER_32),
        MEMBER(plan_network, mtu, NUMBER_16),
    },
};

static const struct shape name_shape = {
    sizeof(const char *), 1, { { 0, TEXT } },
};

static const struct shape plan_shape = {
    sizeof(struct plan), 6, {
        MEMBER(plan, node, TEXT),
        MEMBER(plan, target, TEXT),
        MEMBER(plan, tunnel.type, TEXT_OR_NULL),
        MEMBER(plan, tunnel.local_ip, TEXT_OR_NULL),
        MEMBER(plan, kernel, FLAG),
        MEMBER(plan, telemetry, FLAG),
    },
};

static const struct shape record_shape = {
    sizeof(struct plan_record), 7, {
        MEMBER(plan_record, bridge, TEXT),
        MEMBER(plan_record, generation, NUMBER_64),
        MEMBER(plan_record, time, TEXT),
        MEMBER(plan_record, intent, TEXT_OR_NULL),
        MEMBER(plan_record, partial, FLAG),
        MEMBER(plan_record, verified, FLAG),
        MEMBER(plan_record, held, TEXT_OR_NULL),
    },
};

/* The lists of a plan. */
static const struct {
    const char *name;
    size_t offset;
    const struct shape *shape;
} lists[] = {
    { "flows", offsetof(struct plan, flows), &flow_shape },
    { "meters", offsetof(struct plan, meters), &meter_shape },
    { "cookies", offsetof(struct plan, cookies), &cookie_shape },
    { "ports", offsetof(struct plan, ports), &name_shape },
    { "tenants", offsetof(struct plan, tenants), &number_shape },
    { "endpoints", offsetof(struct plan, endpoints), &number_shape },
    { "networks", offsetof(struct plan, networks), &network_shape },
    { "by_tunnel", offsetof(struct plan, by_tunnel), &name_shape },
    { "elsewhere", offsetof(struct plan, elsewhere), &name_shape },
    { "unbound", offsetof(struct plan, unbound), &name_shape },
};

/* Any VEC(). */
typedef VEC(char) any_vec;

static const any_vec *
list_of(const struct plan *plan, size_t i)
{
    const void *list = (const char *) plan + lists[i].offset;

    return list;
}

static void
put_text(const char *text, struct ds *ds)
{
    if (text) {
        json_string_escape(text, ds);
    } else {
        ds_put_cstr(ds, "null");
    }
}

static void
put_member(const void *p, enum kind kind, struct ds *ds)
{
    switch (kind) {
    case TEXT:
    case TEXT_OR_NULL:
        put_text(*(const char *const *) p, ds);
        break;
    case FLAG:
        ds_put_cstr(ds, *(const bool *) p ? "true" : "false");
        break;
    case NUMBER_8:
        ds_put_format(ds, "%"PRIu8, *(const uint8_t *) p);
        break;
    case NUMBER_16:
        ds_put_format(ds, "%"PRIu16, *(const uint16_t *) p);
        break;
    case NUMBER_32:
        ds_put_format(ds, "%"PRIu32, *(const uint32_t *) p);
        break;
    case NUMBER_64:
        ds_put_format(ds, "%"PRIu64, *(const uint64_t *) p);
        break;
    case COOKIE:
        ds_put_format(ds, "\"%#"PRIx64"\"", *(const uint64_t *) p);
        break;
    }
}

static void
put_shape(const void *p, const struct shape *shape, struct ds *ds)
{
    for (size_t i = 0; i < shape->n; i++) {
        ds_put_char(ds, i ? ',' : '[');
        put_member((const char *) p + shape->members[i].offset,
                   shape->members[i].kind, ds);
    }
    ds_put_char(ds, ']');
}

static void
put_list(const char *name, const any_vec *list, const struct shape *shape,
         struct ds *ds)
{
    ds_put_format(ds, ",\"%s\":[", name);
    for (size_t i = 0; i < list->n; i++) {
        if (i) {
            ds_put_char(ds, ',');
        }
        put_shape(list->v + i * shape->size, shape, ds);
    }
    ds_put_char(ds, ']');
}

/* JSON, as text at once: there may be a million flows. */
static void
put_body(const struct plan_record *record, struct ds *ds)
{
    const struct plan *plan = record->plan;

    ds_put_cstr(ds, "{\"record\":");
    put_shape(record, &record_shape, ds);
    put_list("files", (const void *) &record->files, &name_shape, ds);
    put_list("proved", (const void *) &record->proved, &name_shape, ds);
    ds_put_cstr(ds, ",\"plan\":");
    put_shape(plan, &plan_shape, ds);
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        put_list(lists[i].name, list_of(plan, i), lists[i].shape, ds);
    }
    if (plan->northbound) {
        struct json *rows = plan_rows_to_json(plan);

        ds_put_cstr(ds, ",\"rows\":");
        json_to_ds(rows, JSSF_SORT, ds);
        json_destroy(rows);
    }
    ds_put_char(ds, '}');
}

bool
plan_record_is(const char *text, size_t len)
{
    return len >= strlen(MAGIC) && !memcmp(text, MAGIC, strlen(MAGIC));
}

const char *
plan_hash(struct arena *arena, const void *data, size_t len)
{
    char hex[SHA1_HEX_DIGEST_LEN + 1];
    uint8_t digest[SHA1_DIGEST_SIZE];

    sha1_bytes(data, len, digest);
    sha1_to_hex(digest, hex);
    return arena_strdup(arena, hex);
}

const char *
plan_record_time(struct arena *arena, time_t when)
{
    char s[sizeof "9999-12-31T23:59:59Z"];
    struct tm tm;

    gmtime_r(&when, &tm);
    strftime(s, sizeof s, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return arena_strdup(arena, s);
}

void
plan_record_format(const struct plan_record *record, struct ds *ds)
{
    struct ds body = DS_EMPTY_INITIALIZER;
    char hex[SHA1_HEX_DIGEST_LEN + 1];
    uint8_t digest[SHA1_DIGEST_SIZE];

    put_body(record, &body);
    sha1_bytes(body.string, body.length, digest);
    sha1_to_hex(digest, hex);
    ds_put_format(ds, MAGIC "%s\n", hex);
    ds_put_buffer(ds, body.string, body.length);
    ds_destroy(&body);
}

static const struct json *
find(const struct json *object, const char *name)
{
    return (object->type == JSON_OBJECT
            ? shash_find_data(object->object, name) : NULL);
}

/* Each reads a member and returns false if it is none of its kind. */
static bool
read_number(const struct json *json, uint64_t max, uint64_t *number)
{
    if (json->type != JSON_INTEGER || json->integer < 0
        || (uint64_t) json->integer > max) {
        return false;
    }
    *number = json->integer;
    return true;
}

static bool
read_text(const struct json *json, bool or_null, struct arena *arena,
          const char **text)
{
    if (json->type != JSON_STRING) {
        return or_null && json->type == JSON_NULL;
    }
    *text = arena_strdup(arena, json_string(json));
    return true;
}

static bool
read_cookie(const struct json *json, uint64_t *cookie)
{
    unsigned long long int n = 0;
    bool ok = (json->type == JSON_STRING
               && str_to_ullong(json_string(json), 16, &n));

    *cookie = n;
    return ok;
}

static bool
read_member(const struct json *json, enum kind kind, struct arena *arena,
            void *p)
{
    uint64_t n = 0;
    bool ok = true;

    switch (kind) {
    case TEXT:
    case TEXT_OR_NULL:
        return read_text(json, kind == TEXT_OR_NULL, arena, p);
    case FLAG:
        *(bool *) p = json->type == JSON_TRUE;
        return json->type == JSON_TRUE || json->type == JSON_FALSE;
    case NUMBER_8:
        ok = read_number(json, UINT8_MAX, &n);
        *(uint8_t *) p = n;
        break;
    case NUMBER_16:
        ok = read_number(json, UINT16_MAX, &n);
        *(uint16_t *) p = n;
        break;
    case NUMBER_32:
        ok = read_number(json, UINT32_MAX, &n);
        *(uint32_t *) p = n;
        break;
    case NUMBER_64:
        ok = read_number(json, INT64_MAX, &n);
        *(uint64_t *) p = n;
        break;
    case COOKIE:
        return read_cookie(json, p);
    }
    return ok;
}

static bool
read_shape(const struct json *json, const struct shape *shape,
           struct arena *arena, void *p)
{
    size_t least = shape->n_first ? shape->n_first : shape->n;

    if (!json || json->type != JSON_ARRAY || json->array.n < least
        || json->array.n > shape->n) {
        return false;
    }
    for (size_t i = 0; i < json->array.n; i++) {
        if (!read_member(json->array.elems[i], shape->members[i].kind, arena,
                         (char *) p + shape->members[i].offset)) {
            return false;
        }
    }
    return true;
}

static bool
read_list(const struct json *json, const struct shape *shape,
          struct arena *arena, any_vec *list)
{
    size_t n = json && json->type == JSON_ARRAY ? json->array.n : 0;

    list->v = arena_zalloc(arena, n * shape->size);
    list->n = list->allocated = n;
    for (size_t i = 0; i < n; i++) {
        if (!read_shape(json->array.elems[i], shape, arena,
                        list->v + i * shape->size)) {
            return false;
        }
    }
    return json && json->type == JSON_ARRAY;
}

/* Holds what every plan does, and what push takes for granted? */
static bool
is_plan(const struct plan *plan)
{
    for (size_t i = 0; i < plan->flows.n; i++) {
        const struct plan_flow *flow = &plan->flows.v[i];

        if ((flow->cookie & COOKIE_MARK_MASK) != COOKIE_MARK
            || (i && plan_compare_flows(flow - 1, flow) >= 0)) {
            return false;
        }
    }
    for (size_t i = 0; i < plan->meters.n; i++) {
        if (!plan_meter_is_ours(plan->meters.v[i].id)) {
            return false;
        }
    }
    return true;
}

static bool
read_record(const struct json *json, struct arena *arena,
            struct plan_record *record)
{
    struct plan *plan = arena_zalloc(arena, sizeof *plan);
    const struct json *rows = find(json, "rows");
    bool ok = (read_shape(find(json, "record"), &record_shape, arena, record)
               && read_list(find(json, "files"), &name_shape, arena,
                            (void *) &record->files)
               && read_list(find(json, "proved"), &name_shape, arena,
                            (void *) &record->proved)
               && read_shape(find(json, "plan"), &plan_shape, arena, plan));

    for (size_t i = 0; ok && i < ARRAY_SIZE(lists); i++) {
        void *list = (char *) plan + lists[i].offset;

        ok = read_list(find(json, lists[i].name), lists[i].shape, arena,
                       list);
    }
    plan->arena = arena;
    plan->northbound = rows != NULL;
    record->plan = plan;
    return (ok && is_plan(plan)
            && (!rows || plan_rows_from_json(rows, plan)));
}

const char *
plan_record_parse(const char *text, size_t len, struct arena *arena,
                  struct plan_record *record)
{
    const size_t head = strlen(MAGIC) + SHA1_HEX_DIGEST_LEN + 1;
    struct json *json;
    bool ok;

    memset(record, 0, sizeof *record);
    if (!plan_record_is(text, len)) {
        return "is no plan that this version of Bulkhead has written";
    } else if (len < head || text[head - 1] != '\n'
               || memchr(text, '\0', len)
               || memcmp(text + strlen(MAGIC),
                         plan_hash(arena, text + head, len - head),
                         SHA1_HEX_DIGEST_LEN)) {
        return "is cut short or has been changed";
    }
    json = json_from_string(arena_strndup(arena, text + head, len - head));
    ok = read_record(json, arena, record);
    json_destroy(json);
    return ok ? NULL : "is no plan that this version of Bulkhead has written";
}

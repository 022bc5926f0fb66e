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
#include "plan/record-edit.h"
#include "plan/record-rows.h"
#include "plan/record-shape.h"
#include "sema/ident.h"
#include "sha1.h"
#include "svec.h"
#include "util.h"

#define MAGIC "bulkhead-plan 1 "

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
    sizeof(struct plan_record), 8, {
        MEMBER(plan_record, bridge, TEXT),
        MEMBER(plan_record, generation, NUMBER_64),
        MEMBER(plan_record, time, TEXT),
        MEMBER(plan_record, intent, TEXT_OR_NULL),
        MEMBER(plan_record, partial, FLAG),
        MEMBER(plan_record, verified, FLAG),
        MEMBER(plan_record, held, TEXT_OR_NULL),
        MEMBER(plan_record, journal, TEXT_OR_NULL),
    }, .n_first = 7,
};

/* What an edit says of the record. */
static const struct shape edit_shape = {
    sizeof(struct plan_record), 2, {
        MEMBER(plan_record, time, TEXT),
        MEMBER(plan_record, partial, FLAG),
    },
};

/* The lists of a plan.  Edits name the first two by pointers. */
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

static const any_vec *
list_of(const struct plan *plan, size_t i)
{
    const void *list = (const char *) plan + lists[i].offset;

    return list;
}

/* JSON, as text at once: there may be a million flows. */
static void
put_body(const struct plan_record *record, struct ds *ds)
{
    const struct plan *plan = record->plan;

    ds_put_cstr(ds, "{\"record\":");
    shape_put(record, &record_shape, ds);
    shape_put_list("files", (const void *) &record->files, &name_shape, ds);
    shape_put_list("proved", (const void *) &record->proved, &name_shape, ds);
    ds_put_cstr(ds, ",\"plan\":");
    shape_put(plan, &plan_shape, ds);
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        shape_put_list(lists[i].name, list_of(plan, i), lists[i].shape, ds);
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

/* Adds the texts of 'n' structures to 'items'. */
static void
add_items(const any_vec *list, const struct shape *shape, struct svec *items)
{
    for (size_t i = 0; i < list->n; i++) {
        struct ds ds = DS_EMPTY_INITIALIZER;

        shape_put(list->v + i * shape->size, shape, &ds);
        svec_add_nocopy(items, ds_steal_cstr(&ds));
    }
}

/* The same of what pointers point at. */
static void
add_items_at(const any_vec *list, const struct shape *shape,
             struct svec *items)
{
    const void *const *v = (const void *) list->v;

    for (size_t i = 0; i < list->n; i++) {
        const any_vec one = { (void *) v[i], 1, 1 };

        add_items(&one, shape, items);
    }
}

/* Appends to 'ds' the items of 'a' that 'b' lacks, as a member.  Both are
 * sorted. */
static void
put_lacking(const char *name, const struct svec *a, const struct svec *b,
            struct ds *ds)
{
    size_t i = 0, j = 0, n = 0;

    while (i < a->n) {
        int cmp = j == b->n ? -1 : strcmp(a->names[i], b->names[j]);

        if (cmp < 0) {
            if (!n++) {
                ds_put_format(ds, "%s\"%s\":[",
                              ds_last(ds) == '{' ? "" : ",", name);
            } else {
                ds_put_char(ds, ',');
            }
            ds_put_cstr(ds, a->names[i]);
        }
        i += cmp <= 0;
        j += cmp >= 0;
    }
    if (n) {
        ds_put_char(ds, ']');
    }
}

/* Adds the items of the list 'i' that an edit takes, or gives if 'come'. */
static void
add_edit_items(const struct plan_edit *edit, size_t i, bool come,
               struct svec *items)
{
    const struct plan *notes = come ? edit->notes_come : edit->notes_gone;
    const void *at = (!strcmp(lists[i].name, "flows")
                      ? (const void *) (come ? &edit->flows_come
                                        : &edit->flows_gone)
                      : !strcmp(lists[i].name, "meters")
                      ? (const void *) (come ? &edit->meters_come
                                        : &edit->meters_gone) : NULL);

    if (at) {
        add_items_at(at, lists[i].shape, items);
    } else if (notes) {
        add_items(list_of(notes, i), lists[i].shape, items);
    }
    svec_sort(items);
}

/* Does the edit say nothing of what a plan has once? */
static bool
is_of_lists(const struct plan_edit *edit)
{
    struct ds gone = DS_EMPTY_INITIALIZER, come = DS_EMPTY_INITIALIZER;
    bool same = !edit->notes_gone || !edit->notes_come;

    if (!same) {
        shape_put(edit->notes_gone, &plan_shape, &gone);
        shape_put(edit->notes_come, &plan_shape, &come);
        same = !strcmp(ds_cstr(&gone), ds_cstr(&come));
    }
    ds_destroy(&gone);
    ds_destroy(&come);
    return same;
}

bool
plan_edit_format(const struct plan_edit *edit, struct ds *ds)
{
    struct plan_record said = { .time = edit->time,
                                .partial = edit->partial };
    struct ds come = DS_EMPTY_INITIALIZER;

    if (!is_of_lists(edit)) {
        return false;
    }
    ds_put_cstr(ds, "{\"record\":");
    shape_put(&said, &edit_shape, ds);
    ds_put_cstr(ds, ",\"gone\":{");
    ds_put_char(&come, '{');
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        struct svec before = SVEC_EMPTY_INITIALIZER;
        struct svec after = SVEC_EMPTY_INITIALIZER;

        add_edit_items(edit, i, false, &before);
        add_edit_items(edit, i, true, &after);
        put_lacking(lists[i].name, &before, &after, ds);
        put_lacking(lists[i].name, &after, &before, &come);
        svec_destroy(&before);
        svec_destroy(&after);
    }
    ds_put_format(ds, "},\"come\":%s}}", ds_cstr(&come));
    ds_destroy(&come);
    return true;
}

static const struct json *
find(const struct json *object, const char *name)
{
    return (object->type == JSON_OBJECT
            ? shash_find_data(object->object, name) : NULL);
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

static int
compare_meters(const void *a, const void *b)
{
    return plan_compare_meters(a, b);
}

/* Edits leave lists in no order.  Returns false if a flow is there twice. */
static bool
sort_plan(struct plan *plan)
{
    size_t n = plan->flows.n;

    plan_finish(plan);
    plan_finish_notes(plan);
    if (plan->meters.n) {
        qsort(plan->meters.v, plan->meters.n, sizeof *plan->meters.v,
              compare_meters);
    }
    return plan->flows.n == n && !plan->conflict;
}

/* Stores in 'plan' what 'record->plan' is then. */
static bool
read_record(const struct json *json, struct arena *arena,
            struct plan_record *record, struct plan **planp)
{
    struct plan *plan = arena_zalloc(arena, sizeof *plan);
    const struct json *rows = find(json, "rows");
    bool ok = (shape_read(find(json, "record"), &record_shape, arena, record)
               && shape_read_list(find(json, "files"), &name_shape, arena,
                                  (void *) &record->files)
               && shape_read_list(find(json, "proved"), &name_shape, arena,
                                  (void *) &record->proved)
               && shape_read(find(json, "plan"), &plan_shape, arena, plan));

    for (size_t i = 0; ok && i < ARRAY_SIZE(lists); i++) {
        void *list = (char *) plan + lists[i].offset;

        ok = shape_read_list(find(json, lists[i].name), lists[i].shape, arena,
                             list);
    }
    plan->arena = arena;
    plan->northbound = rows != NULL;
    record->plan = *planp = plan;
    return ok && (!rows || plan_rows_from_json(rows, plan));
}

/* What the last edit says of the whole. */
static bool
read_edit(const struct json *last, struct arena *arena,
          struct plan_record *record)
{
    struct plan_record said;

    if (!shape_read(find(last, "record"), &edit_shape, arena, &said)) {
        return false;
    }
    record->generation++;
    record->time = said.time;
    record->partial = said.partial;
    record->intent = NULL;
    return true;
}

/* Edits 'json', and reads it. */
static bool
read_edited(struct json *json, const plan_names *edits, struct arena *arena,
            struct plan_record *record)
{
    struct json *last = NULL;
    struct plan *plan;
    bool ok = (record_edit(json, edits, &last)
               && read_record(json, arena, record, &plan)
               && (!last || (sort_plan(plan)
                             && read_edit(last, arena, record)))
               && is_plan(plan));

    json_destroy(last);
    return ok;
}

/* Stores in 'edits' what 'read' knows. */
static const char *
find_edits(const struct json *json, plan_edits_cb *read, void *aux,
           struct arena *arena, plan_names *edits)
{
    struct plan_record record = { .journal = NULL };

    return (read && shape_read(find(json, "record"), &record_shape, arena,
                               &record) ? read(&record, aux, edits) : NULL);
}

const char *
plan_record_parse(const char *text, size_t len, struct arena *arena,
                  struct plan_record *record)
{
    return plan_record_parse_edited(text, len, NULL, NULL, arena, record);
}

const char *
plan_record_parse_edited(const char *text, size_t len,
                         plan_edits_cb *read, void *aux, struct arena *arena,
                         struct plan_record *record)
{
    const size_t head = strlen(MAGIC) + SHA1_HEX_DIGEST_LEN + 1;
    plan_names edits = VEC_INIT;
    const char *reason;
    struct json *json;

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
    reason = find_edits(json, read, aux, arena, &edits);
    if (!reason && !read_edited(json, &edits, arena, record)) {
        reason = (edits.n ? "and its journal are not of each other"
                  : "is no plan that this version of Bulkhead has written");
    }
    json_destroy(json);
    return reason;
}

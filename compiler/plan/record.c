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
#include "plan/record-lists.h"
#include "plan/record-rows.h"
#include "sema/ident.h"
#include "sha1.h"
#include "util.h"

#define MAGIC_OF_ANY "bulkhead-plan "
#define MAGIC MAGIC_OF_ANY "1 "

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
    for (size_t i = 0; i < N_RECORD_LISTS; i++) {
        const struct record_list *list = &record_lists[i];

        shape_put_list(list->name, record_list_of(plan, i), list->shape, ds);
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
    return (len >= strlen(MAGIC_OF_ANY)
            && !memcmp(text, MAGIC_OF_ANY, strlen(MAGIC_OF_ANY)));
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
    char hex[SHA1_HEX_DIGEST_LEN + 1];
    uint8_t digest[SHA1_DIGEST_SIZE];
    size_t at, body;

    ds_put_cstr(ds, MAGIC);
    at = ds->length;
    ds_put_char_multiple(ds, '0', SHA1_HEX_DIGEST_LEN);
    ds_put_char(ds, '\n');
    body = ds->length;
    put_body(record, ds);
    sha1_bytes(ds->string + body, ds->length - body, digest);
    sha1_to_hex(digest, hex);
    memcpy(ds->string + at, hex, SHA1_HEX_DIGEST_LEN);
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

    for (size_t i = 0; ok && i < N_RECORD_LISTS; i++) {
        const struct record_list *list = &record_lists[i];
        void *items = (char *) plan + list->offset;

        ok = shape_read_list(find(json, list->name), list->shape, arena,
                             items);
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
    record->edited = true;
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
    if (len < strlen(MAGIC) || memcmp(text, MAGIC, strlen(MAGIC))) {
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

/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "agent/agent-private.h"

#include <inttypes.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "plan/manifest.h"
#include "plan/record.h"
#include "telemetry/json.h"
#include "util.h"

const char *
agent_summary(const struct agent *a)
{
    return (!keeper_bridge(a->keeper)
            ? (keeper_has_database(a->keeper) ? "waits for the bridge"
               : "waits for the database")
            : !keeper_is_connected(a->keeper) ? "waits for the switch"
            : !compiled_is_ready(a->compiled) ? "has no good intent yet"
            : a->gate.refusal ? "what has changed is not proved"
            : a->gate.held ? "proves what has changed"
            : !keeper_is_equal(a->keeper) ? "the bridge differs"
            : compiled_errors(a->compiled)
            ? "as intended before; the intent is wrong now"
            : !keeper_has_database(a->keeper)
            ? "as intended before; the database is away now"
            : "as intended");
}

/* What "iface-id" goes with may be more than was written. */
static bool
is_of(const char *is, const char *said)
{
    return !said || nullable_string_is_equal(is, said);
}

/* Has that of the database been taken which 'said' says? */
static bool
is_known(const struct agent *a, const struct bridge_attachment *said)
{
    const struct bridge_info *info = keeper_bridge(a->keeper);
    bool none = said->interface && !said->interface[0];

    if (!said->interface) {
        return true;
    } else if (!info || a->bridge_seqno != keeper_bridge_seqno(a->keeper)) {
        return false;
    }
    for (size_t i = 0; i < info->attachments.n; i++) {
        const struct bridge_attachment *is = &info->attachments.v[i];

        if (!strcmp(is->endpoint, said->endpoint)
            && (none || !strcmp(is->interface, said->interface))) {
            return !none && is_of(is->mac, said->mac)
                   && is_of(is->addresses, said->addresses);
        }
    }
    return none;
}

const char *
agent_attached(const struct agent *a, const struct bridge_attachment *said,
               const char **reason)
{
    bool attached = compiled_is_attached(a->compiled, said->endpoint, reason);
    bool there;

    if (!is_known(a, said)) {
        *reason = NULL;
        return "not yet";
    }
    if (a->gate.refusal && !*reason) {
        *reason = "what has changed is not proved: see status";
    }
    /* What is cut off is so whether the rest is taken or not. */
    there = (attached ? keeper_is_equal(a->keeper)
             : keeper_is_settled(a->keeper));
    return !there || a->gate.held ? "not yet" : attached ? "yes" : "no";
}

/* When something was last repaired, or NULL. */
static const char *
last_repair(const struct agent *a, struct arena *arena)
{
    time_t last = keeper_counts(a->keeper)->last_repair;

    return last ? plan_record_time(arena, last) : NULL;
}

/* When something was last pushed, or NULL. */
static const char *
last_push(const struct agent *a, struct arena *arena)
{
    uint64_t last = keeper_counts(a->keeper)->last_push_ns;
    char buffer[64];

    return last ? arena_strdup(arena, time_to_text(last, buffer)) : NULL;
}

/* Or NULL. */
static const char *
mirrors(const struct agent *a)
{
    const struct bridge_info *info = keeper_bridge(a->keeper);

    return info ? info->mirrors : NULL;
}

static void
put_proofs(const struct gate *g, struct ds *ds)
{
    if (!g->prover) {
        ds_put_cstr(ds, "proved: nothing, by --no-verify\n");
    } else if (g->n_proofs) {
        ds_put_format(ds, "proved: %"PRIu64" times, last %"PRIuSIZE" of %"
                      PRIuSIZE" tenants, in %lld ms\n", g->n_proofs,
                      g->last.n_proved, g->last.n_tenants, g->last.ms);
    }
    if (g->refusal) {
        ds_put_format(ds, "what has changed is not proved, and the bridge is "
                      "kept as it was:\n%s", g->refusal);
    }
}

void
agent_status(const struct agent *a, struct ds *ds)
{
    const struct keeper_counts *n = keeper_counts(a->keeper);
    const char *trouble = keeper_trouble(a->keeper), *last, *pushed;
    struct arena *arena = arena_create();
    const char *away = keeper_database_trouble(a->keeper, arena);
    plan_names missing = VEC_INIT, refused = VEC_INIT;

    last = last_repair(a, arena);
    pushed = last_push(a, arena);
    ds_put_format(ds, "%s on %s: %s\n"
                  "pushed: %"PRIu64" times, in %"PRIu64" sessions%s%s\n"
                  "repaired: %"PRIu64" times: %"PRIu64" flows, %"PRIu64
                  " meters%s%s\n", a->options->node,
                  a->options->target.bridge, agent_summary(a), n->pushes,
                  n->connections, pushed ? ", last at " : "",
                  pushed ? pushed : "", n->repairs, n->flows, n->meters,
                  last ? ", last at " : "", last ? last : "");
    put_proofs(&a->gate, ds);
    compiled_missing(a->compiled, arena, &missing);
    for (size_t i = 0; i < missing.n; i++) {
        ds_put_format(ds, "waits for: %s\n", missing.v[i]);
    }
    compiled_refused(a->compiled, arena, &refused);
    for (size_t i = 0; i < refused.n; i++) {
        ds_put_format(ds, "left out: %s\n", refused.v[i]);
    }
    if (keeper_foreign_flows(a->keeper)) {
        ds_put_format(ds, "flows of others in Bulkhead's tables: %"PRIuSIZE
                      "\n", keeper_foreign_flows(a->keeper));
    }
    if (mirrors(a)) {
        ds_put_format(ds, "mirrors, which copy what tenants send: %s\n",
                      mirrors(a));
    }
    if (keeper_is_uncounted(a->keeper)) {
        ds_put_cstr(ds, "not counted is what tenants send, as \"telemetry\" "
                    "asks: "PLAN_TELEMETRY_COMMAND"\n");
    }
    if (trouble) {
        ds_put_format(ds, "trouble: %s\n", trouble);
    }
    if (away) {
        ds_put_format(ds, "trouble: %s\n", away);
    }
    if (a->saver.trouble) {
        ds_put_format(ds, "not kept: %s\n", a->saver.trouble);
    }
    if (compiled_errors(a->compiled)) {
        ds_put_format(ds, "the intent is wrong:\n%s",
                      compiled_errors(a->compiled));
    }
    arena_destroy(arena);
}

static void
put_string(struct json *object, const char *name, const char *s)
{
    json_object_put(object, name, s ? json_string_create(s)
                    : json_null_create());
}

static struct json *
repairs_json(const struct agent *a, struct arena *arena)
{
    const struct keeper_counts *n = keeper_counts(a->keeper);
    struct json *object = json_object_create();

    json_object_put(object, "times", json_integer_create(n->repairs));
    json_object_put(object, "flows", json_integer_create(n->flows));
    json_object_put(object, "meters", json_integer_create(n->meters));
    put_string(object, "last", last_repair(a, arena));
    return object;
}

static struct json *
proofs_json(const struct gate *g)
{
    struct json *object;

    if (!g->prover) {
        return json_null_create();
    }
    object = json_object_create();
    json_object_put(object, "times", json_integer_create(g->n_proofs));
    json_object_put(object, "last_proved",
                    json_integer_create(g->last.n_proved));
    json_object_put(object, "last_tenants",
                    json_integer_create(g->last.n_tenants));
    json_object_put(object, "last_ms", json_integer_create(g->last.ms));
    json_object_put(object, "prepared", json_boolean_create(
        !g->held && (!g->proved || !g->rest_at)));
    json_object_put(object, "waiting", json_boolean_create(g->held));
    put_string(object, "refusal", g->refusal);
    return object;
}

struct json *
agent_status_json(const struct agent *a)
{
    const struct keeper_counts *n = keeper_counts(a->keeper);
    struct json *object = json_object_create();
    struct arena *arena = arena_create();
    plan_names missing = VEC_INIT, refused = VEC_INIT;

    compiled_missing(a->compiled, arena, &missing);
    compiled_refused(a->compiled, arena, &refused);
    put_string(object, "node", a->options->node);
    put_string(object, "bridge", a->options->target.bridge);
    put_string(object, "summary", agent_summary(a));
    json_object_put(object, "pushes", json_integer_create(n->pushes));
    put_string(object, "last_push", last_push(a, arena));
    json_object_put(object, "sessions", json_integer_create(n->connections));
    json_object_put(object, "repaired", repairs_json(a, arena));
    json_object_put(object, "proofs", proofs_json(&a->gate));
    json_object_put(object, "waits_for", plan_names_to_json(&missing));
    json_object_put(object, "left_out", plan_names_to_json(&refused));
    json_object_put(object, "foreign_flows",
                    json_integer_create(keeper_foreign_flows(a->keeper)));
    put_string(object, "mirrors", mirrors(a));
    json_object_put(object, "uncounted",
                    json_boolean_create(keeper_is_uncounted(a->keeper)));
    put_string(object, "trouble", keeper_trouble(a->keeper));
    put_string(object, "database",
               keeper_database_trouble(a->keeper, arena));
    put_string(object, "not_kept", a->saver.trouble);
    put_string(object, "errors", compiled_errors(a->compiled));
    arena_destroy(arena);
    return object;
}

/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "resident/meant-text.h"

#include <string.h>

#include "intent/value.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "sema/policy.h"
#include "util.h"
#include "verify/field.h"

static bool
is_rate(const struct value *v)
{
    const struct value *of = v->parent;

    return ((!strcmp(v->key, "limit") || !strcmp(v->key, "burst"))
            && of && of->key
            && (!strcmp(of->key, "bandwidth") || !strcmp(of->key, "send")
                || !strcmp(of->key, "receive")));
}

/* ds_put_format() takes as long as all else that is done here. */
static void
put_number(struct ds *ds, char kind, uint64_t number)
{
    char digits[18], *p = &digits[sizeof digits];

    *--p = ' ';
    do {
        *--p = "0123456789abcdef"[number % 16];
    } while (number /= 16);
    ds_put_char(ds, kind);
    ds_put_buffer(ds, p, &digits[sizeof digits] - p);
}

static void
put_string(struct ds *ds, char kind, const char *s)
{
    size_t n = strlen(s);

    put_number(ds, kind, n);
    ds_put_buffer(ds, s, n);
}

static bool put_value(struct ds *, const struct value *);

static bool
put_member(struct ds *ds, const struct value *v)
{
    if (value_is_comment(v)) {
        return true;
    }
    put_string(ds, 'k', v->key);
    return is_rate(v) || put_value(ds, v);
}

/* Appends 'v', so that two that differ are two texts.  Returns false if they
 * might not be. */
static bool
put_value(struct ds *ds, const struct value *v)
{
    bool known = true;

    switch (v->type) {
    case VALUE_NULL: ds_put_char(ds, 'n'); break;
    case VALUE_BOOLEAN: ds_put_char(ds, v->boolean ? 't' : 'f'); break;
    case VALUE_INTEGER: put_number(ds, 'i', v->integer); break;
    case VALUE_REAL: return false;
    case VALUE_STRING: put_string(ds, 's', v->string); break;
    case VALUE_ARRAY: case VALUE_OBJECT:
        ds_put_char(ds, v->type == VALUE_ARRAY ? '[' : '{');
        for (size_t i = 0; i < v->n && known; i++) {
            known = (v->type == VALUE_ARRAY ? put_value(ds, &v->elems[i])
                     : put_member(ds, &v->elems[i]));
        }
        ds_put_char(ds, '}');
        break;
    }
    return known;
}

char *
meant_rest(const struct policy_tenant *tenant)
{
    const struct value *at = tenant->intent->name.at;
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < at->n; i++) {
        const struct value *v = &at->elems[i];

        if (strcmp(v->key, "rules") && strcmp(v->key, "endpoints")
            && !put_member(&ds, v)) {
            ds_destroy(&ds);
            return NULL;
        }
    }
    return ds_steal_cstr(&ds);
}

/* Is it a member that says who the endpoint is?  What it is by node and port
 * is known anyhow; labels say which rules speak of it, and these know. */
static bool
is_name(const char *key)
{
    static const char *const names[] = {
        "node", "interface", "port", "vf", "mac", "addresses", "labels",
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (!strcmp(key, names[i])) {
            return true;
        }
    }
    return false;
}

static bool
put_members(struct ds *ds, const struct value *endpoint, bool names)
{
    for (size_t i = 0; i < endpoint->n; i++) {
        const struct value *v = &endpoint->elems[i];

        if (is_name(v->key) == names && !put_member(ds, v)) {
            return false;
        }
    }
    return true;
}

static void
put_what(struct ds *ds, const struct policy_endpoint *e)
{
    put_number(ds, 'b', e->bound);
    put_number(ds, 'l', e->legacy);
    put_string(ds, 'n', e->node ? e->node->name.s : "");
    put_string(ds, 'p', e->intent->port.s ? e->intent->port.s : "");
}

static void
put_who(struct ds *ds, const struct intent_endpoint *intent)
{
    put_string(ds, 'i', intent->interface.s ? intent->interface.s : "");
    put_number(ds, 'm', eth_addr_to_uint64(intent->mac));
    for (size_t i = 0; i < intent->addresses.n; i++) {
        u128 ip = field_from_ip(&intent->addresses.v[i].ip);

        put_number(ds, 'a', ip >> 64);
        put_number(ds, 'a', ip);
    }
}

bool
meant_put_endpoint(struct ds *ds, const struct policy_endpoint *e,
                   size_t *names)
{
    const struct value *at = e->intent->name.at;
    bool known;

    put_what(ds, e);
    known = put_members(ds, at, false);
    *names = ds->length;
    known = known && put_members(ds, at, true);
    put_who(ds, e->intent);
    return known;
}

static void
put_rank(struct ds *ds, const struct policy_rule *rule)
{
    put_string(ds, 'r', rule->name);
    put_number(ds, 'k', rule->kind);
    put_number(ds, 'd', rule->depth);
    put_number(ds, 'i', rule->id);
}

/* What says all of the rule; NULL if it is a tenant's default.  Of a peering
 * the name is its key. */
static const struct value *
find_rule(const struct policy_rule *rule)
{
    const struct value *at = rule->intent ? rule->intent->name.at : NULL;

    return !at || at->type == VALUE_OBJECT ? at : at->parent;
}

bool
meant_put_rule(struct ds *ds, const struct policy_rule *rule)
{
    const struct value *at = find_rule(rule);

    put_rank(ds, rule);
    return !at || put_value(ds, at);
}

static void
put_written(struct ds *ds, const struct value *at)
{
    const struct span *span = &at->span;

    ds_put_buffer(ds, span->source->text + span->start,
                  span->end - span->start);
}

void
meant_put_written_endpoint(struct ds *ds, const struct policy_endpoint *e)
{
    put_what(ds, e);
    put_who(ds, e->intent);
    put_written(ds, e->intent->name.at);
}

void
meant_put_written_rule(struct ds *ds, const struct policy_rule *rule)
{
    const struct value *at = find_rule(rule);

    put_rank(ds, rule);
    if (at) {
        put_written(ds, at);
    }
}

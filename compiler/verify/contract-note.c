/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/contract-private.h"

#include <string.h>

#include "flow.h"
#include "hash.h"
#include "util.h"

/* Whom the numbers in registers name.  Nobody says it: what most flows say
 * that have an endpoint's port, or its addresses, is taken for it. */

struct naming {
    struct hmap_node by_who, by_value;
    enum note note;
    const void *who;
    uint64_t value;
    size_t n;                   /* So many flows say it. */
};

static struct naming *
find_naming(const struct contract *c, enum note note, const void *who,
           uint64_t value)
{
    struct naming *naming;

    HMAP_FOR_EACH_WITH_HASH (naming, by_who, hash_pointer(who, note),
                             &c->namings) {
        if (naming->note == note && naming->who == who
            && naming->value == value) {
            return naming;
        }
    }
    return NULL;
}

static const struct naming *
find_winner(const struct contract *c, enum note note, const void *who)
{
    const struct naming *naming, *best = NULL;

    HMAP_FOR_EACH_WITH_HASH (naming, by_who, hash_pointer(who, note),
                             &c->namings) {
        if (naming->note == note && naming->who == who
            && (!best || naming->n > best->n
                || (naming->n == best->n && naming->value < best->value))) {
            best = naming;
        }
    }
    return best;
}

static void
add_naming(struct contract *c, enum note note, const void *who, uint64_t value)
{
    struct naming *naming = find_naming(c, note, who, value);

    if (!naming) {
        naming = arena_zalloc(c->arena, sizeof *naming);
        naming->note = note;
        naming->who = who;
        naming->value = value;
        hmap_insert(&c->namings, &naming->by_who, hash_pointer(who, note));
        hmap_insert(&c->by_value, &naming->by_value,
                    hash_uint64_basis(value, note));
    }
    naming->n++;
}

bool
note_value(const struct contract *c, enum note note, const void *who,
           uint64_t *value)
{
    const struct naming *naming = find_winner(c, note, who);

    *value = naming ? naming->value : 0;
    return naming != NULL;
}

/* Of two who have it, the one of whom more flows say it. */
const void *
note_who(const struct contract *c, enum note note, u128 value)
{
    const struct naming *naming, *best = NULL;

    HMAP_FOR_EACH_WITH_HASH (naming, by_value, hash_uint64_basis(value, note),
                             &c->by_value) {
        if (naming->note == note && naming->value == value
            && find_winner(c, note, naming->who) == naming
            && (!best || naming->n > best->n)) {
            best = naming;
        }
    }
    return best ? best->who : NULL;
}

/* Many may be in one group, but of one tenant. */
static bool
is_whose(const struct contract *c, enum note note, const void *who,
         u128 value)
{
    const struct policy_endpoint *e = who, *other;

    if (note == NOTE_GROUP) {
        other = note_who(c, note, value);
        return other && other->tenant == e->tenant;
    }
    return note_who(c, note, value) == who;
}

bool
note_says(struct contract *c, enum note note, const void *who, u128 value)
{
    uint64_t known;

    if (c->learning) {
        add_naming(c, note, who, value);
        return true;
    }
    return (note_value(c, note, who, &known) && known == value
            && is_whose(c, note, who, value));
}

bool
note_is_set(struct contract *c, const struct deed *d, enum field f,
            enum note note, const void *who)
{
    u128 value;

    return deed_sets(d, f, &value) && note_says(c, note, who, value);
}

/* A tenant without endpoints here has no zone. */
static bool
is_zone_set(struct contract *c, const struct deed *d,
            const struct policy_endpoint *e)
{
    u128 value;

    return (endpoint_is_at(c, e)
            ? note_is_set(c, d, F_REG9, NOTE_ZONE, e->tenant)
            : deed_sets(d, F_REG9, &value)
              && (c->learning || !value
                  || note_says(c, NOTE_ZONE, e->tenant, value)));
}

bool
notes_receiver(struct contract *c, const struct deed *d,
               const struct policy_endpoint *e)
{
    bool endpoint = note_is_set(c, d, F_REG3, NOTE_ENDPOINT, e);
    bool zone = is_zone_set(c, d, e);
    bool tenant = note_is_set(c, d, F_REG13, NOTE_TENANT, e->tenant);
    bool group = note_is_set(c, d, F_REG14, NOTE_GROUP, e);

    return endpoint && zone && tenant && group;
}

static bool
is_external(const struct contract *c, const void *who)
{
    const struct policy *policy = c->task->policy;

    for (size_t i = 0; i < policy->externals.n; i++) {
        if (policy->externals.v[i] == who) {
            return true;
        }
    }
    return false;
}

const struct policy_tenant *
note_tenant(const struct contract *c, u128 value,
            const struct policy_external **external)
{
    const void *who = note_who(c, NOTE_TENANT, value);

    *external = who && is_external(c, who) ? who : NULL;
    return *external ? NULL : who;
}

static bool
is_attachment(const struct contract *c, const void *who)
{
    const struct policy *policy = c->task->policy;

    for (size_t i = 0; i < policy->externals.n; i++) {
        if (who == external_at(policy->externals.v[i], c->node)) {
            return true;
        }
    }
    return false;
}

const struct policy_endpoint *
note_endpoint(const struct contract *c, u128 value,
              const struct policy_attachment **attachment)
{
    const void *who = note_who(c, NOTE_ENDPOINT, value);

    *attachment = who && is_attachment(c, who) ? who : NULL;
    return *attachment ? NULL : who;
}

bool
endpoint_is_at(const struct contract *c, const struct policy_endpoint *e)
{
    return e->node == c->node;
}

/* Of an endpoint that is here. */
struct port {
    struct hmap_node node;
    const struct policy_endpoint *endpoint;
    ofp_port_t number;
};

static uint32_t
hash_address(const struct flow_address *a)
{
    return hash_bytes(&a->value, sizeof a->value, a->ip6);
}

static void
add_endpoint(struct contract *c, const struct policy_endpoint *e)
{
    for (size_t i = 0; i < e->intent->addresses.n; i++) {
        const struct in6_addr *ip = &e->intent->addresses.v[i].ip;
        struct place *place = arena_zalloc(c->arena, sizeof *place);
        bool ip6 = !IN6_IS_ADDR_V4MAPPED(ip);

        place->endpoint = e;
        place->address.ip6 = ip6;
        place->address.mask = field_ones(ip6 ? 128 : 32);
        place->address.value = field_from_ip(ip) & place->address.mask;
        hmap_insert(&c->addresses, &place->node,
                    hash_address(&place->address));
    }
    if (endpoint_is_at(c, e)) {
        struct port *port = arena_zalloc(c->arena, sizeof *port);

        port->endpoint = e;
        port->number = table_set_port(c->task->tables,
                                      e->intent->interface.s);
        hmap_insert(&c->ports, &port->node,
                    hash_int(ofp_to_u16(port->number), 0));
    }
}

const struct policy_endpoint *
endpoint_of_port(const struct contract *c, ofp_port_t number)
{
    const struct port *port;

    HMAP_FOR_EACH_WITH_HASH (port, node, hash_int(ofp_to_u16(number), 0),
                             &c->ports) {
        if (port->number == number) {
            return port->endpoint;
        }
    }
    return NULL;
}

/* The place at 'node', or the next one with the address. */
static const struct place *
place_from(const struct hmap_node *node, const struct flow_address *a)
{
    for (; node; node = hmap_next_with_hash(node)) {
        const struct place *place = CONTAINER_OF(node, struct place, node);

        if (place->address.ip6 == a->ip6 && place->address.mask == a->mask
            && place->address.value == a->value) {
            return place;
        }
    }
    return NULL;
}

const struct place *
place_first(const struct contract *c, const struct flow_address *a)
{
    return place_from(hmap_first_with_hash(&c->addresses, hash_address(a)),
                      a);
}

const struct place *
place_next(const struct place *place, const struct flow_address *a)
{
    return place_from(hmap_next_with_hash(&place->node), a);
}

void
notes_init(struct contract *c)
{
    const struct policy *policy = c->task->policy;

    hmap_init(&c->namings);
    hmap_init(&c->by_value);
    hmap_init(&c->addresses);
    hmap_init(&c->ports);
    for (size_t i = 0; i < policy->tenants.n; i++) {
        const struct policy_tenant *tenant = policy->tenants.v[i];

        for (size_t k = 0; k < tenant->endpoints.n; k++) {
            if (tenant->endpoints.v[k]->bound) {
                add_endpoint(c, tenant->endpoints.v[k]);
            }
        }
    }
}

void
notes_destroy(struct contract *c)
{
    hmap_destroy(&c->namings);
    hmap_destroy(&c->by_value);
    hmap_destroy(&c->addresses);
    hmap_destroy(&c->ports);
}

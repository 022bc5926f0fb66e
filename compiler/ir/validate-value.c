/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/validate.h"

#include <inttypes.h>

#include "intent/exceed.h"
#include "packets.h"
#include "util.h"

static void
check_word(struct ir_validator *v, const struct ir_field *f, const void *m)
{
    const char *const *word = m;

    if (*word ? !ir_is_word(*word) : f->presence == IR_REQUIRED) {
        ir_invalid(v, "'%s' is not a name", f->keyword);
    }
}

static void
check_words(struct ir_validator *v, const struct ir_field *f, const void *m)
{
    const ir_names *names = m;

    for (size_t i = 0; i < names->n; i++) {
        check_word(v, f, &names->v[i]);
    }
}

static void
check_matches(struct ir_validator *v, const struct ir_field *f OVS_UNUSED,
              const void *member)
{
    const ir_matches *matches = member;

    for (size_t i = 0; i < matches->n; i++) {
        const struct ir_match *m = &matches->v[i];

        if (!m->protocol || m->first > m->last || !m->first != !m->last
            || (m->last && m->protocol != IPPROTO_TCP
                && m->protocol != IPPROTO_UDP)) {
            ir_invalid(v, "it matches no protocol, or no ports of one");
        }
    }
    if (!matches->n) {
        ir_invalid(v, "it matches nothing");
    }
}

/* Endpoints in order, none twice, that are the side's tenants and groups and
 * nobody else. */
static void
check_side(struct ir_validator *v, const struct ir_field *f, const void *m)
{
    const struct ir_side *side = m;
    const ir_endpoint_vec *endpoints = &side->endpoints;
    bool whole = endpoints->n || side->parts.n;
    size_t n = 0;

    for (size_t i = 0; i < side->tenants.n; i++) {
        n += side->tenants.v[i]->n_endpoints;
    }
    for (size_t i = 0; i < side->groups.n; i++) {
        n += side->groups.v[i]->n_endpoints;
    }
    for (size_t i = 0; i < endpoints->n; i++) {
        const struct ir_endpoint *e = endpoints->v[i];
        bool found = false;

        if (i && e->index <= endpoints->v[i - 1]->index) {
            ir_invalid(v, "'%s' is not sorted", f->keyword);
            return;
        }
        for (size_t j = 0; j < side->tenants.n && !found; j++) {
            found = side->tenants.v[j] == e->tenant;
        }
        for (size_t j = 0; j < side->groups.n && !found; j++) {
            found = side->groups.v[j] == e->group;
        }
        whole &= found && hmapx_contains(&v->records, e);
    }
    for (size_t i = 0; i < side->parts.n; i++) {
        whole &= (hmapx_contains(&v->records, side->parts.v[i])
                  && (!i || side->parts.v[i]->index
                            > side->parts.v[i - 1]->index));
    }
    if (!whole || n != endpoints->n) {
        ir_invalid(v, "'%s' is not made of whole groups", f->keyword);
    }
}

static void
check_reference(struct ir_validator *v, const struct ir_field *f,
                const void *record)
{
    if (record ? !hmapx_contains(&v->records, record)
        : f->presence == IR_REQUIRED) {
        ir_invalid(v, "'%s' is not of this program", f->keyword);
    }
}

#define DEFINE_CHECK_REFERENCE(OP)                                      \
    static void                                                         \
    check_##OP(struct ir_validator *v, const struct ir_field *f,        \
               const void *m)                                           \
    {                                                                   \
        check_reference(v, f, *(const struct ir_##OP *const *) m);      \
    }
DEFINE_CHECK_REFERENCE(node)
DEFINE_CHECK_REFERENCE(tenant)
DEFINE_CHECK_REFERENCE(external)
DEFINE_CHECK_REFERENCE(network)
DEFINE_CHECK_REFERENCE(endpoint)
DEFINE_CHECK_REFERENCE(meter)
DEFINE_CHECK_REFERENCE(service)
DEFINE_CHECK_REFERENCE(class)

static void
check_number(struct ir_validator *v, const struct ir_field *f, const void *m)
{
    uint64_t n = ir_number(f, m);

    if (n < f->min || n > f->max) {
        ir_invalid(v, "'%s' is %"PRIu64", not from %"PRIu64" to %"PRIu64,
             f->keyword, n, f->min, f->max);
    }
}

static void
check_numbers(struct ir_validator *v, const struct ir_field *f, const void *m)
{
    struct ir_field one = *f;
    const ir_numbers *numbers = m;

    one.size = sizeof numbers->v[0];
    for (size_t i = 0; i < numbers->n; i++) {
        check_number(v, &one, &numbers->v[i]);
    }
    if (f->presence == IR_REQUIRED && !numbers->n) {
        ir_invalid(v, "'%s' is empty", f->keyword);
    }
}

static void
check_prefixes(struct ir_validator *v, const struct ir_field *f, const void *m)
{
    const ir_prefixes *prefixes = m;

    if (f->presence == IR_REQUIRED && !prefixes->n) {
        ir_invalid(v, "it has no addresses");
    }
}

static void
check_tenants(struct ir_validator *v, const struct ir_field *f, const void *m)
{
    const ir_tenant_vec *tenants = m;

    for (size_t i = 0; i < tenants->n; i++) {
        check_tenant(v, f, &tenants->v[i]);
    }
}

static void
check_address(struct ir_validator *v, const struct ir_field *f, const void *m)
{
    if (f->presence == IR_REQUIRED && ipv6_is_zero(m)) {
        ir_invalid(v, "it has no address");
    }
}

static void
check_addresses(struct ir_validator *v, const struct ir_field *f,
                const void *m)
{
    if (f->presence == IR_REQUIRED && !((const ir_addresses *) m)->n) {
        ir_invalid(v, "it has no address");
    }
}

static void
check_group(struct ir_validator *v, const struct ir_field *f OVS_UNUSED,
            const void *m)
{
    if (!*(const struct ir_group *const *) m) {
        ir_invalid(v, "it has no group");
    }
}

static void
check_exceed(struct ir_validator *v, const struct ir_field *f OVS_UNUSED,
             const void *m)
{
    if (!exceed_is_valid(*(const uint8_t *) m)) {
        ir_invalid(v, "nobody knows what becomes of what exceeds its rate");
    }
}

static void
check_place(struct ir_validator *v, const struct ir_field *f, const void *m)
{
    if (f->presence == IR_REQUIRED && !((const struct ir_place *) m)->line) {
        ir_invalid(v, "it has no place");
    }
}

/* Of a type without a function, any value will do. */
static void (*const checks[])(struct ir_validator *, const struct ir_field *,
                              const void *m) = {
    [IR_TYPE_WORD] = check_word,
    [IR_TYPE_WORDS] = check_words,
    [IR_TYPE_DECIMAL] = check_number,
    [IR_TYPE_NUMBERS] = check_numbers,
    [IR_TYPE_HEX] = check_number,
    [IR_TYPE_FLAG] = NULL,
    [IR_TYPE_KIND] = NULL,
    [IR_TYPE_EXCEED] = check_exceed,
    [IR_TYPE_MAC] = NULL,
    [IR_TYPE_ADDRESS] = check_address,
    [IR_TYPE_ADDRESSES] = check_addresses,
    [IR_TYPE_PREFIXES] = check_prefixes,
    [IR_TYPE_MATCHES] = check_matches,
    [IR_TYPE_NODE] = check_node,
    [IR_TYPE_TENANT] = check_tenant,
    [IR_TYPE_TENANTS] = check_tenants,
    [IR_TYPE_EXTERNAL] = check_external,
    [IR_TYPE_NETWORK] = check_network,
    [IR_TYPE_ENDPOINT] = check_endpoint,
    [IR_TYPE_METER] = check_meter,
    [IR_TYPE_SERVICE] = check_service,
    [IR_TYPE_CLASS] = check_class,
    [IR_TYPE_GROUP] = check_group,
    [IR_TYPE_SIDE] = check_side,
    [IR_TYPE_PLACE] = check_place,
};

void
ir_validate_value(struct ir_validator *v, const struct ir_field *f,
                  const void *m)
{
    if (checks[f->type]) {
        checks[f->type](v, f, m);
    }
}

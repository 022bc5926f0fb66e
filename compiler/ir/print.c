/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/ops.h"

#include <inttypes.h>

#include "intent/exceed.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

/* One function a type, which prints the member at 'm', or nothing if it is
 * empty. */
typedef void print_function(struct ds *, const struct ir_field *,
                            const void *m);

/* Comes before element 'i' of a list. */
static void
print_comma(struct ds *ds, size_t i)
{
    if (i) {
        ds_put_char(ds, ',');
    }
}

static void
print_word(struct ds *ds, const struct ir_field *f OVS_UNUSED, const void *m)
{
    const char *const *word = m;

    ds_put_cstr(ds, *word ? *word : "");
}

static void
print_words(struct ds *ds, const struct ir_field *f OVS_UNUSED, const void *m)
{
    const ir_names *names = m;

    for (size_t i = 0; i < names->n; i++) {
        print_comma(ds, i);
        ds_put_cstr(ds, names->v[i]);
    }
}

static void
print_decimal(struct ds *ds, const struct ir_field *f, const void *m)
{
    uint64_t n = ir_number(f, m);

    if (n || f->presence == IR_REQUIRED) {
        ds_put_format(ds, "%"PRIu64, n);
    }
}

static void
print_numbers(struct ds *ds, const struct ir_field *f OVS_UNUSED,
              const void *m)
{
    const ir_numbers *numbers = m;

    for (size_t i = 0; i < numbers->n; i++) {
        print_comma(ds, i);
        ds_put_format(ds, "%"PRIu32, numbers->v[i]);
    }
}

static void
print_hex(struct ds *ds, const struct ir_field *f, const void *m)
{
    uint64_t n = ir_number(f, m);

    if (n || f->presence == IR_REQUIRED) {
        ds_put_format(ds, "%#"PRIx64, n);
    }
}

/* The keyword is all there is to a flag. */
static void
print_flag(struct ds *ds, const struct ir_field *f, const void *m)
{
    ds_put_cstr(ds, *(const bool *) m ? f->keyword : "");
}

static void
print_kind(struct ds *ds, const struct ir_field *f OVS_UNUSED, const void *m)
{
    ds_put_cstr(ds, rule_kind_name(*(const enum rule_kind *) m));
}

static void
print_exceed(struct ds *ds, const struct ir_field *f OVS_UNUSED,
             const void *m)
{
    if (*(const uint8_t *) m != EXCEED_DROP) {
        exceed_format(*(const uint8_t *) m, ds);
    }
}

static void
print_mac(struct ds *ds, const struct ir_field *f OVS_UNUSED, const void *m)
{
    const struct eth_addr *mac = m;

    ds_put_format(ds, ETH_ADDR_FMT, ETH_ADDR_ARGS(*mac));
}

static void
print_address(struct ds *ds, const struct ir_field *f OVS_UNUSED,
              const void *m)
{
    if (!ipv6_is_zero(m)) {
        ipv6_format_mapped(m, ds);
    }
}

static void
print_addresses(struct ds *ds, const struct ir_field *f OVS_UNUSED,
                const void *m)
{
    const ir_addresses *addresses = m;

    for (size_t i = 0; i < addresses->n; i++) {
        print_comma(ds, i);
        ipv6_format_mapped(&addresses->v[i], ds);
    }
}

static void
print_prefixes(struct ds *ds, const struct ir_field *f OVS_UNUSED,
               const void *m)
{
    const ir_prefixes *prefixes = m;

    for (size_t i = 0; i < prefixes->n; i++) {
        const struct ir_prefix *p = &prefixes->v[i];

        print_comma(ds, i);
        ipv6_format_mapped(&p->ip, ds);
        ds_put_format(ds, "/%d",
                      p->plen - (IN6_IS_ADDR_V4MAPPED(&p->ip) ? 96 : 0));
    }
}

static void
print_match(struct ds *ds, const struct ir_match *m)
{
    const char *name = NULL;

    for (size_t i = 0; i < n_ir_protocols; i++) {
        if (ir_protocols[i].number == m->protocol) {
            name = ir_protocols[i].name;
        }
    }
    if (name) {
        ds_put_cstr(ds, name);
    } else {
        ds_put_format(ds, "%"PRIu8, m->protocol);
    }
    if (m->last) {
        ds_put_format(ds, ":%"PRIu16, m->first);
        if (m->last != m->first) {
            ds_put_format(ds, "-%"PRIu16, m->last);
        }
    }
}

static void
print_matches(struct ds *ds, const struct ir_field *f OVS_UNUSED,
              const void *m)
{
    const ir_matches *matches = m;

    for (size_t i = 0; i < matches->n; i++) {
        print_comma(ds, i);
        print_match(ds, &matches->v[i]);
    }
}

/* What points to a record prints its name. */
#define DEFINE_PRINT_REFERENCE(OP)                                      \
    static void                                                         \
    print_##OP(struct ds *ds, const struct ir_field *f OVS_UNUSED,      \
               const void *m)                                           \
    {                                                                   \
        const struct ir_##OP *const *record = m;                        \
                                                                        \
        if (*record) {                                                  \
            ds_put_cstr(ds, (*record)->name);                           \
        }                                                               \
    }
DEFINE_PRINT_REFERENCE(node)
DEFINE_PRINT_REFERENCE(tenant)
DEFINE_PRINT_REFERENCE(external)
DEFINE_PRINT_REFERENCE(network)
DEFINE_PRINT_REFERENCE(endpoint)
DEFINE_PRINT_REFERENCE(meter)
DEFINE_PRINT_REFERENCE(service)
DEFINE_PRINT_REFERENCE(class)

static void
print_group(struct ds *ds, const struct ir_field *f OVS_UNUSED, const void *m)
{
    const struct ir_group *const *group = m;

    ds_put_format(ds, "%#"PRIx32, (*group)->number);
}

static void
print_side(struct ds *ds, const struct ir_field *f OVS_UNUSED, const void *m)
{
    const struct ir_side *side = m;

    for (size_t i = 0; i < side->endpoints.n; i++) {
        print_comma(ds, i);
        ds_put_cstr(ds, side->endpoints.v[i]->name);
    }
    for (size_t i = 0; i < side->parts.n; i++) {
        print_comma(ds, side->endpoints.n + i);
        ds_put_cstr(ds, side->parts.v[i]->name);
    }
}

static void
print_tenants(struct ds *ds, const struct ir_field *f OVS_UNUSED,
              const void *m)
{
    const ir_tenant_vec *tenants = m;

    for (size_t i = 0; i < tenants->n; i++) {
        print_comma(ds, i);
        ds_put_cstr(ds, tenants->v[i]->name);
    }
}

static void
print_place(struct ds *ds, const struct ir_field *f OVS_UNUSED, const void *m)
{
    const struct ir_place *place = m;

    if (place->line) {
        ds_put_format(ds, "%"PRIu32":%s", place->line, place->pointer);
    }
}

static print_function *const printers[] = {
    [IR_TYPE_WORD] = print_word,
    [IR_TYPE_WORDS] = print_words,
    [IR_TYPE_DECIMAL] = print_decimal,
    [IR_TYPE_NUMBERS] = print_numbers,
    [IR_TYPE_HEX] = print_hex,
    [IR_TYPE_FLAG] = print_flag,
    [IR_TYPE_KIND] = print_kind,
    [IR_TYPE_EXCEED] = print_exceed,
    [IR_TYPE_MAC] = print_mac,
    [IR_TYPE_ADDRESS] = print_address,
    [IR_TYPE_ADDRESSES] = print_addresses,
    [IR_TYPE_PREFIXES] = print_prefixes,
    [IR_TYPE_MATCHES] = print_matches,
    [IR_TYPE_NODE] = print_node,
    [IR_TYPE_TENANT] = print_tenant,
    [IR_TYPE_TENANTS] = print_tenants,
    [IR_TYPE_EXTERNAL] = print_external,
    [IR_TYPE_NETWORK] = print_network,
    [IR_TYPE_ENDPOINT] = print_endpoint,
    [IR_TYPE_METER] = print_meter,
    [IR_TYPE_SERVICE] = print_service,
    [IR_TYPE_CLASS] = print_class,
    [IR_TYPE_GROUP] = print_group,
    [IR_TYPE_SIDE] = print_side,
    [IR_TYPE_PLACE] = print_place,
};

static void
print_record(enum ir_op op, const void *record, void *ds_)
{
    struct ds *ds = ds_;
    bool first = true;

    for (size_t i = 0; i < n_ir_fields; i++) {
        const struct ir_field *f = &ir_fields[i];
        size_t start = ds->length, value;

        if (f->op != op) {
            continue;
        }
        ds_put_cstr(ds, first ? "" : " ");
        if (f->type != IR_TYPE_FLAG) {
            ds_put_format(ds, "%s ", f->keyword);
        }
        value = ds->length;
        printers[f->type](ds, f, (const char *) record + f->offset);
        if (ds->length == value) {
            ds_truncate(ds, start);
        }
        first = false;
    }
    ds_put_char(ds, '\n');
}

void
ir_print(const struct ir_prog *prog, struct ds *ds)
{
    ir_walk(prog, print_record, ds);
}

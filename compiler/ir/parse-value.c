/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/parse.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "hash.h"
#include "intent/exceed.h"
#include "packets.h"
#include "util.h"

struct parsed_group {
    struct hmap_node node;      /* By group.number. */
    struct ir_group group;
};

/* One function a type; see ir_parse_value(). */
typedef const char *parse_function(struct ir_parser *,
                                   const struct ir_field *, void *m,
                                   char *word);

static const char *
parse_word(struct ir_parser *p OVS_UNUSED,
           const struct ir_field *f OVS_UNUSED, void *m, char *word)
{
    *(const char **) m = word;
    return ir_is_word(word) ? NULL : "this is not a name";
}

static const char *
parse_words(struct ir_parser *p, const struct ir_field *f, void *m, char *word)
{
    const char *reason = NULL;
    ir_names *names = m;
    char *name;

    while (!reason && (name = strsep(&word, ","))) {
        reason = parse_word(p, f, vec_push(p->arena, names), name);
    }
    return reason;
}

/* Digits only, unlike str_to_ullong(). */
static bool
to_number(const char *s, int base, uint64_t max, uint64_t *number)
{
    const char *digits = base == 16 ? "0123456789abcdef" : "0123456789";
    unsigned long long int n;

    if (base == 16 && strncmp(s, "0x", 2)) {
        return false;
    }
    s += base == 16 ? 2 : 0;
    if (!s[0] || s[strspn(s, digits)] || !str_to_ullong(s, base, &n)
        || n > max) {
        return false;
    }
    *number = n;
    return true;
}

static const char *
parse_number(struct ir_parser *p, const struct ir_field *f, void *m,
             char *word)
{
    bool hex = f->type == IR_TYPE_HEX;
    uint64_t number;

    if (!to_number(word, hex ? 16 : 10, f->max, &number) || number < f->min) {
        return arena_printf(p->arena, hex
                            ? "this is not a number from %#"PRIx64" to "
                              "%#"PRIx64
                            : "this is not a number from %"PRIu64" to "
                              "%"PRIu64, f->min, f->max);
    }
    ir_set_number(f, m, number);
    return NULL;
}

static const char *
parse_numbers(struct ir_parser *p, const struct ir_field *f, void *m,
              char *word)
{
    struct ir_field one = *f;
    const char *reason = NULL;
    char *s;

    one.type = IR_TYPE_DECIMAL;
    one.size = sizeof(uint32_t);
    while (!reason && (s = strsep(&word, ","))) {
        reason = parse_number(p, &one, vec_push(p->arena, (ir_numbers *) m),
                              s);
    }
    return reason;
}

static const char *
parse_flag(struct ir_parser *p OVS_UNUSED,
           const struct ir_field *f OVS_UNUSED, void *m, char *word OVS_UNUSED)
{
    *(bool *) m = true;
    return NULL;
}

static const char *
parse_kind(struct ir_parser *p OVS_UNUSED,
           const struct ir_field *f OVS_UNUSED, void *m, char *word)
{
#define RULE_KIND(NAME, WORD)                                           \
    if (!strcmp(word, WORD)) {                                          \
        *(enum rule_kind *) m = RULE_##NAME;                            \
        return NULL;                                                    \
    }
#include "sema/rule-kinds.def"
#undef RULE_KIND
    return "there is no such kind of rule";
}

static const char *
parse_exceed(struct ir_parser *p OVS_UNUSED,
             const struct ir_field *f OVS_UNUSED, void *m, char *word)
{
    return (exceed_parse(word, m) ? NULL
            : "this is not what can become of packets");
}

static const char *
parse_mac(struct ir_parser *p OVS_UNUSED,
          const struct ir_field *f OVS_UNUSED, void *m, char *word)
{
    return eth_addr_from_string(word, m) ? NULL : "this is not a MAC address";
}

static const char *
parse_address(struct ir_parser *p OVS_UNUSED,
              const struct ir_field *f OVS_UNUSED, void *m, char *word)
{
    ovs_be32 ip4;

    if (inet_pton(AF_INET, word, &ip4) == 1) {
        in6_addr_set_mapped_ipv4(m, ip4);
    } else if (inet_pton(AF_INET6, word, m) != 1) {
        return "this is not an address, or a list of them";
    }
    return NULL;
}

static const char *
parse_addresses(struct ir_parser *p, const struct ir_field *f, void *m,
                char *word)
{
    const char *reason = NULL;
    char *s;

    while (!reason && (s = strsep(&word, ","))) {
        reason = parse_address(p, f, vec_push(p->arena, (ir_addresses *) m),
                               s);
    }
    return reason;
}

static const char *
parse_prefixes(struct ir_parser *p, const struct ir_field *f, void *m,
               char *word)
{
    const char *reason = NULL;
    char *s;

    while (!reason && (s = strsep(&word, ","))) {
        struct ir_prefix *prefix = vec_push(p->arena, (ir_prefixes *) m);
        char *ip = strsep(&s, "/");
        uint64_t plen;
        int skip;

        reason = parse_address(p, f, &prefix->ip, ip);
        skip = !reason && IN6_IS_ADDR_V4MAPPED(&prefix->ip) ? 96 : 0;
        if (!reason && (!s || !to_number(s, 10, 128 - skip, &plen))) {
            reason = "this is not ADDRESS/PLEN, or a list of them";
        } else if (!reason) {
            prefix->plen = plen + skip;
        }
    }
    return reason;
}

static const char *
parse_match(char *word, struct ir_match *m)
{
    const char *protocol = strsep(&word, ":");
    char *first = word ? strsep(&word, "-") : NULL;
    uint64_t n = 0;

    for (size_t i = 0; i < n_ir_protocols; i++) {
        if (!strcmp(ir_protocols[i].name, protocol)) {
            m->protocol = ir_protocols[i].number;
        }
    }
    if (!m->protocol && to_number(protocol, 10, UINT8_MAX, &n)) {
        m->protocol = n;
    }
    if (!m->protocol) {
        return "there is no such protocol";
    }
    if (first) {
        if (!to_number(first, 10, UINT16_MAX, &n)) {
            return "this is not a port";
        }
        m->first = m->last = n;
        if (word && !to_number(word, 10, UINT16_MAX, &n)) {
            return "this is not a range of ports";
        }
        m->last = n;
    }
    return NULL;
}

static const char *
parse_matches(struct ir_parser *p, const struct ir_field *f OVS_UNUSED,
              void *m, char *word)
{
    const char *reason = NULL;
    char *match;

    while (!reason && (match = strsep(&word, ","))) {
        reason = parse_match(match, vec_push(p->arena, (ir_matches *) m));
    }
    return reason;
}

#define DEFINE_PARSE_REFERENCE(OP)                                      \
    static const char *                                                 \
    parse_##OP(struct ir_parser *p, const struct ir_field *f OVS_UNUSED,\
               void *m, char *word)                                     \
    {                                                                   \
        const struct ir_##OP **record = m;                              \
                                                                        \
        *record = shash_find_data(&p->records[IR_OP_##OP], word);       \
        return *record ? NULL : "there is no such "#OP" above";         \
    }
DEFINE_PARSE_REFERENCE(node)
DEFINE_PARSE_REFERENCE(tenant)
DEFINE_PARSE_REFERENCE(network)
DEFINE_PARSE_REFERENCE(endpoint)
DEFINE_PARSE_REFERENCE(meter)
DEFINE_PARSE_REFERENCE(external)
DEFINE_PARSE_REFERENCE(part)
DEFINE_PARSE_REFERENCE(service)
DEFINE_PARSE_REFERENCE(class)

/* Groups have no lines of their own: they are where their endpoints are. */
static const char *
parse_group(struct ir_parser *p, const struct ir_field *f, void *m, char *word)
{
    const struct ir_group **out = m;
    struct parsed_group *group;
    uint64_t number;

    if (!to_number(word, 16, f->max, &number) || number < f->min) {
        return "this is not the number of a group";
    }
    HMAP_FOR_EACH_WITH_HASH (group, node, hash_int(number, 0), &p->groups) {
        if (group->group.number == number) {
            group->group.n_endpoints++;
            *out = &group->group;
            return NULL;
        }
    }
    group = arena_zalloc(p->arena, sizeof *group);
    group->group.number = number;
    group->group.n_endpoints = 1;
    group->group.first = CONTAINER_OF(out, struct ir_endpoint, group);
    hmap_insert(&p->groups, &group->node, hash_int(number, 0));
    *out = &group->group;
    return NULL;
}

static const char *
parse_side(struct ir_parser *p, const struct ir_field *f, void *m, char *word)
{
    struct ir_side *side = m;
    const char *reason = NULL;
    char *name;

    while (!reason && (name = strsep(&word, ","))) {
        if (shash_find(&p->records[IR_OP_part], name)) {
            reason = parse_part(p, f, vec_push(p->arena, &side->parts), name);
        } else {
            reason = parse_endpoint(p, f, vec_push(p->arena,
                                                   &side->endpoints), name);
        }
    }
    return reason;
}

static const char *
parse_tenants(struct ir_parser *p, const struct ir_field *f, void *m,
              char *word)
{
    const char *reason = NULL;
    char *name;

    while (!reason && (name = strsep(&word, ","))) {
        reason = parse_tenant(p, f, vec_push(p->arena, (ir_tenant_vec *) m),
                              name);
    }
    return reason;
}

static const char *
parse_place(struct ir_parser *p OVS_UNUSED,
            const struct ir_field *f OVS_UNUSED, void *m, char *word)
{
    struct ir_place *place = m;
    const char *line = strsep(&word, ":");
    uint64_t n;

    if (!to_number(line, 10, UINT32_MAX, &n) || !n || !word
        || !ir_is_pointer(word)) {
        return "this is not LINE:POINTER";
    }
    place->line = n;
    place->pointer = word;
    return NULL;
}

static parse_function *const parsers[] = {
    [IR_TYPE_WORD] = parse_word,
    [IR_TYPE_WORDS] = parse_words,
    [IR_TYPE_DECIMAL] = parse_number,
    [IR_TYPE_NUMBERS] = parse_numbers,
    [IR_TYPE_HEX] = parse_number,
    [IR_TYPE_FLAG] = parse_flag,
    [IR_TYPE_KIND] = parse_kind,
    [IR_TYPE_EXCEED] = parse_exceed,
    [IR_TYPE_MAC] = parse_mac,
    [IR_TYPE_ADDRESS] = parse_address,
    [IR_TYPE_ADDRESSES] = parse_addresses,
    [IR_TYPE_PREFIXES] = parse_prefixes,
    [IR_TYPE_MATCHES] = parse_matches,
    [IR_TYPE_NODE] = parse_node,
    [IR_TYPE_TENANT] = parse_tenant,
    [IR_TYPE_TENANTS] = parse_tenants,
    [IR_TYPE_EXTERNAL] = parse_external,
    [IR_TYPE_NETWORK] = parse_network,
    [IR_TYPE_ENDPOINT] = parse_endpoint,
    [IR_TYPE_METER] = parse_meter,
    [IR_TYPE_SERVICE] = parse_service,
    [IR_TYPE_CLASS] = parse_class,
    [IR_TYPE_GROUP] = parse_group,
    [IR_TYPE_SIDE] = parse_side,
    [IR_TYPE_PLACE] = parse_place,
};

const char *
ir_parse_value(struct ir_parser *p, const struct ir_field *f, void *m,
               char *word)
{
    return parsers[f->type](p, f, m, word);
}

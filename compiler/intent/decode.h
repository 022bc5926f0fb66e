/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef INTENT_DECODE_H
#define INTENT_DECODE_H 1

/* The toolbox of intent.c: checked access to JSON values.
 *
 * Every function that finds something wrong adds an error with the place and
 * goes on with a harmless value, so that one run shows many mistakes. */

#include <stdbool.h>
#include <stdint.h>

#include "intent/files.h"
#include "intent/intent.h"

struct decoder {
    struct arena *arena;
    struct diags *diags;
    const struct intent_file *file;     /* That is being decoded. */
    bool masks;                 /* Bits behind the prefix of a range are a
                                 * warning, and left out. */
    size_t n_excepts;           /* That are around it. */
};

/* A member that an object may have. */
struct member {
    const char *name;
    bool required;
};

/* Checks that 'v' is an object whose members are in 'members' (ends with a
 * null name; "description" and "$schema" may always be there) and that none
 * is missing that is required.  'what' names the object: "a rule".  Notes
 * 'members' in 'v', for intent_print(). */
bool decode_object(struct decoder *, const struct value *v, const char *what,
                   const struct member *members);

/* Checks that 'v' is a map from names to values, each name well formed.  A
 * null 'v' is an empty map. */
bool decode_map(struct decoder *, const struct value *v, const char *what);

/* The same for a map from names of endpoints, TENANT/ENDPOINT. */
bool decode_endpoint_map(struct decoder *, const struct value *v,
                         const char *what);

/* Checks that 'v' is a list.  A null 'v' is an empty list. */
bool decode_list(struct decoder *, const struct value *v, const char *what);

/* The name of a member of a map. */
struct text decode_key(const struct value *member);

/* Checks that 'v' is a string; an empty text if not. */
struct text decode_string(struct decoder *, const struct value *v);

/* Each returns the member 'key' of object 'v', checked; an empty value if it
 * is absent or wrong. */
struct text decode_text(struct decoder *, const struct value *v,
                        const char *key);
struct text decode_name(struct decoder *, const struct value *v,
                        const char *key);
struct text decode_interface(struct decoder *, const struct value *v,
                             const char *key);
struct quantity decode_rate(struct decoder *, const struct value *v,
                            const char *key);
struct quantity decode_bytes(struct decoder *, const struct value *v,
                             const char *key);
struct quantity decode_packet_rate(struct decoder *, const struct value *v,
                                   const char *key);
struct quantity decode_packets(struct decoder *, const struct value *v,
                               const char *key);
struct quantity decode_duration(struct decoder *, const struct value *v,
                                const char *key);
int64_t decode_number(struct decoder *, const struct value *v, int64_t min,
                      int64_t max);
int64_t decode_integer(struct decoder *, const struct value *v,
                       const char *key, int64_t min, int64_t max);

/* True if the text is one of two words and it is the second. */
bool decode_choice(struct decoder *, const struct value *v, const char *key,
                   const char *no, const char *yes);

/* A member that is true or false: its place if it is 'value', or NULL. */
const struct value *decode_flag(struct decoder *, const struct value *v,
                                const char *key, bool value);

void decode_text_list(struct decoder *, const struct value *v, text_vec *);

/* A list of names of tenants, in which "*" is every one, or "*" alone. */
void decode_tenants(struct decoder *, const struct value *v,
                    text_vec *tenants);
void decode_labels(struct decoder *, const struct value *v,
                   text_vec *names, text_vec *values);

/* A list of addresses, or one by itself; with "/LENGTH" if 'prefixes'. */
void decode_addresses(struct decoder *, const struct value *v, bool prefixes,
                      address_vec *);
void decode_mac(struct decoder *, const struct value *v, const char *key,
                struct text *, struct eth_addr *);
void decode_service(struct decoder *, const struct value *v,
                    struct intent_service *);

/* "mtu", at least 'min'. */
enum {
    MIN_MTU = 1280,             /* RFC 8200 section 5. */
    MAX_MTU = 65535,
};
struct number decode_count(struct decoder *, const struct value *,
                           const char *key, int min, int max);
struct mtu decode_mtu(struct decoder *, const struct value *v, int min);

/* Nodes and their uplinks, and which of them a network takes. */
void decode_fabric(struct decoder *, const struct value *v, struct intent *);
void decode_way(struct decoder *, const struct value *v,
                struct intent_network *);

/* What Open vSwitch takes of a node, an uplink or an endpoint for DPDK. */
void decode_dpdk(struct decoder *, const struct value *v,
                 struct intent_dpdk *);
void decode_device(struct decoder *, const struct value *v,
                   struct intent_uplink *);
void decode_port(struct decoder *, const struct value *v,
                 struct intent_endpoint *);

/* A selector, or a list of alternatives. */
void decode_selector(struct decoder *, const struct value *v,
                     bool needs_tenant, selector_vec *alternatives);

/* Adds what 'root', a whole file, defines to 'intent'. */
void decode_intent(struct decoder *, const struct value *root,
                   struct intent *);

/* Adds an error for each member of 'root', a whole file, that is not the
 * file's to define. */
void check_file(struct decoder *, const struct value *root);

/* The same for an endpoint's. */
void check_right_to_bind(struct decoder *, const struct value *endpoint);

/* Decodes the members of 'v' that bind an endpoint. */
void decode_binding(struct decoder *, const struct value *v,
                    struct intent_endpoint *);

/* Decodes a map of bindings, which may be null. */
void decode_bindings(struct decoder *, const struct value *v,
                     struct intent *);

/* Gives each endpoint what its binding says. */
void join_bindings(struct decoder *, struct intent *);

/* The bindings are all that there are: sorts them for
 * intent_bindings_of(). */
void sort_bindings(struct arena *, struct intent *);

/* The error that 'what' stands at 'span', of 'v', and at 'first'. */
void decode_twice(struct decoder *, const char *what, const struct value *v,
                  struct span span, struct span first);

/* "bandwidth", whose short form is for both directions, "microburst" and
 * "limits". */
void decode_bandwidth(struct decoder *, const struct value *v,
                      struct intent_bandwidth *send,
                      struct intent_bandwidth *receive);
/* That of an endpoint. */
void decode_own_bandwidth(struct decoder *, const struct value *v,
                          struct intent_bandwidth *send,
                          struct intent_bandwidth *receive);
void decode_microburst(struct decoder *, const struct value *v,
                       struct intent_microburst *);
void decode_limits(struct decoder *, const struct value *v,
                   struct intent_tenant *);

void decode_rule(struct decoder *, const struct value *v,
                 struct intent_rule *);
void decode_peering(struct decoder *, const struct value *v,
                    struct intent_rule *);
void decode_guardrail(struct decoder *, const struct value *v,
                      struct intent_rule *);

/* The error "'text' is not ...: reason". */
void decode_error(struct decoder *, const struct value *v, const char *cause,
                  const char *remedy);

/* What lies outside the fabric. */
void decode_external(struct decoder *, const struct value *v,
                     struct intent_external *);

/* Decodes each element of 'V', a map or list that 'CHECK' accepts, into a new
 * element of 'VEC'. */
#define DECODE_EACH(D, V, CHECK, WHAT, DECODE_ONE, VEC)                 \
    do {                                                                \
        const struct value *each__ = (V);                               \
                                                                        \
        if (CHECK(D, each__, WHAT)) {                                   \
            for (size_t i__ = 0; i__ < each__->n; i__++) {              \
                DECODE_ONE(D, &each__->elems[i__],                      \
                           vec_push((D)->arena, VEC));                  \
            }                                                           \
        }                                                               \
    } while (0)

#endif /* intent/decode.h */

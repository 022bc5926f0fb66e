/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef IMPORT_K8S_H
#define IMPORT_K8S_H 1

/* Between the steps of import_k8s():
 *
 *     k8s-read.c    objects -> namespaces, pods
 *     k8s-policy.c  NetworkPolicy -> who is isolated, and sides
 *     k8s-selector.c  LabelSelector -> sets
 *     k8s-set.c     sets of pods
 *     k8s-ports.c   sets of ports
 *     k8s-merge.c   sides that allow the same
 *     k8s-rules.c   sides -> rules
 *     k8s-emit.c    rules as JSON
 *     k8s-names.c   names
 *     k8s-json.c    selectors as JSON
 *     k8s-network.c  subnets
 *     k8s-write.c   the rest as JSON
 *
 * Kubernetes allows a connection if the sender's side does and the receiver's
 * does.  A side allows it if no policy isolates its pod in that direction, or
 * if a rule of one that does speaks of it.  So each rule of the intent is one
 * of each side: "no policy isolates it" counts as a rule too. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "import/ranges.h"
#include "intent/intent.h"
#include "openvswitch/compiler.h"

struct json;
struct shash;
struct sset;

#define K8S_OUTSIDE "outside"   /* The external that is not the cluster. */

enum {
    K8S_MAX_WORK = 100 * 1000 * 1000,   /* Comparisons. */
    K8S_MAX_VALUES = 1000,      /* Of a label, in a selector. */
};

VEC_TYPEDEF(k8s_strings, const char *);

struct k8s_namespace {
    const char *name;
    const struct value *labels; /* NULL: none. */
};

/* A port of a container that has a name. */
struct k8s_port {
    const char *name;
    uint8_t protocol;
    uint16_t number;            /* 0: any number, in a rule. */
};

VEC_TYPEDEF(k8s_named, struct k8s_port);

struct k8s_pod {
    const char *name;
    const char *endpoint;
    size_t ns;
    const struct value *labels; /* NULL: none. */
    address_vec addresses;      /* At least one. */
    k8s_named ports;
};

/* Who has label 'key' with one of the values. */
struct k8s_term {
    const char *key;
    k8s_strings values;
};

struct k8s_set;
VEC_TYPEDEF(k8s_sets, struct k8s_set);  /* Of which any will do. */

/* Pods: the members AND. */
struct k8s_set {
    unsigned long *namespaces;  /* A bitmap. */
    VEC(struct k8s_term) terms;
    unsigned long *pods;        /* A bitmap; NULL: any. */
    k8s_sets except;            /* Those are not of it. */
};

/* Destination ports; for pods, those that have a name as well. */
struct k8s_ports {
    bool any;                   /* Of any protocol, too. */
    port_ranges tcp, udp;
    k8s_named named;
};

/* What one rule of a policy allows to one side: that pods of 'subject' send
 * to peers (egress), or get from them (ingress). */
struct k8s_side {
    const char *name;           /* "NAMESPACE.POLICY.inN"; NULL: of pods that
                                 * no policy isolates. */
    const char *title;          /* For readers. */
    const struct value *at;
    k8s_sets subject, peers;
    unsigned long *pods;        /* Bitmaps of those, ... */
    unsigned long *peer_pods;
    size_t n_alike;             /* Others that it stands for, too. */
    bool all_outside;
    address_vec outside;        /* Ranges outside the cluster, if not all. */
    struct k8s_ports ports;
    bool written;               /* Is there a rule of it? */
    bool told;                  /* That symmetric ports are left out? */
};

/* A name that a label has in the intent. */
struct k8s_label {
    const char *key, *name;
};

struct k8s {
    struct arena *arena;
    struct diags *diags;
    bool per_namespace;
    const char *object;         /* That is being read: "Pod a/b", or NULL. */
    VEC(const struct value *) namespace_objects, pod_objects, policy_objects;
    VEC(struct k8s_namespace) namespaces;       /* Sorted by name. */
    VEC(struct k8s_pod) pods;   /* Sorted by namespace and name. */
    k8s_strings selected;       /* Keys that selectors of pods name. */
    VEC(struct k8s_label) labels;
    const char *namespace_label;
    address_vec *subnets;       /* Of each namespace, or of all. */
    address_vec inside;         /* Ranges that nothing outside has. */
    k8s_sets isolated_in, isolated_out;
    VEC(struct k8s_side) ingress, egress;       /* The first of each is of
                                                 * pods that no policy
                                                 * isolates. */
    struct json **rules;        /* A list for each namespace, or one. */
    struct json *peerings, *services;
    unsigned long *users;       /* Namespaces whose rules name the outside. */
    struct sset *names;         /* Of rules, with whose they are. */
    size_t work;                /* To bound it. */
    bool ip4, ip6;              /* Families that pods have. */
};

/* k8s-read.c.  All text is hostile: what has not the type that the API gives
 * it is an error, and what is null is absent. */
void k8s_read(struct k8s *, const struct source *);
void k8s_read_inventory(struct k8s *);
void k8s_error(struct k8s *, const struct value *, const char *remedy,
               const char *cause, ...) OVS_PRINTF_FORMAT(4, 5);
void k8s_warn(struct k8s *, const struct value *, const char *remedy,
              const char *cause, ...) OVS_PRINTF_FORMAT(4, 5);
const struct value *k8s_member(const struct value *, const char *key);
const struct value *k8s_object_member(struct k8s *, const struct value *,
                                      const char *key);
const struct value *k8s_list(struct k8s *, const struct value *,
                             const char *key);
const char *k8s_string(struct k8s *, const struct value *, const char *key);

/* Adds an error for what 'v' has and 'members' does not name: it might say
 * that less is allowed. */
bool k8s_has_only(struct k8s *, const struct value *,
                  const char *const members[], size_t n);

/* Begins with an object: what is said of it names it.  Returns its metadata,
 * or NULL after adding an error, as if 'seen' has it. */
const struct value *k8s_enter(struct k8s *, const struct value *,
                              struct shash *seen);

/* The number of an object's namespace, SIZE_MAX after adding an error. */
size_t k8s_find_namespace(struct k8s *, const struct value *metadata);

/* k8s-policy.c */
void k8s_read_policies(struct k8s *);

/* k8s-selector.c: a LabelSelector, which may be null, of pods, which narrows
 * 'set'; and of namespaces, as a bitmap. */
void k8s_select_pods(struct k8s *, const struct value *, struct k8s_set *);
unsigned long *k8s_select_namespaces(struct k8s *, const struct value *);

/* k8s-set.c */
struct k8s_set k8s_everyone(struct k8s *);
bool k8s_is_empty(const struct k8s *, const struct k8s_set *);

/* Leaves in 'set', which is nobody else's, who has label 'key' with one of
 * the values; or who is not in the other set. */
void k8s_narrow(struct k8s *, struct k8s_set *, const char *key,
                const k8s_strings *values);
void k8s_take_away(struct k8s *, struct k8s_set *, const struct k8s_set *);

/* Stores who is in both.  False if nobody can be. */
bool k8s_intersect(struct k8s *, const struct k8s_set *,
                   const struct k8s_set *, struct k8s_set *);

/* Do both say the same?  Then what passes from one to the other passes back.
 * False also if that takes more to see. */
bool k8s_are_same(const struct k8s *, const k8s_sets *, const k8s_sets *);

/* A bitmap of the pods that are in one of the sets. */
unsigned long *k8s_members(struct k8s *, const k8s_sets *);

/* Is there a pod in one bitmap that is not the only one of the other? */
bool k8s_are_pairs(const struct k8s *, const unsigned long *,
                   const unsigned long *);

/* k8s-ports.c */
void k8s_read_ports(struct k8s *, const struct value *rule,
                    struct k8s_ports *);

/* Warns of names of ports that no pod has of those that would get it. */
void k8s_check_names(struct k8s *, const struct k8s_side *, bool ingress);

bool k8s_same_ranges(const port_ranges *, const port_ranges *);

/* The numbers of 'ports' at a pod, in order; without a pod, of those that
 * have no name. */
struct k8s_ports k8s_resolve(struct k8s *, const struct k8s_ports *,
                             const struct k8s_pod *);

/* What is in both, each as k8s_resolve() returns it. */
struct k8s_ports k8s_common_ports(struct k8s *, const struct k8s_ports *,
                                  const struct k8s_ports *);

/* Takes out the UDP ports that have no direction.  True if there were any. */
bool k8s_cut_symmetric(struct k8s *, struct k8s_ports *);

/* What a rule of the intent comes from, and is called. */
struct k8s_origin {
    struct k8s_side *egress, *ingress;  /* NULL: the other end is outside. */
    const char *name;
    const char *description;    /* NULL: no policy. */
};

/* k8s-emit.c: what lets 'from' reach 'to', one of which is NULL if it is
 * outside, on the ports. */
void k8s_write_ports(struct k8s *, const struct k8s_origin *,
                     const k8s_sets *from, const k8s_sets *to,
                     struct k8s_ports);

/* What lets pods reach each other by everything. */
void k8s_write_mutual(struct k8s *, const struct k8s_origin *,
                      const k8s_sets *pods);

/* k8s-merge.c: finds the pods of the sides, and lets one stand for all that
 * allow the same to their pods. */
void k8s_merge_sides(struct k8s *, struct k8s_side *, size_t *n);

/* k8s-rules.c: each pair of sides, and each side with what is outside. */
void k8s_write_rules(struct k8s *);

void k8s_name_all(struct k8s *);
const char *k8s_label_name(struct k8s *, const char *key);

/* k8s-json.c: those of 'sets' that are in the namespaces of the bitmap, as a
 * selector, which names 'tenant' unless that is NULL; NULL if nobody is. */
struct json *k8s_selector(struct k8s *, const k8s_sets *,
                          const unsigned long *namespaces,
                          const char *tenant);
struct json *k8s_outside(const struct k8s_side *);

/* k8s-network.c: the subnets of each network, which hold no pod of another
 * namespace if each is a tenant; 'block' less 'except', which is added to
 * 'out'; and does one of 'ranges' hold all of 'a', or any of it if 'any'? */
void k8s_plan_networks(struct k8s *);
void k8s_subtract(struct k8s *, struct address block,
                  const address_vec *except, address_vec *out);
bool k8s_is_within(const address_vec *ranges, const struct address *a,
                   bool any);
struct json *k8s_network(struct k8s *, size_t network, int vni);

/* k8s-write.c: the whole intent. */
const char *k8s_write(struct k8s *);

#endif /* import/k8s.h */

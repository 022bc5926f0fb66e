/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/k8s.h"

#include <string.h>

#include "bitmap.h"
#include "import/name.h"
#include "openvswitch/json.h"
#include "sset.h"
#include "util.h"

/* Rules and peerings as JSON. */

/* A name that nothing else in 'scope' has. */
static const char *
unique_name(struct k8s *k, const char *scope, const char *s)
{
    const char *name = import_name(k->arena, s);

    for (int i = 2; !sset_add(k->names, arena_printf(k->arena, "%s %s", scope,
                                                     name)); i++) {
        name = import_name(k->arena, arena_printf(k->arena, "%s.%d", s, i));
    }
    return name;
}

static struct json *
rule_to_json(const struct k8s_origin *o, const char *service,
             struct json *from, struct json *to)
{
    struct json *rule = json_object_create();

    if (o->description) {
        json_object_put_string(rule, "description", o->description);
    }
    json_object_put(rule, "from", from);
    json_object_put(rule, "to", to);
    if (service) {
        json_object_put_string(rule, "service", service);
    }
    return rule;
}

/* What a rule of the import becomes where each namespace is a tenant. */
enum {
    WITHIN = 1 << 0,            /* Rules of tenants. */
    BETWEEN = 1 << 1,           /* Peerings, ... */
    ONCE = 1 << 2,              /* ... of what has no direction. */
};

/* Adds a rule to the tenant of namespace 'ns', or to the only one. */
static void
add_rule(struct k8s *k, size_t ns, const char *name, struct json *rule)
{
    size_t i = k->per_namespace ? ns : 0;

    json_object_put_string(rule, "name",
                           unique_name(k, arena_printf(k->arena, "%"PRIuSIZE,
                                                       i), name));
    json_array_add(k->rules[i], rule);
}

/* A bitmap of one namespace. */
static const unsigned long *
only(struct k8s *k, size_t ns)
{
    unsigned long *bitmap = arena_zalloc(k->arena,
                                         bitmap_n_bytes(k->namespaces.n));

    bitmap_set1(bitmap, ns);
    return bitmap;
}

/* A bitmap of the namespaces that have some of the pods. */
static unsigned long *
namespaces_of(struct k8s *k, const unsigned long *pods)
{
    unsigned long *bitmap = arena_zalloc(k->arena,
                                         bitmap_n_bytes(k->namespaces.n));
    size_t i;

    BITMAP_FOR_EACH_1 (i, k->pods.n, pods) {
        bitmap_set1(bitmap, k->pods.v[i].ns);
    }
    return bitmap;
}

/* Who is in 'sets' of each namespace of the bitmap but 'ns', or if 'once' of
 * those after it, each with its tenant; NULL: nobody. */
static struct json *
others(struct k8s *k, const k8s_sets *sets, const unsigned long *namespaces,
       size_t ns, bool once)
{
    struct json *list = json_array_create_empty();
    size_t i;

    BITMAP_FOR_EACH_1 (i, k->namespaces.n, namespaces) {
        struct json *json = (i == ns || (once && i < ns) ? NULL
                             : k8s_selector(k, sets, only(k, i),
                                            k->namespaces.v[i].name));

        if (json && json->type == JSON_ARRAY) {
            for (size_t j = 0; j < json->array.n; j++) {
                json_array_add(list, json_clone(json->array.elems[j]));
            }
            json_destroy(json);
        } else if (json) {
            json_array_add(list, json);
        }
    }
    if (!list->array.n) {
        json_destroy(list);
        return NULL;
    }
    return list;
}

/* Those of a bitmap of pods that are in the namespace. */
static const unsigned long *
within(struct k8s *k, const unsigned long *pods, size_t ns)
{
    unsigned long *bitmap = arena_zalloc(k->arena,
                                         bitmap_n_bytes(k->pods.n));
    size_t i;

    BITMAP_FOR_EACH_1 (i, k->pods.n, pods) {
        if (k->pods.v[i].ns == ns) {
            bitmap_set1(bitmap, i);
        }
    }
    return bitmap;
}

/* Can any pod use a rule within a namespace?  Of pods that no policy isolates
 * in either direction k8s_write_mutual() has said all. */
static bool
is_useful(struct k8s *k, const struct k8s_origin *o,
          const unsigned long *senders, const unsigned long *receivers,
          const char *service)
{
    bool open = o->egress && o->ingress && !o->egress->name
                && !o->ingress->name;

    return (k8s_are_pairs(k, senders, receivers)
            && !(open && service
                 && bitmap_equal(senders, receivers, k->pods.n)));
}

/* One tenant for each namespace: rules within, peerings from each to all
 * others. */
static void
write_per_namespace(struct k8s *k, const struct k8s_origin *o,
                    const k8s_sets *from, const k8s_sets *to, int parts,
                    const char *name, const char *service)
{
    const unsigned long *senders = k8s_members(k, from);
    const unsigned long *receivers = k8s_members(k, to);
    const unsigned long *froms = namespaces_of(k, senders);
    const unsigned long *tos = namespaces_of(k, receivers);
    size_t i;

    BITMAP_FOR_EACH_1 (i, k->namespaces.n, froms) {
        const char *tenant = k->namespaces.v[i].name;
        struct json *json = (parts & BETWEEN
                             ? others(k, to, tos, i, parts & ONCE) : NULL);

        if (json) {
            struct json *peering = rule_to_json(
                o, service, k8s_selector(k, from, only(k, i), tenant), json);
            const char *s = arena_printf(k->arena, "%s.%s", tenant, name);

            json_object_put(peering, "imposed", json_boolean_create(true));
            json_object_put(k->peerings, unique_name(k, "peering", s),
                            peering);
        }
        if (parts & WITHIN && bitmap_is_set(tos, i)
            && is_useful(k, o, within(k, senders, i), within(k, receivers, i),
                         service)) {
            add_rule(k, i, name,
                     rule_to_json(o, service,
                                  k8s_selector(k, from, only(k, i), NULL),
                                  k8s_selector(k, to, only(k, i), NULL)));
        }
    }
}

/* Between pods of 'sets' and the outside. */
static void
write_outside(struct k8s *k, const struct k8s_origin *o, const k8s_sets *sets,
              const char *name, const char *service)
{
    const unsigned long *namespaces = namespaces_of(k, k8s_members(k, sets));
    const unsigned long *all = k8s_everyone(k).namespaces;
    size_t i;

    BITMAP_FOR_EACH_1 (i, k->namespaces.n, namespaces) {
        struct json *outside = k8s_outside(o->egress ? o->egress
                                           : o->ingress);
        struct json *pods = k8s_selector(k, sets, k->per_namespace
                                         ? only(k, i) : all, NULL);

        bitmap_set1(k->users, i);
        add_rule(k, i, name, rule_to_json(o, service,
                                          o->egress ? pods : outside,
                                          o->egress ? outside : pods));
        if (!k->per_namespace) {
            break;
        }
    }
}

static void
write_one(struct k8s *k, const struct k8s_origin *o, const k8s_sets *from,
          const k8s_sets *to, int parts, const char *suffix,
          const char *service)
{
    const unsigned long *all = k8s_everyone(k).namespaces;
    const char *name = arena_printf(k->arena, "%s%s", o->name, suffix);

    if (!from || !to) {
        write_outside(k, o, from ? from : to, name, service);
    } else if (k->per_namespace) {
        write_per_namespace(k, o, from, to, parts, name, service);
    } else if (parts & WITHIN) {
        add_rule(k, 0, name,
                 rule_to_json(o, service, k8s_selector(k, from, all, NULL),
                              k8s_selector(k, to, all, NULL)));
    }
}

static void
tell_symmetric(struct k8s *k, struct k8s_side *side, const char *cause)
{
    if (side && side->name && !side->told) {
        side->told = true;
        k->object = side->title;
        k8s_warn(k, side->at, "let senders and receivers be the same "
                 "selector, or write such a rule by hand", "left out: %s",
                 cause);
        k->object = NULL;
    }
}

/* The first that is in one bitmap and not in the other, or the number of
 * pods. */
static size_t
first_without(struct k8s *k, const unsigned long *pods,
              const unsigned long *others)
{
    size_t i;

    BITMAP_FOR_EACH_1 (i, k->pods.n, pods) {
        if (!bitmap_is_set(others, i)) {
            return i;
        }
    }
    return k->pods.n;
}

/* Finds two pods of which a rule of services says less than everything: of
 * those that are in both sets k8s_write_mutual() says all, but between
 * namespaces. */
static bool
find_less(struct k8s *k, const unsigned long *senders,
          const unsigned long *receivers, size_t *sender, size_t *receiver)
{
    size_t n = k->pods.n;

    *sender = first_without(k, senders, receivers);
    *receiver = bitmap_scan(receivers, true, 0, n);
    if (*sender == n) {
        *sender = bitmap_scan(senders, true, 0, n);
        *receiver = first_without(k, receivers, senders);
    }
    if (*sender < n && *receiver == n && k->per_namespace) {
        *receiver = first_without(k, receivers,
                                  within(k, receivers,
                                         k->pods.v[*sender].ns));
    }
    return *sender < n && *receiver < n;
}

static const char *
pod_name(struct k8s *k, size_t i)
{
    const struct k8s_pod *pod = &k->pods.v[i];

    return arena_printf(k->arena, "%s/%s", k->namespaces.v[pod->ns].name,
                        pod->name);
}

/* As tell_symmetric(), where there is no policy to name. */
static void
tell_open(struct k8s *k, const k8s_sets *from, const k8s_sets *to,
          const char *cause)
{
    size_t sender, receiver;

    if (find_less(k, k8s_members(k, from), k8s_members(k, to), &sender,
                  &receiver)) {
        k->object = arena_printf(k->arena, "Pod %s", pod_name(k, sender));
        k8s_warn(k, k->pods.v[sender].addresses.v[0].at,
                 "write a rule for it by hand, if it shall pass",
                 "left out from pods that no policy isolates for egress to "
                 "those that none isolates for ingress, as to '%s': %s",
                 pod_name(k, receiver), cause);
        k->object = NULL;
    }
}

/* Without ports, where a rule without a service cannot say it: it would speak
 * of symmetric services both ways, and a peering must name one. */
static void
write_any_as_services(struct k8s *k, const struct k8s_origin *o,
                      const k8s_sets *from, const k8s_sets *to, bool mutual)
{
    const char *cause = mutual ? "between namespaces, what is not TCP, UDP or "
                                 "ICMP"
                        : "UDP ports 1000, 4791 and 4793, which have no "
                          "direction, and what is not TCP, UDP or ICMP";
    int parts = mutual ? BETWEEN : WITHIN | BETWEEN;
    struct port_range every = { 1, UINT16_MAX };
    struct k8s_ports ports = { .any = false };

    *vec_push(k->arena, &ports.tcp) = every;
    *vec_push(k->arena, &ports.udp) = every;
    if (!mutual) {
        k8s_cut_symmetric(k, &ports);
    }
    write_one(k, o, from, to, parts, ".tcp",
              ranges_define(k->arena, k->services, "tcp", &ports.tcp));
    write_one(k, o, from, to, parts, ".udp",
              ranges_define(k->arena, k->services, "udp", &ports.udp));
    write_one(k, o, from, to, parts, ".icmp", "icmp");
    tell_symmetric(k, o->egress, cause);
    tell_symmetric(k, o->ingress, cause);
    if (!o->egress->name && !o->ingress->name) {
        tell_open(k, from, to, cause);
    }
}

void
k8s_write_ports(struct k8s *k, const struct k8s_origin *o,
                const k8s_sets *from, const k8s_sets *to,
                struct k8s_ports ports)
{
    bool mutual = from && to && k8s_are_same(k, from, to);

    if (ports.any) {
        if (mutual || !from || !to) {
            write_one(k, o, from, to, WITHIN, "", NULL);
        }
        if (from && to && (!mutual || k->per_namespace)) {
            write_any_as_services(k, o, from, to, mutual);
        }
    } else {
        if (!mutual && k8s_cut_symmetric(k, &ports)) {
            tell_symmetric(k, o->egress, "of UDP ports 1000, 4791 and 4793, "
                           "which have no direction, those that it names");
            tell_symmetric(k, o->ingress, "of UDP ports 1000, 4791 and 4793, "
                           "which have no direction, those that it names");
        }
        if (ports.tcp.n) {
            write_one(k, o, from, to, WITHIN | BETWEEN, ".tcp",
                      ranges_define(k->arena, k->services, "tcp", &ports.tcp));
        }
        if (ports.udp.n) {
            write_one(k, o, from, to, WITHIN | BETWEEN, ".udp",
                      ranges_define(k->arena, k->services, "udp", &ports.udp));
        }
    }
}

void
k8s_write_mutual(struct k8s *k, const struct k8s_origin *o,
                 const k8s_sets *pods)
{
    static const char *const services[] = { "psp", "rocev2", "uet" };

    write_one(k, o, pods, pods, WITHIN, ".mutual", NULL);
    for (size_t i = 0; k->per_namespace && i < ARRAY_SIZE(services); i++) {
        write_one(k, o, pods, pods, BETWEEN | ONCE,
                  arena_printf(k->arena, ".%s", services[i]), services[i]);
    }
}

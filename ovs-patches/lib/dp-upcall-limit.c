/*
 * Copyright (c) 2026 Bulkhead developers.
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at:
 *
 *     http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

#include <config.h>

#include "dp-upcall-limit.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gcra.h"
#include "odp-util.h"
#include "openvswitch/dynamic-string.h"
#include "ovs-rcu.h"
#include "sset.h"
#include "timeval.h"
#include "util.h"

struct limit_group {
    struct gcra bucket;
    atomic_uint64_t n_admitted;
    atomic_uint64_t n_dropped;

    /* For those who hold the mutex. */
    uint32_t rate;              /* Upcalls a second. */
    uint32_t burst;             /* Upcalls. */
    struct sset ports;          /* Their names. */
};

struct limited_port {
    struct cmap_node node;      /* By number, if that is not ODPP_NONE. */
    odp_port_t number;
    OVSRCU_TYPE(struct limit_group *) group;
};

static uint32_t
hash_number(odp_port_t number)
{
    return hash_int(odp_to_u32(number), 0);
}

void
dp_upcall_limits_init(struct dp_upcall_limits *limits)
{
    cmap_init(&limits->ports);
    ovs_mutex_init(&limits->mutex);
    shash_init(&limits->names);
    shash_init(&limits->groups);
}

/* Makes 'port' that of 'number', which may be ODPP_NONE. */
static void
set_number(struct dp_upcall_limits *limits, struct limited_port **portp,
           odp_port_t number)
    OVS_REQUIRES(limits->mutex)
{
    struct limited_port *old = *portp;
    struct limited_port *port;

    if (old->number == number) {
        return;
    }
    /* Threads that are about to read it keep the old one. */
    port = xzalloc(sizeof *port);
    port->number = number;
    ovsrcu_init(&port->group, ovsrcu_get_protected(struct limit_group *,
                                                   &old->group));
    if (number != ODPP_NONE) {
        cmap_insert(&limits->ports, &port->node, hash_number(number));
    }
    if (old->number != ODPP_NONE) {
        cmap_remove(&limits->ports, &old->node, hash_number(old->number));
    }
    ovsrcu_postpone(free, old);
    *portp = port;
}

static void
remove_port(struct dp_upcall_limits *limits, const char *name)
    OVS_REQUIRES(limits->mutex)
{
    struct limited_port *port = shash_find_and_delete(&limits->names, name);

    if (port->number != ODPP_NONE) {
        cmap_remove(&limits->ports, &port->node, hash_number(port->number));
    }
    ovsrcu_postpone(free, port);
}

static void
put_port(struct dp_upcall_limits *limits, struct limit_group *group,
         const struct dp_upcall_port *p)
    OVS_REQUIRES(limits->mutex)
{
    struct limited_port *port = shash_find_data(&limits->names, p->name);

    if (port) {
        struct limit_group *old = ovsrcu_get_protected(struct limit_group *,
                                                       &port->group);

        sset_find_and_delete(&old->ports, p->name);
        ovsrcu_set(&port->group, group);
    } else {
        port = xzalloc(sizeof *port);
        port->number = p->number;
        ovsrcu_init(&port->group, group);
        shash_add(&limits->names, p->name, port);
        if (port->number != ODPP_NONE) {
            cmap_insert(&limits->ports, &port->node,
                        hash_number(port->number));
        }
    }
    sset_add(&group->ports, p->name);
}

static struct limit_group *
create_group(struct dp_upcall_limits *limits, const char *name,
             const struct gcra_conf *conf)
    OVS_REQUIRES(limits->mutex)
{
    struct limit_group *group = xzalloc(sizeof *group);

    gcra_init(&group->bucket, conf, time_nsec());
    atomic_init(&group->n_admitted, 0);
    atomic_init(&group->n_dropped, 0);
    sset_init(&group->ports);
    shash_add(&limits->groups, name, group);
    return group;
}

int
dp_upcall_limits_set(struct dp_upcall_limits *limits, const char *name,
                     uint32_t rate, uint32_t burst,
                     const struct dp_upcall_port ports[], size_t n)
{
    struct sset leaving = SSET_INITIALIZER(&leaving);
    struct limit_group *group;
    struct gcra_conf conf;
    const char *port;

    if (!name[0] || strpbrk(name, ", ")) {
        return EINVAL;
    } else if (!burst || gcra_conf_init(&conf, GCRA_PKTPS, rate, burst)) {
        return EDOM;
    }

    ovs_mutex_lock(&limits->mutex);
    group = shash_find_data(&limits->groups, name);
    if (!group) {
        group = create_group(limits, name, &conf);
    } else {
        gcra_reconfigure(&group->bucket, &conf, time_nsec());
        sset_swap(&leaving, &group->ports);
    }
    group->rate = rate;
    group->burst = burst;
    for (size_t i = 0; i < n; i++) {
        put_port(limits, group, &ports[i]);
        sset_find_and_delete(&leaving, ports[i].name);
    }
    SSET_FOR_EACH (port, &leaving) {
        remove_port(limits, port);
    }
    ovs_mutex_unlock(&limits->mutex);

    sset_destroy(&leaving);
    return 0;
}

static void
remove_group(struct dp_upcall_limits *limits, struct shash_node *node)
    OVS_REQUIRES(limits->mutex)
{
    struct limit_group *group = node->data;
    const char *port;

    SSET_FOR_EACH (port, &group->ports) {
        remove_port(limits, port);
    }
    sset_destroy(&group->ports);
    shash_delete(&limits->groups, node);
    ovsrcu_postpone(free, group);
}

int
dp_upcall_limits_del(struct dp_upcall_limits *limits, const char *name)
{
    struct shash_node *node;

    ovs_mutex_lock(&limits->mutex);
    node = shash_find(&limits->groups, name);
    if (node) {
        remove_group(limits, node);
    }
    ovs_mutex_unlock(&limits->mutex);
    return node ? 0 : ENOENT;
}

void
dp_upcall_limits_destroy(struct dp_upcall_limits *limits)
{
    struct shash_node *node;

    ovs_mutex_lock(&limits->mutex);
    SHASH_FOR_EACH_SAFE (node, &limits->groups) {
        remove_group(limits, node);
    }
    ovs_mutex_unlock(&limits->mutex);
    shash_destroy(&limits->groups);
    shash_destroy(&limits->names);
    cmap_destroy(&limits->ports);
    ovs_mutex_destroy(&limits->mutex);
}

void
dp_upcall_limits_add_port(struct dp_upcall_limits *limits, const char *name,
                          odp_port_t number)
{
    struct shash_node *node;

    ovs_mutex_lock(&limits->mutex);
    node = shash_find(&limits->names, name);
    if (node) {
        set_number(limits, (struct limited_port **) &node->data, number);
    }
    ovs_mutex_unlock(&limits->mutex);
}

void
dp_upcall_limits_del_port(struct dp_upcall_limits *limits, const char *name)
{
    dp_upcall_limits_add_port(limits, name, ODPP_NONE);
}

bool
dp_upcall_limits_admit(const struct dp_upcall_limits *limits, odp_port_t in)
{
    const struct limited_port *port;

    CMAP_FOR_EACH_WITH_HASH (port, node, hash_number(in), &limits->ports) {
        if (port->number == in) {
            struct limit_group *group = ovsrcu_get(struct limit_group *,
                                                   &port->group);
            const uint32_t size = 0;
            uint64_t orig;

            if (gcra_admit_batch(&group->bucket, time_nsec(), &size, 1)) {
                atomic_add_relaxed(&group->n_dropped, 1, &orig);
                return false;
            }
            atomic_add_relaxed(&group->n_admitted, 1, &orig);
            return true;
        }
    }
    return true;
}

static void
show_group(const char *name, struct limit_group *group, struct ds *s)
{
    const char **ports = sset_sort(&group->ports);
    uint64_t n_admitted, n_dropped;

    atomic_read_relaxed(&group->n_admitted, &n_admitted);
    atomic_read_relaxed(&group->n_dropped, &n_dropped);
    ds_put_format(s, "group=%s,rate=%"PRIu32",burst=%"PRIu32
                  ",admitted=%"PRIu64",dropped=%"PRIu64",ports=", name,
                  group->rate, group->burst, n_admitted, n_dropped);
    for (size_t i = 0; i < sset_count(&group->ports); i++) {
        ds_put_format(s, "%s%s", i ? " " : "", ports[i]);
    }
    ds_put_char(s, '\n');
    free(ports);
}

void
dp_upcall_limits_show(const struct dp_upcall_limits *limits, struct ds *s)
{
    const struct shash_node **groups;

    ovs_mutex_lock(&limits->mutex);
    groups = shash_sort(&limits->groups);
    for (size_t i = 0; i < shash_count(&limits->groups); i++) {
        show_group(groups[i]->name, groups[i]->data, s);
    }
    ovs_mutex_unlock(&limits->mutex);
    free(groups);
}

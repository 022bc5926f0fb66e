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

#ifndef DP_UPCALL_LIMIT_H
#define DP_UPCALL_LIMIT_H 1

/* Limits of upcalls
 * =================
 *
 * A packet that no megaflow matches, and one whose actions send it to
 * userspace, costs an upcall, in the thread that polls its port.  Meters are
 * actions, so none of them comes before that.
 *
 * Ports of a datapath may be in a group, which has so many upcalls a second,
 * and a burst, for all its ports together.  What exceeds them makes none.
 * Each port is in one group at most.  A port is its name: it need not exist,
 * and is limited from the moment that it does.
 *
 * The bucket is one GCRA (gcra.h) for all threads, which never wait.  All
 * other functions may be called from any thread too. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmap.h"
#include "openvswitch/shash.h"
#include "openvswitch/types.h"
#include "ovs-thread.h"

struct ds;

#ifdef  __cplusplus
extern "C" {
#endif

struct dp_upcall_limits {
    struct cmap ports;          /* Contains "struct limited_port"s by number:
                                 * those that exist. */
    struct ovs_mutex mutex;     /* Serializes changes of all of this. */
    struct shash names;         /* Contains "struct limited_port"s by name. */
    struct shash groups;        /* Contains "struct limit_group"s by name. */
};

void dp_upcall_limits_init(struct dp_upcall_limits *);

/* The caller ensures that no other thread uses '*limits' anymore. */
void dp_upcall_limits_destroy(struct dp_upcall_limits *limits);

/* A port of a group. */
struct dp_upcall_port {
    const char *name;
    odp_port_t number;          /* ODPP_NONE if it does not exist. */
};

/* Adds group 'name' or, if there is one, changes it.  It then has these ports
 * and no others; those that were in other groups leave them.  Its counters
 * stay, and so does what its bucket holds, up to the new burst.  Returns 0,
 * EDOM if 'rate' is 0 or 'burst' is 0 or too large, or EINVAL if the name is
 * empty or has a comma or a space, and then nothing has changed. */
int dp_upcall_limits_set(struct dp_upcall_limits *, const char *name,
                         uint32_t rate, uint32_t burst,
                         const struct dp_upcall_port ports[], size_t n);

/* Removes group 'name'.  Returns 0 or ENOENT. */
int dp_upcall_limits_del(struct dp_upcall_limits *, const char *name);

/* Says that port 'name' exists, as 'number', or does not any more. */
void dp_upcall_limits_add_port(struct dp_upcall_limits *, const char *name,
                               odp_port_t number);
void dp_upcall_limits_del_port(struct dp_upcall_limits *, const char *name);

/* May a packet from 'port' make an upcall now?  Counts it. */
bool dp_upcall_limits_admit(const struct dp_upcall_limits *, odp_port_t port);

/* Appends the groups, a line each. */
void dp_upcall_limits_show(const struct dp_upcall_limits *, struct ds *);

#ifdef  __cplusplus
}
#endif

#endif /* dp-upcall-limit.h */

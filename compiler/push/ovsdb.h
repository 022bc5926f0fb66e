/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_OVSDB_H
#define PUSH_OVSDB_H 1

/* What push needs to know from the Open_vSwitch database. */

#include <stdbool.h>

#include "base/arena.h"
#include "openvswitch/ofp-port.h"
#include "smap.h"

struct bridge_info {
    const char *datapath_type;  /* "" for the kernel's. */
    const char *fail_mode;      /* "" if not set. */
    bool has_openflow14;
    bool may_be_in_band;        /* Of a controller or manager. */
    struct ofputil_port_map ports;  /* Interface name <-> OpenFlow port. */

    const char *mirrors;        /* "NAME to PORT, ...": those that copy
                                 * packets somewhere; NULL if none does. */
    struct smap types;          /* Interface name -> type, "" for "system". */
    struct smap tunnel_options; /* Of the interface PLAN_TUNNEL. */
};

/* Reads 'bridge' from the database at 'remote'.  Returns NULL, or a reason in
 * 'arena'.  'info' must be passed to bridge_info_destroy() either way. */
const char *bridge_info_read(const char *remote, const char *bridge,
                             long long int deadline, struct arena *,
                             struct bridge_info *info);
void bridge_info_destroy(struct bridge_info *);

#endif /* push/ovsdb.h */

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
#include "base/vec.h"
#include "openvswitch/ofp-port.h"
#include "smap.h"

/* What an interface says of an endpoint, see push/attached.h. */
struct bridge_attachment {
    const char *interface;
    const char *endpoint;
    const char *mac, *addresses;        /* Or NULL. */
    bool by_id;                 /* Does its "iface-id" say so? */
};

struct bridge_info {
    const char *datapath_type;  /* "system" for the kernel's. */
    const char *fail_mode;      /* "" if not set. */
    bool has_openflow14;
    const char *controllers;    /* Their targets, "TARGET, ...", or NULL. */
    bool may_be_in_band;        /* Of a manager. */
    struct ofputil_port_map ports;  /* Interface name <-> OpenFlow port... */
    unsigned int ports_seqno;   /* ...which grows when it may have changed, in
                                 * a "struct keeper"'s. */

    const char *mirrors;        /* "NAME to PORT, ...": those that copy
                                 * packets somewhere; NULL if none does. */
    struct smap types;          /* Interface name -> type, "" for "system". */
    bool telemetry;             /* PLAN_TELEMETRY of the database. */
    struct smap tunnel_options; /* Of the interface PLAN_TUNNEL. */
    VEC(struct bridge_attachment) attachments;  /* Sorted by endpoint, then
                                                 * interface. */
    struct smap endpoints;      /* Interface name -> the endpoint that it says
                                 * it is, of those that say any. */
};

/* Is what comes from an interface of this type from one sender only? */
bool push_is_station_type(const char *type);

/* A copy of the database that follows it. */
struct database;

/* The endpoint that an interface says it is, in its external_ids; or NULL.
 * Stores whether "iface-id" says so, which is another's to write. */
const char *interface_endpoint(const struct smap *external_ids, bool *by_id);

/* Connects to 'remote', and, if 'again', anew whenever that is lost. */
struct database *database_open(const char *remote, bool again);
void database_close(struct database *);         /* Accepts NULL. */

/* What may have changed of what it says. */
enum database_news {
    DATABASE_SAME,
    DATABASE_ATTACHED,          /* Only what interfaces say of endpoints... */
    DATABASE_CHANGED,           /* ...or more. */
};
enum database_news database_run(struct database *);
void database_wait(struct database *);

/* Has it ever been read?  Else returns 0 or why not, as a positive errno. */
bool database_is_known(const struct database *);
int database_error(const struct database *);

/* Says so of the database at 'remote', for that error, in 'arena'. */
const char *database_unreachable(const char *remote, int error,
                                 struct arena *arena);

/* Does it follow?  If not, why, in 'arena'. */
bool database_is_connected(const struct database *);
const char *database_trouble(const struct database *, struct arena *);

void bridge_info_init(struct bridge_info *);
void bridge_info_destroy(struct bridge_info *);

/* Adds to 'info' what it says of 'bridge'.  Returns NULL, or a reason in
 * 'arena'. */
const char *database_bridge(const struct database *, const char *bridge,
                            struct arena *, struct bridge_info *info);

/* After DATABASE_ATTACHED: brings the attachments of 'info', as that of
 * database_bridge(), up to date; its strings go to 'arena'.  Costs what has
 * changed. */
void database_attached(const struct database *, struct arena *,
                       struct bridge_info *info);

/* As database_bridge(), of the database at 'remote' as it is now.  The
 * connection stays for the next call, until bridge_info_forget(); a process
 * must not fork with it.  A database that cannot be read cannot until then. */
const char *bridge_info_read(const char *remote, const char *bridge,
                             long long int deadline, struct arena *,
                             struct bridge_info *info);
void bridge_info_forget(void);

/* Begins to read it for the first bridge_info_read(), in a thread, while the
 * caller does what needs nothing of it.  The process must not fork in
 * between. */
void bridge_info_expect(const char *remote, long long int deadline);

#endif /* push/ovsdb.h */

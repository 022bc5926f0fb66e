/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/attached-private.h"

#include <errno.h>
#include <string.h>

#include "base/nearest.h"
#include "openvswitch/poll-loop.h"
#include "ovsdb-idl.h"
#include "push/ovsdb.h"
#include "push/push.h"
#include "timeval.h"
#include "util.h"
#include "vswitch-idl.h"

/* The database, to write what interfaces say of endpoints. */

/* What is to be written. */
struct order {
    const struct push_target *target;
    const char *endpoint;
    const char *interface;      /* NULL: none is the endpoint's. */
    const char *mac, *addresses;
    struct bridge_attachment *was;      /* What it said, or NULL... */
    bool again;                 /* ...or does it say that again? */
    struct arena *arena;
    const char *reason;         /* Why it cannot be, or NULL. */
};

static struct ovsdb_idl *
open_database(const char *remote)
{
    static const struct ovsdb_idl_column *const columns[] = {
        &ovsrec_open_vswitch_col_bridges, &ovsrec_bridge_col_name,
        &ovsrec_bridge_col_ports, &ovsrec_port_col_interfaces,
        &ovsrec_interface_col_name, &ovsrec_interface_col_external_ids,
        &ovsrec_interface_col_type,
    };
    struct ovsdb_idl *idl = ovsdb_idl_create(remote, &ovsrec_idl_class, false,
                                             false);

    ovsdb_idl_set_leader_only(idl, true);
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        ovsdb_idl_add_column(idl, columns[i]);
    }
    return idl;
}

static const struct ovsrec_bridge *
find_bridge(struct ovsdb_idl *idl, struct order *order)
{
    const char *name = order->target->bridge;
    const struct ovsrec_bridge *br;

    OVSREC_BRIDGE_FOR_EACH (br, idl) {
        if (!strcmp(br->name, name)) {
            return br;
        }
    }
    order->reason = arena_printf(order->arena, "there is no bridge %s; "
                                 "ovs-vsctl list-br lists them", name);
    return NULL;
}

static const char *
copy_id(const struct ovsrec_interface *iface, const char *name,
        struct arena *arena)
{
    const char *id = smap_get(&iface->external_ids, name);

    return id ? arena_strdup(arena, id) : NULL;
}

static void
set_ids(const struct ovsrec_interface *iface, const struct order *order)
{
    const struct bridge_attachment is = {
        .endpoint = order->interface ? order->endpoint : NULL,
        .mac = order->mac,
        .addresses = order->addresses,
    };
    const struct bridge_attachment *now = order->again ? order->was : &is;
    const char *ids[][2] = {
        { "bulkhead-endpoint", now->endpoint },
        { "bulkhead-mac", now->mac },
        { "bulkhead-addresses", now->addresses },
    };
    bool by_id;

    /* What stands beside another's iface-id stays. */
    interface_endpoint(&iface->external_ids, &by_id);
    ovsrec_interface_verify_external_ids(iface);
    if (order->was && !order->again) {
        *order->was = (struct bridge_attachment) {
            .interface = order->interface,
            .endpoint = copy_id(iface, ids[0][0], order->arena),
            .mac = copy_id(iface, ids[1][0], order->arena),
            .addresses = copy_id(iface, ids[2][0], order->arena),
        };
    }
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        if (ids[i][1]) {
            ovsrec_interface_update_external_ids_setkey(iface, ids[i][0],
                                                        ids[i][1]);
        } else if (!by_id) {
            ovsrec_interface_update_external_ids_delkey(iface, ids[i][0]);
        }
    }
}

/* How to undo that 'iface' says whose it is. */
static const char *
undo(const struct ovsrec_interface *iface, bool by_id, struct order *order)
{
    return (!by_id ? "detach"
            : arena_printf(order->arena, "its iface-id says so, and is "
                           "another's to remove: %s",
                           attached_remove_id(iface->name, order->arena)));
}

/* Looks at one interface of the bridge, to attach.  Stores the one to write
 * to. */
static void
look(const struct ovsrec_interface *iface, struct order *order,
     struct nearest *nearest, const struct ovsrec_interface **found)
{
    bool by_id;
    const char *endpoint = interface_endpoint(&iface->external_ids, &by_id);
    bool same = endpoint && !strcmp(endpoint, order->endpoint);

    nearest_try(nearest, iface->name);
    if (!strcmp(iface->name, order->interface)) {
        *found = iface;
        if (!strcmp(iface->name, order->target->bridge)) {
            order->reason = arena_printf(
                order->arena, "interface %s is the bridge's own, which has "
                "the node's traffic; attach another", iface->name);
        } else if (!push_is_station_type(iface->type)) {
            order->reason = arena_printf(
                order->arena, "interface %s is of type '%s', which is no "
                "endpoint's: others' packets would come in its name; attach "
                "another", iface->name, iface->type);
        } else if (endpoint && !same) {
            order->reason = arena_printf(
                order->arena, "interface %s is attached as %s; %s%s",
                iface->name, endpoint, undo(iface, by_id, order),
                by_id ? "" : " that first");
        }
    } else if (same) {
        order->reason = arena_printf(
            order->arena, "%s is attached to interface %s; %s%s", endpoint,
            iface->name, undo(iface, by_id, order), by_id ? "" : " it first");
    }
}

/* The same, to detach. */
static void
look_for(const struct ovsrec_interface *iface, struct order *order,
         const struct ovsrec_interface **found)
{
    const char *iface_id = smap_get(&iface->external_ids, "iface-id");
    bool by_id;
    const char *endpoint = interface_endpoint(&iface->external_ids, &by_id);

    if (!endpoint || strcmp(endpoint, order->endpoint)) {
        return;
    } else if (iface_id && !strcmp(iface_id, endpoint)) {
        order->reason = arena_printf(
            order->arena, "%s is attached to interface %s; %s", endpoint,
            iface->name, undo(iface, true, order));
    } else {
        *found = iface;
    }
}

/* Adds the order to the transaction, or says why not. */
static void
carry_out(struct ovsdb_idl *idl, struct order *order)
{
    const struct ovsrec_bridge *br = find_bridge(idl, order);
    struct nearest nearest = nearest_init(order->interface
                                          ? order->interface : "");
    const struct ovsrec_interface *found = NULL;

    for (size_t i = 0; br && i < br->n_ports; i++) {
        for (size_t j = 0; j < br->ports[i]->n_interfaces; j++) {
            const struct ovsrec_interface *iface = br->ports[i]->interfaces[j];

            if (order->interface) {
                look(iface, order, &nearest, &found);
            } else {
                look_for(iface, order, &found);
            }
        }
    }
    if (order->reason) {
        return;
    } else if (found) {
        set_ids(found, order);
    } else if (order->interface) {
        order->reason = arena_printf(
            order->arena, "bridge %s has no interface %s; %s%s%s",
            order->target->bridge, order->interface,
            nearest.best ? "did you mean " : "add it first",
            nearest.best ? nearest.best : "", nearest.best ? "?" : "");
    } else {
        order->reason = arena_printf(
            order->arena, "no interface of bridge %s is attached as %s",
            order->target->bridge, order->endpoint);
    }
}

/* Returns true once the database has taken or refused the order. */
static bool
commit(struct ovsdb_idl *idl, struct order *order, struct ovsdb_idl_txn **txn)
{
    enum ovsdb_idl_txn_status status;

    if (!*txn) {
        *txn = ovsdb_idl_txn_create(idl);
        ovsdb_idl_txn_add_comment(*txn, "bulkhead: %s %s",
                                  order->interface ? "attach" : "detach",
                                  order->endpoint);
        carry_out(idl, order);
    }
    if (order->reason) {
        return true;
    }
    status = ovsdb_idl_txn_commit(*txn);
    if (status == TXN_INCOMPLETE) {
        return false;
    } else if (status == TXN_TRY_AGAIN) {
        ovsdb_idl_txn_destroy(*txn);
        *txn = NULL;
        return false;
    } else if (status != TXN_SUCCESS && status != TXN_UNCHANGED) {
        order->reason = arena_printf(order->arena, "database %s: %s",
                                     order->target->db,
                                     ovsdb_idl_txn_get_error(*txn));
    }
    return true;
}

static const char *
write_order(struct order *order)
{
    const struct push_target *target = order->target;
    long long int deadline = time_msec() + target->timeout_ms;
    struct ovsdb_idl *idl = open_database(target->db);
    struct ovsdb_idl_txn *txn = NULL;

    for (;;) {
        int error;

        ovsdb_idl_run(idl);
        if (ovsdb_idl_has_ever_connected(idl) && commit(idl, order, &txn)) {
            break;
        }
        error = (!ovsdb_idl_is_alive(idl) ? ovsdb_idl_get_last_error(idl)
                 : time_msec() >= deadline ? ETIMEDOUT : 0);
        if (error || !ovsdb_idl_is_alive(idl)) {
            order->reason = database_unreachable(
                target->db, error ? error : ECONNRESET, order->arena);
            break;
        }
        ovsdb_idl_wait(idl);
        if (txn) {
            ovsdb_idl_txn_wait(txn);
        }
        poll_timer_wait_until(deadline);
        poll_block();
    }
    if (txn) {
        ovsdb_idl_txn_destroy(txn);
    }
    ovsdb_idl_destroy(idl);
    return order->reason;
}

const char *
attached_put(const struct push_target *target, const char *endpoint,
             const char *interface, const char *mac, const char *addresses,
             struct arena *arena, struct bridge_attachment *was)
{
    struct order order = {
        .target = target, .endpoint = endpoint, .interface = interface,
        .mac = mac, .addresses = addresses, .was = was, .arena = arena,
    };

    return write_order(&order);
}

const char *
attached_put_back(const struct push_target *target, const char *endpoint,
                  struct bridge_attachment *was, struct arena *arena)
{
    struct order order = {
        .target = target, .endpoint = endpoint, .interface = was->interface,
        .was = was, .again = true, .arena = arena,
    };

    return write_order(&order);
}

const char *
attached_remove(const struct push_target *target, const char *endpoint,
                struct arena *arena)
{
    struct order order = {
        .target = target, .endpoint = endpoint, .arena = arena,
    };

    return write_order(&order);
}

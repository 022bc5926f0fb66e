/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PUSH_ATTACHED_H
#define PUSH_ATTACHED_H 1

/* Endpoints that are bound by the database: an interface of the bridge says in
 * its external_ids whose it is.
 *
 *   bulkhead-endpoint=TENANT/ENDPOINT   or iface-id, if it has a slash
 *   bulkhead-mac=MAC                    or attached-mac
 *   bulkhead-addresses="ADDRESS ..."
 *
 * What it says completes what the intent says of the endpoint, and may not
 * contradict it.  One that does, or that makes the intent wrong, is left out
 * by itself: others keep what they have.  An endpoint that several interfaces
 * say they are is none's: which of them is right nobody knows. */

#include <stdbool.h>

#include "openvswitch/shash.h"
#include "plan/plan.h"

struct bridge_info;
struct diags;
struct intent_endpoint;
struct push_target;
struct sset;

struct attached {
    struct shash all;           /* By "TENANT/ENDPOINT". */
    bool any_doubted;           /* May any wait for attached_next()? */
};

void attached_init(struct attached *);
void attached_destroy(struct attached *);

/* Takes what interfaces say now.  Adds to 'tenants' those for which that is
 * something else than before. */
void attached_update(struct attached *, const struct bridge_info *,
                     const char *node, const char *bridge,
                     struct sset *tenants);

/* Adds to 'tenants' those of which something is left out that may be right
 * once others have changed. */
void attached_waiting(const struct attached *, struct sset *tenants);

/* Adds to 'diags' why an interface cannot say this, whatever the intent is.
 * All but 'endpoint' may be NULL. */
void attached_check(const char *endpoint, const char *interface,
                    const char *mac, const char *addresses, struct arena *,
                    struct diags *);

/* Gives 'endpoint' of 'tenant' what its interface says, in 'arena'.  Adds an
 * error to 'diags' for what contradicts.  Returns true if there is
 * anything. */
bool attached_join(struct attached *, const char *tenant,
                   struct intent_endpoint *, struct arena *, struct diags *);

/* The errors came with attachments of 'tenant' (NULL: of all): leaves out
 * those that they speak of, or else those that are new.  Returns false if
 * there are none. */
bool attached_blame(struct attached *, const char *tenant,
                    const struct diags *);

/* Of the latter one may be wrong, and all others right: are there any that
 * have not been tried alone?  Lets one of them in, to be tried. */
bool attached_doubts(const struct attached *, const char *tenant);
bool attached_next(struct attached *, const char *tenant);

/* Those of 'tenant' (NULL: all) get another chance; or are good as they are
 * now: returns whether that has changed for any. */
void attached_forgive(struct attached *, const char *tenant);
bool attached_settle(struct attached *, const char *tenant);

/* The interface of the endpoint, if that is compiled; else NULL, and stores
 * why it is left out, or NULL. */
const char *attached_find(const struct attached *, const char *endpoint,
                          const char **reason);

/* What an interface says but for its endpoint, as one text in the arena.
 * (attached-port.c) */
const char *attached_said(const char *mac, const char *addresses,
                          struct arena *);

/* Why 'port' of a plan of before is not what interfaces say by now: its own
 * does not say it any more, or another thing, or another one says that it is
 * that endpoint; or NULL. */
const char *attached_differs(const struct plan_port *,
                             const struct bridge_info *, struct arena *);

/* Lets '*plan', of the bridge, be one without what attached_differs(), or if
 * 'unfit' what is not push_interface_is_fit(), if there is any.  Of an
 * interface that both plans bind by their intents, '*plan' and 'now', which
 * the bridge holds (NULL: not known), it does not matter what is said.  Adds
 * "interface INTERFACE as TENANT/ENDPOINT: REASON" to 'left_out'.  Returns
 * NULL, or why the database cannot be read. */
const char *attached_leave_out(const struct push_target *,
                               const struct plan **plan,
                               const struct plan *now, bool unfit,
                               struct arena *, plan_names *left_out);

/* Adds "interface INTERFACE as TENANT/ENDPOINT: REASON" of each that is left
 * out. */
void attached_refused(const struct attached *, struct arena *, plan_names *);

/* Lets 'interface' say that it is the endpoint's, and no other; 'mac' and
 * 'addresses' may be NULL; and stores what it said before, with an endpoint of
 * NULL if it had no bulkhead-endpoint.  Or lets it say that again; or lets
 * none say so.  Return NULL, or a reason in 'arena'. */
struct bridge_attachment;
const char *attached_put(const struct push_target *, const char *endpoint,
                         const char *interface, const char *mac,
                         const char *addresses, struct arena *,
                         struct bridge_attachment *was);
const char *attached_put_back(const struct push_target *, const char *endpoint,
                              struct bridge_attachment *was, struct arena *);
const char *attached_remove(const struct push_target *, const char *endpoint,
                            struct arena *);

#endif /* push/attached.h */

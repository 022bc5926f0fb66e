/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_INTERFACE_H
#define SEMA_INTERFACE_H 1

/* Names of interfaces that mean something else on a bridge. */

/* The port for all tunnels of a node.  What comes from it is outer packets of
 * anybody's, so it is never an endpoint's. */
#define INTERFACE_TUNNEL "bulkhead-tun0"

/* Returns why neither an endpoint nor an uplink may have an interface of this
 * name, or NULL. */
const char *interface_reserved(const char *name);

#endif /* sema/interface.h */

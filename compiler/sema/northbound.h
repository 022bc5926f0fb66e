/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_NORTHBOUND_H
#define SEMA_NORTHBOUND_H 1

/* What Bulkhead writes into the "external_ids" of its rows in OVN's northbound
 * database, for who writes them and for who reads them. */

#define NB_MARK_KEY "bulkhead"
#define NB_MARK "b17d"                  /* As COOKIE_MARK. */
#define NB_ID_KEY "bulkhead-id"         /* Unique in the table. */

#define NB_RULE_KEY "bulkhead-rule"     /* Of an ACL: the rule's name... */
#define NB_COOKIE_KEY "bulkhead-cookie" /* ...and its cookie. */
#define NB_SUBNETS_KEY "bulkhead-subnets"       /* Of a switch. */
#define NB_INTERFACE_KEY "bulkhead-interface"   /* Of a port... */
#define NB_UPLINK_KEY "bulkhead-uplink" /* ...and the uplink that it takes. */

/* Before a tenant's name in the id of its Copp, and of the Meter of that. */
#define NB_CONTROL_ID "control "

/* Before a network's name, and a space, in the ids of what is for its DHCP. */
#define NB_DHCP_ID "dhcp "

/* What "bulkhead apply" adds: the generation in which it last wrote the row;
 * in the Port_Group of all endpoints, that of the database. */
#define NB_VERSION_KEY "bulkhead-version"
#define NB_EVERYBODY "bulkhead"         /* The Port_Group's id. */

#endif /* sema/northbound.h */

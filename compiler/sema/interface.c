/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "sema/interface.h"

#include <string.h>

#include "openvswitch/ofp-port.h"

const char *
interface_reserved(const char *name)
{
    ofp_port_t port;

    if (!strcmp(name, INTERFACE_TUNNEL)) {
        return "this is the name of Bulkhead's port for tunnels";
    } else if (name[strspn(name, "0123456789")] == '\0') {
        return "OpenFlow takes a name of digits for the number of a port";
    } else if (ofputil_port_from_string(name, NULL, &port)) {
        return "this is the name of a reserved port of OpenFlow";
    }
    return NULL;
}

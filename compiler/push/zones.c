/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/run.h"

#include <arpa/inet.h>

#include "bitmap.h"
#include "openflow/nicira-ext.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofpbuf.h"
#include "push/session.h"
#include "util.h"

enum { N_ZONES = UINT16_MAX + 1 };

/* Does 'flow' say whose its zone is, and makes or ends that claim? */
static bool
changes_hands(const struct push *push, const struct flow_entry *flow)
{
    return (flow->zone && !(flow_find(&push->live, flow)
                            && flow_find(&push->wanted, flow)));
}

static struct ofpbuf *
flush_message(uint16_t zone)
{
    struct ofpbuf *msg = ofpraw_alloc(OFPRAW_NXT_CT_FLUSH_ZONE,
                                      SESSION_VERSION, 0);
    struct nx_zone_id *body = ofpbuf_put_zeros(msg, sizeof *body);

    body->zone_id = htons(zone);
    return msg;
}

void
push_flush_zones(struct push *push)
{
    struct ovs_list requests = OVS_LIST_INITIALIZER(&requests);
    unsigned long *flushed = bitmap_allocate(N_ZONES);
    struct session_error serror;

    for (size_t i = 0; i < push->n_about; i++) {
        uint16_t zone = push->about[i]->zone;

        if (changes_hands(push, push->about[i])
            && !bitmap_is_set(flushed, zone)) {
            bitmap_set1(flushed, zone);
            ovs_list_push_back(&requests, &flush_message(zone)->list_node);
        }
    }
    /* Connections that stay are nobody's, and end by themselves. */
    session_send_all(push->session, &requests, push->deadline, &serror, NULL);
    free(flushed);
}

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

/* A flow that matches ct_zone and ct_mark says whose the zone is.  Sets 'zone'
 * if 'flow' is one, and makes or ends such a claim. */
static bool
changes_hands(const struct push *push, const struct flow_entry *flow,
              uint16_t *zone)
{
    struct match match;

    minimatch_expand(&flow->match, &match);
    *zone = match.flow.ct_zone;
    return (match.wc.masks.ct_zone == UINT16_MAX
            && match.wc.masks.ct_mark == UINT32_MAX
            && !(flow_find(&push->live, flow)
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
    uint16_t zone;

    for (size_t i = 0; i < push->n_about; i++) {
        if (changes_hands(push, push->about[i], &zone)
            && !bitmap_is_set(flushed, zone)) {
            bitmap_set1(flushed, zone);
            ovs_list_push_back(&requests, &flush_message(zone)->list_node);
        }
    }
    /* Connections that stay are nobody's, and end by themselves. */
    session_send_all(push->session, &requests, push->deadline, &serror, NULL);
    free(flushed);
}

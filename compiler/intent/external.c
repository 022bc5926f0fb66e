/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "intent/decode.h"

static void
decode_attachment(struct decoder *d, const struct value *v,
                  struct intent_attachment *a)
{
    static const struct member members[] = {
        { "interface", true }, { "mac", true }, { "gateway", true },
        { "gateway_mac", false }, { NULL, false },
    };

    a->node = decode_key(v);
    if (decode_object(d, v, "an attachment", members)) {
        a->interface = decode_interface(d, v, "interface");
        decode_mac(d, v, "mac", &a->mac_text, &a->mac);
        decode_mac(d, v, "gateway_mac", &a->gateway_mac_text,
                   &a->gateway_mac);
        decode_addresses(d, value_member(v, "gateway"), false, &a->gateways);
    }
}

void
decode_external(struct decoder *d, const struct value *v,
                struct intent_external *external)
{
    static const struct member members[] = {
        { "addresses", true }, { "except", false }, { "tenants", true },
        { "nodes", true }, { NULL, false },
    };

    external->name = decode_key(v);
    if (decode_object(d, v, "an external", members)) {
        decode_addresses(d, value_member(v, "addresses"), true,
                         &external->addresses);
        decode_addresses(d, value_member(v, "except"), true,
                         &external->excepts);
        decode_tenants(d, value_member(v, "tenants"), &external->tenants);
        DECODE_EACH(d, value_member(v, "nodes"), decode_map,
                    "a map of nodes", decode_attachment,
                    &external->attachments);
    }
}

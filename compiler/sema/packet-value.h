/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SEMA_PACKET_VALUE_H
#define SEMA_PACKET_VALUE_H 1

/* The room behind packet_parse() for what Open vSwitch's parser takes for
 * something else, or does not know. */

#include <stdbool.h>

struct ofp_protocol;

/* Returns NULL, or why 'value' is none of the field 'key', which the caller
 * must free. */
char *packet_check_value(const char *key, const char *value);

/* Protocols of IP that Open vSwitch has no word for: "esp", "esp6", ... */
bool packet_parse_protocol(const char *word, const struct ofp_protocol **);

#endif /* sema/packet-value.h */

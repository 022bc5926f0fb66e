/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef SAMPLE_H
#define SAMPLE_H 1

/* Some of the random questions as frames, and what the meaning says that
 * becomes of them, for a test that sends real packets.
 *
 * Only what a host can send and one packet can show: whole packets on one
 * node, each the first of its connection or the answer to one that was
 * allowed. */

#include <stddef.h>
#include <stdint.h>

/* Prints a JSON object for each of 'n_worlds' worlds from 'seed' on:
 *
 *   "seed", "node", "intent" (its text),
 *   "packets": a list of objects with
 *     "what"     for a reader
 *     "state"    "new", or "reply" to the packet before it
 *     "kind"     "dhcp" or "multicast" if it is allowed as such, or "other"
 *     "meter"    the low 16 bits of the ids that the meter of packets which
 *                counts it may have (plan/plan.h), or null
 *     "from"     interface
 *     "frame"    in hex; at its end a token that no other frame has, as
 *                payload or padding
 *     "arrives"  [[interface, frame in hex], ...]
 *     "answer"   the MAC that the node answers with, or null */
void sample_print(uint64_t seed, size_t n_worlds, size_t n_packets);

#endif /* sample.h */

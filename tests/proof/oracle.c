/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>
#include "oracle.h"

#define NANO INT64_C(1000000000)

static void
set_contract(struct oracle *o, bool pktps, uint64_t rate, uint64_t burst)
{
    o->pktps = pktps;
    o->rate = pktps ? (tokens_t) rate : (tokens_t) rate * 1000;
    o->size = (tokens_t) burst * NANO;
}

void
oracle_init(struct oracle *o, bool pktps, uint64_t rate, uint64_t burst,
            uint64_t now)
{
    set_contract(o, pktps, rate, burst);
    o->tokens = o->size;
    o->last = now;
}

void
oracle_reconfigure(struct oracle *o, bool pktps, uint64_t rate,
                   uint64_t burst, uint64_t now)
{
    bool same_unit = pktps == o->pktps;
    tokens_t missing = o->size - oracle_tokens(o, now);

    if (missing > o->size) {
        /* It was not so early. */
        now += (uint64_t) ((missing - o->size + o->rate - 1) / o->rate);
        missing = o->size - oracle_tokens(o, now);
    }
    set_contract(o, pktps, rate, burst);
    o->tokens = same_unit && missing < o->size ? o->size - missing : 0;
    o->last = now;
}

tokens_t
oracle_cost(const struct oracle *o, uint64_t n_packets, uint64_t n_bytes)
{
    return (tokens_t) (o->pktps ? n_packets : n_bytes * 8) * NANO;
}

tokens_t
oracle_tokens(const struct oracle *o, uint64_t now)
{
    tokens_t tokens = o->tokens;

    if (now < o->last) {
        return tokens - o->rate * (o->last - now);
    }
    tokens += o->rate * (now - o->last);
    return tokens < o->size ? tokens : o->size;
}

bool
oracle_take(struct oracle *o, uint64_t now, uint64_t n_packets,
            uint64_t n_bytes)
{
    tokens_t cost = oracle_cost(o, n_packets, n_bytes);

    if (oracle_tokens(o, now) < cost) {
        return false;
    }
    if (now > o->last) {
        o->tokens = oracle_tokens(o, now);
        o->last = now;
    }
    o->tokens -= cost;
    return true;
}

uint64_t
oracle_when(const struct oracle *o, uint64_t n_packets, uint64_t n_bytes)
{
    tokens_t cost = oracle_cost(o, n_packets, n_bytes);

    if (cost > o->size) {
        return UINT64_MAX;
    }
    if (cost <= o->tokens) {
        return o->last;
    }
    return o->last + (uint64_t) ((cost - o->tokens + o->rate - 1) / o->rate);
}

uint64_t
oracle_gcra_depth(const struct oracle *o, uint64_t now)
{
    tokens_t missing = o->size - oracle_tokens(o, now);

    return (uint64_t) (o->pktps ? missing : missing / 1000);
}

void
curve_init(struct curve *c, tokens_t rate)
{
    c->rate = rate;
    c->passed = 0;
    c->low = 0;
    c->worst = 0;
}

void
curve_add(struct curve *c, uint64_t when, tokens_t cost)
{
    tokens_t before = c->passed - c->rate * when;
    tokens_t excess;

    if (before < c->low) {
        c->low = before;
    }
    c->passed += cost;
    excess = before + cost - c->low;
    if (excess > c->worst) {
        c->worst = excess;
    }
}

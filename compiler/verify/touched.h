/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_TOUCHED_H
#define VERIFY_TOUCHED_H 1

/* What changes of tables have touched, that is not proved yet. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_flow;

/* Was the meter there, before anything was touched? */
struct meter_change {
    uint32_t id;
    bool before;
};

/* What is touched. */
struct touched {
    unsigned long *who;         /* Slices. */
    struct table_flow **came;
    size_t n_came, allocated_came;
    struct table_flow **changed;        /* That came or went. */
    size_t n_changed, allocated_changed;
    struct meter_change *meters;
    size_t n_meters, allocated_meters;
};

/* Of 'n' slices, and one more. */
void touched_init(struct touched *, size_t n);
void touched_destroy(struct touched *);
void touched_clear(struct touched *, size_t n);

/* A flow came, or one that had come went; a flow came or went; a meter did,
 * that was there before or not. */
void touched_come(struct touched *, struct table_flow *);
void touched_go(struct touched *, const struct table_flow *);
void touched_change(struct touched *, struct table_flow *);
void touched_meter(struct touched *, uint32_t id, bool before);

#endif /* verify/touched.h */

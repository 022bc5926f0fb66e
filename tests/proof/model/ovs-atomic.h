/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef OVS_ATOMIC_H
#define OVS_ATOMIC_H 1

/* Stands for Open vSwitch's header of this name, so that code that is compiled
 * with it does its atomic operations in the model of model.h. */

#include "model.h"

typedef struct model_atomic atomic_uint64_t;
typedef struct model_atomic atomic_uint32_t;

#define memory_order_relaxed MODEL_RELAXED
#define memory_order_acquire MODEL_ACQUIRE
#define memory_order_release MODEL_RELEASE
#define memory_order_acq_rel MODEL_ACQ_REL

#define atomic_init(OBJECT, VALUE) model_store(OBJECT, VALUE, MODEL_RELAXED)
#define atomic_store_explicit(DST, VALUE, ORDER) \
    model_store(DST, VALUE, ORDER)
#define atomic_store_relaxed(DST, VALUE) \
    model_store(DST, VALUE, MODEL_RELAXED)
#define atomic_read_explicit(SRC, DST, ORDER) \
    ((void) (*(DST) = model_load(SRC, ORDER)))
#define atomic_read_relaxed(SRC, DST) \
    atomic_read_explicit(SRC, DST, MODEL_RELAXED)
#define atomic_compare_exchange_strong_explicit(DST, EXP, SRC, ORD1, ORD2) \
    model_cas(DST, EXP, SRC, ORD1, ORD2)
#define atomic_thread_fence(ORDER) model_fence(ORDER)

#endif /* ovs-atomic.h */

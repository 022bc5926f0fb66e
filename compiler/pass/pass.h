/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef PASS_PASS_H
#define PASS_PASS_H 1

/* Passes: each turns a valid program (ir_validate()) into another that means
 * the same.  A backend runs those that its target is better off with. */

struct arena;
struct ir_prog;

/* Merges endpoints of a tenant that every rule treats alike into groups, as
 * few as there can be. */
void pass_group(struct ir_prog *, struct arena *);

#endif /* pass/pass.h */

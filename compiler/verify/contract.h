/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef VERIFY_CONTRACT_H
#define VERIFY_CONTRACT_H 1

/* What each table must do by itself, whatever the others do: so an error is
 * found too that another table hides from all packets.
 *
 * This is the one part of the verifier that knows what tables and registers
 * are for (docs/pipeline.md).  A flow may only do what its table is for
 * (contract.def), and pass only what the intent says of whom its match and
 * what it notes name; POLICY must say what the rules say of all that could
 * come to it.  What a table takes for granted about registers is what the
 * contracts of those before it say of who sets them. */

struct proof;

/* Adds what is wrong to the result. */
void contract_ask(struct proof *);

#endif /* verify/contract.h */

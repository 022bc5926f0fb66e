/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef AGENT_PROVE_H
#define AGENT_PROVE_H 1

/* Proves what is compiled (plan/prove.h): at once what takes less than a
 * process does, else in a process of its own (agent/worker.h).  What ends
 * otherwise than in order, or too late, has proved nothing. */

#include <stdbool.h>
#include <stddef.h>

#include "plan/plan.h"

struct compiled;
struct proved;
struct prover;

enum proof_state {
    PROOF_NONE,                 /* Nothing runs. */
    PROOF_RUNS,
    PROOF_DONE,                 /* It is proved. */
    PROOF_REFUSED,              /* It is not, or it is not known. */
    PROOF_BROKEN,               /* The proof could not be made... */
    PROOF_LATE,                 /* ...or not in time: both are worth another
                                 * try. */
};

struct prover *prover_create(void);
void prover_destroy(struct prover *);   /* Accepts NULL. */

/* Proves by 'proved' (resident/prove.h), for which a proof has begun, what
 * takes less than a process would, in the place of what runs.  'known' are
 * digests as in plan_record.proved; they are known then as before.  Returns
 * true if it is proved, which prover_run() tells; it is not if 'proved' is
 * NULL. */
bool prover_try(struct prover *, const struct proved *,
                const plan_names *known, int time_ms);

/* After prover_try() has returned false: begins a process.  'bridge' is for
 * commands that are shown.  With 'proved' it first tries to prove by that. */
void prover_start(struct prover *, const struct compiled *,
                  const struct proved *, const plan_names *known,
                  const char *bridge, int time_ms);
void prover_cancel(struct prover *);

/* Looks what has become of it; tells that it ended once. */
enum proof_state prover_run(struct prover *);
void prover_wait(struct prover *);

bool prover_is_busy(const struct prover *);

/* Of the last that ended: how long it took, and of how many tenants; what is
 * known now, in the arena; or why it is not proved, a text of lines. */
struct proof_cost {
    long long int ms;
    size_t n_proved, n_tenants;
};
struct proof_cost prover_cost(const struct prover *);
void prover_known(struct prover *, struct arena *, plan_names *);
const char *prover_refusal(struct prover *);

#endif /* agent/prove.h */

/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* A compiler at fault: linked into bulkhead and bulkheadd by --wrap, it leaves
 * out the flows whose match is as the environment's FORGET says; or, if that
 * begins with '/', the file of that name.  And a verifier that waits as long
 * as there is a file of the name that STALL says, or, if a process prepares
 * proofs of changes to come, LINGER. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/source.h"
#include "plan/plan.h"
#include "resident/prove.h"
#include "verify/verify.h"

bool __real_backend_compile(const struct backend *, struct ir_prog *,
                            struct arena *, struct diags *, struct plan *);
bool __wrap_backend_compile(const struct backend *, struct ir_prog *,
                            struct arena *, struct diags *, struct plan *);

static const char *
forgotten(struct arena *arena)
{
    const char *match = getenv("FORGET");
    const struct source *source;

    if (match && match[0] == '/') {
        match = source_read(arena, match, &source) ? NULL : source->text;
    }
    return match && match[0] ? match : NULL;
}

bool
__wrap_backend_compile(const struct backend *backend, struct ir_prog *prog,
                       struct arena *arena, struct diags *diags,
                       struct plan *plan)
{
    bool ok = __real_backend_compile(backend, prog, arena, diags, plan);
    const char *match = forgotten(arena);
    size_t n = 0;

    for (size_t i = 0; ok && match && i < plan->flows.n; i++) {
        if (strcmp(plan->flows.v[i].match, match)) {
            plan->flows.v[n++] = plan->flows.v[i];
        }
    }
    plan->flows.n = ok && match ? n : plan->flows.n;
    return ok;
}

void __real_verify(const struct verify_task *, struct arena *,
                   struct verify_result *);
void __wrap_verify(const struct verify_task *, struct arena *,
                   struct verify_result *);

bool __real_proved_prove_soon(const struct proved *, int time_ms,
                              struct proved_count *);
bool __wrap_proved_prove_soon(const struct proved *, int time_ms,
                              struct proved_count *);
bool __real_proved_prove(const struct proved *, int time_ms,
                         struct proved_count *);
bool __wrap_proved_prove(const struct proved *, int time_ms,
                         struct proved_count *);

void __real_proved_prepare_left(struct proved *, const struct intent *,
                                const char *tenant, struct ds *);
void __wrap_proved_prepare_left(struct proved *, const struct intent *,
                                const char *tenant, struct ds *);

static bool
is_to_stall(const char *variable)
{
    const char *file = getenv(variable);

    return file && !access(file, F_OK);
}

static void
stall(const char *variable)
{
    while (is_to_stall(variable)) {
        usleep(10000);
    }
}

void
__wrap_proved_prepare_left(struct proved *proved, const struct intent *intent,
                           const char *tenant, struct ds *ds)
{
    stall("LINGER");
    __real_proved_prepare_left(proved, intent, tenant, ds);
}

void
__wrap_verify(const struct verify_task *task, struct arena *arena,
              struct verify_result *result)
{
    stall("STALL");
    __real_verify(task, arena, result);
}

/* What would take time is not proved soon. */
bool
__wrap_proved_prove_soon(const struct proved *proved, int time_ms,
                         struct proved_count *count)
{
    return (!is_to_stall("STALL")
            && __real_proved_prove_soon(proved, time_ms, count));
}

bool
__wrap_proved_prove(const struct proved *proved, int time_ms,
                    struct proved_count *count)
{
    stall("STALL");
    return __real_proved_prove(proved, time_ms, count);
}

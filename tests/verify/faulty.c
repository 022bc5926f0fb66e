/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* A compiler at fault: linked into bulkhead and bulkheadd by --wrap, it leaves
 * out the flows whose match is as the environment's FORGET says; or, if that
 * begins with '/', the file of that name.  And a verifier that waits as long
 * as there is a file of the name that STALL says. */

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

static bool
is_to_stall(void)
{
    const char *file = getenv("STALL");

    return file && !access(file, F_OK);
}

static void
stall(void)
{
    while (is_to_stall()) {
        usleep(10000);
    }
}

void
__wrap_verify(const struct verify_task *task, struct arena *arena,
              struct verify_result *result)
{
    stall();
    __real_verify(task, arena, result);
}

/* What would take time is not proved soon. */
bool
__wrap_proved_prove_soon(const struct proved *proved, int time_ms,
                         struct proved_count *count)
{
    return !is_to_stall() && __real_proved_prove_soon(proved, time_ms, count);
}

bool
__wrap_proved_prove(const struct proved *proved, int time_ms,
                    struct proved_count *count)
{
    stall();
    return __real_proved_prove(proved, time_ms, count);
}

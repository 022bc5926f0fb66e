/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "verify/jobs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "ovs-thread.h"
#include "util.h"
#include "verify/round.h"

/* What a process takes to begin is that of so few tenants; and so many do, as
 * each has diagrams of its own. */
enum { MIN_TENANTS = 4, MAX_JOBS = 8 };

/* The entries from 'first' on before 'end'. */
struct job {
    size_t first, end;
    pid_t pid;                  /* 0: none. */
    FILE *said;                 /* What the process says: a report, what it
                                 * knows of marks, and usages. */
};

/* After it, for each tenant of the policy whether its mark is known, and what
 * it is; then the usages. */
struct report {
    bool fine;
    size_t n_states, n_nodes, n_bytes, n_usages;
};

unsigned int
verify_n_jobs(size_t n_tenants)
{
    return MIN(MIN(count_cpu_cores(), MAX_JOBS), n_tenants / MIN_TENANTS);
}

/* Says what was found, and ends the process. */
static void OVS_NO_RETURN
report(struct round *r, FILE *to)
{
    struct proof *p = r->proof;
    size_t n = p->task->policy->tenants.n;
    struct report all = { .fine = round_is_fine(r) && proof_is_fine(p) };
    struct usage *usage;

    proof_destroy(p);
    all.n_states = p->result->n_states;
    all.n_nodes = p->result->n_nodes;
    all.n_bytes = p->result->n_bytes;
    all.n_usages = hmap_count(&p->comparison.usages);
    fwrite(&all, sizeof all, 1, to);
    if (all.fine) {
        fwrite(r->known, sizeof *r->known, n, to);
        fwrite(p->marks, sizeof *p->marks, n, to);
        HMAP_FOR_EACH (usage, node, &p->comparison.usages) {
            fwrite(usage, sizeof *usage, 1, to);
        }
    }
    _exit(fclose(to) ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Begins the job in a process of its own.  Returns false if there is none. */
static bool
begin(struct job *job, struct round *r)
{
    pid_t parent = getpid();
    int fds[2];

    if (pipe(fds)) {
        return false;
    }
    job->pid = fork();
    if (!job->pid) {
        FILE *to = fdopen(fds[1], "w");

        child_begin(parent, false);
        round_run(r, job->first, job->end);
        report(r, to);
    }
    close(fds[1]);
    job->pid = MAX(job->pid, 0);
    job->said = fdopen(fds[0], "r");
    return job->pid > 0;
}

/* Takes over what was found.  Returns false if that is not all, or if somebody
 * knows another mark. */
static bool
take_over(struct job *job, struct round *r)
{
    struct proof *p = r->proof;
    size_t n = p->task->policy->tenants.n, n_usages = 0;
    bool *known = xcalloc(n + 1, sizeof *known), fine;
    uint32_t *marks = xcalloc(n + 1, sizeof *marks);
    struct report all;
    struct usage usage;

    fine = (fread(&all, sizeof all, 1, job->said) == 1 && all.fine
            && fread(known, sizeof *known, n, job->said) == n
            && fread(marks, sizeof *marks, n, job->said) == n);
    while (fine && n_usages < all.n_usages
           && fread(&usage, sizeof usage, 1, job->said) == 1) {
        usage_count(&p->comparison, &usage);
        n_usages++;
    }
    for (size_t i = 0; fine && i < n; i++) {
        fine &= !known[i] || !r->known[i] || marks[i] == p->marks[i];
        p->marks[i] = known[i] ? marks[i] : p->marks[i];
        r->known[i] |= known[i];
    }
    free(known);
    free(marks);
    if (fine) {
        p->result->n_states += all.n_states;
        p->result->n_nodes += all.n_nodes;
        p->result->n_bytes += all.n_bytes;
        p->result->n_jobs++;
    }
    return fine && n_usages == all.n_usages;
}

/* Waits for the process, if what it finds is wanted. */
static bool
end(struct job *job, struct round *r, bool wanted)
{
    bool fine = wanted && job->pid && take_over(job, r);
    int status = 0;

    if (job->pid) {
        if (!fine) {
            kill(job->pid, SIGKILL);
        }
        while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR) {
            continue;
        }
    }
    if (job->said) {
        fclose(job->said);
    }
    return fine && !status;
}

/* How many entries are of endpoints, which come first; and are asked about. */
static size_t
count_entries(const struct proof *p, size_t *n_asked)
{
    size_t n = 0;

    *n_asked = 0;
    for (; n < p->entries.n && p->entries.v[n].endpoint; n++) {
        *n_asked += p->entries.v[n].asked;
    }
    return n;
}

/* Gives each job its entries, those of a tenant to one.  Returns how many jobs
 * there are. */
static size_t
divide(const struct proof *p, struct job jobs[], size_t n_jobs)
{
    size_t n_asked, n = count_entries(p, &n_asked), k = 0, asked = 0;

    for (size_t i = 0; i < n; i++) {
        const struct entry *entry = &p->entries.v[i];

        if (i && entry[-1].endpoint->tenant != entry->endpoint->tenant
            && asked < n_asked && asked * n_jobs >= n_asked * (k + 1)) {
            jobs[k++].end = i;
            jobs[k].first = i;
        }
        asked += entry->asked;
    }
    jobs[k].end = n;
    return n ? k + 1 : 0;
}

static bool
prove_all(struct round *r, struct job jobs[], size_t n)
{
    struct proof *p = r->proof;
    size_t n_own = jobs[n - 1].end;
    bool fine = true;

    for (size_t i = 1; i < n && fine; i++) {
        fine = begin(&jobs[i], r);
    }
    if (fine) {
        round_run(r, jobs[0].first, jobs[0].end);
        fine = round_is_fine(r) && proof_is_fine(p);
    }
    for (size_t i = 1; i < n; i++) {
        fine = end(&jobs[i], r, fine);
    }
    if (fine) {
        round_run(r, n_own, p->entries.n);
        fine = (round_is_fine(r) && proof_is_fine(p) && round_has_marks(r));
    }
    return fine;
}

bool
jobs_prove(struct proof *p)
{
    size_t n_jobs = MIN(p->task->n_jobs, p->entries.n);
    struct job *jobs;
    struct round r;
    bool fine = false;

    if (n_jobs < 2) {
        return false;
    }
    jobs = xcalloc(n_jobs + 1, sizeof *jobs);
    n_jobs = divide(p, jobs, n_jobs);
    if (n_jobs > 1) {
        round_init(&r, p);
        fine = prove_all(&r, jobs, n_jobs);
        round_destroy(&r);
        if (!fine) {
            proof_forget(p);
        }
    }
    free(jobs);
    return fine;
}

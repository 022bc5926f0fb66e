/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "telemetry/fault.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util.h"

static struct {
    uintptr_t start, end;
    uintptr_t page;             /* The size of one. */
    volatile sig_atomic_t happened;
    struct sigaction before;
} guard;

/* mmap() is no more than a system call here, so it is safe in a handler. */
static void
handle(int signal_number, siginfo_t *info, void *context)
{
    uintptr_t address = (uintptr_t) info->si_addr;

    (void) context;
    if (address >= guard.start && address < guard.end) {
        void *page = (void *) (address & ~(guard.page - 1));

        if (mmap(page, guard.page, PROT_READ,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page) {
            guard.happened = true;
            return;
        }
    }
    signal(signal_number, SIG_DFL);     /* It comes again, and is fatal. */
}

void
fault_guard(const void *map, size_t size)
{
    struct sigaction action = { .sa_sigaction = handle,
                                .sa_flags = SA_SIGINFO };

    ovs_assert(!guard.start);
    guard.page = sysconf(_SC_PAGESIZE);
    guard.start = (uintptr_t) map;
    guard.end = guard.start + size;
    guard.happened = false;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &guard.before);
}

void
fault_unguard(void)
{
    sigaction(SIGBUS, &guard.before, NULL);
    guard.start = guard.end = 0;
}

bool
fault_happened(void)
{
    return guard.happened;
}

/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef BENCH_GENERATE_H
#define BENCH_GENERATE_H 1

/* Intents of any size, as make-intent.py writes them, for the benchmarks of
 * the compiler: 20 endpoints and 40 rules a tenant, unless that is changed. */

enum { N_ENDPOINTS = 20, N_RULES = 40 };
extern struct tenant_size {
    int endpoints, rules;
} tenant_size;

/* Runs 'command', which is make-intent.py and its options and ends with a null
 * pointer, with these sizes and more options.  Returns what it writes, to be
 * freed; exits if it fails. */
char *generate(char **command, int n_tenants, const char *more);

/* CPU time of the process. */
double now_ms(void);

/* Runs 'line' for each of 'n' sizes, each in a process of its own, so that
 * none finds the memory of another.  Returns EXIT_*. */
int each_in_a_process(const int *sizes, int n, void (*line)(int size));

#endif /* generate.h */

/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef CLI_REPORT_H
#define CLI_REPORT_H 1

/* Diagnostics on their way out: as text on standard error, at once; or, after
 * report_as_json(), as one JSON array on standard output, when the command
 * ends. */

struct diags;

void report_as_json(void);
void report_diags(struct diags *);

/* A note without a place, as "LABEL: NAME NAME...", if there are names: as
 * text, of DIAG_MAX of them and how many more there are. */
void report_names(const char *label, const char *const *names, unsigned int n);

/* Prints what report_as_json() holds back. */
void report_end(void);

#endif /* cli/report.h */

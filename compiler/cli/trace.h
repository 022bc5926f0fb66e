/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef CLI_TRACE_H
#define CLI_TRACE_H 1

/* What "trace" prints about a packet. */

struct meaning;
struct meaning_question;

/* Both print on standard output.  'from' is what --from says, 'note' a remark
 * for the reader or NULL. */
void trace_print_table(const struct meaning_question *,
                       const struct meaning *, const char *from,
                       const char *note);
void trace_print_json(const struct meaning_question *,
                      const struct meaning *, const char *from,
                      const char *note);

#endif /* cli/trace.h */

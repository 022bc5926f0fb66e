/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef CLI_TRACE_H
#define CLI_TRACE_H 1

/* The rooms behind "trace". */

#include <stdbool.h>

struct arena;
struct cli_options;
struct flow;
struct flow_wildcards;
struct json;
struct meaning;
struct meaning_question;
struct policy;
struct policy_attachment;
struct policy_endpoint;

/* What --from begins with if it is no endpoint, nor POLICY_EXTERNAL. */
#define TRACE_TUNNEL "tunnel:"

bool trace_is_external(const struct cli_options *);

/* The attachment that --from and --node name, once 'packet' is filled in as
 * its router would; prints why that cannot be, and returns NULL. */
const struct policy_attachment *trace_enter(const struct policy *,
                                            const struct cli_options *,
                                            const struct flow_wildcards *given,
                                            struct flow *packet);

/* The same for a tunnel between two nodes, whose outer header 'packet' gets;
 * false if that cannot be. */
bool trace_enter_tunnel(const struct policy *, const struct cli_options *,
                        const struct flow_wildcards *given, struct flow *);

/* What a reader would look for in vain, in the arena: of what a VF in legacy
 * mode sends; of what was denied without a rule, if it is for such a VF, else
 * NULL. */
const char *trace_legacy_note(const struct policy *,
                              const struct meaning_question *,
                              const struct meaning *, struct arena *);
const char *trace_to_legacy_note(const struct policy *,
                                 const struct meaning_question *,
                                 const struct meaning *, struct arena *);

/* Both print on standard output.  'from' is what --from says, 'note' a remark
 * for the reader or NULL. */
void trace_print_table(const struct meaning_question *,
                       const struct meaning *, const char *from,
                       const char *note);
void trace_print_json(const struct meaning_question *,
                      const struct meaning *, const char *from,
                      const char *note);

/* The meters that the packet passes, or its copy, that is for 'to'; NULL: for
 * outside.  It is allowed and forwarded. */
void trace_print_meters(const struct meaning *,
                        const struct policy_endpoint *to);
struct json *trace_meters_json(const struct meaning *,
                               const struct policy_endpoint *to);

#endif /* cli/trace.h */

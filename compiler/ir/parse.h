/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef IR_PARSE_H
#define IR_PARSE_H 1

/* What parse.c, which takes lines apart, and parse-value.c share. */

#include "ir/ops.h"
#include "openvswitch/hmap.h"
#include "openvswitch/shash.h"

struct ir_parser {
    const struct source *source;
    struct arena *arena;
    struct diags *diags;
    struct ir_prog *prog;
    struct shash records[N_IR_OPS];     /* By name. */
    struct hmap groups;         /* For ir_parse_value(). */
    size_t at, end;             /* Of the line: what is left of it. */
    struct span word;           /* The last that was read. */
};

/* Parses 'word', which this may change, to the member at 'm' that 'field' is.
 * Returns NULL, or what is wrong. */
const char *ir_parse_value(struct ir_parser *, const struct ir_field *,
                           void *m, char *word);

#endif /* ir/parse.h */

/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef IR_VALIDATE_H
#define IR_VALIDATE_H 1

/* What validate.c, which looks at records, validate-meter.c, validate-rule.c
 * and validate-value.c share. */

#include "hmapx.h"
#include "ir/ops.h"
#include "openvswitch/compiler.h"
#include "sset.h"

struct ir_validator {
    const struct ir_prog *prog;
    struct diags *diags;
    struct hmapx records;       /* That came before. */
    struct sset taken;          /* What may be there once. */
    const char *what, *name;    /* Of the record at hand. */
    const struct ir_place *place;       /* Its, or NULL. */
    size_t n;                   /* Records of its op before it. */
    enum ir_op op;
    bool failed;
};

/* Adds an error about the record at hand. */
void ir_invalid(struct ir_validator *, const char *format, ...)
    OVS_PRINTF_FORMAT(2, 3);

/* The formatted thing may be there once in a program. */
void ir_once(struct ir_validator *, const char *format, ...)
    OVS_PRINTF_FORMAT(2, 3);

/* Is 'name' "TENANT/..."? */
void ir_check_prefix(struct ir_validator *, const struct ir_tenant *,
                     const char *name);

/* Checks what no field of a meter by itself shows. */
void ir_validate_meter(struct ir_validator *, const struct ir_meter *);

/* The same of a rule. */
void ir_validate_rule(struct ir_validator *, const struct ir_rule *);

/* The same of what DPDK is to do. */
void ir_validate_dpdk(struct ir_validator *, const struct ir_dpdk *);
void ir_validate_dpdk_port(struct ir_validator *, const struct ir_dpdk_port *);

/* The same of a VF in legacy mode. */
void ir_validate_vf(struct ir_validator *, const struct ir_vf *);

/* Who pays for others has meters for it. */
void ir_validate_charges(struct ir_validator *);

/* Checks the member at 'm' that 'field' is, by itself. */
void ir_validate_value(struct ir_validator *, const struct ir_field *,
                       const void *m);

#endif /* ir/validate.h */

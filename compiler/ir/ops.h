/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef IR_OPS_H
#define IR_OPS_H 1

/* ops.def as tables, for print.c, parse.c and validate.c. */

#include "ir/ir.h"

/* The first is the program itself, and the first line of its text. */
enum ir_op {
    IR_OP_prog,
#define IR_OP(OP, LIST) IR_OP_##OP,
#include "ir/ops.def"
    N_IR_OPS,
};

/* What a member is in C, and in the text. */
enum ir_type {
    IR_TYPE_WORD,               /* const char *: see ir_is_word(). */
    IR_TYPE_WORDS,              /* ir_names: WORD,WORD,... */
    IR_TYPE_DECIMAL,            /* uintN_t. */
    IR_TYPE_NUMBERS,            /* ir_numbers: DECIMAL,DECIMAL,... */
    IR_TYPE_HEX,                /* uintN_t: 0x.... */
    IR_TYPE_FLAG,               /* bool: the keyword alone. */
    IR_TYPE_KIND,               /* enum rule_kind: rule_kind_name(). */
    IR_TYPE_EXCEED,             /* uint8_t: exceed_format(); drop is none. */
    IR_TYPE_MAC,                /* struct eth_addr. */
    IR_TYPE_ADDRESS,            /* struct in6_addr; :: is none. */
    IR_TYPE_ADDRESSES,          /* ir_addresses: ADDRESS,... */
    IR_TYPE_PREFIXES,           /* ir_prefixes: ADDRESS/PLEN,... */
    IR_TYPE_MATCHES,            /* ir_matches: tcp:80,udp:1-9,icmp,... */
    IR_TYPE_NODE,               /* Pointers to records: their names. */
    IR_TYPE_TENANT,
    IR_TYPE_TENANTS,            /* ir_tenant_vec: NAME,NAME,... */
    IR_TYPE_EXTERNAL,
    IR_TYPE_NETWORK,
    IR_TYPE_ENDPOINT,
    IR_TYPE_METER,
    IR_TYPE_SERVICE,
    IR_TYPE_CLASS,
    IR_TYPE_GROUP,              /* Pointer to a group: its number, 0x.... */
    IR_TYPE_SIDE,               /* struct ir_side: names of endpoints, then of
                                 * parts. */
    IR_TYPE_PLACE,              /* struct ir_place: LINE:POINTER. */
};

enum ir_presence { IR_OPTIONAL, IR_REQUIRED };

struct ir_field {
    enum ir_op op;
    const char *keyword;
    enum ir_type type;
    size_t offset, size;        /* In the record. */
    enum ir_presence presence;
    uint64_t min, max;
};

/* Sorted by op; the first of an op is its name, and begins its line. */
extern const struct ir_field ir_fields[];
extern const size_t n_ir_fields;

struct ir_protocol {
    const char *name;
    uint8_t number;             /* IPPROTO_*. */
};
extern const struct ir_protocol ir_protocols[];
extern const size_t n_ir_protocols;

/* Calls 'visit' for each record, in the order of the text. */
void ir_walk(const struct ir_prog *,
             void (*visit)(enum ir_op, const void *record, void *aux),
             void *aux);

/* Numbers of any size; 'member' is where 'field' is in a record. */
uint64_t ir_number(const struct ir_field *, const void *member);
void ir_set_number(const struct ir_field *, void *member, uint64_t);

/* Is 's' of one or more letters, digits and ". _ - / : ( )" only?  All that
 * the language takes for a name is, and what is made of names. */
bool ir_is_word(const char *s);

/* Is it that, but that a "/" in a name is "~1", as in the JSON pointer to a
 * binding? */
bool ir_is_pointer(const char *s);

#endif /* ir/ops.h */

/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/ops.h"

#include <string.h>

#include "sema/ident.h"
#include "util.h"

const struct ir_field ir_fields[] = {
#define IR_FIELD(OP, MEMBER, KEYWORD, TYPE, PRESENCE, MIN, MAX)         \
    { IR_OP_##OP, KEYWORD, IR_TYPE_##TYPE,                              \
      offsetof(struct ir_##OP, MEMBER),                                 \
      sizeof(((struct ir_##OP *) NULL)->MEMBER),                        \
      IR_##PRESENCE, MIN, MAX },
#include "ir/ops.def"
};
const size_t n_ir_fields = ARRAY_SIZE(ir_fields);

const struct ir_protocol ir_protocols[] = {
    { "icmp", IPPROTO_ICMP },
    { "tcp", IPPROTO_TCP },
    { "udp", IPPROTO_UDP },
    { "esp", IPPROTO_ESP },
    { "icmpv6", IPPROTO_ICMPV6 },
};
const size_t n_ir_protocols = ARRAY_SIZE(ir_protocols);

void
ir_walk(const struct ir_prog *prog,
        void (*visit)(enum ir_op, const void *record, void *aux), void *aux)
{
    visit(IR_OP_prog, prog, aux);
#define IR_OP(OP, LIST)                                                 \
    for (size_t i = 0; i < prog->LIST.n; i++) {                         \
        visit(IR_OP_##OP, prog->LIST.v[i], aux);                        \
    }
#include "ir/ops.def"
}

uint64_t
ir_number(const struct ir_field *f, const void *member)
{
    switch (f->size) {
    case 1: return *(const uint8_t *) member;
    case 2: return *(const uint16_t *) member;
    case 4: return *(const uint32_t *) member;
    case 8: return *(const uint64_t *) member;
    }
    OVS_NOT_REACHED();
}

void
ir_set_number(const struct ir_field *f, void *member, uint64_t number)
{
    switch (f->size) {
    case 1: *(uint8_t *) member = number; return;
    case 2: *(uint16_t *) member = number; return;
    case 4: *(uint32_t *) member = number; return;
    case 8: *(uint64_t *) member = number; return;
    }
    OVS_NOT_REACHED();
}

#define WORD "abcdefghijklmnopqrstuvwxyz"                               \
             "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:()"

static bool
is_of(const char *s, const char *chars)
{
    size_t n = strspn(s, chars);

    return n && !s[n];
}

bool
ir_is_word(const char *s)
{
    return is_of(s, WORD);
}

bool
ir_is_pointer(const char *s)
{
    return is_of(s, WORD"~");
}

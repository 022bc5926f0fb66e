/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "ir/parse.h"

#include <stdarg.h>
#include <string.h>

#include "base/diag.h"
#include "util.h"

/* The next word of the line, or NULL at its end. */
static char *
next_word(struct ir_parser *p)
{
    const char *text = p->source->text;

    while (p->at < p->end && text[p->at] == ' ') {
        p->at++;
    }
    p->word = (struct span) { p->source, p->at, p->at };
    while (p->at < p->end && text[p->at] != ' ') {
        p->at++;
    }
    p->word.end = p->at;
    return (p->word.end == p->word.start ? NULL
            : arena_strndup(p->arena, text + p->word.start,
                            p->word.end - p->word.start));
}

/* Adds an error at the last word.  Returns false. */
static bool OVS_PRINTF_FORMAT(2, 3)
fail(struct ir_parser *p, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    diag_add(p->diags, DIAG_ERROR, p->word, NULL, format, args);
    va_end(args);
    return false;
}

/* The field of 'op' that 'keyword' names; its first if 'keyword' is NULL. */
static const struct ir_field *
find_field(enum ir_op op, const char *keyword)
{
    for (size_t i = 0; i < n_ir_fields; i++) {
        if (ir_fields[i].op == op
            && (!keyword || !strcmp(ir_fields[i].keyword, keyword))) {
            return &ir_fields[i];
        }
    }
    return NULL;
}

static bool
parse_field(struct ir_parser *p, const struct ir_field *f, void *record)
{
    char *word = f->type == IR_TYPE_FLAG ? NULL : next_word(p);
    const char *reason = (!word && f->type != IR_TYPE_FLAG
                          ? "a value is missing"
                          : ir_parse_value(p, f, (char *) record + f->offset,
                                           word));

    return reason ? fail(p, "%s: %s", f->keyword, reason) : true;
}

/* Parses the fields of the line, the first of which is the name. */
static bool
parse_fields(struct ir_parser *p, enum ir_op op, void *record)
{
    const struct ir_field *name = find_field(op, NULL), *f = name;
    uint64_t seen = 0;          /* 1-bits: fields, from the name on. */

    do {
        const char *keyword;

        seen |= UINT64_C(1) << (f - name);
        if (!parse_field(p, f, record)) {
            return false;
        }
        keyword = next_word(p);
        f = keyword ? find_field(op, keyword) : NULL;
        if (keyword && (!f || seen >> (f - name) & 1)) {
            return fail(p, f ? "this stands twice" : "there is no such field");
        }
    } while (f);

    for (f = name; f < &ir_fields[n_ir_fields] && f->op == op; f++) {
        if (f->presence == IR_REQUIRED && !(seen >> (f - name) & 1)) {
            return fail(p, "'%s' is missing", f->keyword);
        }
    }
    return true;
}

/* What follows from the other members of an endpoint. */
static void
complete_endpoint(struct ir_parser *p, struct ir_endpoint *e)
{
    struct ir_tenant *tenant = shash_find_data(
        &p->records[IR_OP_tenant], e->network->tenant->name);
    struct ir_network *network = shash_find_data(&p->records[IR_OP_network],
                                                 e->network->name);

    e->index = p->prog->endpoints.n;
    e->tenant = tenant;
    tenant->n_endpoints++;
    if (!e->node) {
        tenant->here = network->here = true;
    }
}

static void
complete_part(struct ir_parser *p, struct ir_part *part)
{
    struct ir_external *external = shash_find_data(
        &p->records[IR_OP_external], part->external->name);

    part->index = p->prog->parts.n;
    external->n_parts++;
}

/* Adds a record whose fields are parsed; 'name' is where its name stands. */
static void
add_record(struct ir_parser *p, enum ir_op op, void *record, struct span name)
{
    const struct ir_field *place = find_field(op, "at");

    if (place) {
        struct ir_place *at = (void *) ((char *) record + place->offset);

        at->span = name;
    }
    if (op == IR_OP_endpoint) {
        complete_endpoint(p, record);
    } else if (op == IR_OP_part) {
        complete_part(p, record);
    }
    switch (op) {
    case IR_OP_prog:
        break;
#define IR_OP(OP, LIST)                                                 \
    case IR_OP_##OP:                                                    \
        *vec_push(p->arena, &p->prog->LIST) = record;                   \
        break;
#include "ir/ops.def"
    case N_IR_OPS:
        OVS_NOT_REACHED();
    }
}

/* Parses one line, from p->at to p->end. */
static bool
parse_line(struct ir_parser *p)
{
    static const size_t sizes[N_IR_OPS] = {
#define IR_OP(OP, LIST) [IR_OP_##OP] = sizeof(struct ir_##OP),
#include "ir/ops.def"
    };
    const char *word = next_word(p);
    const struct ir_field *f = ir_fields;

    if (!word || word[0] == '#') {
        return true;
    }
    while (f < &ir_fields[n_ir_fields]
           && (f != find_field(f->op, NULL) || strcmp(f->keyword, word))) {
        f++;
    }
    if (f == &ir_fields[n_ir_fields]) {
        return fail(p, "there is no such record");
    } else if (!p->prog != (f->op == IR_OP_prog)) {
        return fail(p, "a program begins with one '%s' and its name",
                    ir_fields[0].keyword);
    }

    size_t rest = p->at;
    const char *name = next_word(p);
    struct span span = p->word;
    void *record = (p->prog ? arena_zalloc(p->arena, sizes[f->op])
                    : (p->prog = arena_zalloc(p->arena, sizeof *p->prog)));

    p->at = rest;
    if (!parse_fields(p, f->op, record)) {
        return false;
    } else if (!shash_add_once(&p->records[f->op], name, record)) {
        p->word = span;
        return fail(p, "this %s stands twice", f->keyword);
    }
    add_record(p, f->op, record, span);
    return true;
}

static bool
parse_lines(struct ir_parser *p)
{
    const struct source *source = p->source;

    for (size_t line = 1; line <= source->n_lines; line++) {
        size_t len;
        const char *text = source_line(source, line, &len);

        p->at = text - source->text;
        p->end = p->at + len;
        if (!parse_line(p)) {
            return false;
        }
    }
    return p->prog || fail(p, "there is no program");
}

struct ir_prog *
ir_parse(const struct source *source, struct arena *arena,
         struct diags *diags)
{
    struct ir_parser p = {
        .source = source, .arena = arena, .diags = diags,
        .groups = HMAP_INITIALIZER(&p.groups),
    };
    const char *null = memchr(source->text, 0, source->len);
    bool ok;

    for (int i = 0; i < N_IR_OPS; i++) {
        shash_init(&p.records[i]);
    }
    if (null) {
        size_t at = null - source->text;

        p.word = (struct span) { source, at, at + 1 };
    }
    ok = null ? fail(&p, "this is a null byte") : parse_lines(&p);
    for (int i = 0; i < N_IR_OPS; i++) {
        shash_destroy(&p.records[i]);
    }
    hmap_destroy(&p.groups);
    if (ok) {
        ir_name_sides(p.prog, arena);
        ok = ir_validate(p.prog, diags);
    }
    return ok ? p.prog : NULL;
}

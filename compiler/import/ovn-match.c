/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "import/ovn.h"

#include <ctype.h>
#include <string.h>

#include "util.h"

/* Expressions of OVN (ovn-sb(5), "Expressions") as alternatives.  As OVN does,
 * a negation turns what is in it: !(a || b) is !a && !b, and !(f == v) is f !=
 * v. */

enum {
    MAX_DEPTH = 100,
    MAX_BOXES = 10000,          /* Alternatives of a match. */
};

enum token { T_END, T_WORD, T_VALUE, T_OP, T_BAD };

struct parser {
    struct ovn *m;
    const char *p;              /* Behind the token. */
    enum token token;
    const char *text;           /* "$set", "@group", "80", "==", "(". */
    bool to_lport;
    int depth;
    bool compares;              /* The last operand has a relation. */
    bool failed;
    struct ovn_match *out;
};

static const struct {
    const char *text;
    enum ovn_relation relation, negated, swapped;
} relations[] = {
    { "==", OVN_EQ, OVN_NE, OVN_EQ },
    { "!=", OVN_NE, OVN_EQ, OVN_NE },
    { "<", OVN_LT, OVN_GE, OVN_GT },
    { "<=", OVN_LE, OVN_GT, OVN_GE },
    { ">", OVN_GT, OVN_LE, OVN_LT },
    { ">=", OVN_GE, OVN_LT, OVN_LE },
};

static ovn_boxes parse_expression(struct parser *, bool negated);

static void
take(struct parser *p, enum token token, size_t n)
{
    p->token = token;
    p->text = arena_strndup(p->m->arena, p->p, n);
    p->p += n;
}

static bool
is_word(char c)
{
    return isalnum((unsigned char) c) || (c && strchr("_.:/", c));
}

static bool
is_name(char c)
{
    return is_word(c) && c != ':' && c != '/';
}

/* A name of a port, in quotes. */
static void
take_string(struct parser *p)
{
    size_t n = strcspn(p->p + 1, "\"\\");

    if (p->p[n + 1] != '"') {
        p->failed = true;       /* The end, or a backslash. */
        return;
    }
    p->token = T_VALUE;
    p->text = arena_printf(p->m->arena, "\"%.*s", (int) n, p->p + 1);
    p->p += n + 2;
}

/* Reads the next token. */
static void
advance(struct parser *p)
{
    static const char *const ops[] = { "&&", "||", "==", "!=", "<=", ">=",
                                       "<", ">", "!", "(", ")", "{", "}",
                                       ",", "[", "]" };
    size_t n = 0;

    p->p += strspn(p->p, " \t\r\n");
    p->token = *p->p ? T_BAD : T_END;
    p->text = "";
    if (*p->p == '$' || *p->p == '@') {
        for (n = 1; is_name(p->p[n]); n++) {
            continue;
        }
        p->failed |= n == 1 || isdigit((unsigned char) p->p[1]);
        take(p, T_VALUE, n);
    } else if (is_word(*p->p)) {
        while (is_word(p->p[n])) {
            n++;
        }
        take(p, isdigit((unsigned char) *p->p) || memchr(p->p, ':', n)
             ? T_VALUE : T_WORD, n);
    } else if (*p->p == '"') {
        take_string(p);
    }
    for (size_t i = 0; p->token == T_BAD && i < ARRAY_SIZE(ops); i++) {
        if (!strncmp(p->p, ops[i], strlen(ops[i]))) {
            take(p, T_OP, strlen(ops[i]));
        }
    }
    p->failed |= p->token == T_BAD;
}

static bool
at(const struct parser *p, const char *op)
{
    return p->token == T_OP && !strcmp(p->text, op);
}

static bool
skip(struct parser *p, const char *op)
{
    bool found = at(p, op);

    if (found) {
        advance(p);
    }
    return found;
}

/* Takes a relation; -1 if there is none. */
static int
take_relation(struct parser *p)
{
    for (size_t i = 0; i < ARRAY_SIZE(relations); i++) {
        if (skip(p, relations[i].text)) {
            return i;
        }
    }
    return -1;
}

static ovn_names
take_values(struct parser *p, bool *list)
{
    ovn_names values = VEC_INIT;

    *list = skip(p, "{");
    do {
        if (p->token != T_VALUE) {
            p->failed = true;
            break;
        }
        *vec_push(p->m->arena, &values) = p->text;
        if (p->text[0] == '@') {
            p->out->at = ovn_and(p->m, p->out->at,
                                 ovn_find_set(p->m, p->text)->at);
        }
        advance(p);
        if (*list) {
            skip(p, ",");
        }
    } while (*list && !at(p, "}") && !p->failed);
    if (*list && !skip(p, "}")) {
        p->failed = true;
    }
    return values;
}

/* A part of a field, "ip.dscp[0..2]", says something that nobody here
 * knows. */
static const char *
take_field(struct parser *p)
{
    const char *field = p->text;

    if (p->token != T_WORD) {
        p->failed = true;
        return "";
    }
    advance(p);
    if (skip(p, "[")) {
        advance(p);
        p->failed |= !skip(p, "]");
        field = arena_printf(p->m->arena, "%s[]", field);
    }
    return field;
}

static ovn_boxes
both(struct parser *p, const ovn_boxes *a, const ovn_boxes *b)
{
    ovn_boxes out = VEC_INIT;

    for (size_t i = 0; i < a->n && !ovn_is_too_much(p->m); i++) {
        for (size_t j = 0; j < b->n && out.n <= MAX_BOXES; j++) {
            ovn_conjoin(p->m, &a->v[i], &b->v[j], &out);
        }
    }
    p->failed |= out.n > MAX_BOXES || ovn_is_too_much(p->m);
    return out;
}

static ovn_boxes
either(struct parser *p, const ovn_boxes *a, const ovn_boxes *b)
{
    ovn_boxes out = *a;

    for (size_t i = 0; i < b->n; i++) {
        *vec_push(p->m->arena, &out) = b->v[i];
    }
    p->failed |= out.n > MAX_BOXES;
    return out;
}

static ovn_boxes
compare(struct parser *p, const char *field, enum ovn_relation relation,
        const ovn_names *values, bool list)
{
    ovn_boxes boxes = VEC_INIT;

    p->compares = true;
    p->out->is_void |= !ovn_takes(p->m, field, relation, values, list);
    ovn_field(p->m, field, relation, values, p->to_lport, &boxes);
    return boxes;
}

/* Do both of a range go up, or down? */
static bool
is_range(enum ovn_relation a, enum ovn_relation b)
{
    return ((a == OVN_LT || a == OVN_LE) && (b == OVN_LT || b == OVN_LE))
           || ((a == OVN_GT || a == OVN_GE) && (b == OVN_GT || b == OVN_GE));
}

/* "VALUE", or "VALUE OP FIELD", which may go on. */
static ovn_boxes
parse_from_value(struct parser *p, bool negated)
{
    bool list, list2;
    ovn_names values = take_values(p, &list);
    int first = take_relation(p), second;
    ovn_boxes boxes = VEC_INIT;
    const char *field;

    if (first < 0) {
        bool one = values.n == 1 && !strcmp(values.v[0], "1");

        p->failed |= list || (!one && (values.n != 1
                                       || strcmp(values.v[0], "0")));
        if (one != negated) {
            ovn_add_box(p->m, &boxes);
        }
        return boxes;
    }
    field = take_field(p);
    boxes = compare(p, field, negated
                    ? relations[relations[first].swapped].negated
                    : relations[first].swapped, &values, list);
    second = take_relation(p);
    if (second >= 0) {
        ovn_boxes more;

        p->out->is_void |= !is_range(relations[first].relation,
                                        relations[second].relation);
        values = take_values(p, &list2);
        more = compare(p, field, negated ? relations[second].negated
                       : relations[second].relation, &values, list2);
        boxes = (negated ? either : both)(p, &boxes, &more);
    }
    return boxes;
}

static ovn_boxes
parse_relation(struct parser *p, bool negated)
{
    ovn_boxes boxes = VEC_INIT;
    const char *field;
    int relation;

    p->compares = false;
    if (p->token == T_VALUE || at(p, "{")) {
        return parse_from_value(p, negated);
    }
    field = take_field(p);
    relation = take_relation(p);
    if (relation < 0) {
        p->out->is_void |= !ovn_takes_test(field, negated);
        ovn_predicate(p->m, field, negated, &boxes);
    } else {
        bool list;
        ovn_names values = take_values(p, &list);

        boxes = compare(p, field, negated ? relations[relation].negated
                        : relations[relation].relation, &values, list);
    }
    return boxes;
}

static ovn_boxes
parse_unary(struct parser *p, bool negated)
{
    ovn_boxes boxes = VEC_INIT;

    if (p->failed || ++p->depth > MAX_DEPTH) {
        p->failed = true;
        return boxes;
    }
    if (skip(p, "!")) {
        p->out->is_void |= at(p, "!");
        boxes = parse_unary(p, !negated);
        p->out->is_void |= p->compares;
    } else if (skip(p, "(")) {
        boxes = parse_expression(p, negated);
        p->failed |= !skip(p, ")");
        p->compares = false;
    } else {
        boxes = parse_relation(p, negated);
    }
    p->depth--;
    return boxes;
}

/* OVN wants parentheses where both operators stand. */
static ovn_boxes
parse_expression(struct parser *p, bool negated)
{
    ovn_boxes boxes = parse_unary(p, negated);
    const char *op = at(p, "&&") ? "&&" : "||";

    while (!p->failed && skip(p, op)) {
        ovn_boxes more = parse_unary(p, negated);

        boxes = ((op[0] == '&') != negated ? both : either)(p, &boxes, &more);
    }
    return boxes;
}

bool
ovn_parse_match(struct ovn *m, const char *s, bool to_lport,
                struct ovn_match *out)
{
    struct parser p = { .m = m, .p = s, .to_lport = to_lport, .out = out };

    *out = (struct ovn_match) { .is_void = false };
    p.failed = ovn_is_too_much(m);
    advance(&p);
    out->boxes = parse_expression(&p, false);
    return !p.failed && p.token == T_END;
}

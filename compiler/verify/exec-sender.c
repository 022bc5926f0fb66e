/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* What is shared by packets of different senders.
 *
 * Once the tables have seen that a packet tells the truth about who sent it,
 * hardly anything depends on that any more: senders of a group differ in one
 * register, of which the tables from there on ask for single bits only, so as
 * to compare it with the receiver.  So they are run once for all of them, with
 * a digit of the packet, F_SENDER, that says which of them it is, and what
 * that register holds as a term over it; then each takes what is said of it.
 *
 * Who is alike is taken from the flows: those that set registers to the same
 * but for that one.  That is a guess, and does no harm: whatever values are
 * run together, each gets what the tables do with it. */

#include <stdlib.h>
#include <string.h>

#include "openvswitch/ofp-actions.h"
#include "util.h"
#include "verify/exec-private.h"

#define N_REGISTERS (F_REG15 + 1)
enum { MAX_ALIKE = 1 << 12 };

/* What a flow sets registers to, all of a register at once. */
struct setting {
    uint64_t set;               /* 1-bits: registers. */
    uint64_t values[N_REGISTERS];
};

/* A value of the register, set together with a setting of the others. */
struct member {
    uint64_t value;
    uint32_t group;             /* Number of the setting. */
    uint32_t index;             /* In the group. */
};

struct senders {
    enum field field;           /* The register, or N_FIELDS. */
    unsigned long tables[BITMAP_N_LONGS(N_TABLES_MAX)];
    struct pool settings;       /* Without the register. */
    struct member *members;     /* By value and group. */
    size_t n_members;
    struct group {
        size_t first, n;        /* In 'values'. */
    } *groups;
    uint64_t *values;
};

static struct setting
get_setting(const struct table_flow *flow)
{
    const struct ofpact *a;
    struct setting s;

    memset(&s, 0, sizeof s);
    OFPACT_FOR_EACH (a, flow->ofpacts, flow->ofpacts_len) {
        if (a->type == OFPACT_SET_FIELD) {
            const struct ofpact_set_field *set = ofpact_get_SET_FIELD(a);
            enum field f = field_find(set->field);
            int n = set->field->n_bytes;
            u128 mask = field_from_value(ofpact_set_field_mask(set), n);

            if (f >= F_METADATA && f < N_REGISTERS
                && mask == field_ones(fields[f].width)) {
                s.set |= UINT64_C(1) << f;
                s.values[f] = field_from_value(set->value, n);
            }
        }
    }
    return s;
}

/* Adds what is matched or read as a whole, to find out where that ends. */
static bool
update_whole(field_set whole[], const struct table_set *tables)
{
    bool changed = false;

    for (size_t i = tables->flows.n; i > 0; i--) {
        const struct table_flow *flow = tables->flows.v[i - 1];
        field_set *w = &whole[flow->table], old = *w;
        unsigned long next[BITMAP_N_LONGS(N_TABLES_MAX)] = { 0 };
        size_t table;

        *w |= exec_reads(flow, next);
        BITMAP_FOR_EACH_1 (table, N_TABLES_MAX, next) {
            *w |= whole[table];
        }
        for (size_t j = 0; j < flow->n_conditions; j++) {
            const struct condition *c = &flow->conditions[j];

            if (c->mask == field_ones(fields[c->field].width)) {
                *w |= FIELD_BIT(c->field);
            }
        }
        changed |= *w != old;
    }
    return changed;
}

/* Does 'table' or one behind it ask for bits of 'f', and for no more, and not
 * for the port? */
static bool
asks_for_bits(const struct exec_fields *ef, const field_set whole[],
              size_t table, enum field f)
{
    field_set bits = ef->live[table] & ~whole[table];

    return (bits >> f & 1 && !(ef->live[table] & FIELD_BIT(F_IN_PORT))
            && !bitmap_is_set(ef->tail, table));
}

/* The register that most flows set of those that are so asked for. */
static void
find_register(struct senders *senders, const struct exec_fields *ef,
              const struct table_set *tables, const field_set whole[])
{
    size_t n[N_REGISTERS] = { 0 }, most = 0;

    for (size_t i = 0; i < tables->flows.n; i++) {
        uint64_t set = get_setting(tables->flows.v[i]).set;

        for (; set & (set - 1); set &= set - 1) {
            n[raw_ctz(set)]++;
        }
    }
    for (enum field f = F_METADATA; f < N_REGISTERS; f++) {
        for (size_t table = 0; table < N_TABLES_MAX && n[f] > most; table++) {
            if (asks_for_bits(ef, whole, table, f)) {
                senders->field = f;
                most = n[f];
            }
        }
    }
}

static int
compare_members(const void *a_, const void *b_)
{
    const struct member *a = a_, *b = b_;

    return (a->value != b->value ? (a->value < b->value ? -1 : 1)
            : a->group < b->group ? -1 : a->group > b->group);
}

static void
find_members(struct senders *senders, const struct table_set *tables)
{
    uint64_t bit = UINT64_C(1) << senders->field;

    senders->members = xcalloc(MAX(tables->flows.n, 1),
                               sizeof *senders->members);
    for (size_t i = 0; i < tables->flows.n; i++) {
        struct setting s = get_setting(tables->flows.v[i]);

        if (s.set & bit && s.set != bit) {
            struct member *m = &senders->members[senders->n_members++];

            m->value = s.values[senders->field];
            s.values[senders->field] = 0;
            m->group = pool_add(&senders->settings, &s, sizeof s);
        }
    }
    qsort(senders->members, senders->n_members, sizeof *senders->members,
          compare_members);
}

static bool
is_first(const struct senders *senders, size_t i)
{
    const struct member *m = &senders->members[i];

    return !i || compare_members(m - 1, m);
}

/* Gives each member its place among the values of its group. */
static void
number_members(struct senders *senders)
{
    size_t n = 0;

    senders->groups = xcalloc(senders->settings.n + 1,
                              sizeof *senders->groups);
    senders->values = xcalloc(senders->n_members + 1,
                              sizeof *senders->values);
    for (size_t i = 0; i < senders->n_members; i++) {
        struct member *m = &senders->members[i];

        m->index = (is_first(senders, i) ? senders->groups[m->group].n++
                    : m[-1].index);
    }
    for (size_t i = 0; i < senders->settings.n; i++) {
        senders->groups[i].first = n;
        n += senders->groups[i].n;
    }
    for (size_t i = 0; i < senders->n_members; i++) {
        const struct member *m = &senders->members[i];

        senders->values[senders->groups[m->group].first + m->index]
            = m->value;
    }
}

struct senders *
exec_find_senders(const struct exec_fields *ef,
                  const struct table_set *tables)
{
    struct senders *senders = xzalloc(sizeof *senders);
    field_set *whole = xcalloc(N_TABLES_MAX, sizeof *whole);

    pool_init(&senders->settings);
    senders->field = N_FIELDS;
    while (update_whole(whole, tables)) {
        continue;
    }
    find_register(senders, ef, tables, whole);
    if (senders->field < N_FIELDS) {
        for (size_t table = 0; table < N_TABLES_MAX; table++) {
            bitmap_set(senders->tables, table,
                       asks_for_bits(ef, whole, table, senders->field));
        }
        find_members(senders, tables);
        number_members(senders);
    }
    free(whole);
    return senders;
}

void
exec_destroy_senders(struct senders *senders)
{
    pool_destroy(&senders->settings);
    free(senders->members);
    free(senders->groups);
    free(senders->values);
    free(senders);
}

/* Do the other registers hold what the setting says? */
static bool
is_so_set(struct exec *ex, uint8_t table, const struct state *state,
          uint32_t group)
{
    size_t size;
    const struct setting *s = pool_get(&ex->fields->senders->settings, group,
                                       &size);
    uint64_t others = s->set & ex->fields->live[table]
                      & ~(UINT64_C(1) << ex->fields->senders->field);

    for (; others; others &= others - 1) {
        int f = raw_ctz(others);
        u128 value;

        if (!exec_is_const(ex, state->fields[f], &value)
            || value != s->values[f]) {
            return false;
        }
    }
    return true;
}

/* The member that the state is of, or NULL. */
static const struct member *
find_member(struct exec *ex, uint8_t table, const struct state *state,
            u128 value)
{
    const struct senders *senders = ex->fields->senders;
    size_t low = 0, high = senders->n_members;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (senders->members[middle].value < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < senders->n_members
         && senders->members[low].value == value; low++) {
        if (is_so_set(ex, table, state, senders->members[low].group)) {
            return &senders->members[low];
        }
    }
    return NULL;
}

bool
exec_join_senders(struct exec *ex, uint8_t table, const struct state *state,
                  struct state *joined, size_t *index)
{
    const struct senders *senders = ex->fields->senders;
    const struct member *member;
    const struct group *group;
    u128 value;

    if (ex->by_port || ex->apart || ex->values
        || !bitmap_is_set(senders->tables, table)
        || !exec_is_const(ex, state->fields[senders->field], &value)) {
        return false;
    }
    member = find_member(ex, table, state, value);
    if (!member) {
        return false;
    }
    group = &senders->groups[member->group];
    if (group->n < 2 || group->n > MAX_ALIKE) {
        return false;
    }
    *joined = *state;
    joined->fields[senders->field]
        = term_choice(ex->terms, fields[senders->field].width,
                      &senders->values[group->first], group->n);
    *index = member->index;
    return true;
}

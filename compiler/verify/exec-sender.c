/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

/* What is shared by packets of different senders.
 *
 * Once the tables have seen that a packet tells the truth about who sent it,
 * little depends on that any more: the senders of a network differ in one
 * register, of which the tables from there on ask for single bits only, so as
 * to compare it with the receiver, and in what rules ask for.  So they are run
 * once for all of them, with a digit of the packet, F_SENDER, that says which
 * of them it is, and what those registers hold as terms over it; then each
 * takes what is said of it.
 *
 * Who is alike is taken from the flows: those that set registers to the same
 * but for these.  That is a guess, and does no harm: whatever values are run
 * together, each gets what the tables do with it. */

#include <stdlib.h>
#include <string.h>

#include "openvswitch/ofp-actions.h"
#include "util.h"
#include "verify/exec-private.h"

#define N_REGISTERS (F_REG15 + 1)

/* What a flow sets registers to, all of a register at once. */
struct setting {
    uint64_t set;               /* 1-bits: registers. */
    uint64_t values[N_REGISTERS];
};

/* A sender: all that a flow sets. */
struct member {
    uint64_t value;             /* Of the register. */
    struct setting setting;     /* Without it. */
    uint32_t group;             /* Of those that differ in 'varied' only. */
    uint32_t index;             /* In the group. */
};

VEC_TYPEDEF(member_vec, struct member *);

struct senders {
    enum field field;           /* The register, or N_FIELDS. */
    uint64_t varied;            /* 1-bits: this and the others that differ. */
    unsigned long tables[BITMAP_N_LONGS(N_TABLES_MAX)];
    struct arena *arena;
    member_vec members;         /* By value of the register. */
    struct pool common;         /* The settings of groups without what differs:
                                 * numbers of... */
    VEC(member_vec) groups;     /* ...these, which are by index. */
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

/* Adds the tables behind the flows of those that are there. */
static bool
update_behind(unsigned long behind[], const struct table_set *tables)
{
    bool changed = false;

    for (size_t i = 0; i < tables->flows.n; i++) {
        const struct table_flow *flow = tables->flows.v[i];
        unsigned long next[BITMAP_N_LONGS(N_TABLES_MAX)] = { 0 };
        size_t table;

        if (bitmap_is_set(behind, flow->table)) {
            exec_reads(flow, next);
            BITMAP_FOR_EACH_1 (table, N_TABLES_MAX, next) {
                changed |= !bitmap_is_set(behind, table);
                bitmap_set1(behind, table);
            }
        }
    }
    return changed;
}

static bool
tracks(const struct table_flow *flow)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH (a, flow->ofpacts, flow->ofpacts_len) {
        if (a->type == OFPACT_CT) {
            return true;
        }
    }
    return false;
}

/* The registers that the flow needs to be the same: those that tell what is to
 * be tracked how, and by which it asks for packets. */
static field_set
needs(const struct table_flow *flow)
{
    unsigned long next[BITMAP_N_LONGS(N_TABLES_MAX)] = { 0 };
    field_set matched = 0;

    for (size_t i = 0; i < flow->n_conditions; i++) {
        matched |= FIELD_BIT(flow->conditions[i].field);
    }
    return ((tracks(flow) ? exec_reads(flow, next) : 0)
            | (matched >> F_FIRST_OF_PACKET ? matched : 0));
}

/* Finds the registers that may differ: where packets are run together, flows
 * ask for them with other registers only, and no tail reads them. */
static void
find_varied(struct senders *senders, const struct exec_fields *ef,
            const struct table_set *tables)
{
    unsigned long behind[BITMAP_N_LONGS(N_TABLES_MAX)];
    field_set needed = 0;

    memcpy(behind, senders->tables, sizeof behind);
    while (update_behind(behind, tables)) {
        continue;
    }
    for (size_t table = 0; table < N_TABLES_MAX; table++) {
        needed |= bitmap_is_set(ef->tail, table) ? ef->live[table] : 0;
    }
    for (size_t i = 0; i < tables->flows.n; i++) {
        const struct table_flow *flow = tables->flows.v[i];

        needed |= bitmap_is_set(behind, flow->table) ? needs(flow) : 0;
    }
    senders->varied = UINT64_C(1) << senders->field;
    for (int f = F_METADATA; f < N_REGISTERS; f++) {
        senders->varied |= needed >> f & 1 ? 0 : UINT64_C(1) << f;
    }
}

static int
compare_values(const void *a_, const void *b_)
{
    const struct member *a = *(const struct member *const *) a_;
    const struct member *b = *(const struct member *const *) b_;

    return a->value < b->value ? -1 : a->value > b->value;
}

/* Those of a group side by side, and in it those that differ in the register
 * only. */
static int
compare_groups(const void *a_, const void *b_)
{
    const struct member *a = *(const struct member *const *) a_;
    const struct member *b = *(const struct member *const *) b_;
    int order = memcmp(&a->setting, &b->setting, sizeof a->setting);

    return (a->group != b->group ? (a->group < b->group ? -1 : 1)
            : order ? order : compare_values(a_, b_));
}

/* The setting without what may differ. */
static struct setting
common_setting(const struct senders *senders, const struct setting *setting)
{
    struct setting s = *setting;

    for (uint64_t left = senders->varied; left; left &= left - 1) {
        s.values[raw_ctz(left)] = 0;
    }
    return s;
}

/* Does it set the register, and more? */
static bool
is_sender(const struct senders *senders, const struct setting *s)
{
    uint64_t bit = UINT64_C(1) << senders->field;

    return s->set & bit && s->set != bit;
}

/* One that is not in its group yet. */
static struct member *
create_member(struct senders *senders, const struct setting *setting)
{
    struct member *m = arena_zalloc(senders->arena, sizeof *m);
    struct setting common;

    m->setting = *setting;
    m->value = m->setting.values[senders->field];
    m->setting.values[senders->field] = 0;
    common = common_setting(senders, &m->setting);
    m->group = pool_add(&senders->common, &common, sizeof common);
    while (senders->groups.n <= m->group) {
        vec_push(senders->arena, &senders->groups);
    }
    return m;
}

static void
add_to_group(struct senders *senders, struct member *m)
{
    member_vec *group = &senders->groups.v[m->group];

    m->index = group->n;
    *vec_push(senders->arena, group) = m;
}

static void
find_members(struct senders *senders, const struct table_set *tables)
{
    member_vec *members = &senders->members;
    struct pool settings;

    pool_init(&settings);
    for (size_t i = 0; i < tables->flows.n; i++) {
        struct setting s = get_setting(tables->flows.v[i]);

        if (is_sender(senders, &s)
            && pool_add(&settings, &s, sizeof s) == members->n) {
            *vec_push(senders->arena, members) = create_member(senders, &s);
        }
    }
    pool_destroy(&settings);
    if (members->n) {
        qsort(members->v, members->n, sizeof *members->v, compare_groups);
    }
    for (size_t i = 0; i < members->n; i++) {
        add_to_group(senders, members->v[i]);
    }
    if (members->n) {
        qsort(members->v, members->n, sizeof *members->v, compare_values);
    }
}

struct senders *
exec_find_senders(const struct exec_fields *ef,
                  const struct table_set *tables)
{
    struct senders *senders = xzalloc(sizeof *senders);
    field_set *whole = xcalloc(N_TABLES_MAX, sizeof *whole);

    senders->arena = arena_create();
    pool_init(&senders->common);
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
        find_varied(senders, ef, tables);
        find_members(senders, tables);
    }
    free(whole);
    return senders;
}

field_set
exec_varied(const struct exec_fields *ef)
{
    const struct senders *senders = ef->senders;

    return (senders->field == N_FIELDS ? 0
            : senders->varied & ~(UINT64_C(1) << senders->field));
}

void
exec_destroy_senders(struct senders *senders)
{
    pool_destroy(&senders->common);
    arena_destroy(senders->arena);
    free(senders);
}

/* Do the other registers hold what the setting says? */
static bool
is_so_set(struct exec *ex, uint8_t table, const struct state *state,
          const struct setting *s)
{
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

/* The first member whose value is not less. */
static size_t
first_member(const struct senders *senders, u128 value)
{
    struct member *const *v = senders->members.v;
    size_t low = 0, high = senders->members.n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (v[middle]->value < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool
exec_add_sender(struct exec_fields *ef, const struct table_flow *flow)
{
    struct senders *senders = ef->senders;
    member_vec *members = &senders->members;
    struct setting s = get_setting(flow), others = s;
    struct member *m;
    size_t i;

    if (senders->field == N_FIELDS || !is_sender(senders, &s)) {
        return true;
    }
    others.values[senders->field] = 0;
    for (i = first_member(senders, s.values[senders->field]);
         i < members->n
         && members->v[i]->value == s.values[senders->field]; i++) {
        if (!memcmp(&members->v[i]->setting, &others, sizeof others)) {
            return true;        /* It is there. */
        }
    }
    m = create_member(senders, &s);
    add_to_group(senders, m);
    vec_push(senders->arena, members);
    memmove(&members->v[i + 1], &members->v[i],
            (members->n - 1 - i) * sizeof *members->v);
    members->v[i] = m;
    return senders->groups.v[m->group].n != EXEC_MAX_ALIKE + 1;
}

/* The member that the state is of, or NULL. */
static const struct member *
find_member(struct exec *ex, uint8_t table, const struct state *state,
            u128 value)
{
    const struct senders *senders = ex->fields->senders;
    struct member *const *v = senders->members.v;

    for (size_t i = first_member(senders, value); i < senders->members.n
         && v[i]->value == value; i++) {
        if (is_so_set(ex, table, state, &v[i]->setting)) {
            return v[i];
        }
    }
    return NULL;
}

/* What those of the group hold in 'f'. */
static term_t
choice_of(struct exec *ex, const member_vec *group, enum field f)
{
    const struct senders *senders = ex->fields->senders;
    uint64_t *values = xcalloc(group->n, sizeof *values);
    term_t term;

    for (size_t i = 0; i < group->n; i++) {
        const struct member *m = group->v[i];

        values[i] = f == senders->field ? m->value : m->setting.values[f];
    }
    term = term_choice(ex->terms, fields[f].width, values, group->n);
    free(values);
    return term;
}

bool
exec_join_senders(struct exec *ex, uint8_t table, const struct state *state,
                  struct state *joined, size_t *index)
{
    const struct senders *senders = ex->fields->senders;
    const struct member *member;
    const member_vec *group;
    uint64_t varied;
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
    group = &senders->groups.v[member->group];
    if (group->n < 2 || group->n > EXEC_MAX_ALIKE) {
        return false;
    }
    *joined = *state;
    varied = senders->varied & member->setting.set & ex->fields->live[table];
    for (; varied; varied &= varied - 1) {
        int f = raw_ctz(varied);

        joined->fields[f] = choice_of(ex, group, f);
    }
    *index = member->index;
    return true;
}

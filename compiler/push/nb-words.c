/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/nb-private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "push/nb-idl.h"
#include "sema/northbound.h"
#include "util.h"

/* What differs, in the operator's words.  Rows that say one thing of the
 * intent, such as the ACLs of a rule, are one change. */

enum { MAX_MATCH = 80 };        /* Of others' ACLs, in bytes. */

/* What a row is of the intent. */
struct subject {
    const char *what, *name;
};

/* The words up to the first space. */
static const char *
first_word(struct arena *arena, const char *s)
{
    return arena_strndup(arena, s, strcspn(s, " "));
}

/* Names of endpoints have one slash. */
static bool
is_gateway(const char *id)
{
    return strchr(id, '/') != strrchr(id, '/');
}

/* What the row of this table and id is; 'rule' is what its external_ids say,
 * or NULL.  The ids are those that the target ovn gives. */
static struct subject
find_subject(struct arena *arena, const char *table, const char *id,
             const char *rule)
{
    static const char limit[] = "limit ";

    if (rule) {
        return (struct subject) { "rule", rule };
    } else if (!strncmp(id, NB_DHCP_ID, strlen(NB_DHCP_ID))) {
        return (struct subject) { "network", first_word(
            arena, id + strlen(NB_DHCP_ID)) };
    } else if (!strcmp(table, "Logical_Switch")) {
        return (struct subject) { "network", id };
    } else if (!strcmp(table, "Logical_Switch_Port")) {
        return (struct subject) { is_gateway(id) ? "gateway" : "endpoint",
                                  id };
    } else if (!strcmp(table, "Logical_Router")) {
        return (struct subject) { "router", id };
    } else if (!strcmp(table, "Logical_Router_Port")) {
        return (struct subject) { "router port", id };
    } else if (!strcmp(table, "Logical_Router_Static_Route")) {
        return (struct subject) { "route", id };
    } else if (!strcmp(table, "Port_Group")) {
        return (struct subject) { "group", id };
    } else if (!strncmp(id, limit, strlen(limit))) {
        return (struct subject) { "bandwidth", id + strlen(limit) };
    } else if (!strncmp(id, NB_CONTROL_ID, strlen(NB_CONTROL_ID))) {
        return (struct subject) { "control plane",
                                  id + strlen(NB_CONTROL_ID) };
    } else if (!strcmp(table, "QoS") && strchr(id, ' ')) {
        return (struct subject) { "rule", first_word(arena, id) };
    }
    return (struct subject) { "shared", first_word(arena, id) };
}

/* A copy of what anybody may have written, which a terminal shows as it
 * stands. */
static char *
plain_copy(struct arena *arena, const char *s)
{
    char *copy = arena_strdup(arena, s);

    for (char *p = copy; *p; p++) {
        if (*p < ' ' || *p > '~') {
            *p = '?';
        }
    }
    return copy;
}

/* The id of a row that has our mark. */
static const char *
row_id(struct arena *arena, const struct ovsdb_idl_row *row)
{
    const char *id = nb_id(row, NB_ID_KEY);

    return (id ? plain_copy(arena, id)
            : arena_printf(arena, "without an id, "UUID_FMT,
                           UUID_ARGS(&row->uuid)));
}

static struct subject
row_subject(struct arena *arena, const struct ovsdb_idl_row *row)
{
    const char *rule = nb_id(row, NB_RULE_KEY);

    return find_subject(arena, row->table->class_->name, row_id(arena, row),
                        rule ? plain_copy(arena, rule) : NULL);
}

/* What a row of the plan says that its rule is, or NULL. */
static const char *
plan_rule(const struct plan_row *row)
{
    for (size_t i = 0; i < row->columns.v[0].atoms.n; i++) {
        const struct plan_atom *atom = &row->columns.v[0].atoms.v[i];

        if (!strcmp(atom->key, NB_RULE_KEY)) {
            return atom->value;
        }
    }
    return NULL;
}

static struct subject
plan_subject(struct arena *arena, const struct plan_row *row)
{
    return find_subject(arena, row->table, row->id, plan_rule(row));
}

/* " (from-lport 1000 allow 'ip4 && ...')" of others' ACL, as "ovn-nbctl
 * acl-list" shows it, which shows no UUIDs. */
static const char *
describe_acl(struct arena *arena, const struct ovsdb_idl_row *row)
{
    const struct nbrec_acl *acl = CONTAINER_OF(row, struct nbrec_acl, header_);
    size_t len = strnlen(acl->match, MAX_MATCH);

    return plain_copy(arena, arena_printf(
        arena, " (%s %"PRId64" %s '%.*s%s')", acl->direction, acl->priority,
        acl->action, (int) len, acl->match, acl->match[len] ? "..." : ""));
}

const char *
nb_title(struct arena *arena, const struct ovsdb_idl_row *row)
{
    const char *mark = nb_id(row, NB_MARK_KEY);
    const char *name = nb_string(row, "name");
    const char *more = (row->table->class_ == &nbrec_table_acl
                        ? describe_acl(arena, row) : "");
    struct subject subject;

    if (mark && !strcmp(mark, NB_MARK)) {
        subject = row_subject(arena, row);
        return arena_printf(arena, "%s %s", subject.what, subject.name);
    }
    return (name ? arena_printf(arena, "%s '%s'%s", row->table->class_->name,
                                plain_copy(arena, name), more)
            : arena_printf(arena, "%s "UUID_FMT"%s", row->table->class_->name,
                           UUID_ARGS(&row->uuid), more));
}

const char *
nb_plan_title(struct arena *arena, const struct plan_row *row)
{
    struct subject subject = plan_subject(arena, row);

    return arena_printf(arena, "%s %s", subject.what, subject.name);
}

/* The change of a subject, which is found again by 'index'; a new one if
 * 'add', else maybe NULL. */
static struct nb_change *
get_change(struct nb_comparison *c, struct shash *index,
           const struct subject *subject, bool add)
{
    const char *key = arena_printf(c->arena, "%s %s", subject->what,
                                   subject->name);
    void *found = shash_find_data(index, key);
    struct nb_change *change;

    if (found || !add) {
        return found ? &c->diff->changes.v[(uintptr_t) found - 1] : NULL;
    }
    change = vec_push(c->arena, &c->diff->changes);
    change->what = subject->what;
    change->name = subject->name;
    shash_add(index, key, (void *) (uintptr_t) c->diff->changes.n);
    return change;
}

/* Text of a column for people: of references, only how many. */
static const char *
datum_text(struct arena *arena, const struct ovsdb_datum *datum,
           const struct ovsdb_type *type)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    const char *text;

    if (type->key.type == OVSDB_TYPE_UUID) {
        return arena_printf(arena, "%u rows", datum->n);
    }
    ovsdb_datum_to_string(datum, type, &ds);
    text = arena_strdup(arena, ds_cstr(&ds));
    ds_destroy(&ds);
    return text;
}

/* "[-2 +1 rows]" of what a set of references holds. */
static void
reference_texts(struct arena *arena, const struct ovsdb_datum *held,
                const struct nb_cell *cell, struct nb_line *line)
{
    struct ovsdb_datum added, removed;

    ovsdb_datum_added_removed(&added, &removed, held, &cell->wanted,
                              &cell->column->type);
    line->held = arena_printf(arena, "%u rows, %u of them not wanted",
                              held->n, removed.n);
    line->wanted = arena_printf(arena, "%u rows, %u of them missing",
                                cell->wanted.n, added.n);
    ovsdb_datum_destroy(&added, &cell->column->type);
    ovsdb_datum_destroy(&removed, &cell->column->type);
}

static struct nb_line *
add_line(struct nb_comparison *c, const struct nb_item *item)
{
    struct nb_line *line;

    if (c->diff->lines.n == NB_MAX_LINES) {
        c->diff->lines_left_out++;
        return NULL;
    }
    line = vec_push(c->arena, &c->diff->lines);
    line->table = item->class->name;
    line->id = item->wanted ? item->wanted->id : row_id(c->arena, item->row);
    return line;
}

static void
list_item(struct nb_comparison *c, const struct nb_item *item)
{
    if (!item->row || !item->wanted) {
        struct nb_line *line = add_line(c, item);

        if (line) {
            line->held = item->row ? "there" : NULL;
            line->wanted = item->wanted ? "there" : NULL;
        }
        return;
    }
    for (size_t i = 0; i < item->cells.n; i++) {
        const struct nb_cell *cell = &item->cells.v[i];
        const struct ovsdb_type *type = &cell->column->type;
        const struct ovsdb_datum *held = ovsdb_idl_read(item->row,
                                                        cell->column);
        struct nb_line *line = add_line(c, item);

        if (line) {
            line->column = cell->column->name;
        }
        if (line && type->key.type == OVSDB_TYPE_UUID) {
            reference_texts(c->arena, held, cell, line);
        } else if (line) {
            line->held = datum_text(c->arena, held, type);
            line->wanted = datum_text(c->arena, &cell->wanted, type);
        }
    }
}

/* Adds the names of columns that change and are not said yet. */
static void
note_columns(struct nb_comparison *c, const struct nb_item *item,
             struct nb_change *change)
{
    for (size_t i = 0; i < item->cells.n; i++) {
        const char *name = item->cells.v[i].column->name;

        if (!change->columns) {
            change->columns = name;
        } else if (!strstr(change->columns, name)) {
            change->columns = arena_printf(c->arena, "%s, %s",
                                           change->columns, name);
        }
    }
}

static void
note_item(struct nb_comparison *c, struct shash *index,
          const struct nb_item *item)
{
    struct subject subject
        = (item->wanted ? plan_subject(c->arena, item->wanted)
           : row_subject(c->arena, item->row));
    struct nb_change *change = get_change(c, index, &subject, true);

    if (!item->row) {
        change->added++;
    } else if (!item->wanted) {
        change->deleted++;
    } else {
        change->changed++;
        note_columns(c, item, change);
    }
    list_item(c, item);
}

/* Counts the rows of changes that stay as they are. */
static void
count_same(struct nb_comparison *c, struct shash *index)
{
    for (size_t i = 0; i < c->plan->rows.n; i++) {
        const struct plan_row *row = c->plan->rows.v[i];
        struct subject subject = plan_subject(c->arena, row);
        struct nb_change *change = get_change(c, index, &subject, false);

        if (change) {
            change->same++;
        }
    }
    for (size_t i = 0; i < c->diff->changes.n; i++) {
        struct nb_change *change = &c->diff->changes.v[i];

        change->same -= change->added + change->changed;
    }
}

static int
compare_changes(const void *a_, const void *b_)
{
    const struct nb_change *a = a_, *b = b_;
    int order = strcmp(a->what, b->what);

    return order ? order : strcmp(a->name, b->name);
}

void
nb_words(struct nb_comparison *c)
{
    struct shash index = SHASH_INITIALIZER(&index);

    for (size_t i = 0; i < c->items.n; i++) {
        note_item(c, &index, &c->items.v[i]);
    }
    count_same(c, &index);
    shash_destroy(&index);
    if (c->diff->changes.n) {
        qsort(c->diff->changes.v, c->diff->changes.n,
              sizeof *c->diff->changes.v, compare_changes);
    }
}

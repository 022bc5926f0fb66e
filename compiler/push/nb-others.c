/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include "push/nb-private.h"

#include <string.h>

#include "plan/row.h"
#include "push/nb-idl.h"
#include "sema/northbound.h"
#include "util.h"

/* What others' rows have to do with ours.  What joins a network of ours to
 * another one, and what has a name of ours, keeps the plan from going there;
 * all else stays, and is told. */

const struct nb_naming nb_namings[NB_N_NAMINGS] = {
    { &nbrec_logical_switch_port_col_options,
      &nbrec_table_logical_switch_port, "router-port", 0, true },
    { &nbrec_logical_switch_port_col_parent_name,
      &nbrec_table_logical_switch_port, NULL, 0, true },
    { &nbrec_logical_switch_port_col_options,
      &nbrec_table_logical_switch_port, "virtual-parents", ',', false },
    { &nbrec_logical_router_port_col_peer,
      &nbrec_table_logical_router_port, NULL, 0, true },
    { &nbrec_static_mac_binding_col_logical_port,
      &nbrec_table_static_mac_binding, NULL, 0, false },
    { &nbrec_bfd_col_logical_port, &nbrec_table_bfd, NULL, 0, false },
    { &nbrec_nat_col_logical_port, &nbrec_table_nat, NULL, 0, false },
    { &nbrec_forwarding_group_col_child_port,
      &nbrec_table_forwarding_group, NULL, 0, false },
    { &nbrec_load_balancer_col_ip_port_mappings,
      &nbrec_table_load_balancer, NULL, ':', false },
};

static void OVS_PRINTF_FORMAT(2, 3)
unfit(struct nb_comparison *c, const char *format, ...)
{
    const char *text;
    va_list args;

    va_start(args, format);
    text = arena_vprintf(c->arena, format, args);
    va_end(args);
    *vec_push(c->arena, &c->diff->unfit) = arena_printf(
        c->arena, "%s: %s", c->db->place, text);
}

/* What else can be done about a row, which may be NULL, that has our keys and
 * not our mark: somebody may have removed that.  "" if it does not. */
static const char *
mark_remedy(const struct nb_comparison *c, const struct nb_row *row)
{
    if (!row || row->ours || nb_id(row->row, NB_MARK_KEY)
        || !nb_id(row->row, NB_ID_KEY)) {
        return "";
    }
    return arena_printf(c->arena, "; or if it is Bulkhead's, and has lost its "
                        "mark: ovn-nbctl set %s "UUID_FMT" external_ids:"
                        NB_MARK_KEY"="NB_MARK, row->row->table->class_->name,
                        UUID_ARGS(&row->row->uuid));
}

/* Others' names are not ours to take. */
static void
check_claim(struct nb_comparison *c, const struct plan_claim *claim)
{
    const struct nb_row *other = shash_find_data(
        &c->index.foreign[nb_table(claim->table)], claim->name);
    bool set = !strcmp(claim->table, nbrec_table_address_set.name);

    if (other && set && !claim->indexed) {
        unfit(c, "there is an Address_Set '%s', which would take the place "
              "of the addresses of a Port_Group; delete it", claim->name);
    } else if (other) {
        unfit(c, "there is %s %s '%s' that is not Bulkhead's; rename or "
              "delete it, or rename what the intent calls so%s",
              set ? "an" : "a", claim->table, claim->name,
              mark_remedy(c, other));
    }
}

static void
check_names(struct nb_comparison *c)
{
    for (size_t i = 0; i < c->plan->rows.n; i++) {
        plan_claims claims = plan_row_claims(c->arena, c->plan->rows.v[i]);

        for (size_t j = 0; j < claims.n; j++) {
            check_claim(c, &claims.v[j]);
        }
    }
}

/* References by UUID. */

/* "network a/x has others' NAT in its nat", or "Port_Group 'x' has endpoint
 * a/e0 in its ports". */
static const char *
describe(const struct nb_comparison *c, const struct nb_row *row,
         const struct nb_row *other, const struct ovsdb_idl_column *column)
{
    return arena_printf(c->arena, "%s has %s%s in its %s",
                        nb_title(c->arena, row->row),
                        row->ours ? "others' " : "",
                        other ? nb_title(c->arena, other->row)
                        : column->type.key.uuid.refTableName, column->name);
}

/* Is a port of a switch no more than a port?  A type that is not known might
 * be anything. */
static bool
is_plain(const struct ovsdb_idl_row *port)
{
    static const char *const types[] = {
        "", "localport", "virtual", "external",
    };
    const char *type = nb_string(port, "type");

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        if (!strcmp(type ? type : "", types[i])) {
            return true;
        }
    }
    return false;
}

/* Does 'row', which has 'other' in the column, join a network of ours to
 * another one by that? */
static bool
joins(const struct nb_row *row, const struct nb_row *other,
      const struct ovsdb_idl_column *column)
{
    return (column == &nbrec_logical_router_col_ports
            || (column == &nbrec_logical_switch_col_ports
                && (!row->ours || !is_plain(other->row))));
}

/* Notes what others' rows have to do with one, which is ours or theirs. */
static void
look_at_references(struct nb_comparison *c, const struct nb_row *row,
                   const struct ovsdb_idl_column *column)
{
    const struct ovsdb_datum *held = ovsdb_idl_read(row->row, column);
    bool strong = column->type.key.uuid.refType == OVSDB_REF_STRONG;

    for (size_t i = 0; i < held->n; i++) {
        const struct nb_row *other = nb_index_find(&c->index,
                                                   &held->keys[i].uuid);
        const struct nb_row *ours = row->ours ? row : other;
        const struct nb_row *theirs = row->ours ? other : row;

        if (row->ours == (other && other->ours)) {
            continue;
        } else if (strong && !ours->wanted) {
            unfit(c, "%s, and what is Bulkhead's is to be deleted; part them "
                  "first%s", describe(c, row, other, column),
                  mark_remedy(c, theirs));
        } else if (joins(row, other, column)) {
            unfit(c, "%s, which joins a network of the intent to another; "
                  "part them%s", describe(c, row, other, column),
                  mark_remedy(c, theirs));
        } else if (ours->wanted) {      /* Else it goes, and is in nothing. */
            *vec_push(c->arena, &c->diff->foreign) = describe(c, row, other,
                                                              column);
        }
    }
}

static void
look_at_row(struct nb_comparison *c, const struct nb_row *row)
{
    const struct ovsdb_idl_table_class *class = row->row->table->class_;

    for (size_t i = 0; i < class->n_columns; i++) {
        const struct ovsdb_idl_column *column = &class->columns[i];

        if (column->type.key.type == OVSDB_TYPE_UUID
            && nb_holds_rows(column)) {
            look_at_references(c, row, column);
        }
    }
}

/* References by name, which wait for a row of that name if there is none. */

/* The plan's rows of ports, by name. */
static void
index_ports(const struct plan *plan, struct shash *ports)
{
    for (size_t i = 0; i < plan->rows.n; i++) {
        const struct plan_row *row = plan->rows.v[i];

        if (!strcmp(row->table, "Logical_Switch_Port")
            || !strcmp(row->table, "Logical_Router_Port")) {
            shash_add(ports, plan_row_column(row, "name")->atoms.v[0].value,
                      row);
        }
    }
}

/* Notes the ports that 'text' names. */
static void
look_at_text(struct nb_comparison *c, const struct nb_naming *naming,
             const struct ovsdb_idl_row *row, const char *text,
             const struct shash *ports)
{
    const char end[] = { naming->end, '\0' };

    for (const char *s = text; ; s++) {
        size_t n = strcspn(s, end);
        const struct plan_row *port = shash_find_data(
            ports, arena_strndup(c->arena, s, n));
        const char *what;

        if (port) {
            what = arena_printf(c->arena, "%s names %s in its %s%s%s",
                                nb_title(c->arena, row),
                                nb_plan_title(c->arena, port),
                                naming->column->name, naming->key ? ":" : "",
                                naming->key ? naming->key : "");
        }
        if (port && naming->joins) {
            unfit(c, "%s, which joins a network of the intent to another; "
                  "part them", what);
        } else if (port) {
            *vec_push(c->arena, &c->diff->foreign) = what;
        }
        s += n;
        if (!*s) {
            return;
        }
    }
}

static void
look_at_naming(struct nb_comparison *c, const struct nb_naming *naming,
               const struct ovsdb_idl_row *row, const struct shash *ports)
{
    const struct nb_row *known = nb_index_find(&c->index, &row->uuid);
    const struct ovsdb_datum *held = ovsdb_idl_read(row, naming->column);
    bool is_map = ovsdb_type_is_map(&naming->column->type);

    for (size_t i = 0; i < held->n && !(known && known->ours); i++) {
        if (!naming->key
            || !strcmp(json_string(held->keys[i].s), naming->key)) {
            look_at_text(c, naming, row,
                         json_string((is_map ? held->values : held->keys)[i]
                                     .s), ports);
        }
    }
}

static void
look_at_names(struct nb_comparison *c)
{
    struct shash ports = SHASH_INITIALIZER(&ports);

    index_ports(c->plan, &ports);
    for (size_t i = 0; i < ARRAY_SIZE(nb_namings); i++) {
        const struct ovsdb_idl_row *row;

        for (row = ovsdb_idl_first_row(c->db->idl, nb_namings[i].table); row;
             row = ovsdb_idl_next_row(row)) {
            look_at_naming(c, &nb_namings[i], row, &ports);
        }
    }
    shash_destroy(&ports);
}

void
nb_look_at_others(struct nb_comparison *c)
{
    const struct nb_row *row;

    check_names(c);
    HMAP_FOR_EACH (row, node, &c->index.rows) {
        look_at_row(c, row);
    }
    look_at_names(c);
}

/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <config.h>

#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "plan/differences.h"
#include "plan/nic.h"
#include "plan/plan.h"
#include "plan/row.h"
#include "sema/northbound.h"
#include "util.h"

/* The rows of a plan as a script for ovn-nbctl, which replaces those of an
 * earlier run.  What others have in such rows, or refer to in theirs, would go
 * with them, so the script looks for it first. */

#define IS_MARKED "external_ids:"NB_MARK_KEY"="NB_MARK
#define IS_FOREIGN "external_ids:"NB_MARK_KEY"{!=}"NB_MARK

/* Linux takes 128 KiB in one argument and, with the usual stack of 8 MiB, 2
 * MiB in all, with the environment. */
enum { MAX_ARGUMENTS = 1500 * 1000 };

/* The columns that refer to rows, with the column that tells an operator which
 * row it is; tests/system/ovn-test.sh holds them against the schema.  Others
 * may have put rows of theirs into a plan's, and theirs may refer to rows of
 * the table 'to', which are made anew; NULL: a plan has none of those. */
static const struct {
    const char *table, *column, *label, *to;
} references[] = {
    { "Logical_Switch", "ports", "name", "Logical_Switch_Port" },
    { "Logical_Switch", "acls", "name", "ACL" },
    { "Logical_Switch", "qos_rules", "name", "QoS" },
    { "Logical_Switch", "load_balancer", "name", NULL },
    { "Logical_Switch", "load_balancer_group", "name", NULL },
    { "Logical_Switch", "dns_records", "name", NULL },
    { "Logical_Switch", "forwarding_groups", "name", NULL },
    { "Logical_Switch", "copp", "name", "Copp" },
    { "Logical_Switch_Port", "dhcpv4_options", "name", "DHCP_Options" },
    { "Logical_Switch_Port", "dhcpv6_options", "name", "DHCP_Options" },
    { "Logical_Switch_Port", "mirror_rules", "name", NULL },
    { "Logical_Switch_Port", "ha_chassis_group", "name", NULL },
    { "Logical_Router", "ports", "name", "Logical_Router_Port" },
    { "Logical_Router", "static_routes", "name",
      "Logical_Router_Static_Route" },
    { "Logical_Router", "policies", "name", NULL },
    { "Logical_Router", "nat", "name", NULL },
    { "Logical_Router", "load_balancer", "name", NULL },
    { "Logical_Router", "load_balancer_group", "name", NULL },
    { "Logical_Router", "copp", "name", "Copp" },
    { "Logical_Router_Port", "gateway_chassis", "name", NULL },
    { "Logical_Router_Port", "ha_chassis_group", "name", NULL },
    { "Logical_Router_Static_Route", "bfd", "ip_prefix", NULL },
    { "Port_Group", "ports", "name", "Logical_Switch_Port" },
    { "Port_Group", "acls", "name", "ACL" },
    { "Meter", "bands", "name", "Meter_Band" },
    { "NAT", "gateway_port", "external_ip", "Logical_Router_Port" },
    { "NAT", "allowed_ext_ips", "external_ip", "Address_Set" },
    { "NAT", "exempted_ext_ips", "external_ip", "Address_Set" },
};

/* The tables of rows that a plan has, ... */
static const char *const tables[] = {
    "Logical_Switch", "Logical_Switch_Port", "Logical_Router",
    "Logical_Router_Port", "Logical_Router_Static_Route", "Port_Group", "ACL",
    "QoS", "Copp", "Meter", "Meter_Band", "Address_Set", "DHCP_Options",
};

/* ...and those in which it needs names. */
static const char *const named_tables[] = {
    "Logical_Switch", "Logical_Switch_Port", "Logical_Router",
    "Logical_Router_Port", "Port_Group", "Address_Set", "Copp", "Meter",
};

/* An atom as ovn-nbctl parses it: strings as those of JSON. */
static void
put_value(struct ds *ds, enum plan_kind kind, const struct plan_atom *atom)
{
    if (atom->row) {
        ds_put_format(ds, "@row%"PRIuSIZE, atom->row->index);
    } else if (kind == PLAN_INTEGER || kind == PLAN_NUMBERS
               || kind == PLAN_BOOLEAN) {
        ds_put_cstr(ds, atom->value);
    } else {
        json_string_escape(atom->value, ds);
    }
}

/* "column=value", quoted. */
static void
put_argument(struct ds *ds, const struct plan_column *column)
{
    struct ds text = DS_EMPTY_INITIALIZER;

    ds_put_format(&text, "%s=", column->name);
    for (size_t i = 0; i < column->atoms.n; i++) {
        const struct plan_atom *atom = &column->atoms.v[i];

        ds_put_cstr(&text, i ? "," : "");
        if (atom->key) {
            json_string_escape(atom->key, &text);
            ds_put_char(&text, '=');
        }
        put_value(&text, column->kind, atom);
    }
    plan_put_quoted(ds, ds_cstr(&text));
    ds_destroy(&text);
}

/* A question of the script, with its own options: the answer is bare. */
static const char *const ask = "$(ovn-nbctl \"$@\" --bare --no-headings";

/* 'marked' has the UUIDs of all rows that are marked. */
static const char functions[] =
    "set -eu\n"
    "keep='take it out, or use \"bulkhead apply --target=ovn\", which leaves "
    "it there'\n"
    "# refuse CAUSE REMEDY: names that others gave go to a terminal.\n"
    "refuse() {\n"
    "    cause=$(printf %s \"$1\" | LC_ALL=C tr -c ' -~' '?')\n"
    "    printf 'ovn-nbctl.sh: %s: nothing is changed; %s\\n' "
    "\"$cause\" \"$2\" >&2\n"
    "    exit 1\n"
    "}\n"
    "# others UUID...: those that are not marked.\n"
    "others() {\n"
    "    {\n"
    "        printf '%s\\n' $marked $marked\n"
    "        printf '%s\\n' \"$@\" | sort -u\n"
    "    } | sort | uniq -u\n"
    "}\n"
    "# name TABLE UUID [OPTION...]\n"
    "name() {\n"
    "    table=$1 uuid=$2\n"
    "    shift 2\n"
    "    ovn-nbctl \"$@\" --bare --no-headings --columns=name list \\\n"
    "        \"$table\" \"$uuid\"\n"
    "}\n"
    "# holds TABLE COLUMN LABEL [OPTION...]\n"
    "holds() {\n"
    "    table=$1 column=$2 label=$3\n"
    "    shift 3\n"
    "    held=$(ovn-nbctl \"$@\" --bare --no-headings \\\n"
    "        --columns=\"$column\" find \"$table\" "IS_MARKED")\n"
    "    for row in $(others $held); do\n"
    "        holder=$(ovn-nbctl \"$@\" --bare --no-headings \\\n"
    "            --columns=\"$label\" find \"$table\" "IS_MARKED" \\\n"
    "            \"$column{>=}$row\")\n"
    "        refuse \"$table $holder has in its $column $row, which is not "
    "Bulkhead's\" \\\n"
    "            \"$keep\"\n"
    "    done\n"
    "}\n"
    "# refers TABLE COLUMN LABEL TO [OPTION...]\n"
    "refers() {\n"
    "    table=$1 column=$2 label=$3 to=$4\n"
    "    shift 4\n"
    "    held=$(ovn-nbctl \"$@\" --bare --no-headings \\\n"
    "        --columns=\"$column\" find \"$table\" '"IS_FOREIGN"')\n"
    "    for row in $({\n"
    "        printf '%s\\n' $marked\n"
    "        printf '%s\\n' $held | sort -u\n"
    "    } | sort | uniq -d); do\n"
    "        holder=$(ovn-nbctl \"$@\" --bare --no-headings \\\n"
    "            --columns=\"$label\" find \"$table\" '"IS_FOREIGN"' \\\n"
    "            \"$column{>=}$row\")\n"
    "        id=$(ovn-nbctl \"$@\" --if-exists get \"$to\" \"$row\" \\\n"
    "            external_ids:"NB_ID_KEY")\n"
    "        refuse \"$table $holder, which is not Bulkhead's, has in its "
    "$column $to $id, which is\" \\\n"
    "            \"$keep\"\n"
    "    done\n"
    "}\n"
    "# takes TABLE UUIDS [OPTION...]\n"
    "takes() {\n"
    "    table=$1 rows=$2\n"
    "    shift 2\n"
    "    for row in $(others $rows); do\n"
    "        refuse \"$table $(name \"$table\" \"$row\" \"$@\") is not "
    "Bulkhead's and has a name that the intent needs\" \\\n"
    "            'rename one of them'\n"
    "    done\n"
    "}\n";

static void
put_find(struct ds *ds, const char *table)
{
    ds_put_format(ds, " \\\n    -- --columns=_uuid find %s ", table);
}

/* Rows of others that have a name of the plan's in this table. */
static void
put_names(struct ds *ds, const struct plan *plan, const char *table)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->rows.n; i++) {
        plan_claims claims = plan_row_claims(plan->arena, plan->rows.v[i]);

        for (size_t j = 0; j < claims.n; j++) {
            struct ds text = DS_EMPTY_INITIALIZER;

            if (!strcmp(claims.v[j].table, table)) {
                if (!n++) {
                    ds_put_format(ds, "rows=%s", ask);
                }
                ds_put_cstr(&text, "name=");
                json_string_escape(claims.v[j].name, &text);
                put_find(ds, table);
                plan_put_quoted(ds, ds_cstr(&text));
            }
            ds_destroy(&text);
        }
    }
    if (n) {
        ds_put_format(ds, ")\ntakes %s \"$rows\" \"$@\"\n", table);
    }
}

static bool
is_of_plan(const char *table)
{
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        if (!strcmp(tables[i], table)) {
            return true;
        }
    }
    return false;
}

/* Refuses what would take something of others along. */
static void
put_guard(struct ds *ds, const struct plan *plan)
{
    ds_put_cstr(ds, functions);
    ds_put_format(ds, "marked=%s", ask);
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        put_find(ds, tables[i]);
        ds_put_cstr(ds, IS_MARKED);
    }
    ds_put_cstr(ds, ")\n");
    for (size_t i = 0; i < ARRAY_SIZE(references); i++) {
        if (is_of_plan(references[i].table)) {
            ds_put_format(ds, "holds %s %s %s \"$@\"\n", references[i].table,
                          references[i].column, references[i].label);
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(references); i++) {
        if (references[i].to) {
            ds_put_format(ds, "refers %s %s %s %s \"$@\"\n",
                          references[i].table, references[i].column,
                          references[i].label, references[i].to);
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(named_tables); i++) {
        put_names(ds, plan, named_tables[i]);
    }
}

/* Makes the options of the script a command that deletes the earlier rows. */
static void
put_deletion(struct ds *ds)
{
    for (size_t i = 0; i < plan_n_roots; i++) {
        ds_put_format(ds, "old%"PRIuSIZE"=%s --columns=_uuid \\\n"
                      "    find %s "IS_MARKED")\n", i, ask, plan_roots[i]);
    }
    for (size_t i = 0; i < plan_n_roots; i++) {
        ds_put_format(ds, "for uuid in $old%"PRIuSIZE"; do\n"
                      "    set -- \"$@\" -- destroy %s \"$uuid\"\n"
                      "done\n", i, plan_roots[i]);
    }
}

static void
put_creation(struct ds *ds, const struct plan *plan)
{
    ds_put_cstr(ds, "exec ovn-nbctl \"$@\"");
    for (size_t i = 0; i < plan->rows.n; i++) {
        const struct plan_row *row = plan->rows.v[i];

        ds_put_format(ds, " \\\n    -- --id=@row%"PRIuSIZE" create %s",
                      row->index, row->table);
        for (size_t j = 0; j < row->columns.n; j++) {
            ds_put_cstr(ds, " \\\n        ");
            put_argument(ds, &row->columns.v[j]);
        }
    }
    ds_put_cstr(ds, " >/dev/null\n");
}

bool
plan_fits_nbctl(const struct plan *plan)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    bool fits;

    put_creation(&ds, plan);
    fits = ds.length <= MAX_ARGUMENTS;
    ds_destroy(&ds);
    return fits;
}

void
plan_format_nbctl(const struct plan *plan, struct ds *ds)
{
    if (!plan_fits_nbctl(plan)) {
        ds_put_cstr(ds, "#!/bin/sh\n"
                    "echo 'ovn-nbctl.sh: the intent is too large for one "
                    "command of ovn-nbctl; use \"bulkhead apply "
                    "--target=ovn\"' >&2\n"
                    "exit 1\n");
        return;
    }
    ds_put_cstr(ds, "#!/bin/sh\n"
                "# Makes OVN's northbound database hold the intent, in one "
                "transaction:\n"
                "# sh ovn-nbctl.sh [OPTION-OF-OVN-NBCTL...]\n"
                "# It replaces all rows that are marked "NB_MARK_KEY"="NB_MARK
                " as a whole.  If others have put\n"
                "# rows into those, refer to them, or have names of theirs, "
                "it changes nothing.\n"
                "# \"bulkhead apply --target=ovn\" changes only what differs, "
                "and leaves what others\n"
                "# have.\n");
    plan_format_differences(plan, ds);
    put_guard(ds, plan);
    put_deletion(ds);
    put_creation(ds, plan);
}

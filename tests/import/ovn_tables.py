# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of OVN's northbound database, as "ovsdb-client -f json dump" prints
them, without a server."""

import json
import uuid

COLUMNS = {
    "Logical_Switch": ["name", "ports", "acls", "qos_rules", "other_config",
                       "external_ids"],
    "Logical_Switch_Port": ["name", "type", "addresses", "port_security",
                            "options", "external_ids", "enabled",
                            "parent_name", "dynamic_addresses",
                            "dhcpv4_options", "dhcpv6_options"],
    "Logical_Router": ["name", "ports", "static_routes", "policies",
                       "enabled", "external_ids"],
    "Logical_Router_Port": ["name", "mac", "networks", "peer", "enabled",
                            "external_ids"],
    "Logical_Router_Static_Route": ["ip_prefix", "nexthop", "output_port",
                                    "policy", "route_table",
                                    "external_ids"],
    "Logical_Router_Policy": ["action", "match", "priority",
                              "external_ids"],
    "Port_Group": ["name", "ports", "acls", "external_ids"],
    "Address_Set": ["name", "addresses", "external_ids"],
    "ACL": ["name", "direction", "priority", "match", "action", "log",
            "options", "external_ids"],
    "QoS": ["direction", "priority", "match", "action", "bandwidth",
            "external_ids"],
    "NB_Global": ["options"],
    "Copp": ["name", "meters", "external_ids"],
    "Meter": ["name", "unit", "bands", "fair", "external_ids"],
    "Meter_Band": ["action", "rate", "burst_size", "external_ids"],
    "NAT": ["type", "external_ip", "logical_ip", "external_ids"],
    "Load_Balancer": ["name", "vips", "external_ids"],
    "DHCP_Options": ["cidr", "options", "external_ids"],
    "DNS": ["records", "external_ids"],
    "Forwarding_Group": ["name", "external_ids"],
    "Gateway_Chassis": ["name", "external_ids"],
    "HA_Chassis_Group": ["name", "external_ids"],
    "Mirror": ["name", "external_ids"],
}
STRINGS = {"name", "type", "mac", "ip_prefix", "nexthop", "direction",
           "match", "action"}
MAPS = {"meters", "options", "external_ids", "other_config", "bandwidth"}


class Tables:
    """Rows by table, each a dictionary of columns as the text has them."""

    def __init__(self):
        self.rows = {table: [] for table in COLUMNS}
        self.without = None     # A table that the schema does not have.

    def add(self, table, **columns):
        """Returns a reference to the row."""
        row = {"_uuid": ["uuid", str(uuid.uuid5(
            uuid.NAMESPACE_OID, f"{table} {len(self.rows[table])}"))]}
        for column in COLUMNS[table]:
            if column in MAPS or (table, column) == ("QoS", "action"):
                row[column] = ["map", sorted(
                    map(list, columns.pop(column, {}).items()))]
            elif column in columns:
                value = columns.pop(column)
                row[column] = (value if not isinstance(value, list)
                               or value[:1] == ["uuid"]
                               else value[0] if len(value) == 1
                               else ["set", value])
            elif column in STRINGS:
                row[column] = ""
            else:
                row[column] = False if column == "log" else ["set", []]
        assert not columns, columns
        self.rows[table].append(row)
        return row["_uuid"]

    def dump(self):
        return "".join(json.dumps({
            "caption": f"{table} table",
            "headings": ["_uuid"] + columns,
            "data": [[row[c] for c in ["_uuid"] + columns]
                     for row in self.rows[table]],
        }) + "\n" for table, columns in COLUMNS.items()
            if table != self.without)


def from_request(operations, mark=True):
    """The rows that ovn-nb.json inserts; without the mark, anybody's."""
    tables = Tables()
    inserts = [o for o in operations[1:] if o["op"] == "insert"]
    refs = {}
    for o in inserts:               # First all UUIDs, then what refers.
        refs[o["uuid-name"]] = tables.add(o["table"])

    def value(v):
        if isinstance(v, list) and v[0] == "named-uuid":
            return refs[v[1]]
        if isinstance(v, list) and v[0] == "set":
            return value(v[1][0]) if len(v[1]) == 1 else [
                "set", [value(a) for a in v[1]]]
        return v

    rows = {row["_uuid"][1]: row for all_rows in tables.rows.values()
            for row in all_rows}
    for o in inserts:
        row = rows[refs[o["uuid-name"]][1]]
        row.update((c, value(v)) for c, v in o["row"].items())
        if not mark:
            row["external_ids"] = ["map", []]
    return tables

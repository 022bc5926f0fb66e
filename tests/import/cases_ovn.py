# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Northbound databases of others, and what passes by them.

The verdicts are written from ovn-nb(5) and ovn-sb(5), not from what comes
out: of each direction the ACL of the highest priority decides, where none
speaks all passes, and what is not tracked needs an ACL for its answers."""

from ovn_tables import Tables

PACKETS = [f"{protocol} {port}" for protocol in ("tcp", "udp")
           for port in (22, 53, 80, 443, 1000, 4420, 4690, 4791, 4793, 4799,
                        8080, 9000)] + ["icmp"]
# By number.
OTHERS = [f"ip {number}" for number in (47, 50, 89, 132)]
IPS = {"a": "10.0.0.10", "b": "10.0.0.11", "c": "10.0.0.12",
       "d": "10.0.1.10", "e": "10.0.2.10", "f": "10.0.3.10"}


class World(Tables):
    """Switch s1 of ports a, b and c, s2 of d, and a router r for both; s3 of
    e, with a router of its own, other."""

    def __init__(self):
        super().__init__()
        self.refs = {"ports": {}, "acls": {}}
        self.routers = {"r": [], "other": [], "third": []}
        self.add("NB_Global")
        for i, ports, router in ((1, "abc", "r"), (2, "d", "r"),
                                 (3, "e", "other")):
            self.switch(i, ports, router)
        self.extra = {"r": {}, "other": {}, "third": {}}

    def switch(self, i, ports, router):
        refs = [self.add("Logical_Switch_Port", name=port,
                         addresses=f"02:00:00:00:00:{ord(port):02x} "
                                   f"{IPS[port]}") for port in ports]
        self.refs["ports"].update(zip(ports, refs))
        refs.append(self.add("Logical_Switch_Port", name=f"s{i}-r",
                             type="router", addresses="router",
                             options={"router-port": f"r-s{i}"}))
        self.refs["ports"][f"s{i}-r"] = refs[-1]
        self.routers[router].append(self.add(
            "Logical_Router_Port", name=f"r-s{i}", mac=f"0a:00:00:00:01:0{i}",
            networks=f"10.0.{i - 1}.1/24"))
        self.add("Logical_Switch", name=f"s{i}", ports=refs)

    def link(self, routes):
        """Joins the routers; each gets the routes of a name."""
        for near, far in (("r", "other"), ("other", "r")):
            number = 1 + (near == "other")
            self.routers[near].append(self.add(
                "Logical_Router_Port", name=f"{near}-{far}",
                mac=f"0a:00:00:00:00:0{number}",
                networks=f"169.254.0.{number}/24", peer=f"{far}-{near}"))
            self.extra[near]["static_routes"] = [self.add(
                "Logical_Router_Static_Route", ip_prefix=prefix,
                nexthop=f"169.254.0.{3 - number}",
                output_port=f"{near}-{far}") for prefix in routes[near]]

    def acls(self, *acls):
        return [self.add("ACL", name=f"acl{i}", direction=direction,
                         priority=priority, match=match, action=action)
                for i, (direction, priority, match, action)
                in enumerate(acls)]

    def group(self, name, ports, *acls):
        self.add("Port_Group", name=name,
                 ports=[self.refs["ports"][p] for p in ports.split()],
                 acls=self.acls(*acls))

    def at_switch(self, i, *acls):
        refs = self.acls(*acls)
        self.rows["Logical_Switch"][i - 1]["acls"] = (
            refs[0] if len(refs) == 1 else ["set", refs])

    def dump(self):
        if not self.rows["Logical_Router"]:
            for name, ports in self.routers.items():
                self.add("Logical_Router", name=name, ports=ports,
                         **self.extra[name])
        return super().dump()


class Case:
    """'rules' are ENDS: PACKETS; what is not there must not pass."""

    def __init__(self, name, build, rules, warnings=(), error=None,
                 change=None, contains="", packets=PACKETS, exactly=None):
        self.name, self.rules, self.contains = name, rules, contains
        self.packets, self.exactly = packets, exactly
        self.warnings, self.error, self.change = warnings, error, change
        self.tables = World()
        build(self.tables)

    def text(self):
        text = self.tables.dump()
        return self.change(text) if self.change else text

    def allows(self, ends, packet):
        return any(ends in pairs.split(", ") and packet in packets
                   for pairs, packets in self.rules.items())


EVERY = ", ".join(f"{x} > {y}" for x in "abcd" for y in "abcd" if x != y)
FROM, TO = "from-lport", "to-lport"
LEFT_OUT = "left out: an intent cannot say"


def nothing(_):
    pass


def security_groups(w):
    """As Neutron writes them."""
    w.group("drop", "a b c d",
            (FROM, 1001, "inport == @drop && ip", "drop"),
            (TO, 1001, "outport == @drop && ip", "drop"))
    w.group("web", "a b",
            (FROM, 1002, "inport == @web && ip4", "allow-related"),
            (TO, 1002, "outport == @web && ip4 && ip4.src == $web_ip4",
             "allow-related"),
            (TO, 1002, "outport == @web && ip4 && ip4.src == 0.0.0.0/0 && "
             "tcp && tcp.dst == 22", "allow-related"))
    w.group("clients", "c d",
            (FROM, 1002, "inport == @clients && ip4", "allow-related"))


def network_policy(w):
    """As OVN-Kubernetes does: only what comes in is isolated."""
    w.add("Address_Set", name="as1", addresses=[IPS["b"], IPS["d"]])
    w.group("deny", "a", (TO, 1000, "outport == @deny", "drop"),
            (TO, 1001, "outport == @deny && (arp || nd)", "allow"))
    w.group("policy", "a",
            (TO, 1001, "outport == @policy && (ip4.src == {$as1} && tcp && "
             "8000<=tcp.dst<=8100)", "allow-related"))


def deny_above(w):
    w.group("all", "a b c d",
            (FROM, 300, "inport == @all && tcp.dst == {22, 80}", "reject"),
            (FROM, 200, "inport == @all && ip4", "allow-related"),
            (TO, 300, 'outport == "a" && ip4.src == 10.0.0.12', "drop"))


def middle(w):
    """A drop between two allows."""
    w.group("g", "a", (TO, 0, "outport == @g && ip", "drop"),
            (TO, 30, "outport == @g && tcp.dst == 443", "allow-related"),
            (TO, 20, "outport == @g && ip4.src == 10.0.0.11", "drop"),
            (TO, 10, "outport == @g && ip4.src == {10.0.0.11, 10.0.0.12} && "
             "tcp.dst == 80", "allow-related"))


def covered(w):
    """A drop that takes one sender off what is below, and leaves the
    others."""
    w.group("g", "b c", (FROM, 0, "inport == @g && ip", "drop"),
            (FROM, 30, "inport == @g && tcp.dst == 443", "allow-related"),
            (FROM, 20, 'inport == "b" && ip', "drop"),
            (FROM, 10, "inport == @g && tcp.dst == 80", "allow-related"))


def at_switch(w):
    """Of no port: what leaves the switch by its router is dropped too."""
    w.at_switch(1, (TO, 10, "ip4.src == 10.0.0.10", "drop"))


def at_router(w):
    w.at_switch(1, (TO, 10, 'outport == "s1-r" && tcp', "drop"))


def group_of_router(w):
    w.group("g", "a s2-r", (FROM, 10, "inport == @g && tcp.dst == 80",
                            "drop"))


def vague(w):
    w.group("g", "a", (TO, 0, "outport == @g", "drop"),
            (TO, 10, "outport == @g && tcp.flags[1] == 1", "allow-related"),
            (TO, 20, "outport == @g && udp && ip.ttl == 1", "drop"),
            (TO, 10, "outport == @g && udp.dst == 53", "allow-related"),
            (TO, 10, "outport == @g && tcp.dst == 22 && tcp.src == 7",
             "allow-related"))


def vague_drop(w):
    w.group("g", "a", (TO, 20, "outport == @g && tcp && ip.ttl == 1",
                       "drop"))


def broken(w):
    w.group("g", "a", (TO, 20, "outport == @g && (tcp", "drop"))


def stateless(w):
    w.group("g", "a b", (FROM, 0, "inport == @g && ip", "drop"),
            (FROM, 10, "inport == @g && tcp.dst == 22", "allow-stateless"),
            (FROM, 10, "inport == @g && udp.dst == 4791",
             "allow-stateless"))


def words(w):
    w.group("g", "a b c d", (FROM, 0, "inport == @g", "drop"),
            (FROM, 10, "inport == {\"a\", \"b\"} && "
             "!(ip4.dst == 10.0.0.0/24 || !tcp || tcp.dst != 80)",
             "allow-related"),
            (FROM, 10, "inport == \"c\" && ip4.dst != {10.0.0.10, "
             "10.0.0.11} && (tcp.dst > 4000 && tcp.dst <= 4420 || 0)",
             "allow-related"),
            (FROM, 10, "(inport == \"c\" && ip4.dst != {10.0.0.10, "
             "10.0.0.11}) && ((tcp.dst > 4000 && tcp.dst <= 4420) || 0)",
             "allow-related"),
            (FROM, 10, "inport == \"d\" && ip4 && ip.proto == {6, 1} && "
             "(icmp4 || tcp.dst == 443) && 1", "allow-related"))


# What OVN does not take: a flow with one of these is void.
VOID = ['inport != "c"', '!(inport == "c")', '(tcp || inport == 5)',
        'inport == {"c", @far}', 'inport == @1', '!udp', '!!tcp',
        '!tcp.dst == 81', '!(ip4 && tcp)', '(tcp || tcp == 0)', '{1}',
        'tcp.dst == 080', 'tcp.dst == {80, 65536}', 'tcp.dst == {}',
        '(tcp || tcp.dst == 10.0.0.1)', '(tcp || tcp.dst == 1/0x1)',
        '22 < tcp.dst > 79', '80 == tcp.dst == 80', 'tcp.dst < {81, 90}',
        'ip.proto == {6, 300}', 'ip.proto != 17', '(tcp || ip.ttl)',
        'ip4.src == {10.0.0.12, fd00::1}', 'ip4.src == $mixed',
        'ip4.src == {10.0.0.12, $nobodys}', '(tcp || icmp4.type < 3)',
        '(tcp || ip4.src < 10.0.0.0/8)', '(tcp || nonsense == 1)']


def void(match):
    def build(w):
        w.add("Address_Set", name="mixed",
              addresses=["10.0.0.12", "fd00::1"])
        w.group("far", "d")
        w.group("g", "a b", (TO, 1000, "outport == @g && ip", "drop"),
                (TO, 1001, f"outport == @g && tcp.dst == 80 && {match}",
                 "allow-related"))
    return build


def void_drop(w):
    """It is kept, as OVN's next version may take it."""
    w.group("g", "a", (TO, 10, "outport == @g && tcp.dst == 080", "drop"))


def group_elsewhere(w):
    """It is void at s1, of which no port is in the group."""
    w.group("far", "d")
    w.group("g", "a d", (TO, 0, "outport == @g && ip", "drop"),
            (TO, 10, "outport == {@g, @far} && tcp.dst == 80",
             "allow-related"))


def taken(w):
    """What looks like some of that, and is none."""
    w.group("g", "a b", (TO, 0, "outport == @g && ip", "drop"),
            (TO, 10, 'outport == @g && !(inport != "c") && 52 < tcp.dst <= '
             '53', "allow-related"),
            (TO, 10, 'outport == @g && {"c", "d", } == inport && '
             '!(tcp.dst != 80 || !(ip4 && tcp))', "allow-related"),
            (TO, 10, "outport == @g && (!(ip4.src != $s) && ip.proto == "
             "{6}) && 0x1bb == tcp.dst", "allow-related"))
    w.add("Address_Set", name="s", addresses=["10.0.0.12", "10.0.1.0/24"])


def by_inport(w):
    """What comes from d has the port to the router as its inport."""
    w.group("g", "a b", (TO, 0, "outport == @g && ip", "drop"),
            (TO, 10, 'outport == "a" && inport == {"b", "c", "d"} && '
             'tcp.dst == 80', "allow-related"))


def from_router(w):
    w.at_switch(1, (TO, 10, 'inport == "s1-r" && tcp.dst == 80', "drop"))
    w.at_switch(2, (TO, 10, 'inport == "s2-r" && tcp', "drop"))


def neither_on_nor_off(w):
    w.rows["Logical_Switch_Port"][0]["enabled"] = "false"


def protocols(w):
    w.group("g", "a b", (FROM, 0, "inport == @g && ip", "drop"),
            (FROM, 10, "inport == @g && ip.proto == {132, 47}",
             "allow-related"),
            (FROM, 10, 'inport == "b" && ip.proto == 50', "allow-related"),
            (FROM, 10, 'inport == "b" && sctp.src == 7', "allow-related"))


def protocol_drops(w):
    w.group("h", "c", (FROM, 20, "inport == @h && sctp", "drop"))
    w.group("i", "d", (FROM, 20, "inport == @i && sctp.dst == 7", "drop"))


def rocev2(w):
    w.group("g", "a b", (FROM, 0, "inport == @g && ip", "drop"),
            (FROM, 10, "inport == @g && ip4.dst == $g_ip4 && udp.dst == 4791",
             "allow-related"))
    w.group("h", "c d", (FROM, 0, "inport == @h && ip", "drop"),
            (FROM, 10, 'inport == "c" && udp.dst == 4791', "allow-related"))


def default_drop(w):
    w.rows["NB_Global"][0]["options"] = ["map",
                                         [["default_acl_drop", "true"]]]
    w.group("g", "a b", (FROM, 10, "inport == @g && tcp.dst == 80",
                         "allow-related"),
            (TO, 10, "outport == @g && tcp", "allow-related"))


def drop_elsewhere(w):
    """A switch without ACLs stays open; what goes to a router does not."""
    default_drop(w)
    w.rows["Port_Group"].clear()
    w.group("h", "d", (FROM, 10, "inport == @h", "allow-related"),
            (TO, 10, "outport == @h && ip", "allow-related"))


def linked(w):
    w.link({"r": ["10.0.2.10/32"], "other": ["10.0.0.0/24"]})
    w.group("g", "e", (TO, 0, "outport == @g", "drop"),
            (TO, 10, "outport == @g && tcp.dst == 80", "allow-related"))


def routes(w, **columns):
    """Changes the columns of the route from e back."""
    linked(w)
    w.rows["Logical_Router_Static_Route"][1].update(columns)


def by_nexthop(w):
    """As 'ovn-nbctl lr-route-add' writes them."""
    linked(w)
    for route in w.rows["Logical_Router_Static_Route"]:
        route["output_port"] = ["set", []]


def two_networks(w):
    routes(w, output_port=["set", []])
    w.rows["Logical_Router_Port"][2]["networks"] = [
        "set", ["10.0.2.1/24", "169.254.0.9/28"]]


def other_family(w):
    """A range of all of IPv6 has nothing of IPv4."""
    linked(w)
    w.rows["Logical_Router_Static_Route"][0].update(
        ip_prefix="::/0", nexthop="fe80::800:ff:fe00:2")


def further(w):
    """A router after the next one has what the route leads to."""
    w.switch(4, "f", "third")
    linked(w)
    w.rows["Logical_Router_Static_Route"][0]["ip_prefix"] = "10.0.0.0/16"


def linked_freely(w):
    w.link({"r": ["10.0.2.10/32"], "other": ["10.0.0.0/24"]})


def one_way(w):
    w.link({"r": ["10.0.2.10/32"], "other": []})


def longer_route(w):
    """The longest prefix decides, and that one leads elsewhere."""
    linked(w)
    w.extra["r"]["static_routes"].append(w.add(
        "Logical_Router_Static_Route", ip_prefix="10.0.2.8/29",
        nexthop="10.0.0.99", output_port="r-s1"))
    w.rows["Logical_Router_Static_Route"][0]["ip_prefix"] = "10.0.2.0/24"


def two_limits(w):
    """The row of the higher priority decides."""
    w.rows["Logical_Switch"][0]["qos_rules"] = ["set", [
        w.add("QoS", direction="from-lport", priority=priority,
              match='inport == "a"', bandwidth={"rate": rate})
        for priority, rate in ((1000, 9000), (2000, 5000), (1500, 7000))]]


def port_limits(w):
    w.rows["Logical_Switch_Port"][0]["options"] = ["map", [
        ["qos_burst", "1000"], ["qos_max_rate", "1000000"],
        ["qos_min_rate", "500000"]]]


def by_source(w):
    """It decides before those by destination, for some senders."""
    linked(w)
    w.rows["Logical_Router_Static_Route"][0].update(
        ip_prefix="10.0.0.0/16", policy="src-ip")


def other_table(w):
    linked(w)
    w.rows["Logical_Router_Static_Route"][0]["route_table"] = "blue"


def no_range(w):
    linked(w)
    w.rows["Logical_Router_Static_Route"][0]["ip_prefix"] = "$set"


def two_ways(w):
    """Of one range, to the other router and elsewhere."""
    linked(w)
    w.extra["r"]["static_routes"].append(w.add(
        "Logical_Router_Static_Route", ip_prefix="10.0.2.10/32",
        nexthop="10.0.0.99", output_port="r-s1"))


def discarded(w):
    linked(w)
    w.rows["Logical_Router_Static_Route"][0]["nexthop"] = "discard"


def no_mirrors(w):
    w.without = "Mirror"


def not_endpoints(w):
    """Ports that are there, and why they are no endpoints."""
    w.add("Logical_Switch", name="odd", ports=[
        w.add("Logical_Switch_Port", name="off", enabled=False,
              addresses="02:00:00:00:01:01 10.9.0.1"),
        w.add("Logical_Switch_Port", name="child", parent_name="a",
              addresses="02:00:00:00:01:02 10.9.0.2"),
        w.add("Logical_Switch_Port", name="later", addresses="dynamic"),
        w.add("Logical_Switch_Port", name="none")])


def policy(w):
    w.add("Logical_Router_Policy", action="drop", match="ip", priority=1)


def marked_policy(w):
    """Bulkhead writes none."""
    w.add("Logical_Router_Policy", action="drop", match="ip", priority=1,
          external_ids={"bulkhead": "b17d"})


def many_ports(w):
    ports = ", ".join(map(str, range(1, 65536, 2)))
    w.group("g", "a b", (FROM, 0, "inport == @g && ip", "drop"),
            (FROM, 10, f"inport == @g && tcp.dst == {{{ports}}}",
             "allow-related"))


def few_ports_not(w):
    w.group("g", "a b", (FROM, 0, "inport == @g && ip", "drop"),
            (FROM, 10, "inport == @g && tcp.dst != {80, 79, 443}",
             "allow-related"))


def unkept(w):
    w.add("NAT", type="snat", external_ip="192.0.2.1",
          logical_ip="10.0.0.0/24")
    w.add("Load_Balancer", name="lb", vips=[])
    w.add("Logical_Switch", name="ext", ports=w.add(
        "Logical_Switch_Port", name="phys", type="localnet",
        addresses="unknown"))
    w.add("Logical_Switch", name="odd", ports=w.add(
        "Logical_Switch_Port", name="bare", addresses="unknown"))


def one_address(w):
    """An endpoint is selected with all its addresses, or not at all."""
    for port in w.rows["Logical_Switch_Port"]:
        if port["name"] == "c":
            port["addresses"] += " 10.0.0.22"
    w.group("g", "a", (TO, 0, "outport == @g", "drop"),
            (TO, 10, "outport == @g && ip4.src == {10.0.0.11, 10.0.0.12} && "
             "tcp.dst == 80", "allow-related"))


def dual_stack(w):
    """All have addresses of both families."""
    for port in w.rows["Logical_Switch_Port"]:
        if port["name"] in IPS:
            port["addresses"] += f" fd00::{ord(port['name']):x}"


def one_family(w):
    """Two ACLs of the other direction meet it, and it is told once."""
    dual_stack(w)
    w.group("g", "a b c", (FROM, 0, "inport == @g", "drop"),
            (FROM, 10, "inport == @g && ip4 && tcp.dst == 80",
             "allow-related"))
    w.group("h", "d", (TO, 0, "outport == @h", "drop"),
            (TO, 10, "outport == @h && tcp.dst == {80, 443}",
             "allow-related"))


def two_families(w):
    """As Neutron writes them."""
    dual_stack(w)
    w.group("g", "a b c", (FROM, 0, "inport == @g", "drop"),
            (FROM, 10, "inport == @g && ip4 && tcp", "allow-related"),
            (FROM, 10, "inport == @g && ip6 && tcp", "allow-related"),
            (FROM, 10, "inport == @g && ip6 && udp.dst == 53",
             "allow-related"))


def many_pairs(w):
    """Alternatives, each with each, of which no packet is both."""
    a, b = (" || ".join([f'inport == "{port}"'] * 3000) for port in "ab")
    w.at_switch(1, *[(FROM, 10, f"({a}) && ({b})", "allow-related")] * 4)


REQUESTS = ("((ip4 && udp.src == 68 && udp.dst == 67)"
            " || (ip6 && udp.src == 546 && udp.dst == 547))")
DHCP_ACLS = [
    ("from-lport", 3001, "inport == @bulkhead.dhcp.r_ss1 && udp.src == 68 && "
     "udp.dst == 67 && ((eth.bcast && ip4.dst == 255.255.255.255 && (ip4.src "
     "== 0.0.0.0 || ip4.src == $bulkhead.lease.r_ss1)) || (eth.dst == "
     "0a:00:00:00:01:01 && ip4.src == $bulkhead.lease.r_ss1 && ((ip4.src == "
     "10.0.0.0/24 && ip4.dst == 10.0.0.1))))", "allow-stateless"),
    ("from-lport", 3000, f"inport == @bulkhead.dhcp.r_ss1 && {REQUESTS}",
     "drop"),
    ("to-lport", 3000, f"outport == @bulkhead.dhcp.r_ss1 && {REQUESTS}",
     "drop"),
    ("from-lport", 2, f"inport == @bulkhead.dhcp.r_ss1 && {REQUESTS}",
     "allow-stateless"),
    ("to-lport", 2, f"outport == @bulkhead.dhcp.r_ss1 && {REQUESTS}",
     "allow-stateless")]


def native(change=None, to=None, ports="a b c", served=True, **keys):
    """Switch s1 is Bulkhead's, and its DHCP native.  Of the ACL number
    'change', 'to' are columns that somebody has changed."""
    def mark(row, name, **more):
        row["external_ids"] = ["map", sorted(
            [["bulkhead", "b17d"], ["bulkhead-id", name]]
            + [[f"bulkhead-{key}", value] for key, value in more.items()])]

    def build(w):
        switch = w.rows["Logical_Switch"][0]
        switch["name"] = "r/s1"
        mark(switch, "r/s1", subnets="10.0.0.0/24", **keys)
        options = w.add("DHCP_Options", cidr="10.0.0.0/24", options={
            "router": "10.0.0.1", "server_mac": "0a:00:00:00:01:01"})
        mark(w.rows["DHCP_Options"][0], "dhcp r/s1 10.0.0.0/24")
        for port in w.rows["Logical_Switch_Port"]:
            if served and port["name"] in ("a", "b", "c"):
                port["dhcpv4_options"] = options
        w.add("Address_Set", name="bulkhead.lease.r_ss1",
              addresses=["10.0.0.10", "10.0.0.11", "10.0.0.12"])
        w.group("bulkhead.dhcp.r_ss1", ports, *DHCP_ACLS)
        for i, acl in enumerate(w.rows["ACL"]):
            mark(acl, f"dhcp r/s1 acl {i}")
        if to:
            w.rows["ACL"][change].update(to)
    return build


def odd_action(w):
    w.group("g", "a", (TO, 20, "outport == @g", "pass"))


def but(*words):
    """All packets whose names do not begin with one of the words."""
    return [p for p in PACKETS if not any(
        p == w or p.startswith(w + " ") for w in words)]


SYMMETRIC = ("udp 1000", "udp 4791", "udp 4793")
ALL = but()
ANY = but(*SYMMETRIC)           # What passes one way.
NONE = "which have no direction"
BACK = "nothing passes by it: r has no route back"
BCD = "b > c, c > b, b > d, d > b, c > d, d > c"
CASES = [
    Case("no ACL", nothing, {EVERY: ALL}),
    Case("security groups", security_groups, {
        "a > b, b > a": ALL, "c > a, c > b, d > a, d > b": ["tcp 22"]}),
    Case("a network policy", network_policy, {
        BCD: ALL, "a > b, a > c, a > d": ANY,
        "b > a, d > a": ["tcp 8080"]}, [NONE]),
    Case("a drop above", deny_above, {
        "a > b, b > a, a > d, d > a, " + BCD: but("tcp 22", "tcp 80"),
        "a > c": but("tcp 22", "tcp 80", *SYMMETRIC)}),
    Case("a drop between allows", middle, {
        BCD: ALL, "a > b, a > c, a > d": ANY,
        "b > a, d > a": ["tcp 443"], "c > a": ["tcp 443", "tcp 80"]},
        [NONE]),
    Case("a drop that covers", covered, {
        "a > d, d > a": ALL, "a > b, a > c, d > b, d > c": ANY,
        "b > a, b > c, b > d": ["tcp 443"],
        "c > a, c > b, c > d": ["tcp 443", "tcp 80"]}, [NONE]),
    Case("at a switch", at_switch, {
        BCD: ALL, "b > a, c > a, d > a": ANY}),
    Case("at a port to a router", at_router, {
        "a > b, b > a, a > c, c > a, b > c, c > b": ALL,
        "d > a, d > b, d > c": ALL,
        "a > d, b > d, c > d": but("tcp")}),
    Case("a group with one", group_of_router, {
        "b > a, b > c, c > a, c > b, d > a, d > b, d > c": ALL,
        "a > b, a > c, a > d, b > d, c > d": but("tcp 80")}),
    Case("an allow that cannot be said", vague, {
        BCD: ALL, "a > b, a > c, a > d": ANY},
        [LEFT_OUT, "more is denied", "tcp.flags[1] == 1", NONE]),
    Case("a drop that cannot be said", vague_drop, {
        BCD: ALL, "a > b, a > c, a > d": ALL,
        "b > a, c > a, d > a": but("tcp")}, ["more is denied"]),
    Case("a drop that is no expression", broken, {}, ["more is denied"]),
    *[Case(f"a match that is void: {match}", void(match), {
        "c > d, d > c": ALL, "a > c, a > d, b > c, b > d": ANY},
        [f"&& {match}'", "left out", NONE]) for match in VOID],
    Case("a drop that is void", void_drop, {
        BCD: ALL, "a > b, a > c, a > d": ALL,
        "b > a, c > a, d > a": but("tcp 80")}, ["more is denied"]),
    Case("a group of another switch", group_elsewhere, {
        "b > c, c > b": ALL, "a > b, a > c, d > b, d > c": ANY,
        "a > d, b > d, c > d": ["tcp 80"]},
        ["left out where OVN does not take", NONE]),
    Case("a match that OVN takes", taken, {
        "c > d, d > c": ALL, "a > c, a > d, b > c, b > d": ANY,
        "c > a, c > b": ["tcp 53", "tcp 80"]}, [LEFT_OUT, NONE]),
    Case("senders by inport", by_inport, {
        "c > d, d > c": ALL, "a > c, a > d, b > c, b > d": ANY,
        "b > a, c > a": ["tcp 80"]}, [NONE]),
    Case("what comes from a router, by inport", from_router, {
        "a > b, b > a, a > c, c > a, b > c, c > b": ALL,
        "a > d, b > d, c > d": but("tcp"),
        "d > a, d > b, d > c": but("tcp 80")}, ["more is denied"]),
    Case("untracked", stateless, {
        "c > d, d > c": ALL, "c > a, c > b, d > a, d > b": ANY + ["udp 4791"],
        "a > b, b > a, a > c, b > c, a > d, b > d": ["udp 4791"]},
        ["what is not tracked", NONE]),
    Case("words", words, {
        "a > d, b > d": ["tcp 80"], "c > d": ["tcp 4420"],
        "d > a, d > b, d > c": ["tcp 443", "icmp"]}, [LEFT_OUT]),
    Case("other protocols", protocols, {
        "a > b, a > c, a > d": ["ip 47", "ip 132"],
        "b > a, b > c, b > d": ["ip 47", "ip 50", "ip 132"],
        "c > a, c > b, d > a, d > b": ANY + ["ip 50"],
        "c > d, d > c": ALL + ["ip 50"]},
        [LEFT_OUT, NONE], packets=PACKETS + OTHERS),
    Case("drops of other protocols", protocol_drops, {
        "a > b, b > a, a > c, b > c, a > d, b > d": ALL + OTHERS,
        "c > a, c > b, c > d, d > a, d > b, d > c":
            ALL + ["ip 47", "ip 50", "ip 89"]},
        ["more is denied"], packets=PACKETS + OTHERS),
    Case("services without direction", rocev2, {
        "a > b, b > a": ["udp 4791"]}),
    Case("all is dropped by default", default_drop, {
        "a > b, b > a": ["tcp 80"]}, ["default_acl_drop"]),
    Case("all is dropped by default at another switch", drop_elsewhere, {
        "a > b, b > a, a > c, c > a, b > c, c > b": ALL},
        ["default_acl_drop"]),
    Case("routers apart", nothing, {EVERY: ALL}),
    Case("routers with routes", linked, {
        EVERY: ALL, "a > e, b > e, c > e": ["tcp 80"],
        "e > a, e > b, e > c": ANY}, [NONE]),
    Case("routes without ports", by_nexthop, {
        EVERY: ALL, "a > e, b > e, c > e": ["tcp 80"],
        "e > a, e > b, e > c": ANY}, [NONE]),
    Case("a nexthop of nobody", lambda w: routes(
        w, nexthop="169.254.0.7"), {EVERY: ALL}, [
            "'169.254.0.7' is no address of r-other"]),
    Case("a nexthop of no network", lambda w: routes(
        w, nexthop="192.0.2.1", output_port=["set", []]), {EVERY: ALL}, [
            "no port of the router has the nexthop '192.0.2.1'"]),
    Case("a nexthop of two networks", two_networks, {EVERY: ALL}, [
        "several ports of the router have the nexthop '169.254.0.1'"]),
    Case("a nexthop of the other family", lambda w: routes(
        w, nexthop="fd00::1"), {EVERY: ALL}, [
            "'fd00::1' is no address of the family"]),
    Case("a range of the other family", other_family, {EVERY: ALL}, [BACK]),
    Case("no nexthop", lambda w: routes(w, nexthop=""), {EVERY: ALL}, [
        "its nexthop '' is no address"]),
    Case("a port that is not there", lambda w: routes(
        w, output_port="other-q"), {EVERY: ALL}, [
            "there is no output_port 'other-q'"]),
    Case("a router after the next", further, {
        EVERY: ALL, "a > e, b > e, c > e": ["tcp 80"],
        "e > a, e > b, e > c": ANY}, [
            NONE, "behind a router after other is not reached"]),
    Case("a port of another router", lambda w: routes(
        w, output_port="r-other"), {}, error="is another router's"),
    Case("routers with routes and no ACL", linked_freely, {
        EVERY: ALL + OTHERS, "a > e, b > e, c > e": ALL + ["ip 50"],
        "e > a, e > b, e > c": ALL + ["ip 50"]},
        ["what is not TCP, UDP, ICMP or ESP, between tenants"],
        packets=PACKETS + OTHERS),
    Case("one of two addresses", one_address, {
        BCD: ALL, "a > b, a > c, a > d": ANY, "b > a": ["tcp 80"]},
        ["of r/c and r/a some IPv4 addresses pass, but not all", NONE]),
    Case("one family of two", one_family, {
        "d > a, d > b, d > c": ANY},
        ["of r/a and r/b IPv4 passes alone", NONE]),
    Case("ACLs of two families", two_families, {
        "d > a, d > b, d > c": ANY,
        "a > b, b > a, a > c, c > a, b > c, c > b, a > d, b > d, c > d":
            [p for p in PACKETS if p.startswith("tcp")]}, [
                "IPv6 passes alone", NONE]),
    Case("a longer route", longer_route, {EVERY: ALL}, [BACK]),
    Case("a route one way", one_way, {EVERY: ALL}, [
        "nothing passes by it: other has no route back"]),
    Case("what is not kept", unkept, {EVERY: ALL}, [
        "NAT: the translation of addresses is not kept",
        "Load_Balancer lb: its addresses are translated",
        "Logical_Switch_Port phys: a port of type 'localnet' is not kept",
        "Logical_Switch_Port bare: left out"]),
    Case("ports that are no endpoints", not_endpoints, {EVERY: ALL}, [
        "Logical_Switch_Port off: left out: it is not enabled",
        "Logical_Switch_Port child: left out: it is in the port 'a'",
        "Logical_Switch_Port later: left out: OVN has not given it an "
        "address yet", "Logical_Switch_Port none: left out: it has no "
        "address"], exactly=4),
    Case("limits of several priorities", two_limits, {EVERY: ALL}, [
        "QoS: the limit is not kept"], contains='"limit": "5000kbps"'),
    Case("limits of a port", port_limits, {EVERY: ALL}, [
        "the option qos_max_rate is not kept",
        "the option qos_burst is not kept",
        "the option qos_min_rate is not kept"]),
    Case("a route by source", by_source, {},
         error="a route by source, or of another route_table"),
    Case("a route of another table", other_table, {},
         error="a route by source, or of another route_table"),
    Case("a route to no range", no_range, {},
         error="'$set' is no range of addresses"),
    Case("two routes to one range", two_ways, {EVERY: ALL}, [BACK]),
    Case("a route that discards", discarded, {EVERY: ALL}, [BACK]),
    Case("a policy of a router", policy, {},
         error="Logical_Router_Policy: what it drops"),
    Case("a policy of a router with Bulkhead's mark", marked_policy, {},
         error="Logical_Router_Policy: what it drops"),
    Case("every other port", many_ports, {
        "c > d, d > c": ALL, "c > a, c > b, d > a, d > b": ANY,
        "a > b, b > a, a > c, b > c, a > d, b > d": [
            p for p in PACKETS if p[:3] == "tcp" and int(p[4:]) % 2]},
        [NONE]),
    Case("all ports but a few", few_ports_not, {
        "c > d, d > c": ALL, "c > a, c > b, d > a, d > b": ANY,
        "a > b, b > a, a > c, b > c, a > d, b > d": but(
            "tcp 80", "tcp 443", "udp", "icmp")}, [NONE]),
    Case("a port that is neither on nor off", neither_on_nor_off, {},
         error='"enabled" must be true or false'),
    Case("an action that is not known", odd_action, {},
         error="the action 'pass' is not known"),
    Case("a match of too many pairs", many_pairs, {},
         error="too many ACLs meet each other"),
    Case("a newer schema with tiers", security_groups, {},
         error="several ACLs decide", change=lambda s: s.replace(
             '"log", "options"', '"tier", "log", "options"').replace(
             '"drop", false', '"drop", 1, false').replace(
             '"allow-related", false', '"allow-related", 0, false')),
    Case("an older schema", nothing, {}, error='ACL has no column "log"',
         change=lambda s: s.replace('"log"', '"logs"')),
    Case("a table is missing", nothing, {},
         error="the table Port_Group is missing",
         change=lambda s: s.replace("Port_Group table", "Other table")),
    Case("a table of what is not kept is missing", nothing, {},
         error="the table NAT is missing",
         change=lambda s: s.replace("NAT table", "Other table")),
    Case("a column of it is missing", nothing, {},
         error='DNS has no column "external_ids"',
         change=lambda s: s.replace('"records", "external_ids"',
                                    '"records", "external"')),
    Case("before there were mirrors", no_mirrors, {EVERY: ALL}, [
        "the table Mirror is missing"]),
    Case("a reference to nothing", security_groups, {},
         error="no row of Logical_Switch_Port is this",
         change=lambda s: s.replace('"data": [[["uuid", "',
                                    '"data": [[["uuid", "0')),
    Case("no tables", nothing, {}, error="this is no table",
         change=lambda s: "{}"),
    Case("no JSON", nothing, {}, error="not valid JSON",
         change=lambda s: s[:-9]),
    Case("native DHCP", native(), {EVERY: ALL}, contains='"dhcp": "native"'),
    Case("native DHCP, and a drop that was widened", native(2, {
        "match": "outport == @bulkhead.dhcp.r_ss1 && ip4"}), {
            "a > d, b > d, c > d": ANY}, [NONE]),
    Case("native DHCP, and a drop of a lower priority", native(2, {
        "priority": 2999}), {EVERY: ALL}, ["more is denied"]),
    Case("native DHCP, and a drop of the other direction", native(2, {
        "direction": "from-lport"}), {EVERY: ALL}, ["more is denied"]),
    Case("native DHCP, and an allow that drops", native(4, {
        "action": "drop"}), {EVERY: ALL}, ["more is denied"]),
    Case("native DHCP, and an allow that was widened", native(0, {
        "match": "inport == @bulkhead.dhcp.r_ss1 && udp.src == 68"}),
        {EVERY: ALL}, [LEFT_OUT]),
    Case("native DHCP, and its ACLs at another switch", native(
        ports="a b c d"), {EVERY: ALL}, ["more is denied"]),
    Case("native DHCP that no port has", native(served=False),
         {EVERY: ALL}, ["more is denied"]),
    Case("an mtu", native(mtu="1400"), {EVERY: ALL}, contains='"mtu": 1400'),
    *[Case(f"an mtu of '{text}'", native(mtu=text), {EVERY: ALL}, [
        f"bulkhead-mtu must be a number from 1280 to 65535, and is '{text}'"])
      for text in ("", "1279", "65536", "-9000", " 9000", "0x2328", "9000 ",
                   "99999999999999999999", "9000, 'x")],
    Case("nobody", nothing, {}, error="no ports that could be endpoints",
         change=lambda s: s.replace(" 10.0.", " 10.0.x.")),
]

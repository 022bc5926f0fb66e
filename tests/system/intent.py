# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""What the tests need of an intent file: who is where, under which address.

Only names and addresses are read.  Verdicts are never derived from an intent:
the tests hold what was written by hand against what packets did.
"""

import ipaddress
import json
import sys
from dataclasses import dataclass, field


@dataclass
class Endpoint:
    name: str
    tenant: str
    interface: str
    mac: str
    v4: str
    v6: str
    gateway4: str
    gateway6: str
    prefix4: int
    prefix6: int

    @property
    def full_name(self):
        return f"{self.tenant}/{self.name}"

    def address(self, v6):
        return self.v6 if v6 else self.v4

    def gateway(self, v6):
        return self.gateway6 if v6 else self.gateway4


@dataclass
class Intent:
    path: str
    node: str
    endpoints: list = field(default_factory=list)
    uplinks: list = field(default_factory=list)
    externals: list = field(default_factory=list)

    def interfaces(self):
        return ([e.interface for e in self.endpoints] + self.uplinks
                + self.externals)

    def find(self, name):
        """The endpoints that 'name' stands for: NAME, TENANT/NAME or
        TENANT/*."""
        found = [e for e in self.endpoints
                 if name in (e.name, e.full_name, f"{e.tenant}/*")]
        if not found:
            raise ValueError(f"no endpoint is called '{name}'")
        return found


def _split(values):
    """(IPv4, IPv6) of a string or list of addresses or subnets."""
    values = [values] if isinstance(values, str) else values or []
    return ("".join([v for v in values if ":" not in v][:1]),
            "".join([v for v in values if ":" in v][:1]))


def _endpoint(tenant, networks, name, body):
    network = networks[body["network"]]
    sub4, sub6 = _split(network.get("subnets"))
    gateway4, gateway6 = _split(network.get("gateway"))
    v4, v6 = _split(body.get("addresses"))
    return Endpoint(name, tenant, body["interface"], body["mac"].lower(),
                    v4, v6, gateway4, gateway6,
                    ipaddress.ip_network(sub4).prefixlen if sub4 else 0,
                    ipaddress.ip_network(sub6).prefixlen if sub6 else 0)


def load(path, node):
    """The part of the intent in file 'path' that lives on 'node'."""
    with open(path, encoding="utf-8") as stream:
        data = json.load(stream)
    intent = Intent(path, node)
    uplinks = data["fabric"]["nodes"][node].get("uplinks", {})
    intent.uplinks = [u["interface"] for u in uplinks.values()]
    intent.externals = [external["nodes"][node]["interface"]
                        for external in data.get("externals", {}).values()
                        if node in external["nodes"]]
    for tenant, body in data["tenants"].items():
        for name, endpoint in body.get("endpoints", {}).items():
            if endpoint.get("node") == node:
                intent.endpoints.append(
                    _endpoint(tenant, body["networks"], name, endpoint))
    return intent


if __name__ == "__main__":
    # intent.py INTENT NODE: the interfaces, a line each, for the scripts.
    print("\n".join(load(sys.argv[1], sys.argv[2]).interfaces()))

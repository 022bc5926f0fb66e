#!/usr/bin/python3
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# schemas/intent.schema.json and the compiler agree: what "bulkhead check"
# accepts is valid, and what it refuses is invalid too, unless it takes more
# than shape to see.  tests/golden/run holds the compiler to the same files.
#
# Environment: srcdir, found by itself if unset.
"""Holds the schema of intents against the golden tests."""

import json
import os
import pathlib
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)

ROOT = pathlib.Path(os.environ.get("srcdir")
                    or pathlib.Path(__file__).parent.parent)

UNIT = "the value of a number with its unit is not a matter of its pattern"
NAME = "a name must be looked up"
ADDRESS = "addresses must be compared as numbers"
FILES = "it takes the other files, or the name of this one, to see"
ONCE = "it takes another place of the intent to see"
TENANTS = "it takes both tenants to see"

# Refused by the compiler though their shape is right, each with the reason.
NEEDS_RESOLVING = {
    "dscp-in-alike": ONCE,
    "dscp-in-of-class": ONCE,
    "dscp-in-rate": UNIT,
    "dscp-in-under-frame": UNIT,
    "guardrail-both-outside": ONCE,
    "peering-outside-both": ONCE,
    "peering-outside-charge": ONCE,
    "peering-outside-consent": ONCE,
    "peering-outside-contradicts": ONCE,
    "peering-outside-for-others": ONCE,
    "peering-outside-gateway": ONCE,
    "peering-outside-not-tracked": ONCE,
    "peering-outside-peer-unknown": NAME,
    "peering-outside-reply-class": ONCE,
    "guardrail-external-not-tracked": ONCE,
    "guardrail-external-unknown": NAME,
    "guardrail-external-no-address": ADDRESS,
    "narrower-by-labels-now": ONCE,
    "narrower-cidr": ONCE,
    "narrower-except": ONCE,
    "narrower-named-outside": ONCE,
    "narrower-neither": ONCE,
    "narrower-reply-class": ONCE,
    "narrower-same": ONCE,
    "narrower-stateful": ONCE,
    "narrower-too-deep": ONCE,
    "address-link-local": ADDRESS,
    "address-loopback": ADDRESS,
    "address-multicast": ADDRESS,
    "address-of-network": ADDRESS,
    "address-of-gateway": ONCE,
    "address-outside-subnet": ADDRESS,
    "address-twice": ONCE,
    "burst-over-buffer": UNIT,
    "burst-under-frame": UNIT,
    "bandwidth-receive-above-uplink": UNIT,
    "bare-metal-on-host": ONCE,
    "bursts-over-buffer": UNIT,
    "bursts-over-buffer-all": UNIT,
    "bursts-over-buffer-uplink": UNIT,
    "bursts-under-jumbo-frame": UNIT,
    "bursts-under-uplink-mtu": UNIT,
    "charge-conflict": ONCE,
    "charge-conflict-symmetric": ONCE,
    "charge-guarantees": UNIT,
    "charge-limit-above-uplink": UNIT,
    "class-built-in": "the built-in name is the compiler's",
    "classes-under-jumbo-frame": UNIT,
    "classes-contradict": ONCE,
    "classes-contradict-protocol": ONCE,
    "classes-contradict-symmetric": ONCE,
    "consent-missing-from": TENANTS,
    "peer-of-itself": TENANTS,
    "peering-without-gateway": TENANTS,
    "peering-of-every-two": TENANTS,
    "peers-share-address-every": ONCE,
    "peers-share-address-two": ONCE,
    "subnet-of-other-family": ADDRESS,
    "consent-missing-to": TENANTS,
    "dangling-class": NAME,
    "dangling-class-in-peering": NAME,
    "dangling-dhcp-server": NAME,
    "dangling-endpoint-in-peering": NAME,
    "dangling-except-endpoint": NAME,
    "dangling-network": NAME,
    "dangling-network-in-peering": NAME,
    "dangling-network-of-every-tenant": NAME,
    "dangling-node": NAME,
    "dangling-peer": NAME,
    "dangling-peer-far": NAME,
    "peers-external": NAME,
    "dangling-selector-endpoint": NAME,
    "dangling-selector-network": NAME,
    "dangling-service": NAME,
    "dangling-service-in-peering": NAME,
    "dangling-tenant-in-peering": NAME,
    "deny-between-others": TENANTS,
    "dhcp-of-other-network": NAME,
    "gateway-outside-subnet": ADDRESS,
    "endpoint-above-tenant": UNIT,
    "endpoint-guarantee-of-none": UNIT,
    "endpoint-guarantees-above-tenant": UNIT,
    "part-limit-above-tenant": UNIT,
    "part-like-best-effort": ONCE,
    "part-of-best-effort": NAME,
    "part-of-no-class": NAME,
    "parts-above-tenant": UNIT,
    "parts-alike": ONCE,
    "parts-and-endpoints": "each is right by itself",
    "guarantee-above-limit": UNIT,
    "guarantees-above-uplink": UNIT,
    "guarantees-above-uplink-both": UNIT,
    "guardrail-of-nobody": NAME,
    "interface-of-openflow": "those names have no case",
    "interface-of-uplink": ONCE,
    "interface-twice": ONCE,
    "limit-above-uplink": UNIT,
    "limit-above-second-uplink": UNIT,
    "limits-burst-over": UNIT,
    "limits-burst-under-batch": UNIT,
    "limits-rate-over": UNIT,
    "limits-upcalls-over": UNIT,
    "mac-of-gateway": "that address follows from the VNI",
    "mac-twice": ONCE,
    "many-errors": NAME,
    "microburst-mark-over-limit": UNIT,
    "microburst-under-frame": UNIT,
    "multicast-of-link": ADDRESS,
    "multicast-scope": ADDRESS,
    "multicast-unicast": ADDRESS,
    "peering-of-one": TENANTS,
    "peers-share-address": TENANTS,
    "plane-of-none": NAME,
    "plane-of-several": ONCE,
    "port-reversed": "the ports must be compared as numbers",
    "rate-not-kbps": UNIT,
    "reply-class-dangling": NAME,
    "reply-class-symmetric": NAME,
    "rule-twice": ONCE,
    "service-built-in": "the built-in names are the compiler's",
    "subnet-all": ADDRESS,
    "subnet-host-bits": ADDRESS,
    "tenant-in-rule": TENANTS,
    "subnet-overlap": ADDRESS,
    "mtu-over-uplink": ONCE,
    "mtu-over-uplink-ip6": ONCE,
    "tunnel-address-families": ONCE,
    "tunnel-address-in-subnet": ADDRESS,
    "tunnel-address-of-none": ADDRESS,
    "tunnel-address-twice": ONCE,
    "tunnel-without-encapsulation": ONCE,
    "two-uplinks": ONCE,
    **dict.fromkeys([
        "binding-member-twice", "binding-unknown-endpoint",
        "files-address-twice", "files-binding-twice",
        "files-bindings-hold-tenant", "files-class-twice",
        "files-encapsulation-differs", "files-folder-unknown",
        "files-folder-within", "files-interface-twice", "files-no-fabric",
        "files-upper-case",
        "files-node-twice", "files-peering-twice", "files-service-twice",
        "files-tenant-binds", "files-tenant-binds-mac",
        "files-tenant-holds-binding", "files-tenant-holds-class",
        "files-tenant-holds-none", "files-tenant-holds-tenant",
        "files-tenant-twice"], FILES),
    "binding-unknown-node": NAME,
    **dict.fromkeys([
        "external-unknown", "external-for-others", "external-unknown-tenant",
        "external-unknown-node"], NAME),
    **dict.fromkeys([
        "external-range-of-link", "external-no-gateway",
        "external-gateway-multicast", "external-cidr-of-another",
        "external-cidr-inside"], ADDRESS),
    **dict.fromkeys([
        "external-range-twice", "external-interface-twice",
        "external-mac-of-gateway", "external-gateway-mac-twice",
        "external-to-external", "external-shared-address",
        "external-not-tracked", "stateless-external",
        "external-classes-contradict", "external-deny-for-others"], ONCE),
    "unit-duration-fraction": UNIT,
    "unit-fraction": UNIT,
    "unit-fraction-of-bit": UNIT,
    "unit-overflow": UNIT,
    "unit-size-overflow": UNIT,
    "uplink-unknown": NAME,
    "uplinks-share-interface": ONCE,
    "vni-twice": ONCE,
}


def unique(pairs):
    """Refuses duplicate keys, as the compiler does."""
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError("duplicate key")
    return dict(pairs)


def files_of(path):
    """The files of an intent, which is a file or a folder."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*.json")
                  if not file.name.startswith("."))


def complaint(validator, path):
    """Why the schema refuses a file of the intent, or None."""
    for file in files_of(path):
        why = complaint_of_file(validator, file)
        if why:
            return f"{file.name}: {why}"
    return None


def complaint_of_file(validator, path):
    """Why the schema refuses the file, or None."""
    try:
        intent = json.loads(path.read_text("utf-8"),
                            object_pairs_hook=unique)
    except ValueError as error:     # Bad JSON or UTF-8 as well.
        return f"not JSON: {error}"
    error = jsonschema.exceptions.best_match(validator.iter_errors(intent))
    if not error:
        return None
    return f"/{'/'.join(map(str, error.absolute_path))}: {error.message}"


def main():
    """Prints a line for each file; returns the exit status."""
    schema = json.loads((ROOT / "schemas/intent.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    golden = ROOT / "tests/golden"
    unused = set(NEEDS_RESOLVING)
    n_failed = n_all = 0

    def judge(path, problem):
        nonlocal n_failed, n_all
        n_all += 1
        n_failed += problem is not None
        print(f"{'not ok' if problem else 'ok'} - {path.relative_to(ROOT)}")
        if problem:
            print(f"# {problem}")

    for path in sorted([*ROOT.glob("examples/*.json"),
                        *(path.parent for path
                          in ROOT.glob("examples/*/fabric.json")),
                        *golden.glob("valid/*/intent.json"),
                        *golden.glob("valid/*/intent"),
                        *golden.glob("plan/*/intent.json"),
                        *golden.glob("cli/*/intent.json")]):
        why = complaint(validator, path)
        judge(path, why and f"the schema refuses it: {why}")
    for path in sorted([*golden.glob("invalid/*/intent.json"),
                        *golden.glob("invalid/*/intent")]):
        why = complaint(validator, path)
        listed = path.parent.name in NEEDS_RESOLVING
        unused.discard(path.parent.name)
        problem = None
        if listed and why:
            problem = f"the schema refuses it, so take it off the list: {why}"
        elif not listed and not why:
            problem = ("the schema accepts it: mend the schema, or list it "
                       "in NEEDS_RESOLVING with the reason")
        judge(path, problem)
    for name in sorted(unused):
        judge(golden / "invalid" / name, "listed, but there is no such test")

    print(f"# {n_all} files, {n_failed} failed")
    return 1 if n_failed or not n_all else 0


if __name__ == "__main__":
    sys.exit(main())

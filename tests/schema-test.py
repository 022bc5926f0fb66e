#!/usr/bin/python3
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# schemas/intent.schema.json and the compiler agree: what "bulkhead check"
# accepts is valid, and what it refuses is invalid too, unless it takes more
# than shape to see.  tests/golden/run holds the compiler to the same files;
# random changes of them, which the schema refuses, are given to "check" here.
#
# usage: tests/schema-test.py [SEED [MUTANTS]]
# Environment: BULKHEAD, srcdir; found by themselves if unset.
"""Holds the schema of intents against the golden tests and mutants of them."""

import copy
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

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
    "class-buffer-too-large": UNIT,
    "class-buffer-under-frame": UNIT,
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
    **dict.fromkeys([
        "device-twice", "device-without-dpdk", "dpdk-lcore-polls",
        "legacy-and-representor", "legacy-default-deny", "legacy-deny-rule",
        "legacy-guarantee-apart", "legacy-interface", "legacy-lossless",
        "legacy-no-vf", "legacy-no-vlan", "legacy-parts", "legacy-shared",
        "legacy-vf-twice", "legacy-vlan-twice", "port-without-dpdk", "uplink-cpu-twice",
        "uplink-cpu-unknown", "uplink-cpus-all", "uplink-cpus-over-queues",
        "vf-alone", "vf-missing", "vf-of-system", "vf-of-vhost",
        "vf-of-virtual", "vf-twice"], ONCE),
    "dpdk-memory-not-mib": UNIT,
    "legacy-below-mbps": UNIT,
    "dpdk-socket-too-long": NAME,
    "files-tenant-binds-port": FILES,
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


BULKHEAD = os.environ.get("BULKHEAD") or ROOT / "_build/bulkhead"
SEED, N_MUTANTS = 1, 300
MAX_SEED_SIZE = 6000    # Large intents make slow mutants, and no better ones.

# What takes the place of a value or a name: corners of each kind of text.
VALUES = [
    None, True, False, 0, 1, -1, 7, 8, 63, 64, 1.0, 1.5, 1350, 1279, 65535,
    65536, 2 ** 24, 2 ** 31, 2 ** 63 - 1, "", "*", "x", "deny", "10.0.0.0/8",
    "10.0.0.1", "::/0", "fe80::1%eth0", "1:2", "::ffff:1.2.3.4", "1::2::3",
    "010.1.1.1", "1.2.3.4/08", "fd00::/064", "fd00::/64 ", "12345::", [], {},
    ["x"], ["*"], [["x"]], [1], ["x", "x"], {"x": 1}, {"description": 1},
    "1Gbps", "0Gbps", "0.0Gbps", "1.1234567890123Gbps", "01Gbps", "64KiB",
    "1pkt", "1pps", "10us", "1kbps\n", "a\n", "02:00:00:00:00:01",
    "03:00:00:00:00:01", "02-00-00-00-00-01", "02:00:00:00:00:01\n", "80-90",
    "90-80", "0-5", "1-65536", "+1-2", "00080-00090", "000001-2", "80-",
    "dscp:5", "dscp:05", "dscp:64", "ecn", "drop", "psp", "tcp", "icmp",
    "external:x", "external:", "LOCAL", "bulkhead-tun0", "123", "a" * 15,
    "a" * 16, "a" * 63, "a" * 64, "-a", ".a", "_a", "a.b", "\u00e9", "a b",
]


def slots(value):
    """Every place below a value, as its container and key or index."""
    pairs = (value.items() if isinstance(value, dict)
             else enumerate(value) if isinstance(value, list) else ())
    for key, inner in pairs:
        yield value, key
        yield from slots(inner)


def tweak(text, lot):
    """Puts something into a text, most likely before or behind it."""
    at = lot.choice([0, len(text), lot.randint(0, len(text))])
    return (text[:at] + lot.choice(["0", "00", " ", "\n", "-", ".", "x", "A"])
            + text[at:])


def mutate(intent, lot, names):
    """Takes away, renames, adds or replaces something of an intent."""
    places = list(slots(intent))
    if not places:
        return
    holder, key = lot.choice(places)
    other, other_key = lot.choice(places)
    new = copy.deepcopy(lot.choice([lot.choice(VALUES), other[other_key]]))
    how = lot.random()
    if how < 0.15:
        del holder[key]
    elif how < 0.3 and isinstance(holder, dict):
        name = lot.choice([v for v in VALUES if isinstance(v, str)] + names)
        holder[name] = holder.pop(key)
    elif how < 0.5 and isinstance(holder, dict):
        holder[lot.choice(names)] = new
    elif how < 0.5:
        holder.append(new)
    elif how < 0.7 and isinstance(holder[key], str):
        holder[key] = tweak(holder[key], lot)
    else:
        holder[key] = [holder[key]] if how > 0.95 else new


def check_accepts(intent):
    """Is "check" content with it?"""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(intent, file)
        file.flush()
        status = subprocess.run([BULKHEAD, "check", file.name], check=False,
                                capture_output=True).returncode
    if status not in (0, 1):
        raise SystemExit(f"check ends with status {status}: "
                         f"{json.dumps(intent)}")
    return status == 0


def judge_mutants(validator, paths, seed, n):
    """Yields each of 'n' mutants that the schema refuses and check accepts,
    with the reason."""
    lot = random.Random(seed)
    intents = [json.loads(path.read_text("utf-8")) for path in paths
               if path.stat().st_size <= MAX_SEED_SIZE]
    names = sorted({key for intent in intents for holder, key in slots(intent)
                    if isinstance(holder, dict)})
    while n:
        mutant = copy.deepcopy(lot.choice(intents))
        for _ in range(lot.choice([1, 1, 2])):
            mutate(mutant, lot, names)
        error = next(validator.iter_errors(mutant), None)
        if not error:
            continue
        n -= 1
        if check_accepts(mutant):
            place = "/".join(map(str, error.absolute_path))
            yield f"/{place}: {error.message}", json.dumps(mutant)


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

    files = sorted([*ROOT.glob("examples/*.json"),
                    *golden.glob("valid/*/intent.json"),
                    *golden.glob("plan/*/intent.json"),
                    *golden.glob("cli/*/intent.json")])
    folders = sorted([*(path.parent for path
                        in ROOT.glob("examples/*/fabric.json")),
                      *golden.glob("valid/*/intent")])
    for path in files + folders:
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

    seed = int(sys.argv[1]) if len(sys.argv) > 1 else SEED
    n_mutants = int(sys.argv[2]) if len(sys.argv) > 2 else N_MUTANTS
    n_wrong = 0
    for why, mutant in judge_mutants(validator, files, seed, n_mutants):
        print(f"# check accepts what the schema refuses: {why}\n# {mutant}")
        n_wrong += 1
    print(f"{'not ok' if n_wrong else 'ok'} - {n_mutants} mutants, seed {seed}")

    n_failed += n_wrong
    print(f"# {n_all} files, {n_failed} failed")
    return 1 if n_failed or not n_all else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Environment: BULKHEAD, found by itself if unset.
"""Gives "bulkhead check" what no golden test can hold: texts that are large,
deep or many, files that are none, names that would speak to a terminal.

Each is refused or accepted as it says, within CPU_TIME and MEMORY and with
an answer that is short and that a terminal can take, also as JSON."""

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

TIMEOUT = 600                   # Seconds, on a machine however busy.
CPU_TIME = 60                   # Seconds, with sanitizers.
LONGEST = 100_000               # Bytes of an answer.
MEMORY = 512 << 20              # Bytes of address space, without sanitizers.

ROOT = pathlib.Path(__file__).resolve().parent.parent
BULKHEAD = os.path.realpath(os.environ.get("BULKHEAD")
                            or ROOT / "_build/bulkhead")
SANITIZED = b"__asan_init" in pathlib.Path(BULKHEAD).read_bytes()
HUGE = 10_000_000               # A string of 10 MB.
NOBODY = 65534


def intent(rate="1Gbps", name="red", node="n", label="x", description="x",
           more="", members=""):
    """The text of an intent that is right, but for what is said."""
    return f"""{{"version": 1, "description": "{description}",
"fabric": {{"nodes": {{"{node}": {{"uplinks": {{"u":
  {{"interface": "p0", "rate": "{rate}", "burst": "64KiB"}}}}}}}}}},
"tenants": {{"{name}": {{{members}
  "networks": {{"n": {{"vni": 1, "subnets": ["10.0.0.0/8"]}}}},
  "endpoints": {{"e": {{"network": "n", "labels": {{"l": "{label}"}}}}}}}}}}
{more}}}"""


def many_names(alternatives, names):
    """Two rules whose classes differ: which is narrower takes a comparison of
    all that they list."""
    endpoints = ",".join(f'"e{i}": {{"network": "n"}}' for i in range(names))
    side = ",".join(
        f'{{"labels": {{"l": "v{i}"}}, "endpoint": ['
        + ",".join(f'"e{j}"' for j in range(names)) + "]}"
        for i in range(alternatives)) + ', {"endpoint": "e"}'
    rules = ",".join(f'{{"name": "{name}", "class": "{name}", "to": {{}}, '
                     f'"from": [{side}]}}' for name in "ab")
    return intent(members=f'"rules": [{rules}],',
                  more=', "classes": {"a": {"dscp": 1}, "b": {"dscp": 2}}'
                  ).replace('"e": {"network": "n"',
                            f'{endpoints}, "e": {{"network": "n"')


def many(n, form):
    """The members of an object or elements of a list, of 0 to n - 1."""
    return ", ".join(form(i) for i in range(n))


def bound(i, node):
    """Endpoint "eI" of network "n", on a node."""
    low = f"{i >> 8:02x}:{i & 255:02x}"
    return (f'"e{i}": {{"network": "n", "node": "{node}", "interface": '
            f'"vf{i}", "mac": "02:00:00:00:{low}", '
            f'"addresses": ["10.{1 + (i >> 8)}.{i & 255}.1"]}}')


def costly():
    """As texts(): what once took a time or memory that grew with the square
    of the text, or worse."""
    def rule(sides):
        return f'"rules": [{{"name": "r", "to": {{}}, "from": {sides}}}],'

    for depth, wanted in ((16, None), (17, "nested more than 16 deep"),
                          (1000, "nested more than 16 deep")):
        yield (f"except-{depth}", intent(members=rule(
            '{"except": ' * depth + '{"endpoint": "e"}' + "}" * depth)),
               wanted)
    yield ("except-errors", intent(members=rule(
        '{"except": ' * 16 + f"[{many(200_000, str)}]" + "}" * 16)),
           "... and 199980 more")
    yield ("same-subnets", intent().replace(
        '"10.0.0.0/8"', many(2000, lambda _: '"10.0.0.0/8"')),
           "this subnet overlaps")
    yield ("contradictions", intent(
        members='"rules": [' + many(2000, lambda i: (
            f'{{"name": "r{i}", "class": "c{i % 60}", "from": {{}}, '
            '"to": {}}')) + "],",
        more=', "classes": {' + many(60, lambda i: f'"c{i}": {{"dscp": {i}}}')
        + "}").replace('"e": {', '"d": {"network": "n"}, "e": {'),
           "neither is the narrower of the two")
    yield ("alternatives", intent(members=rule(
        "[" + many(20_000, lambda i: f'{{"endpoint": "e{i}"}}') + "]")
        ).replace('"e": {', many(
            20_000, lambda i: bound(i, "n")) + ', "e": {'), None)
    for name, first, wanted in (("nodes", "node", None),
                                ("nodes-unknown", "nodes",
                                 "the fabric has no node 'nodes-")):
        nodes = many(1000, lambda i: f'"node-{i:050}": {{"uplinks": {{"u": '
                     '{"interface": "p0", "rate": "1Gbps", '
                     '"burst": "64KiB"}}}')
        endpoints = many(20_000, lambda i, first=first: bound(
            i, f"{first}-{i % 1000:050}"))
        yield (name, intent().replace(
            '"nodes": {', f'"nodes": {{{nodes}, ').replace(
                '"e": {', f'{endpoints}, "e": {{'), wanted)
    networks = many(1000, lambda i: f'"a-network-{i:050}": {{"vni": {i + 2}, '
                    f'"subnets": ["11.{i >> 8}.{i & 255}.0/24"]}}')
    endpoints = many(10_000, lambda i: (
        f'"e{i}": {{"network": "a-network-{i % 1000:050}"}}'))
    yield ("networks", intent().replace(
        '"networks": {', f'"networks": {{{networks}, ').replace(
            '"e": {', f'{endpoints}, "e": {{'), None)
    for name, first in ("peers", "tenant"), ("peers-unknown", "nobody"):
        yield (name, intent().replace('"tenants": {', '"tenants": {' + many(
            2000, lambda i, first=first: (
                f'"tenant-{i:040}": {{"peers": [' + many(100, lambda j: (
                    f'"{first}-{(i + 7 * j + 7) % 2000:040}"'))
                + f'], "networks": {{"n": {{"vni": {i + 2}, '
                '"subnets": ["10.0.0.0/8"]}}}')) + ", "),
               None if name == "peers" else "there is no tenant 'nobody-")
    yield ("services", intent(more=', "services": {' + many(
        100_000, lambda i: f'"s{i}": {{"protocol": "esp"}}') + "}"), None)


def texts():
    """Yields name, text and what the answer holds; None: it is accepted."""
    unknown = ",".join(f'"m{i}": {i}' for i in range(200_000))
    endpoints = ",".join(f'"e{i}": {{"network": "m"}}'
                         for i in range(100_000))
    rules = ",".join('{"name": "r", "from": {}, "to": {}}'
                     for _ in range(20_000))

    yield "right", intent(), None
    yield "huge-description", intent(description="d" * HUGE), None
    yield "huge-label", intent(label="l" * HUGE), None
    yield "huge-tenant", intent(name="t" * HUGE), "this is not a valid name"
    yield "huge-rate", intent(rate="9" * HUGE), "the number is too large"
    yield "huge-unit", intent(rate="1" + "G" * HUGE), "the unit must be"
    yield ("huge-member", intent(more=f', "{"m" * HUGE}": 1'),
           "an intent has no member")
    yield ("huge-escapes", intent(name="\\u0041" * (HUGE // 6)),
           "this is not a valid name")
    yield "huge-line-cut", intent()[:-3] + " " * HUGE, "not valid JSON"
    yield "huge-spaces", " \n" * (HUGE // 2), "the file is empty"
    yield "huge-nulls", "\0" * HUGE, "not valid JSON"
    for depth in (10_000, 1_000_000):
        yield (f"deep-lists-{depth}", "[" * depth + "]" * depth,
               "this is nested too deeply")
        yield f"deep-cut-{depth}", "[" * depth, "this is nested too deeply"
        yield (f"deep-objects-{depth}", '{"a":' * depth + "1" + "}" * depth,
               "this is nested too deeply")
    yield ("deep-within", intent(more=', "x": ' + "[" * 10_000 + "]" * 10_000),
           "this is nested too deeply")
    yield ("many-members", intent(more=f", {unknown}"), "... and 199980 more")
    yield ("many-endpoints", intent(more=f""", "tenants2": {{}}""",
                                    members="").replace(
        '"e": {"network": "n"', f'{endpoints}, "e": {{"network": "n"'),
           "an intent has no member 'tenants2'")
    yield ("many-dangling", intent().replace(
        '"e": {"network": "n"', f'{endpoints}, "e": {{"network": "n"'),
           "... and 99980 more")
    yield ("many-rules", intent(members=f'"rules": [{rules}],'),
           "rule 'red/r' stands twice")
    yield ("many-names", many_names(3000, 60),
           "neither is the narrower of the two")
    yield ("escapes", intent(label="\\u001b[31m", name="\\u001b]0;x\\u0007"),
           "this is not a valid name")
    yield "bell", intent(name="a\x07b"), "not valid JSON"
    yield from costly()


def files(folder):
    """Yields name, path and what the answer holds, or why it is left out."""
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    yield "fifo", fifo, "Not a regular file"
    (folder / "none").mkdir()
    yield "folder-without-files", folder / "none", "no file of an intent"
    yield "device", "/dev/zero", "Not a regular file"
    yield "terminal", "/dev/tty", "cannot read"
    yield "absent", folder / "absent", "No such file or directory"
    yield "beneath-file", "/etc/passwd/x", "Not a directory"
    yield "name-empty", "", "No such file or directory"
    yield "name-long", "x" * 5000, "cannot read"
    loop = folder / "loop"
    loop.symlink_to(loop)
    yield "loop", loop, "Too many levels of symbolic links"
    strange = os.fsencode(folder) + b"/\x1b[31m\xff\xe2\x80\xae.json"
    with open(strange, "w", encoding="ascii") as file:
        file.write("[]")
    yield "name-strange", strange, "this must be an object, not a list"
    large = folder / "large.json"
    with open(large, "wb") as file:
        file.truncate(64 * 1024 * 1024 + 1)
    yield "large", large, "Larger than 64 MiB"


def without_rights(folder):
    """As files(); these need somebody whom rights concern."""
    for name, make in ("file", pathlib.Path.touch), ("folder",
                                                     pathlib.Path.mkdir):
        path = folder / f"shut-{name}"
        make(path)
        path.chmod(0)
        yield f"{name}-without-rights", path, "Permission denied"


def limit_resources():
    """For the child.  AddressSanitizer reserves terabytes."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_TIME, CPU_TIME))
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def complaints(path, wanted, as_user=None):
    """What is wrong with the answers about a path: a list."""
    found = []
    for more in [], ["-f", "json"]:
        try:
            done = subprocess.run(
                [BULKHEAD, "check", path] + more, stdin=subprocess.DEVNULL,
                capture_output=True, timeout=TIMEOUT, check=False,
                preexec_fn=limit_resources,
                user=as_user, group=as_user, extra_groups=None
                if as_user is None else [])
        except subprocess.TimeoutExpired:
            return found + [f"no answer within {TIMEOUT} s"]
        answer = done.stdout if more else done.stderr
        if done.returncode != (1 if wanted else 0):
            found.append(f"exit status {done.returncode}")
        if len(answer) > LONGEST:
            found.append(f"an answer of {len(answer)} bytes")
        if more:
            try:
                messages = [d["message"] for d in json.loads(answer)]
            except ValueError as error:
                found.append(f"{error}: {answer[:200]}")
                continue
            if wanted and not any(wanted in m for m in messages):
                found.append(f"not {wanted!r}, but {messages[:3]}"[:400])
        else:
            text = answer.decode(errors="replace")
            if any(ord(c) < 32 and c != "\n" or 0x7f <= ord(c) < 0xa0
                   or c == "\u202e" for c in text):
                found.append(f"not for a terminal: {answer[:200]}")
            if wanted and wanted not in text:
                found.append(f"not {wanted!r}, but: {text[:400]}")
    return found


def main():
    n_failed = n = 0

    def run(name, path, wanted, as_user=None):
        nonlocal n_failed, n
        found = complaints(path, wanted, as_user)
        n += 1
        n_failed += bool(found)
        print(("not ok" if found else "ok") + f" - {name}")
        for line in found:
            print(f"# {line}")

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        for name, text, wanted in texts():
            path = folder / "intent.json"
            path.write_text(text, encoding="utf-8")
            run(name, path, wanted)
            path.unlink()
        for name, path, wanted in files(folder):
            run(name, path, wanted)
        for name, path, wanted in without_rights(folder):
            run(name, path, wanted, NOBODY if os.geteuid() == 0 else None)
            path.chmod(0o700)
    print(f"# {n} texts and files, {n_failed} failed")
    return n_failed > 0


if __name__ == "__main__":
    sys.exit(main())

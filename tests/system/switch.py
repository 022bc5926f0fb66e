# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Talks to a private Open vSwitch: its control socket, flows and captures."""

import json
import os
import re
import socket
import struct
import subprocess
import time


class SwitchError(Exception):
    pass


class Unixctl:
    """What ovs-appctl speaks, over one connection for many commands."""

    def __init__(self, rundir, control=None):
        if not control:
            with open(f"{rundir}/ovs-vswitchd.pid",
                      encoding="ascii") as stream:
                control = f"{rundir}/ovs-vswitchd.{stream.read().strip()}.ctl"
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(10)
        self.socket.connect(control)
        self.buffer = ""

    def close(self):
        self.socket.close()

    def __call__(self, method, *params):
        request = {"id": 0, "method": method, "params": list(params)}
        self.socket.sendall(json.dumps(request).encode())
        while True:
            try:
                reply, end = json.JSONDecoder().raw_decode(self.buffer)
                break
            except json.JSONDecodeError:
                chunk = self.socket.recv(1 << 16)
                if not chunk:
                    raise SwitchError("ovs-vswitchd is gone") from None
                self.buffer += chunk.decode()
        self.buffer = self.buffer[end:]
        if reply.get("error"):
            raise SwitchError(f"{method}: {reply['error'].strip()}")
        return reply["result"] or ""


class Capture:
    """The frames that a dummy port wrote to its tx_pcap, as they come."""

    def __init__(self, path):
        self.path = path
        self.stream = None
        self.buffer = b""

    def read(self):
        """The frames since the last read."""
        if self.stream is None:
            if not os.path.exists(self.path):
                return []
            self.stream = open(self.path, "rb")
            self.stream.seek(24)
        self.buffer += self.stream.read()
        frames = []
        while len(self.buffer) >= 16:
            length = struct.unpack("=I", self.buffer[8:12])[0]
            if len(self.buffer) < 16 + length:
                break
            frames.append(self.buffer[16:16 + length])
            self.buffer = self.buffer[16 + length:]
        return frames

    def close(self):
        if self.stream:
            self.stream.close()


def run(*command):
    """Runs a tool to its end; its output, or SwitchError with its words."""
    done = subprocess.run(command, capture_output=True, text=True,
                          timeout=60, check=False)
    if done.returncode:
        raise SwitchError(f"{' '.join(command)}: exit {done.returncode}: "
                          + (done.stderr or done.stdout).strip())
    return done.stdout


def received():
    """The packets that the switch has taken from its ports so far."""
    text = Unixctl(os.environ["OVS_RUNDIR"])("dpif-netdev/pmd-stats-show")
    return sum(int(line.split(":")[1]) for line in text.splitlines()
               if "packets received" in line)


def await_true(condition, seconds, what):
    """Polls 'condition' until it holds, or raises SwitchError."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SwitchError(f"waited {seconds} s in vain for {what}")
        time.sleep(0.0005)


FLOW = re.compile(r"cookie=(0x[0-9a-f]+), .*?table=(\d+), n_packets=(\d+), "
                  r"n_bytes=\d+, (?:\w+_age=\d+, )*(.*)$")


def dump_flows(bridge):
    """{(table, match and actions): (cookie, packets)} of the bridge."""
    text = run("ovs-ofctl", "-O", "OpenFlow14", "--no-names", "dump-flows",
               bridge)
    flows = {}
    for line in text.splitlines():
        found = FLOW.search(line)
        if found:
            cookie, table, packets, rest = found.groups()
            flows[int(table), rest] = int(cookie, 16), int(packets)
    return flows


class Reasons:
    """Names the rule or the implicit reason that decided on a packet."""

    def __init__(self, manifest_path):
        with open(manifest_path, encoding="utf-8") as stream:
            manifest = json.load(stream)
        self.rules = {int(r["cookie"], 16): r for r in manifest["rules"]}
        self.implicit = {int(r["cookie"], 16): r["reason"]
                         for r in manifest["implicit"]}

    def decide(self, before, after, dropped):
        """Of the flows whose counters rose, the one that decided: the last
        for a drop, the last of a rule for a packet that passed."""
        hit = sorted((key[0], cookie)
                     for key, (cookie, packets) in after.items()
                     if packets > before.get(key, (cookie, 0))[1])
        rules = [self.rules[c]["name"] for _, c in hit if c in self.rules]
        if rules and not dropped:
            return rules[-1]
        names = [self.rules[c]["name"] if c in self.rules
                 else self.implicit[c] for _, c in hit
                 if c in self.rules or c in self.implicit]
        named = [name for name in names if name != "pipeline"]
        return named[-1] if named else "-"

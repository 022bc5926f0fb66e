# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Bursts through a switch in real time: who sends them, what is listed of
them, and which is which."""

import bisect
import collections
import json
import signal
import statistics
import subprocess
import threading
import time

import report
import workload as work
from dpdk_switch import LIBC, PR_SET_PDEATHSIG, SwitchError

GAP = 2000                          # Between two bursts, on average, in us
SIZE = 1500                         # Of a frame, in bytes
LINE, PEAK = 25_000_000, 5_000_000  # In kbps
DEPTH = 9000                        # In bytes
# How much of a burst may be elsewhere by the clock of Python, in ns, at least.
SLACK = 400_000
POLLS = ("1 s", 1), ("100 ms", 0.1), ("1 ms", 0.001)

METER = (f"meter=1,kbps,burst,stats,bands=type=microburst rate={PEAK} "
         f"burst_bytes=1048576 exceed=pass peak_rate={PEAK} mark={DEPTH} "
         f"depth={DEPTH} tag=1")
# Of the aggressor, and of the victim, whose is one frame in eight.
TAGS = AGGRESSOR, VICTIM = 1, 2
TAG = ("meter={tag},kbps,burst,stats,bands=type=microburst "
       f"rate={LINE} burst_bytes=1048576 exceed=pass tag={{tag}}")

Burst = collections.namedtuple(
    "Burst", "wanted start last frames gap depth length")


class Sender:
    """burst-sender, as a guest that the switch connects to."""

    def __init__(self, program, switch, hugepages, stack):
        self.socket = f"{switch.rundir}/guest.sock"
        memory = (["--no-huge", "-m", "128"] if hugepages.reason
                  else ["--socket-mem=128"])
        with open(f"{switch.rundir}/burst-sender.err", "wb") as errors:
            # It lives as long as the stack.
            # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
            self.child = subprocess.Popen(
                [program, "-l", str(switch.cpus.others[0]), "--no-pci",
                 "--no-telemetry", "--in-memory", "--single-file-segments",
                 *memory, "--vdev=net_virtio_user0,path=" + self.socket
                 + ",server=1,queues=1,queue_size=1024", "--",
                 *[work.udp_frame(i, SIZE)[:64].hex() for i in TAGS],
                 str(SIZE), str(LINE), str(PEAK), str(DEPTH)],
                env=switch.env, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                start_new_session=True, preexec_fn=lambda: LIBC.prctl(
                    PR_SET_PDEATHSIG, signal.SIGKILL))
        stack.callback(self.child.wait)
        stack.callback(self.child.kill)
        self.errors = errors.name

    def line(self):
        # EAL speaks on the same stream.
        for text in self.child.stdout:
            text = text.strip()
            if text in ("ready", "done") or text[:1].isdigit():
                return text
        with open(self.errors, encoding="utf-8") as stream:
            raise SwitchError("burst-sender ended: "
                              + " ".join(stream.read().splitlines()[-3:]))

    def obey(self, command):
        """Its answer: lines of numbers."""
        self.child.stdin.write(command + "\n")
        self.child.stdin.flush()
        return [list(map(int, text.split()))
                for text in iter(self.line, "done")]


class Source:
    """What the switch says of bursts."""

    def __init__(self, switch):
        self.switch = switch
        self.connect()
        self.count = self.overwritten = 0
        self.most_slack = float("inf")
        self.asked = time.monotonic_ns()
        self.unread = []        # Between these times bursts were missed.

    def read(self):
        """(bursts so far, the latest of them, when it was asked, and how far
        that may be off): the quickest of some answers."""
        took = None
        for _ in range(10):
            before = time.monotonic_ns()
            answer = self.switch.unixctl(self.command, "--json")
            after = time.monotonic_ns()
            if took is None or after - before < took:
                took, text, now = after - before, answer, (before + after) // 2
            if took < SLACK:
                break
        told = self.choose(json.loads(text))
        return told["count"], told["bursts"], now, max(SLACK, took // 2)

    def new(self):
        """The bursts since the last call, with their "start", and how far it
        may be off."""
        count, bursts, now, slack = self.read()
        n, self.count = count - self.count, count
        if slack > self.most_slack:
            # Nobody knows any more which is which.
            self.unread.append((self.asked - slack, now + slack))
            self.asked = now
            return []
        bursts = [dict(burst, start=now - burst["age_ns"], slack=slack)
                  for burst in (bursts[-n:] if n else [])]
        if n > len(bursts):
            self.overwritten += n - len(bursts)
            self.unread.append((self.asked - slack,
                                bursts[0]["start"] + slack))
        self.asked = now
        return bursts

    def missed(self, burst):
        """Was it sent while bursts were not read?"""
        return any(start < burst.last and burst.start < end
                   for start, end in self.unread)


class Meter(Source):
    name = "the meter"
    command = "dpif-netdev/burst-show"

    def connect(self):
        self.switch.write_meters("add-meter", METER, 1)
        self.switch.add_flow(f"in_port={work.SOURCE},"
                             f"actions=meter:1,output:{work.SINK}")

    @staticmethod
    def choose(bands):
        return bands[0]

    def byte_count(self):
        return self.switch.openflow.metered(1)[1]


class Port(Source):
    name = "the port"
    command = "dpif-netdev/tenant-queue-show"

    def connect(self):
        for tag in TAGS:
            self.switch.write_meters("add-meter", TAG.format(tag=tag), 1)
            self.switch.add_flow(
                f"in_port={work.SOURCE},ip,nw_dst=10.0.0.{tag},"
                f"actions=meter:{tag},output:{work.SINK}")

    @staticmethod
    def choose(ports):
        return next(port for port in ports if port["port"] == "sink")

    def gap(self):
        """The longest time between two polls so far, in ns."""
        return self.choose(json.loads(self.switch.unixctl(
            self.command, "--json")))["max_gap_ns"]

    def byte_count(self):
        return SIZE * self.switch.openflow.port_packets()[work.SINK][1]


def watch(source, thread):
    """What counters and bursts show while 'thread' runs: ([(time, bytes)],
    [burst])."""
    samples, found = [], []
    while thread.is_alive():
        before = time.monotonic_ns()
        count = source.byte_count()
        now = time.monotonic_ns()
        samples.append(((before + now) // 2, count))
        if len(samples) % 8 == 0:
            found += source.new()
        time.sleep(max(0, 0.001 - (time.monotonic_ns() - before) / 1e9))
    found += source.new()
    return samples, found


def send_bursts(sender, source, n_each, lengths, gap=GAP):
    """(bursts sent, bursts found, samples)"""
    sent = []
    thread = threading.Thread(target=lambda: sent.extend(sender.obey(
        f"bursts 1 {n_each} {gap} " + " ".join(map(str, lengths)))))
    thread.start()
    samples, found = watch(source, thread)
    thread.join()
    # The last one ends when its queue is empty, and is listed soon after.
    time.sleep(max(lengths) * LINE / PEAK / 1e6 + 0.3)
    found += source.new()
    if len(sent) != n_each * len(lengths):
        raise SwitchError("burst-sender did not say what it sent")
    return [Burst(*numbers) for numbers in sent], found, samples


def match(sent, found):
    """{index of a burst sent: what was found of it}, more parts of the same,
    and what was found where none was sent."""
    starts = [burst.start for burst in sent]
    matched, parts, others = {}, [], []
    for one in found:
        i = bisect.bisect(starts, one["start"] + one["slack"]) - 1
        # A poll that was late found it late.
        late = one["slack"] + one["max_gap_ns"]
        if i < 0 or one["start"] > sent[i].last + late:
            others.append(one)
        elif i in matched:
            parts.append(one)
        else:
            matched[i] = one
    return matched, parts, others


def is_named(burst):
    """Is the aggressor the culprit, and nobody but the victim a victim?"""
    roles = {one["tag"]: one["role"] for one in burst["shares"]}
    return (roles.pop(AGGRESSOR, "") == "culprit"
            and roles in ({}, {VICTIM: "victim"}))


def averages(samples, period):
    """Shares of the line, from counters that are read each 'period' s."""
    last = samples[0]
    for now in samples[1:]:
        # Counters are read each ms or a little later.
        if now[0] - last[0] >= period * 1e9 - 100_000:
            yield ((now[1] - last[1]) * 8e6 / (now[0] - last[0]) / LINE,
                   now[0] - last[0])
            last = now


def poll_table(samples, found, name_of_source):
    rows = []
    for name, period in POLLS:
        values = list(averages(samples, period))
        if not values:
            continue            # It did not take that long.
        shares = [value for value, _ in values]
        rows.append([
            name, str(len(values)),
            f"{statistics.median(t for _, t in values) / 1e6:.1f} ms",
            f"{100 * statistics.median(shares):.1f} %",
            f"{100 * max(shares):.1f} %",
            str(sum(one > PEAK / LINE for one in shares))])
    rows.append([name_of_source, "-", "-", "-", "-", str(len(found))])
    return report.table(["polled each", "polls", "took", "median", "largest",
                         "above peak rate"], rows)


def connect(switch, sender):
    switch.add_port("sink", work.SINK, "type=dpdk",
                    'options:dpdk-devargs="net_null1,no-rx=1"',
                    f"other_config:tenant-queue-rate={PEAK}",
                    f"other_config:tenant-queue-threshold={DEPTH}")
    switch.add_port("source", work.SOURCE, "type=dpdkvhostuserclient",
                    f"options:vhost-server-path={sender.socket}")
    switch.find_pmd()
    if sender.line() != "ready":
        raise SwitchError("burst-sender is not ready")

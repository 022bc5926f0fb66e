# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""TCP of two tenants that share an uplink, each owed 40 % of it.

usage: borrow.py tenants|parts INTENT BRIDGE

While one is idle the other has all of it; once both send, each has at least
what it is owed, and both together no more than the uplink.  With "parts", the
endpoints of one share what that has, up to its limit: one of them is owed a
part of it.
"""

import contextlib
import os
import select
import socket
import sys
import threading
import time

import intent as intents
import netlab
from switch import run
from trial import Score

CONNECTIONS = 6             # Of a tenant: one may stand still after a loss.
SO_MAX_PACING_RATE = 47
PACE = 25_000_000 // 8      # Bytes/s of each: packets one by one, not in trains
                            # that a meter must drop.
SETTLE, MEASURE = 2.0, 4.0  # Seconds.
PATIENCE = 6                # Turns of MEASURE.
UPLINK = 100e6 * 1514 / 1538            # What it lends, in bit/s of frames.
GUARANTEE = 40e6
LIMIT, PART = 60e6, 25e6                # Of red, and of an endpoint of it.
PAYLOAD = 1448 / 1514                   # Of a full frame with timestamps.
SLACK = 1.05                # Retransmissions count for nobody.


class Sender:
    """Bulk TCP from one endpoint of a tenant to another, in a thread."""

    def __init__(self, one, other, port):
        self.got = 0
        self.awake = threading.Event()
        self.over = False
        self.pairs = [netlab.connect(one, other, False, port + i, 5)
                      for i in range(CONNECTIONS)]
        for client, peer in self.pairs:
            client.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, PACE)
            client.setblocking(False)
            peer.setblocking(False)
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        data = bytes(1 << 16)
        clients = [client for client, _ in self.pairs]
        peers = [peer for _, peer in self.pairs]
        while not self.over:
            awake = self.awake.is_set()
            readable, writable, _ = select.select(
                peers, clients if awake else [], [], 0.02)
            for client in writable:
                with contextlib.suppress(BlockingIOError):
                    client.send(data)
            for peer in readable:
                with contextlib.suppress(BlockingIOError):
                    self.got += len(peer.recv(1 << 18))

    def close(self):
        self.over = True
        self.thread.join()
        for pair in self.pairs:
            for sock in pair:
                sock.close()


def rates(senders):
    """The bit/s of frames that each gets."""
    before, start = [s.got for s in senders], time.monotonic()
    time.sleep(MEASURE)
    seconds = time.monotonic() - start
    return [8 * (s.got - b) / seconds / PAYLOAD
            for s, b in zip(senders, before)]


def mbps(values):
    return " and ".join(f"{value / 1e6:.1f} Mbit/s" for value in values)


def measure(score, senders, name, enough):
    """Measures until 'enough' of the rates is true, in PATIENCE turns: on a
    machine that is busy a sender may come late.  No turn may give more than
    the uplink lends."""
    time.sleep(SETTLE)
    for _ in range(PATIENCE):
        got = rates(senders)
        print(f"# {name}: {mbps(got)}")
        score.check(sum(got) <= SLACK * UPLINK,
                    f"{name}: no more than the uplink lends", mbps(got))
        if enough(got):
            break
    return got


def wake(senders, awake):
    """Lets those send that are 'awake', and no others."""
    for sender in senders:
        (sender.awake.set if sender in awake else sender.awake.clear)()


def alone(score, senders, who, name):
    wake(senders, [senders[who]])
    got = measure(score, senders, name, lambda got: got[who] >= 0.8 * UPLINK)
    score.check(got[who] >= 0.8 * UPLINK,
                f"{name}: it has what the uplink lends", mbps(got))


def together(score, senders, name):
    wake(senders, senders)
    got = measure(score, senders, name,
                  lambda got: (min(got) >= 0.8 * GUARANTEE
                               and sum(got) >= 0.8 * UPLINK))
    score.check(min(got) >= 0.8 * GUARANTEE,
                f"{name}: each has what it is owed", mbps(got))
    score.check(sum(got) >= 0.8 * UPLINK,
                f"{name}: together most of it", mbps(got))


def tenants(score, start):
    """Two levels."""
    both = [start(f"{tenant}/*") for tenant in ("red", "blue")]
    alone(score, both, 0, "red alone")
    together(score, both, "blue wakes")
    alone(score, both, 1, "red sleeps")
    together(score, both, "red wakes again")


def parts(score, start):
    """Three levels."""
    part = start("part0", "part1")
    rest = start("rest0", "part1", port=5020)
    blue = start("blue/*")
    everybody = [part, rest, blue]
    steps = [
        # Who sends, what part, rest and blue get at least, and red together.
        ("an endpoint alone", [part], (0.8 * LIMIT, 0, 0), 0.8 * LIMIT),
        ("both of the tenant", [part, rest],
         (0.8 * PART, 0.1 * LIMIT, 0), 0.8 * LIMIT),
        ("another tenant too", everybody,
         (0.8 * PART, 0, 0.8 * GUARANTEE), 0.8 * GUARANTEE),
        ("who was owed a part sleeps", [rest, blue],
         (0, 0.8 * GUARANTEE, 0.8 * GUARANTEE), 0.8 * GUARANTEE),
    ]
    for name, awake, least, red in steps:
        def enough(got):
            return (all(g >= l for g, l in zip(got, least))
                    and got[0] + got[1] >= red)

        wake(everybody, awake)
        got = measure(score, everybody, name, enough)
        score.check(enough(got), f"{name}: each has what it is owed",
                    mbps(got))
        score.check(got[0] + got[1] <= SLACK * LIMIT,
                    f"{name}: the tenant keeps its limit", mbps(got))


def main():
    what, path, bridge = sys.argv[1:]
    score = Score()
    world = netlab.World(intents.load(path, "n1"), bridge)
    with contextlib.closing(world), contextlib.ExitStack() as senders:
        world.build()
        for tap in world.taps.values():
            tap.close()
        world.taps.clear()
        run(os.environ["BULKHEAD"], "apply", path, "--node", "n1",
            "--bridge", bridge)

        def start(*names, port=5000):
            """From one endpoint to another, which one name may stand for."""
            ends = [e for name in names for e in world.intent.find(name)]
            return senders.enter_context(contextlib.closing(
                Sender(*ends, port)))

        {"tenants": tenants, "parts": parts}[what](score, start)
    return 1 if score.bad else 0


if __name__ == "__main__":
    sys.exit(main())

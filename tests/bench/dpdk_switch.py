# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
"""Private Open vSwitches with DPDK and no NIC, of which one runs at a time.

Each has a database, a run directory and a network namespace of its own and
one PMD thread.  They all share the CPU of that thread, so all but one are
stopped with SIGSTOP: to change from one to the next takes a millisecond, and
what is compared is measured seconds apart.
"""

import contextlib
import ctypes
import os
import re
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "system"))
# pylint: disable=wrong-import-position
from switch import SwitchError, Unixctl, await_true, run  # noqa: E402

import openflow13  # noqa: E402
import workload as work  # noqa: E402

BRIDGE = "br0"
MEGABYTES = 1024
TELEMETRY = "other_config:tenant-queue-telemetry=true"
# Above what one thread sends: bursts are looked for, and there are none.
SINK_RATE = "other_config:tenant-queue-rate=100000000"
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)

NODE_PAGES = ("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/"
              "nr_hugepages")


class Hugepages:
    """2 MB pages of the first NUMA node for a number of switches.

    DPDK maps them by itself (--in-memory), so that nothing is mounted.
    'reason' says why there are none; then the switches do without."""

    def __init__(self, n_switches):
        self.path = NODE_PAGES
        self.added = 0
        self.reason = None
        if not n_switches:
            self.reason = "not wanted"
            return
        try:
            self.reserve(n_switches * (MEGABYTES // 2 + 8))
        except OSError as error:
            self.reason = f"{self.path}: {error.strerror}"
            self.release()
        except BaseException:
            self.release()
            raise

    def read(self, name="nr_hugepages"):
        path = os.path.join(os.path.dirname(self.path), name)
        with open(path, encoding="ascii") as stream:
            return int(stream.read())

    def write(self, n):
        with open(self.path, "w", encoding="ascii") as stream:
            stream.write(str(n))

    def reserve(self, wanted):
        missing = wanted - self.read("free_hugepages")
        if missing <= 0:
            return
        before = self.read()
        try:
            self.write(before + missing)
        finally:
            self.added = self.read() - before
        if self.read("free_hugepages") < wanted:
            self.reason = (f"only {self.read('free_hugepages')} of {wanted} "
                           "pages of 2 MB could be had")
            self.release()

    def release(self):
        """Takes back what was added here, no more: others may add, too."""
        if self.added:
            self.write(max(0, self.read() - self.added))
            self.added = 0


@contextlib.contextmanager
def only_one():
    """Two at a time would measure each other."""
    # An abstract name, unix(7): nothing is left behind, whatever happens.
    with socket.socket(socket.AF_UNIX) as lock:
        try:
            lock.bind("\0bulkhead-bench")
        except OSError:
            raise SwitchError("another benchmark on DPDK is running") from None
        yield


class Cpus:
    """The last CPU for the PMD thread, the others for everything else."""

    def __init__(self):
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) < 2:
            raise SwitchError("two CPUs are needed, one for the PMD thread "
                              "and one for everything else")
        self.pmd = allowed[-1]
        self.others = allowed[:-1]
        os.sched_setaffinity(0, self.others)


class Switch:
    """A running ovs-vswitchd of one prefix, with its database."""

    def __init__(self, name, prefix, directory, cpus, hugepages,
                 telemetry=False):
        self.name = name
        self.prefix = prefix
        self.telemetry = telemetry
        self.rundir = f"{directory}/{name}"
        self.cpus = cpus
        self.children = []
        self.openflow = None
        # The default, ovs-vswitchd.conf.db(5)
        self.revalidated = 500
        os.mkdir(self.rundir)
        self.env = dict(
            os.environ, OVS_RUNDIR=self.rundir, OVS_LOGDIR=self.rundir,
            OVS_DBDIR=self.rundir, OVS_SYSCONFDIR=self.rundir,
            OVS_PKGDATADIR=f"{prefix}/share/openvswitch",
            # Where DPDK puts a directory of its own.
            RUNTIME_DIRECTORY=self.rundir)
        try:
            self.start(hugepages)
        except BaseException:
            self.close()
            raise

    def start(self, hugepages):
        database = f"unix:{self.rundir}/db.sock"
        self.tool("bin/ovsdb-tool", "create", f"{self.rundir}/conf.db",
                  f"{self.prefix}/share/openvswitch/vswitch.ovsschema")
        self.spawn("ovsdb-server", [], f"{self.rundir}/conf.db",
                   f"--remote=p{database}")
        self.vsctl("--retry", "--no-wait", "init", "--", "set",
                   "Open_vSwitch", ".", *self.settings(hugepages))
        # Its own network namespace keeps the bridge's tap device to itself.
        unshare = ["unshare", "--net"]
        if os.geteuid():
            unshare = ["unshare", "--user", "--map-root-user", "--net"]
        self.daemon = self.spawn("ovs-vswitchd", unshare, database,
                                 "--disable-system")
        self.vsctl("add-br", BRIDGE, "--", "set", "bridge", BRIDGE,
                   "datapath_type=netdev", "fail-mode=secure",
                   "protocols=OpenFlow13")
        self.unixctl = Unixctl(self.rundir)
        self.openflow = openflow13.Connection(self.mgmt)

    def settings(self, hugepages):
        extra = "--no-pci --no-telemetry --in-memory"
        memory = [f"other_config:dpdk-socket-mem={MEGABYTES}"]
        if hugepages.reason:
            extra = ("--no-pci --no-telemetry --no-huge --legacy-mem "
                     f"-m {MEGABYTES}")
            memory = []
        return [
            "other_config:dpdk-init=true",
            f"other_config:dpdk-lcore-mask={1 << self.cpus.others[0]:#x}",
            f"other_config:pmd-cpu-mask={1 << self.cpus.pmd:#x}",
            f'other_config:dpdk-extra="{extra}"', *memory,
            *[TELEMETRY] * self.telemetry,
            # A switch that is stopped for a while keeps its flows.
            "other_config:max-idle=10000000"]

    @property
    def mgmt(self):
        return f"{self.rundir}/{BRIDGE}.mgmt"

    def tool(self, program, *arguments):
        return run("env", f"OVS_RUNDIR={self.rundir}",
                   f"{self.prefix}/{program}", *arguments)

    def vsctl(self, *arguments):
        self.tool("bin/ovs-vsctl", f"--db=unix:{self.rundir}/db.sock",
                  "--timeout=60", *arguments)

    def spawn(self, program, wrapper, *arguments):
        def die_with_parent():
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # It lives as long as this object.
        # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
        with open(f"{self.rundir}/{program}.out", "wb") as output:
            child = subprocess.Popen(
                [*wrapper, f"{self.prefix}/sbin/{program}", *arguments,
                 "--no-chdir", "--pidfile", "--log-file", "-vconsole:off",
                 "-vsyslog:off"], env=self.env, stdin=subprocess.DEVNULL,
                stdout=output, stderr=output, preexec_fn=die_with_parent,
                start_new_session=True)
        self.children.append(child)
        pidfile = f"{self.rundir}/{program}.pid"

        def is_up():
            if child.poll() is not None:
                raise SwitchError(f"{program} of {self.prefix} ended:\n"
                                  + self.last_words(program))
            return os.path.exists(pidfile)
        await_true(is_up, 60, pidfile)
        return child

    def last_words(self, program):
        text = ""
        for suffix in "out", "log":
            try:
                with open(f"{self.rundir}/{program}.{suffix}",
                          encoding="utf-8", errors="replace") as stream:
                    text += stream.read()
            except FileNotFoundError:
                pass
        return "\n".join(text.splitlines()[-8:])

    def connect(self, workload, tables):
        """Adds source, sink and flows; packets flow from now on."""
        sink = "net_null1,no-rx=1"
        source = workload.devargs(self.rundir)
        flows = f"{self.rundir}/flows"
        with open(flows, "w", encoding="ascii") as stream:
            stream.writelines(workload.flows(tables))
        # Flows may only name meters that exist.
        self.tool("bin/ovs-ofctl", "-O", "OpenFlow13", "add-flows", self.mgmt,
                  flows)
        for name, number, devargs in (("sink", work.SINK, sink),
                                      ("source", work.SOURCE, source)):
            self.add_port(name, number, "type=dpdk",
                          f'options:dpdk-devargs="{devargs}"',
                          *[SINK_RATE] * self.telemetry)
        if set(self.openflow.port_packets()) < {work.SOURCE, work.SINK}:
            raise SwitchError(f"{self.prefix}: no DPDK ports:\n"
                              + self.last_words("ovs-vswitchd"))
        self.unixctl("upcall/set-flow-limit", "200000")
        self.find_pmd()

    def add_port(self, name, number, *settings):
        self.vsctl("add-port", BRIDGE, name, "--", "set", "interface", name,
                   f"ofport_request={number}", *settings)

    def find_pmd(self):
        tasks = f"/proc/{self.daemon.pid}/task"
        for tid in os.listdir(tasks):
            with open(f"{tasks}/{tid}/comm", encoding="ascii") as stream:
                if stream.read().startswith("pmd-"):
                    self.pmd = f"{tasks}/{tid}/schedstat"
                    self.favour(int(tid))
                    return
        raise SwitchError(f"{self.prefix}: no PMD thread:\n"
                          + self.last_words("ovs-vswitchd"))

    def favour(self, tid):
        """Lets others who run on the CPU of the PMD thread disturb it less.

        Where the kernel groups processes, a group's "nice" is a file, and a
        thread's counts only within its group: autogroup in sched(7)."""
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, tid, -20)
        with contextlib.suppress(OSError):
            with open(f"/proc/{self.daemon.pid}/autogroup", "w",
                      encoding="ascii") as stream:
                stream.write("-20")

    def revalidate(self, often):
        """Sets how often datapath flows are looked over.  One that is stopped
        meanwhile takes that for a slow machine and deletes flows."""
        milliseconds = 500 if often else 1000000
        if milliseconds == self.revalidated:
            return
        self.vsctl("set", "Open_vSwitch", ".",
                   f"other_config:max-revalidator={milliseconds}")
        self.revalidated = milliseconds
        if not often:
            # What is under way, or due within the former time, ends.
            time.sleep(1)

    def add_flow(self, flow):
        self.tool("bin/ovs-ofctl", "-O", "OpenFlow13", "add-flow", self.mgmt,
                  flow)

    def write_meters(self, verb, text, n):
        """Meter 1 by ovs-ofctl and the same again for 2 to 'n'."""
        template = openflow13.write_meter(
            [f"{self.prefix}/bin/ovs-ofctl"], verb, text, self.rundir,
            self.mgmt)
        self.openflow.copy_meter(template, range(2, n + 1))

    def pause(self):
        self.daemon.send_signal(signal.SIGSTOP)

    def resume(self):
        self.daemon.send_signal(signal.SIGCONT)

    def cpu_time(self):
        """Seconds that the PMD thread has run, as of the time returned.

        The kernel brings this number up to date at each timer tick, so it
        is exact at the moment when it changes."""
        first = self.ran()
        start = time.perf_counter()
        while self.ran() == first and time.perf_counter() < start + 0.05:
            pass
        return self.ran(), time.perf_counter()

    def ran(self):
        with open(self.pmd, encoding="ascii") as stream:
            return int(stream.read().split()[0]) / 1e9

    def count(self):
        """What was processed until now."""
        if self.daemon.poll() is not None:
            raise SwitchError(f"ovs-vswitchd of {self.prefix} ended:\n"
                              + self.last_words("ovs-vswitchd"))
        cpu, at = self.cpu_time()
        wall, text = timed(self.unixctl, "dpif-netdev/pmd-stats-show")
        ports_wall, ports = timed(self.openflow.port_packets)
        return {"received": total(text, "packets received"),
                "upcalls": total(text, "miss with success upcall")
                + total(text, "miss with failed upcall"),
                "wall": wall, "cpu": cpu + wall - at,
                "offered": ports[work.SOURCE][0], "sent": ports[work.SINK][1],
                "ports_wall": ports_wall}

    def close(self):
        """Nothing here is worth an orderly end."""
        if self.openflow:
            self.openflow.close()
        for child in reversed(self.children):
            child.kill()
            child.wait()


def timed(function, *arguments):
    """When, in the middle of the call, and its result."""
    before = time.perf_counter()
    result = function(*arguments)
    return (before + time.perf_counter()) / 2, result


def total(text, what):
    return sum(int(n) for n in re.findall(re.escape(what) + r": (\d+)", text))

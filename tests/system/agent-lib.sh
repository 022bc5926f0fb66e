# shellcheck shell=bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Shared by the tests of bulkheadd, after lib.sh: $intent on $node of br0, in
# the folder $folder.

agent_pid=

# For policy: the endpoint batch/job1 of the example ai-cluster.json is bound
# by its interface, not by the intent.
# shellcheck disable=SC2034 # Tests use it.
unbind='/"node": "gpu-node-1",$/{N;/"pf0vf5"/d}'

# A switch with $intent's bridge, and an empty $folder.
begin_node() {
    start_dummy_switch
    make_dummy_bridge br0 "$intent" $node
    folder=$switch_dir/intent
    mkdir "$folder"
}

# A job of this shell, with the arguments $agent_options.  It takes signals that
# jobs ignore, or nohup(1).
agent_options=()
agent_start() {
    env --default-signal=INT,HUP "${BULKHEAD}d" "$folder" --node $node \
        --bridge br0 --pidfile --log-file -vconsole:off \
        "${agent_options[@]}" </dev/null >>"$switch_dir/bulkheadd.out" 2>&1 &
    agent_pid=$!
    switch_pids+=("$agent_pid")
    soon agent_says ' on br0: '
}

# agent_end SIGNAL
agent_end() {
    kill "-$1" "$agent_pid"
    wait "$agent_pid" 2>/dev/null || true
}

agent() { ovs-appctl -t bulkheadd "$@"; }
# agent_json MEMBER...: what its status has there, in JSON.
agent_json() {
    agent status json | python3 -c 'import functools, json, sys
print(json.dumps(functools.reduce(dict.get, sys.argv[1:],
                                  json.load(sys.stdin))))' "$@"
}
pushes() { agent_json pushes; }
agent_says() { agent status 2>/dev/null | grep -F -- "$1" >/dev/null; }
# It answers, and does not say so.
agent_omits() {
    agent status >"$switch_dir/status" && ! grep -F -- "$1" "$switch_dir/status"
}
# That, and nothing more.
is_as_intended() { [ "$(agent_json summary)" = '"as intended"' ]; }

# soon COMMAND...: within a second.
soon() {
    local tries
    for ((tries = 0; tries < 20; tries++)); do
        "$@" >"$switch_dir/soon" 2>&1 && return
        sleep 0.05
    done
    cat "$switch_dir/soon"
    agent status || true
    return 1
}

# catch_child: stops the first process that bulkheadd starts, and prints it.  As
# long as that has not begun another program, bulkheadd waits for it.
catch_child() {
    python3 - "$agent_pid" <<'EOF'
import contextlib
import os
import signal
import sys
import time


def state(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except OSError:     # It is gone.
        return "Z"


def stops(pid):
    os.kill(pid, signal.SIGSTOP)
    while state(pid) not in "TZ":
        time.sleep(0.001)
    if state(pid) == "T" and state(sys.argv[1]) != "D":
        return True
    os.kill(pid, signal.SIGCONT)
    return False


deadline = time.monotonic() + 5
while time.monotonic() < deadline:
    with open("/proc/{0}/task/{0}/children".format(sys.argv[1])) as f:
        for pid in f.read().split():
            with contextlib.suppress(ProcessLookupError):
                if stops(int(pid)):
                    sys.exit(print(pid))
EOF
}

is_equal() { bulkhead_on status br0 "$folder"; }
becomes_equal() { soon is_equal; }

# policy [COMMANDS]: all of the intent, changed by sed's commands, in one step
# as editors do.
policy() {
    sed "${1:-}" "$intent" >"$folder/.new"
    mv "$folder/.new" "$folder/policy.json"
}

# limit GBPS: of the tenant batch, which is 20 in $intent.
limit() { policy "s/\"limit\": \"20Gbps\"/\"limit\": \"$1Gbps\"/"; }
has_rate() { meters br0 | grep -E "rate=$1 " >/dev/null; }
# absent flows|meters GREP-OPTION... PATTERN: the switch answers, and has none.
absent() { "$1" br0 >"$switch_dir/held" && ! grep "${@:2}" "$switch_dir/held"; }
lacks_rate() { absent meters -E "rate=$1 "; }
holds() { flows br0 | grep -F -- "$1" >/dev/null; }
lacks() { absent flows -F -- "$1"; }

# Of port $1, by its number.
port_of() { ovs-vsctl get interface "$1" ofport; }
cut_off() { absent flows -E "in_port=$1,|output:$1(,|\$)"; }

# Nobody may have asked yet how it ended.
has_ended() {
    [ ! -e "/proc/$1" ] || grep '^State:.*Z' "/proc/$1/status"
}

# Does it sleep?  Of its CPU time, in hundredths of a second.
ticks() { awk '{ print $14 + $15 }' "/proc/$agent_pid/stat"; }
idle() {
    local before
    sleep 2.5
    before=$(ticks)
    sleep 1
    [ $(($(ticks) - before)) -lt 20 ]
}

has_endpoint() { flows br0 | grep "$1" >/dev/null; }
has_no_endpoint() { absent flows -- "$1"; }

kill_switch() {
    local pid
    pid=$(cat "$switch_dir/ovs-vswitchd.pid")
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null || true
    rm -f "$switch_dir/ovs-vswitchd.pid"
}
begin_switch() {
    switch_spawn ovs-vswitchd "unix:$switch_dir/db.sock" --enable-dummy \
        --disable-system
    switch_await "$switch_dir/ovs-vswitchd.pid" ovs-vswitchd
}
restart_switch() {
    kill_switch
    begin_switch
}

# tunnels REMOTE_IP: gives the node of tunnels.json its port of tunnels.
tunnels() {
    ovs-vsctl --may-exist add-port br0 bulkhead-tun0 -- set interface \
        bulkhead-tun0 type=geneve options:key=flow \
        options:tos=inherit options:local_ip=192.0.2.12 \
        "options:remote_ip=$1"
}

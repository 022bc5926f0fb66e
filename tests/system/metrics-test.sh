#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# What 'bulkhead metrics' serves, and what a Prometheus makes of it with the
# rules and the dashboard of examples/monitoring.  Without prometheus (Debian),
# only the first of it is tested.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=telemetry-lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/telemetry-lib.sh"

ask() { python3 -B "$here/metrics.py" "$@"; }
metrics() { "$BULKHEAD" metrics "$@"; }

exporter=                       # Its process...
url=                            # ...and where it serves.

# spawn OUTPUT COMMAND...: ends with the switch.
spawn() {
    local output=$1
    shift
    "$@" >"$output" 2>&1 </dev/null &
    switch_pids+=("$!")
}

# wait_until COMMAND...: within 30 seconds.
wait_until() {
    local i
    for ((i = 0; i < 150; i++)); do
        ! "$@" >"$switch_dir/waited" 2>&1 || return 0
        sleep 0.2
    done
    cat "$switch_dir/waited"
    return 1
}

start_exporter() {
    "$BULKHEAD" metrics --listen=0 >"$switch_dir/url" \
        2>"$switch_dir/notes" </dev/null &
    switch_pids+=("$!")
    exporter=${switch_pids[-1]}
    wait_until grep -x 'http://127.0.0.1:[0-9]*/metrics' "$switch_dir/url" &&
        url=$(cat "$switch_dir/url")
}

# page_has LINE [ACCEPT]
page_has() {
    ask get "$url" "${@:2}" >"$switch_dir/page" &&
        grep -xF -- "$1" "$switch_dir/page"
}

test_exporter() {
    local labels="port=\"$port\",tenant=\"llm-training\""
    check 'no telemetry is a metric' page_has 'bulkhead_telemetry_up 0'
    set_telemetry true
    check 'apply' bulkhead_on apply br0
    ovs-appctl time/stop
    check 'training and storage send at once' \
        eval 'send llm-training 30 && send storage 10'
    ovs-appctl time/warp-ns 100000 >/dev/null
    check 'telemetry is there' page_has 'bulkhead_telemetry_up 1'
    check 'the culprit of the burst' wait_until page_has \
        "bulkhead_tenant_bursts_total{$labels,role=\"culprit\"} 1"
    check 'the victim' page_has "bulkhead_tenant_bursts_total\
{port=\"$port\",tenant=\"storage\",role=\"victim\"} 1"
    check 'what it sent' page_has \
        "bulkhead_tenant_sent_bytes_total{$labels,queue=\"2\"} 45000"
    check 'the histogram of lengths' page_has \
        "bulkhead_port_burst_length_seconds_bucket{port=\"$port\"\
,le=\"6.5535e-05\"} 1"
    check 'and below' page_has \
        "bulkhead_port_burst_length_seconds_bucket{port=\"$port\"\
,le=\"3.2767e-05\"} 0"
    check 'an older form for who does not ask' grep -xF \
        'text/plain; version=0.0.4; charset=utf-8' "$switch_dir/page"
    check 'OpenMetrics for who asks' page_has \
        'application/openmetrics-text; version=1.0.0; charset=utf-8' \
        'application/openmetrics-text;version=1.0.0,*/*;q=0.1'
    check 'its form' has_form
    local openmetrics='application/openmetrics-text; version=1.0.0; charset=utf-8'
    check 'in capitals' page_has "$openmetrics" Application/OpenMetrics-Text
    check 'of equal weight' page_has "$openmetrics" \
        'text/plain;q=0.5 , application/openmetrics-text ; q=0.5'
    local text='text/plain; version=0.0.4; charset=utf-8'
    check 'not for who refuses it' page_has "$text" \
        'application/openmetrics-text;q=0.0'
    check 'nor for who likes text more' page_has "$text" \
        'application/openmetrics-text;q=0.3,text/plain;version=0.0.4;q=0.7'
}

# The tenant's meter has a limit of 128 KiB: 87 frames.
test_metered() {
    local labels="port=\"$port\",tenant=\"storage\",queue=\"2\""
    ovs-appctl time/warp-ns 1000000000 >/dev/null
    check 'storage sends more than its meter lets pass' offer storage 100
    check 'which the metrics say by name' wait_until page_has \
        "bulkhead_tenant_metered_packets_total{$labels,reason=\"limit\"} 13"
    check 'and in bytes' page_has \
        "bulkhead_tenant_metered_bytes_total{$labels,reason=\"limit\"} 19500"
    check 'the others were sent' page_has \
        "bulkhead_tenant_sent_packets_total{$labels} 97"
    check 'none for another reason' page_has \
        "bulkhead_tenant_metered_packets_total{$labels,reason=\"rate\"} 0"
}

# What the meter drops while nobody counts is in no record later.
test_off() {
    local labels="port=\"$port\",tenant=\"storage\",queue=\"2\""
    local vswitchd=${switch_pids[1]}
    set_telemetry false
    check 'switched off' wait_until page_has 'bulkhead_telemetry_up 0'
    ovs-appctl time/warp-ns 1000000000 >/dev/null
    check 'the meter drops all the same' offer storage 100
    check 'and ovs-vswitchd lives' kill -0 "$vswitchd"
    set_telemetry true
    ovs-appctl time/warp-ns 1000000000 >/dev/null
    check 'switched on again' offer storage 100
    check 'what was dropped since is counted' wait_until page_has \
        "bulkhead_tenant_metered_packets_total{$labels,reason=\"limit\"} 13"
    check 'and sent' page_has \
        "bulkhead_tenant_sent_packets_total{$labels} 87"
}

has_form() { tail -n +3 "$switch_dir/page" | ask openmetrics; }

# status EXPECTED METHOD URL
status() { [ "$(ask "$2" "$3" | sed -n 1p)" = "$1" ]; }

test_http() {
    check 'another path: 404' status 404 get "${url%/metrics}/x"
    check 'another method: 405' status 405 post "$url"
    check 'the port is taken: 3' says 'Address already in use' 3 \
        metrics --listen="$(cut -d/ -f3 <<<"$url")"
    check 'no such address: 2' says '--listen takes [ADDRESS:]PORT' 2 \
        metrics --listen=here:1:x
    check 'a name is no address: 2' says 'an address and no name' 2 \
        metrics --listen=localhost:1
    check 'IPv6' ipv6
    check 'a client that says nothing keeps nobody waiting' silent_clients
    check '--once' eval \
        'metrics --once | grep -xF "bulkhead_telemetry_up 1"'
}

ipv6() {
    [ -e /proc/net/if_inet6 ] || return 0
    # One signal: another, at exit, can stop the LeakSanitizer for ever.
    timeout --foreground -k 20 2 "$BULKHEAD" metrics --listen='[::1]:0' \
        >"$switch_dir/v6" || :
    grep -x 'http://\[::1\]:[0-9]*/metrics' "$switch_dir/v6"
}

# More than are served at once, all from another address than who asks.
silent_clients() {
    local at
    at=$(cut -d/ -f3 <<<"$url")
    python3 - "${at%:*}" "${at##*:}" "$here/metrics.py" "$url" <<'END'
import socket, subprocess, sys
held = [socket.create_connection(sys.argv[1:3],
                                 source_address=("127.0.0.2", 0))
        for _ in range(40)]
held[0].sendall(b"GET /metrics HTTP/1.1\r\nHost: x")
held[1].sendall(b"\0" * 100000)
subprocess.run([sys.executable, "-B", sys.argv[3], "get", sys.argv[4]],
               check=True, timeout=5)
END
}

# What the exporter says, beside the URL.
exporter_says() { grep -F -- "$1" "$switch_dir/notes"; }

# Without a switch, each reason is given once.
test_gone() {
    local rundir=$switch_dir/other said
    said=$(grep -c . "$switch_dir/notes")
    kill -KILL "${switch_pids[1]}"
    wait "${switch_pids[1]}" 2>/dev/null || true
    check 'ovs-vswitchd is gone' wait_until page_has 'bulkhead_telemetry_up 0'
    check 'its counters, too' lacks 'tenant_sent_bytes_total{'
    check 'the exporter says why' exporter_says 'is not there any more'
    check 'once' [ "$(grep -c . "$switch_dir/notes")" = $((said + 1)) ]
    check '--once says so, too' says 'is not there any more' 0 metrics --once
    mkdir "$rundir"
    head -c 100000 "$switch_dir/tenant-queues.ovs-dummy" \
        >"$rundir/tenant-queues.a"
    check 'a truncated file' says 'is truncated' 0 \
        env OVS_RUNDIR="$rundir" "$BULKHEAD" metrics --once
}

lacks() { ! grep -F -- "$1" "$switch_dir/page"; }

end_exporter() { kill -TERM "$exporter" && wait "$exporter"; }

free_port() {
    python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

start_prometheus() {
    local at
    at=127.0.0.1:$(free_port)
    prometheus_url=http://$at
    cp "$srcdir"/examples/monitoring/*.yml "$switch_dir/"
    sed -i "s/127.0.0.1:9478/$(cut -d/ -f3 <<<"$url")/
            s/15s/1s/" "$switch_dir/prometheus.yml"
    spawn "$switch_dir/prometheus.log" prometheus \
        --config.file="$switch_dir/prometheus.yml" \
        --storage.tsdb.path="$switch_dir/tsdb" --web.listen-address="$at"
    wait_until values 1 'up{job="bulkhead"}'
}

# values EXPECTED QUERY
values() { diff <(echo "$1") <(ask value "$prometheus_url" "$2"); }

healthy_rules() { diff <(echo "$1") <(ask rules "$prometheus_url"); }

test_prometheus() {
    local monitoring=$srcdir/examples/monitoring
    check 'promtool likes the metrics' eval \
        'metrics --once | promtool check metrics'
    check 'promtool likes the rules' promtool check rules \
        "$monitoring/bulkhead.rules.yml"
    check 'the rules do what they say' promtool test rules \
        "$monitoring/bulkhead.rules.test.yml"
    check 'Prometheus scrapes OpenMetrics' start_prometheus
    check 'it knows the culprit' wait_until values 1 \
        'bulkhead_tenant_bursts_total{role="culprit",tenant="llm-training"}'
    check 'it evaluates the rules' wait_until healthy_rules 8
    check 'the dashboard asks for what is there' ask dashboard \
        "$prometheus_url" "$monitoring/grafana.json"
}

main() {
    start_dummy_switch
    make_telemetry_bridge
    check 'the exporter starts' start_exporter
    test_exporter
    test_metered
    test_http
    if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
        test_prometheus
    else
        echo '# skipped: no prometheus'
    fi
    test_off
    test_gone
    check 'the exporter ends in order' end_exporter
    [ "$failures" = 0 ]
}

main

#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Bursts of two tenants that share a port of a switch, which bulkhead
# configured: whose they were, as bulkhead reads it from the switch, records
# and replays it.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=telemetry-lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/telemetry-lib.sh"

bursts() { "$BULKHEAD" bursts "$@"; }

# counts EXPECTED COMMAND...
counts() {
    local expected=$1
    shift
    diff <(echo "$expected") <("$@")
}

# Without times, which differ.
csv() { bursts "$@" -f csv --no-headings | cut -d, -f2-; }

prepare() {
    make_telemetry_bridge
    check 'without telemetry: 3' says 'tenant-queue-telemetry=true' 3 bursts
    check 'nothing is recorded then' says 'tenant-queue-telemetry=true' 3 \
        bursts --record "$switch_dir/never"
    check 'no file' test ! -e "$switch_dir/never"
    check 'apply without telemetry warns' says 'does not count what tenants' \
        0 bulkhead_on apply br0
    set_telemetry true
    check 'apply with it does not' counts 0 \
        eval 'bulkhead_on apply br0 2>&1 >/dev/null | wc -l'
    ovs-appctl time/stop
}

# Of ports whose rate is unknown, those that a rate can be set for: the
# intent's first, local ports of bridges last.
test_unknown_rates() {
    local advice="other_config:tenant-queue-rate of Interface" rate=12000000
    ovs-vsctl remove Interface "$port" other_config tenant-queue-rate \
        -- add-port br0 a0 -- set Interface a0 type=dummy \
        -- add-port br0 tun0 -- set Interface tun0 type=geneve \
        options:remote_ip=flow
    wait_for genev_sys_6081 "$switch_dir/tenant-queues.ovs-dummy"
    check 'ports whose rate can be set' says \
        "$advice a0, p0, pf0vf0, pf0vf1, pf0vf2, pf0vf3, pf0vf4, pf0vf5 and 3 more" \
        0 bursts
    check "the intent's first" says \
        "$advice pf0vf0, pf0vf1, pf0vf2, pf0vf3, pf0vf4, pf0vf5, pf0vf6, pf0vf7 and 3 more" \
        0 bursts "$intent" --node "$node"
    check 'one that has none' says "genev_sys_6081 is the datapath's own" 0 \
        bursts --port=genev_sys_6081
    ovs-vsctl del-port br0 a0 -- del-port br0 tun0 \
        -- set Interface "$port" other_config:tenant-queue-rate="$rate"
}

# 1500 bytes take 1 us: 40 frames are 40 us.
test_bursts() {
    check 'no burst yet' counts '[]' bursts -f json
    check 'training and storage send to storage at once' \
        eval 'send llm-training 30 && send storage 10'
    ovs-appctl time/warp-ns 100000 >/dev/null
    check 'the burst has the tenant that made it, and the one that waited' \
        counts \
"\"$port\",40000,60000,60000,llm-training,1147258246,45000,culprit
\"$port\",40000,60000,60000,storage,$(tag storage),15000,victim" csv
    check 'storage alone' send storage 20
    ovs-appctl time/warp-ns 100000 >/dev/null
    check 'is a culprit too' counts \
"\"$port\",20000,30000,30000,storage,$(tag storage),30000,culprit" \
        eval 'csv | tail -n 1'
    check 'a table for people' table
    check '--tenant' counts 1 \
        eval 'bursts --no-headings --tenant=llm-training | wc -l'
    check '--port' counts 0 \
        eval 'bursts --no-headings --port=pf0vf0 | wc -l'
    check 'a port that is not there' says "did you mean 'pf0vf1'" 0 \
        bursts --port=pf0vg1
    check 'one like none' says "more, and no port 'nope'" 0 \
        bursts --port=nope
    check 'top says so, too' says "more, and no port 'nope'" 0 \
        "$BULKHEAD" top --once --port=nope
    check 'a tenant that is not there' \
        says "no tenant is known as 'storag'; did you mean 'storage'" 0 \
        bursts --tenant=storag
    check "a tenant that is" counts quiet eval \
        'bursts --tenant=storage 2>&1 >/dev/null && echo quiet'
    check 'a port whose rate is unknown' \
        says 'other_config:tenant-queue-rate of Interface pf0vf0' 0 \
        bursts --port=pf0vf0
    check 'top says so' top_has 'no burst can be seen.* pf0vf0' \
        top --once --port=pf0vf0
    check 'where one is known, no word of it' counts quiet eval \
        'bursts 2>&1 >/dev/null && echo quiet'
    check '--since' counts 2 eval 'bursts --no-headings --since=5m | wc -l'
}

tag() {
    "$BULKHEAD" compile "$intent" --node "$node" -o "$switch_dir/plan" \
        >/dev/null 2>&1 && python3 -c 'import json, sys
print(int(next(t["number"] for t in json.load(open(sys.argv[1]))["tenants"]
               if t["tenant"] == sys.argv[2]), 0))' \
            "$switch_dir/plan/manifest.json" "$1"
}

table() {
    bursts | sed 's/^TIME  */TIME  /; s/^20[^ ]*Z/2026/; s/  */ /g' |
        diff - <(cat <<END
TIME PORT LENGTH DEPTH BYTES CULPRITS VICTIMS
2026 $port 40.0us 58.6KiB 58.6KiB llm-training 75% storage 25%
2026 $port 20.0us 29.3KiB 29.3KiB storage 100% -
END
        )
}

# From OpenFlow and the database: packets and bytes of each queue.
openflow_queues() {
    ovs-ofctl -O OpenFlow13 queue-stats br0 "$port" |
        sed -n 's/.*queue \(.*\): bytes=\(.*\), pkts=\(.*\), errors.*/\1 \3 \2/p' |
        sort -n
}

database_queues() {
    ovs-vsctl get Interface "$port" statistics |
        python3 -c 'import re, sys
text = sys.stdin.read()
for n in sorted(map(int, set(re.findall(r"queue_(\d+)_", text)))):
    print(n, *(re.search(f"queue_{n}_tx_{what}=(\\d+)", text)[1]
               for what in ("packets", "bytes")))'
}

test_queues() {
    check 'queues, as OpenFlow tells them' counts '2 60 90000' openflow_queues
    check 'one that nothing has left by' says BAD_QUEUE 0 \
        ovs-ofctl -O OpenFlow13 queue-stats br0 "$port" 7
}

test_database() {
    ovs-appctl time/warp 10000 1000 >/dev/null
    check 'the database has the queues that OpenFlow has' \
        counts "$(openflow_queues)" database_queues
    check 'which are some' grep -q '^2 ' <(database_queues)
}

# Without what the node keeps, the intent has the names; without both, tags
# stand for them.
test_names() {
    check 'names from the intent' says 'llm-training 75%' 0 \
        env BULKHEAD_STATEDIR= "$BULKHEAD" bursts "$intent" --node "$node"
    check 'no names' says 'tag:1147258246 75%' 0 \
        env BULKHEAD_STATEDIR= "$BULKHEAD" bursts
    check 'names that may not be read' unreadable_names
    check 'an intent without a node: 2' says 'together' 2 bursts "$intent"
}

unreadable_names() {
    local warning='tenants may have no names but their tags'
    says "$warning: $BULKHEAD_STATEDIR/br0" 0 \
        without_state "$BULKHEAD_STATEDIR/br0" &&
        says "$warning: $BULKHEAD_STATEDIR: Permission denied" 0 \
            without_state "$BULKHEAD_STATEDIR" &&
        [ "$(without_state "$BULKHEAD_STATEDIR" "$intent" --node "$node" \
            2>&1 >/dev/null)" = '' ]
}

# without_state FOLDER ARGUMENT...: bursts, as who may not look into it.
without_state() {
    local folder=$1 status=0
    shift
    chmod 0 "$folder"
    unprivileged "$BULKHEAD" bursts "$@" || status=$?
    chmod 700 "$folder"
    return "$status"
}

# record FILE: begins, and ends when stop_recording says so.
start_recording() {
    "$BULKHEAD" bursts --record "$1" --interval=1s >"$switch_dir/live" \
        2>"$switch_dir/notes" &
    recorder=$!
    switch_pids+=("$recorder")
    wait_for '"sample"' "$1"
}

stop_recording() {
    kill "-$1" "$recorder"
    wait "$recorder" || [ "$1" = KILL ]
    unset 'switch_pids[-1]'
}

# wait_for TEXT FILE
wait_for() {
    local i
    for ((i = 0; i < 100; i++)); do
        ! grep -qF -- "$1" "$2" 2>/dev/null || return 0
        sleep 0.1
    done
    return 1
}

test_recording() {
    local file=$switch_dir/night
    check 'recording begins' start_recording "$file"
    check 'a burst while it records' send llm-training 25
    ovs-appctl time/warp-ns 100000 >/dev/null
    check 'is shown as it comes' wait_for 'llm-training 100%' \
        "$switch_dir/live"
    check 'recording ends' stop_recording INT
    check 'and says what it has' grep -x \
        "bulkhead: 3 bursts are in $file" "$switch_dir/notes"
    csv >"$switch_dir/all"
    check 'the recording has all' diff "$switch_dir/all" \
        <(csv --replay "$file")
    check 'also for one tenant' counts 2 eval \
        "bursts --replay $file --tenant=storage --no-headings | wc -l"
    check 'a recording is never written over: 1' says 'choose another name' \
        1 bursts --record "$file"
    check 'one that is killed' killed "$switch_dir/killed"
    check 'what was recorded is whole' diff "$switch_dir/all" \
        <(csv --replay "$switch_dir/killed")
}

killed() {
    start_recording "$1" && stop_recording KILL
}

# The rate is that of now, or of the end of the recording.
test_top() {
    local row='pf0vf6 llm-training 2 [^ ]+bps [0-9]+ 0 0 0 0 2 0'
    check 'top, once' top_has "$row" top --once
    check 'a port' top_has \
        'pf0vf6 12.0Gbps 19.5KiB 0B [^ ]+ 58.6KiB 0ns 3' top --once
    check '--tenant' top_lacks storage top --once --tenant=llm-training
    check '--port' top_lacks pf0vf6 top --once --port=pf0vf7
    check 'a recording' top_has "$row" top --once \
        --replay="$switch_dir/night"
    check 'without a terminal, again and again' twice
    check 'on a terminal' on_terminal
    check 'columns that fit' has_columns 120 'PACKETS/S.* CULPRIT VICTIM'
    check 'of 100, those that matter' has_columns 100 \
        'QUEUE.* DROPS/S.* METER/S.* MARKS/S CULPRIT VICTIM'
    check 'of 80' has_columns 80 'RATE.* DROPS/S.* METER/S CULPRIT VICTIM'
    check 'of 40' has_columns 40 'PORT .*TENANT .*CULPRIT VICTIM'
    check 'of 20, whole words' has_columns 20 'PORT TEN[+] CULPRIT'
    check 'a reader that leaves ends it' ends_with_reader
    check 'standard output that is full: 1' full_output top --once
    check 'also while recording: 1' full_output bursts \
        --record="$switch_dir/unseen"
    check 'standard output that is closed: 1' closed_output
    check 'what was recorded until then can be read' \
        bursts --replay "$switch_dir/unseen"
    check 'also then' bursts --replay "$switch_dir/closed"
}

top_has() {
    local line=$1
    shift
    "$BULKHEAD" "$@" | sed 's/  */ /g' >"$switch_dir/top" || return
    grep -xE -- "$line" "$switch_dir/top" || {
        cat "$switch_dir/top"
        return 1
    }
}

# Below the line about the last burst.
top_lacks() {
    local word=$1
    shift
    "$BULKHEAD" "$@" | tail -n +3 >"$switch_dir/top" || return
    grep -F TENANT "$switch_dir/top" && ! grep -F -- "$word" "$switch_dir/top"
}

twice() {
    local status=0
    timeout --foreground -k 20 3.5 "$BULKHEAD" top </dev/null \
        >"$switch_dir/top" || status=$?
    [ "$status" = 124 ] && [ "$(grep -c -- ---- "$switch_dir/top")" -ge 2 ]
}

# has_columns WIDTH HEADING
has_columns() {
    { sleep 1; printf q; } | TERM=xterm LINES=40 COLUMNS="$1" timeout 20 \
        script -qec "'$BULKHEAD' top" /dev/null >"$switch_dir/screen"
    tr -d '\r' <"$switch_dir/screen" | grep -aE -- "$2" >/dev/null || {
        cat -v "$switch_dir/screen"
        echo
        return 1
    }
}

ends_with_reader() {
    timeout -k 20 20 "$BULKHEAD" top </dev/null 2>"$switch_dir/notes" |
        head -n 1 >/dev/null
    [ "${PIPESTATUS[0]}" = 1 ] &&
        grep -x 'bulkhead: standard output: Broken pipe' "$switch_dir/notes"
}

full_output() {
    local status=0
    timeout -k 20 20 "$BULKHEAD" "$@" >/dev/full 2>"$switch_dir/notes" ||
        status=$?
    cat "$switch_dir/notes"
    [ "$status" = 1 ] &&
        grep -x 'bulkhead: standard output: No space left on device' \
            "$switch_dir/notes"
}

closed_output() {
    local status=0
    timeout -k 20 20 "$BULKHEAD" bursts --record="$switch_dir/closed" \
        >&- 2>"$switch_dir/notes" || status=$?
    cat "$switch_dir/notes"
    [ "$status" = 1 ] && grep -x \
        'bulkhead: standard output: Bad file descriptor' "$switch_dir/notes"
}

# Ports, then what has "stor" in its name, by rate, packets, drops; ^L draws all
# of the screen again.
on_terminal() {
    { sleep 1; printf p; sleep 1; printf 'p/stor\nss\f'; sleep 1; printf q; } |
        TERM=xterm LINES=40 COLUMNS=120 timeout 20 script -qec \
            "'$BULKHEAD' top" /dev/null >"$switch_dir/screen"
    for word in CULPRIT 'DEEP 6S' 'filter: stor' 'sort: drops' training; do
        grep -F -- "$word" "$switch_dir/screen" >/dev/null || {
            echo "no $word"
            return 1
        }
    done
}

# Where there is no room: what fits is there, and nothing by halves.
test_full_disk() {
    check 'no room: 1' full "$switch_dir/full" 4
    check 'and what was recorded can be read' diff "$switch_dir/all" \
        <(csv --replay "$switch_dir/full")
    check 'to the last line' silent bursts --replay "$switch_dir/full"
    check 'no room at all: 1' full "$switch_dir/none" 0
    check 'nothing was recorded then' nothing_recorded
    check 'leaves no file' test ! -e "$switch_dir/none"
}

# full FILE BLOCKS: records to a file that has room for so many KiB.
full() {
    local out status=0
    out=$( (ulimit -f "$2" && exec timeout 60 "$BULKHEAD" bursts \
        --record "$1" --interval=1s) 2>&1) || status=$?
    echo "$out" | tee "$switch_dir/notes"
    [ "$status" = 1 ] && [[ $out = *'File too large'* ]]
}

nothing_recorded() { ! grep 'recorded until then' "$switch_dir/notes"; }

# Nothing on standard error.
silent() { [ -z "$("$@" 2>&1 >/dev/null)" ]; }

test_bad_files() {
    local file
    file=$switch_dir/tenant-queues.ovs-dummy
    cp "$file" "$switch_dir/copy"
    mkdir "$switch_dir/other"
    other() { OVS_RUNDIR=$switch_dir/other bursts "$@"; }
    truncate -s 100000 "$switch_dir/copy"
    cp "$switch_dir/copy" "$switch_dir/other/tenant-queues.a"
    check 'a truncated file: 3' says 'is truncated' 3 other
    printf '\x02' | dd of="$switch_dir/other/tenant-queues.a" bs=1 seek=8 \
        conv=notrunc status=none
    check 'of a newer version: 3' says 'is of version 2' 3 other
    echo 'something else, but long enough for a header of telemetry, with words and words and words and more' \
        >"$switch_dir/other/tenant-queues.a"
    check 'of somebody else: 3' says 'is no telemetry' 3 other
    : >"$switch_dir/other/tenant-queues.b"
    check 'two: 3' says '--datapath=b' 3 other
    check 'an empty one: 3' says 'is empty' 3 other --datapath=b
    check 'none of that name: 3' says 'false and then true again' 3 other --datapath=c
    rm "$switch_dir/other/tenant-queues.b"
    mkfifo "$switch_dir/other/tenant-queues.b"
    check 'a pipe: 3' says 'no regular file' 3 other --datapath=b
    chmod 0 "$file"
    check 'no rights: 3' says 'Permission denied' 3 unprivileged \
        "$BULKHEAD" bursts
    chmod 640 "$file"
    echo '{"bulkhead_recording":2}' >"$switch_dir/v2"
    check 'a recording of another version: 1' says 'another version' 1 \
        bursts --replay "$switch_dir/v2"
    check 'what is none: 1' says 'is no recording' 1 \
        bursts --replay "$intent"
    sed '2s/"bytes"/"bites"/' "$switch_dir/night" >"$switch_dir/damaged"
    check 'a damaged one: 1' says 'damaged:2: this line is damaged' 1 \
        bursts --replay "$switch_dir/damaged"
}

# Root may read anything, unless it gives that up.
unprivileged() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --bounding-set=-dac_override,-dac_read_search "$@"
    else
        "$@"
    fi
}

# Telemetry that is switched off, or whose writer is gone.
test_gone() {
    check 'top goes on without telemetry' waits_for_telemetry
    check 'switched off: 3' says 'tenant-queue-telemetry=true' 3 bursts
    set_telemetry true
    check 'switched on again: nothing yet' counts '[]' bursts -f json
    check 'recording says when it goes on' \
        off_and_on_while_recording "$switch_dir/again"
    check 'ovs-vswitchd is seen from another container' counts '[]' \
        in_container "$BULKHEAD" bursts -f json
    kill -KILL "${switch_pids[1]}"
    wait "${switch_pids[1]}" 2>/dev/null || true
    check 'ovs-vswitchd is gone' says 'is not there any more' 0 bursts
    check 'seen from there, too' says 'is not there any more' 0 \
        in_container "$BULKHEAD" bursts
    check 'top says so' top_has 'ovs-vswitchd, process .* is not there .*' \
        top --once
    check 'recording says so' gone_while_recording "$switch_dir/gone"
}

# With other numbers of processes than those of the switch.
in_container() {
    if [ "$(id -u)" = 0 ]; then
        unshare --pid --fork "$@"
    elif unshare --user --pid --fork true 2>/dev/null; then
        unshare --user --pid --fork "$@"
    else
        "$@"
    fi 2>&1
}

# Leaves telemetry switched off.
waits_for_telemetry() {
    "$BULKHEAD" top </dev/null >"$switch_dir/waiting" 2>&1 &
    switch_pids+=("$!")
    wait_for ---- "$switch_dir/waiting" && set_telemetry false &&
        wait_for 'tenant-queue-telemetry=true' "$switch_dir/waiting" &&
        kill -TERM "${switch_pids[-1]}" && wait "${switch_pids[-1]}" || return
    unset 'switch_pids[-1]'
}

off_and_on_while_recording() {
    start_recording "$1" && set_telemetry false &&
        wait_for 'waiting for it' "$switch_dir/notes" && set_telemetry true &&
        wait_for 'it is there again' "$switch_dir/notes" && stop_recording INT
}

gone_while_recording() {
    start_recording "$1" &&
        wait_for 'is not there any more' "$switch_dir/notes" &&
        wait_for 'waiting for it' "$switch_dir/notes" && stop_recording INT
}

main() {
    start_dummy_switch
    prepare
    test_unknown_rates
    test_bursts
    test_queues
    test_names
    test_recording
    test_top
    test_full_disk
    test_bad_files
    test_database
    test_gone
    [ "$failures" = 0 ]
}

main

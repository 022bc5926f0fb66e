#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# apply --confirm: what was there before comes back unless somebody says in
# time that all is well, whatever becomes of shell, session and switch.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

intent=$srcdir/examples/ai-cluster.json
node=gpu-node-1

# limited RATE: the intent with the inference tenant at that.
limited() {
    sed "s/\"limit\": \"20Gbps\"/\"limit\": \"$1\"/" "$intent" \
        >"$switch_dir/limited-$1.json"
    echo "$switch_dir/limited-$1.json"
}

# apply RATE [OPTION...]
apply() {
    "$BULKHEAD" apply "$(limited "$1")" --node $node --bridge br0 "${@:2}"
}
is_at() { bulkhead_on status br0 "$(limited "$1")"; }
status() { "$BULKHEAD" status --bridge br0 "$@"; }
confirm() { "$BULKHEAD" confirm --bridge br0; }
rollback() { "$BULKHEAD" rollback --bridge br0; }

guard() { echo "$switch_dir/state/br0/unconfirmed"; }

# goes_back COMMAND...: when the watchdog is gone, that holds.
goes_back() { watchdog_ends && [ ! -e "$(guard)" ] && "$@"; }

is_empty() { ! flows br0 | grep cookie=0xb17d; }

# json EXPRESSION: holds for 'u', what is not confirmed.
json() {
    { status -f json || :; } | python3 -c 'import json, sys
u = json.load(sys.stdin)["unconfirmed"]
print(u)
sys.exit(not eval("(" + sys.argv[1] + ")"))' "$1"
}

test_empty() {
    check 'onto an empty bridge' \
        says 'it is emptied again at' 0 apply 20Gbps --confirm=2s
    check 'the bridge holds it meanwhile' exits 0 is_at 20Gbps
    check 'nobody confirms: it is empty again' goes_back is_empty
    check 'nothing is left to confirm: 3' says 'nothing waits' 3 confirm
    check 'apply without --confirm' exits 0 apply 20Gbps
}

test_time() {
    check 'a change that nobody confirms' \
        says 'generation 3 comes back at' 0 apply 21Gbps --confirm=6s
    check 'the bridge holds it meanwhile' exits 0 is_at 21Gbps
    check 'status tells' says "unless 'bulkhead confirm --bridge=br0'" 0 \
        status
    check 'as JSON' json 'u["generation"] == 4 and u["back"] == 3
        and u["watched"]'
    check 'another apply: 3, nothing changed' unchanged br0 \
        says 'generation 4 waits to be confirmed until' 3 apply 22Gbps
    check '...and nothing is proved for it' exits 1 \
        grep proved "$switch_dir/said"
    check 'another with --confirm: 3' says 'waits to be confirmed' 3 \
        apply 22Gbps --confirm=1s
    check 'what was there before comes back' goes_back is_at 20Gbps
    check 'as a new generation' says 'generation 5 of' 0 status
    check '... and nobody goes back to what was not confirmed' \
        says 'kept are: 5' 3 "$BULKHEAD" rollback --bridge br0 --to 4
    check 'and JSON' json 'u is None'
    check 'a change of nothing waits for nobody' exits 1 grep confirmed \
        <(apply 20Gbps --confirm=2s 2>&1)
}

test_confirm() {
    check 'a change' exits 0 apply 21Gbps --confirm=60s
    check 'is confirmed' says 'generation 6 is confirmed' 0 confirm
    check 'the watchdog goes' goes_back is_at 21Gbps
    check 'a second time: 3' says 'nothing waits' 3 confirm
    check 'another change' exits 0 apply 22Gbps --confirm=60s
    check '... which rollback does not go back to: 3' \
        says 'generation 7 waits to be confirmed' 3 \
        "$BULKHEAD" rollback --bridge br0 --to 7
    check '... and still waits' json 'u["generation"] == 7'
    check 'rollback decides too' exits 0 rollback
    check "... and nobody goes back to what was not confirmed" \
        says 'there is no generation 7 to go back to' 3 \
        "$BULKHEAD" rollback --bridge br0 --to 7
    check 'the watchdog leaves it so' goes_back is_at 21Gbps
    check 'clear decides too' exits 0 apply 23Gbps --confirm=60s
    check 'cleared' exits 0 "$BULKHEAD" clear --bridge br0
    check 'the watchdog leaves it empty' goes_back is_empty
    check '... and rollback goes past what nobody confirmed' exits 0 rollback
    check '... to what was there before' exits 0 is_at 21Gbps
    check 'and back' exits 0 apply 20Gbps
    check 'a change' exits 0 apply 21Gbps --confirm=60s
    check 'is confirmed, and the next made at once' \
        exits 0 confirm_and apply 20Gbps --confirm=60s
    check 'that is confirmed too' exits 0 confirm
    check 'a change' exits 0 apply 21Gbps --confirm=60s
    ovs-ofctl -O OpenFlow14 del-flows br0
    check 'what is there no more is confirmed, and said' \
        says 'is not what it holds now' 0 confirm
    check 'and back' exits 0 apply 20Gbps
    check 'a change' exits 0 apply 21Gbps --confirm=60s
    ovs-ofctl -O OpenFlow14 add-flow br0 table=8,priority=9,actions=drop
    check "a flow of others beside it" says 'is confirmed' 0 confirm
    check '... is nothing that it lacks' exits 1 \
        grep 'what it holds' "$switch_dir/said"
    ovs-ofctl -O OpenFlow14 del-flows br0 cookie=0/-1
    check 'and back' exits 0 apply 20Gbps
}

confirm_and() { confirm && "$@"; }

# The shell dies with all its processes, as an ssh session does.
test_session() {
    local session
    # shellcheck disable=SC2016 # The inner shell expands it.
    setsid bash -c '"$@"; touch "$0"; sleep 60' "$switch_dir/done" \
        "$BULKHEAD" apply "$(limited 21Gbps)" --node $node --bridge br0 \
        --confirm=2s >/dev/null 2>&1 &
    session=$!
    while [ ! -e "$switch_dir/done" ]; do sleep 0.05; done
    kill -HUP -- "-$session"
    kill -KILL -- "-$session" 2>/dev/null || :
    wait "$session" 2>/dev/null || :
    check 'a session ends: the bridge holds its change' exits 0 is_at 21Gbps
    check 'which goes back all the same' goes_back is_at 20Gbps
}

# terminal KEYS RATE [OPTION...]: apply on a terminal, where somebody presses
# keys.
terminal() {
    python3 -c 'import os, pty, sys
def read(fd):
    data = os.read(fd, 1024)
    if b"press Enter" in data:
        os.write(fd, sys.argv[1].encode().decode("unicode_escape").encode())
    return data
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[2:], read)))' "$1" \
        "$BULKHEAD" apply "$(limited "$2")" --node $node --bridge br0 \
        --confirm=3s "${@:3}" </dev/null
}

test_terminal() {
    check 'Enter confirms' says 'is confirmed' 0 terminal '\n' 21Gbps
    check 'the bridge holds it' goes_back is_at 21Gbps
    check 'another key does not: 3' says 'was not confirmed' 3 \
        terminal 'x' 22Gbps
    check 'the bridge holds what it held' goes_back is_at 21Gbps
    check 'and back' exits 0 apply 20Gbps
}

# The watchdog itself dies.
test_killed() {
    check 'a change' exits 0 apply 21Gbps --confirm=60s
    kill -KILL "$(cat "$(pidfile)")"
    check 'its watchdog is killed: status tells' \
        says 'nothing watches it any more' 0 status
    check 'as JSON' json 'u["generation"] and not u["watched"]'
    check 'confirm keeps it' exits 0 confirm
    check 'nothing waits then' json 'u is None'
    check 'another' exits 0 apply 22Gbps --confirm=60s
    kill -KILL "$(cat "$(pidfile)")"
    check 'rollback goes back from it' exits 0 rollback
    check 'the bridge holds what it held' exits 0 is_at 21Gbps
    check 'another' exits 0 apply 22Gbps --confirm=60s
    kill -KILL "$(cat "$(pidfile)")"
    check 'apply --confirm would go back to it: 3' \
        says 'was never confirmed, and nothing watches' 3 \
        apply 24Gbps --confirm=60s
    check 'apply goes ahead and tells' says 'was never confirmed' 0 \
        apply 20Gbps
    check 'nothing waits then' json 'u is None'
    check '... and rollback goes past that' exits 0 rollback
    check '... to what was there before' exits 0 is_at 21Gbps
    check 'and back' exits 0 apply 20Gbps
    echo nonsense >"$(guard)"
    chmod 600 "$(guard)"
    check 'a file that is damaged is told' says 'is damaged' 0 status
    check 'and stops no apply' exits 0 apply 20Gbps
    check 'which removes it' test ! -e "$(guard)"
}

# The switch is away when the time is over.
test_switch_away() {
    local pid
    pid=$(cat "$switch_dir/ovs-vswitchd.pid")
    check 'a change' exits 0 apply 21Gbps --confirm=1s -t 1
    kill -STOP "$pid"
    sleep 3
    check 'the watchdog tries on' test -e "$(guard)"
    kill -CONT "$pid"
    check 'until it is back' goes_back is_at 20Gbps
}

# Nobody can tell what waits: when in doubt, it does.
test_doubt() {
    check 'a change' exits 0 apply 21Gbps --confirm=2s
    echo nonsense >"$(guard)"
    check 'the guard is damaged: another apply is refused' \
        says 'an unknown time' 3 apply 22Gbps
    check 'and what was there before comes back' goes_back is_at 20Gbps
}

# What apply is killed with, its watchdog outlives.
test_apply_killed() {
    local tries
    "$BULKHEAD" apply "$(limited 21Gbps)" --node $node \
        --bridge br0 --confirm=2s >/dev/null 2>&1 &
    for ((tries = 0; tries < 1000; tries++)); do
        [ ! -e "$(pidfile)" ] || break
        sleep 0.002
    done
    kill -KILL "$!" 2>/dev/null || :
    wait "$!" 2>/dev/null || :
    check 'apply is killed as soon as it is watched' goes_back is_at 20Gbps
}

test_refusals() {
    ovs-ofctl -O OpenFlow14 --strict del-flows br0 'table=20,priority=0'
    check 'a bridge with drift: 3, nothing changed' unchanged br0 \
        says 'there would be no way back' 3 apply 21Gbps --confirm=1s
    check 'and no watchdog' test ! -e "$(pidfile)"
    apply 20Gbps >/dev/null
    check 'no room to keep it: 3, nothing changed' unchanged br0 \
        says 'there would be no way back' 3 with_small_files apply 21Gbps \
        --confirm=60s
    check 'and nothing waits' test ! -e "$(guard)"
    check 'its watchdog goes' watchdog_ends
    : >"$switch_dir/no-folder"
    check 'no folder to keep it in: 3, and why' \
        says 'no-folder/br0: Not a directory' 3 \
        env BULKHEAD_STATEDIR="$switch_dir/no-folder" "$BULKHEAD" apply \
        "$intent" --node $node --bridge br0 --confirm=1s
    check 'nothing kept at all: 3' says 'since nothing is kept' 3 \
        env BULKHEAD_STATEDIR= "$BULKHEAD" apply "$intent" --node $node \
        --bridge br0 --confirm=1s
    check 'what the bridge refuses: 3' says 'not-there' 3 \
        "$BULKHEAD" apply "$(with 's/"pf0vf5"/"not-there"/')" --node $node \
        --bridge br0 --confirm=60s
    check 'and nothing waits' test ! -e "$(guard)"
    check 'its watchdog goes' watchdog_ends
    check 'no time: 2' exits 2 apply 21Gbps --confirm=0
    check 'none that is one: 2' exits 2 apply 21Gbps --confirm=5x
    check 'more than a day: 2' exits 2 apply 21Gbps --confirm=25h
}

with_small_files() { (ulimit -f 8 && "$@"); }

# Who may not read what is kept is told so, and not that something waits.
as_nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups \
        "$switch_dir/bulkhead" "$@" --bridge br0
}
knows_nothing() {
    local said
    said=$(as_nobody status 2>&1 || :)
    echo "$said"
    [[ $said == *'Permission denied'* && $said != *'never confirmed'* ]]
}

test_rights() {
    cp "$BULKHEAD" "$switch_dir/bulkhead"
    chmod 755 "$switch_dir"
    check 'without rights, nothing is said to wait' knows_nothing
    chmod 700 "$switch_dir"
}

# There is no bridge when the time is over, and for as long as -t says.
test_gone() {
    check 'a change' exits 0 apply 21Gbps --confirm=1s -t 4
    ovs-vsctl del-br br0
    sleep 2
    make_dummy_bridge br0 "$intent" "$node"
    check 'a bridge that comes back gets what was there before' \
        goes_back is_at 20Gbps
    check 'a change on a terminal: 3' says 'was not confirmed' 3 \
        terminal_without 22Gbps
    check 'without its bridge it ends' watchdog_ends
    check 'and nothing waits' test ! -e "$(guard)"
    make_dummy_bridge br0 "$intent" "$node"
    check 'and what was there before is what is kept' is_kept 20Gbps
    check '... not what nobody confirmed' says 'which is another one' 4 \
        is_at 22Gbps
}

soon_there() {
    local tries
    for ((tries = 0; tries < 200; tries++)); do
        [ ! -e "$1" ] || return 0
        sleep 0.05
    done
}

# terminal_without RATE: as terminal(), but the bridge goes meanwhile.
terminal_without() {
    local deleter status=0
    (soon_there "$(guard)"; sleep 0.5; exec ovs-vsctl del-br br0) &
    deleter=$!
    terminal 'x' "$1" -t 2 || status=$?
    wait "$deleter" || return 1
    return $status
}

# is_kept RATE: the last generation is of that intent.
is_kept() {
    local said
    said=$(is_at "$1" 2>&1 || :)
    echo "$said"
    [[ $said == *'generation '*', intent '* &&
       $said != *'which is another one'* ]]
}

main() {
    start_dummy_switch
    make_dummy_bridge br0 "$intent" "$node"
    test_empty
    test_time
    test_confirm
    test_session
    test_terminal
    test_killed
    test_switch_away
    test_doubt
    test_apply_killed
    test_refusals
    test_rights
    test_gone
    [ "$failures" = 0 ]
}

main

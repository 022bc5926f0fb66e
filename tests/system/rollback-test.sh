#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# What the node keeps of what was applied: rollback, status without an intent,
# damaged and foreign files, a full disk and a read-only one.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

intent=$srcdir/examples/ai-cluster.json
node=gpu-node-1

kept() { (cd "$switch_dir/state/br0" && echo *.plan); }
# keeps NAME...: exactly these files, and a journal.
keeps() {
    ls "$switch_dir/state/br0"
    [ "$(kept)" = "$*" ] &&
        [ "$(find "$switch_dir/state/br0" -type f | wc -l)" = $(($# + 1)) ]
}

# limited RATE: the intent with the inference tenant at that.
limited() {
    sed "s/\"limit\": \"20Gbps\"/\"limit\": \"$1\"/" "$intent" \
        >"$switch_dir/limited-$1.json"
    echo "$switch_dir/limited-$1.json"
}

apply() { bulkhead_on apply br0 "$(limited "$1")"; }
is_at() { bulkhead_on status br0 "$(limited "$1")"; }
status() { "$BULKHEAD" status --bridge br0 "$@"; }
rollback() { "$BULKHEAD" rollback --bridge br0 "$@"; }

test_kept() {
    check 'nothing is kept: status needs the intent' \
        says 'name the intent' 3 status
    check 'no rollback either' says 'kept are: none' 3 rollback
    check 'apply: generation 1' says 'generation 1 of' 0 apply 21Gbps
    check 'there is nothing before it' \
        unchanged br0 says 'no earlier generation' 3 rollback
    check 'apply of the same: still' says 'generation 1 of' 0 apply 21Gbps
    apply 22Gbps >/dev/null
    apply 23Gbps >/dev/null
    check 'apply: generation 4' says 'kept before it: 3 2' 0 apply 24Gbps
    check 'three are kept' keeps 2.plan 3.plan 4.plan
    check 'for their owner only' private
    check 'status without an intent: 0' says 'as intended' 0 status
    check 'status of another intent says so' \
        says 'which is another one' 4 is_at 22Gbps
    ovs-ofctl -O OpenFlow14 --strict del-flows br0 'table=20,priority=0'
    check 'drift shows without an intent: 4' \
        says '+cookie=0xb17d000000000007,table=20' 4 status -v
    apply 24Gbps >/dev/null
}

private() {
    [ "$(stat -c %a "$switch_dir"/state{,/br0,/br0/*} | sort | uniq -c |
        tr -s ' \n' ' ')" = ' 4 600 2 700 ' ]
}

test_rollback() {
    check 'rollback: a new generation' \
        says 'generation 5 of' 0 rollback --node $node
    check '... and says of which' grep 'went back to generation 3$' \
        "$switch_dir/said"
    check 'the bridge holds the one before' exits 0 is_at 23Gbps
    check 'the one that it was is gone' keeps 2.plan 4.plan 5.plan
    check 'rollback again is there and back' \
        says 'generation 6 of' 0 rollback
    check 'the bridge holds the last one again' exits 0 is_at 24Gbps
    check 'rollback to one' says 'generation 7 of' 0 rollback --to 2
    check 'the bridge holds it' exits 0 is_at 22Gbps
    check 'to one that is not kept: 3, nothing changed' unchanged br0 \
        says 'kept are: 7 6 5' 3 rollback --to 3
    check 'of another node: 3, nothing changed' unchanged br0 \
        says 'is of node gpu-node-1, not other' 3 rollback --node other
    check 'to what is none: 2' exits 2 rollback --to last
}

# Somebody cleared the wrong bridge.
test_clear() {
    check 'clear: 0' exits 0 "$BULKHEAD" clear --bridge br0
    check 'which is a generation' says ', cleared; kept before it: 7 6' 0 \
        status
    check 'rollback from it' exits 0 rollback
    check 'the bridge holds what it held' exits 0 is_at 22Gbps
    check 'with the right generations' keeps 6.plan 8.plan 9.plan
    echo x >>"$switch_dir/state/br0/8.plan"
    check 'one that is damaged is not passed over: 3, nothing changed' \
        unchanged br0 says 'name another one with --to' 3 rollback
    truncate -s -2 "$switch_dir/state/br0/8.plan"
}

# Nothing that is not whole, and ours, is taken for what was applied.
test_damage() {
    local dir=$switch_dir/state/br0 copy=$switch_dir/copy journal
    journal=$(echo "$dir"/*.journal)
    cp "$dir/9.plan" "$copy"
    truncate -s 500 "$dir/9.plan"
    distrusted 'a file cut short' 'is cut short or has been changed'
    : >"$dir/9.plan"
    distrusted 'an empty file' 'is no plan'
    cp "$copy" "$dir/9.plan"
    test_journal "$journal"
    cp "$dir/8.plan" "$dir/9.plan"
    distrusted "another generation's" 'is of another bridge or generation'
    sed 's/"br0"/"br1"/' "$copy" >"$dir/9.plan"
    distrusted 'one with another name in it' 'has been changed'
    cp "$copy" "$dir/9.plan"
    chmod g+w "$dir/9.plan"
    distrusted 'one that others may write' 'may be written by others'
    rm "$dir/9.plan"
    ln -s "$copy" "$dir/9.plan"
    distrusted 'a link' 'symbolic link'
    rm "$dir/9.plan"
    mkfifo "$dir/9.plan"
    distrusted 'a pipe' 'no regular file'
    check 'rollback passes it by' says 'generation 10 of' 0 rollback
    check 'and leaves what it can trust' exits 0 status
    rm "$dir/9.plan"
    echo x | tee "$dir/11.plan.new" "$dir/77.plan.new" "$dir/7.plan.x" \
        "$dir/007.plan" "$dir/99999999999999999999.plan" "$dir/-1.plan" \
        >"$dir/x"
    check 'other files are left alone' says 'generation 11 of' 0 apply 25Gbps
    check 'and leftovers go' eval "! ls '$dir'/*.new"
    chmod 777 "$dir"
    check 'a folder that all may write to: no rollback, but apply' \
        says 'so there is no rollback to it' 0 apply 26Gbps
    check 'and the bridge holds it' exits 0 is_at 26Gbps
    check 'rollback trusts none of it' says 'kept are: none' 3 rollback
    chmod 700 "$dir"
}

# Nor is it without its journal.
test_journal() {
    local journal=$1 line=0000000000000000000000000000000000000000
    rm -f "$journal"
    stray 'one without its journal' 'has no journal any more'
    echo "$line []" >"$journal"
    stray 'one whose journal is not its own' 'has been changed'
    echo x >"$journal"
    stray 'one with something else there' 'has been changed'
    mkfifo "$switch_dir/fifo"
    ln -sf "$switch_dir/fifo" "$journal"
    stray 'one with a link there' 'symbolic link'
    rm -f "$journal"
    echo -n "$line [" >"$journal"
    check 'a line that was being written is not there yet' exits 0 status
    rm -f "$journal"
    check 'applied again, it is trusted again, under its number' \
        says 'generation 9 of' 0 apply 22Gbps
    check '... by a journal' exits 0 status
}

# stray NAME TEXT: of the last generation.
stray() {
    check "$1 is not trusted" says "$2" 3 status
    check "$1: with the intent status works" says "$2" 0 is_at 22Gbps
}

# distrusted NAME TEXT: of the last generation.
distrusted() {
    check "$1 is not trusted" says "$2" 3 status
    check "$1: with the intent status works" says "$2" 0 is_at 22Gbps
    check "$1: apply works" exits 0 dry_apply 22Gbps
}

# The number of the damaged one is not used again: a saved plan has it.
dry_apply() {
    BULKHEAD_STATEDIR=$switch_dir/state bulkhead_on apply br0 \
        "$(limited "$1")" >"$switch_dir/applied" || return 1
    cat "$switch_dir/applied"
    grep 'generation 10 of' "$switch_dir/applied" &&
        rm "$switch_dir/state/br0/10.plan"
}

# A disk without room: the switch gets its policy, and apply says what is not
# kept.  Where a file system of our own cannot be had, a limit for files.
test_full() {
    check 'apply keeps again' exits 0 apply 27Gbps
    if unshare -m true 2>/dev/null; then
        check 'a full disk: apply all the same' says 'No space left' 0 \
            on_full_disk apply 28Gbps
    else
        echo '# no mounts here: a limit for files instead'
    fi
    check 'files that may not grow: apply all the same' says \
        'so there is no rollback to it' 0 with_small_files apply 29Gbps
    check 'the bridge holds it' exits 0 is_at 29Gbps
    check 'what was kept before is not trusted' \
        says 'has no journal any more' 3 status
    check 'nothing half-written stays' \
        test ! -e "$(echo "$switch_dir"/state/br0/*.new)"
    check 'with room it is kept again' says 'generation ' 0 apply 29Gbps
    ovs-vsctl set-controller br0 "punix:$switch_dir/other"
    check 'an apply that is refused' exits 3 apply 30Gbps
    ovs-vsctl del-controller br0
    check '... leaves what is kept' says 'as intended' 0 status
    check 'and rollback works' exits 0 rollback
    check 'the bridge holds what was kept before' exits 0 is_at 27Gbps
    check 'a folder that cannot be made' says 'Not a directory' 0 env \
        BULKHEAD_STATEDIR=/dev/null/x "$BULKHEAD" apply "$intent" \
        --node $node --bridge br0
    check 'a folder in others that are not there is made' exits 0 env \
        BULKHEAD_STATEDIR="$switch_dir/a/b/c" "$BULKHEAD" apply "$intent" \
        --node $node --bridge br0
    check '... for this user alone' \
        [ "$(stat -c %a "$switch_dir/a/b/c")" = 700 ]
    check 'none is wanted' exits 1 grep -q . <(env BULKHEAD_STATEDIR= \
        "$BULKHEAD" apply "$intent" --node $node --bridge br0 2>&1 >/dev/null)
}

on_full_disk() {
    export -f limited bulkhead_on apply
    export intent node switch_dir BULKHEAD
    # shellcheck disable=SC2016 # The inner shell expands it.
    unshare -m bash -euc '
        mount -t tmpfs -o size=16k tmpfs "$switch_dir/state"
        "$@"' bash "$@"
}

with_small_files() {
    (ulimit -f 8 && "$@")
}

# What was kept before is not what is there now.
test_read_only() {
    local state=$switch_dir/read-only
    mkdir "$state"
    if ! mount -t tmpfs tmpfs "$state" 2>/dev/null; then
        echo '# skipped: a read-only file system (no right to mount)'
        return
    fi
    check 'a generation' says 'generation 1 of ' 0 \
        env BULKHEAD_STATEDIR="$state" "$BULKHEAD" apply "$intent" \
        --node $node --bridge br0
    mount -o remount,ro "$state"
    check 'read-only: applied, and not kept' says 'is not kept' 0 \
        env BULKHEAD_STATEDIR="$state" "$BULKHEAD" apply \
        "$(with "$without_no_ssh")" --node $node --bridge br0
    check '... nor does it name the one before' exits 1 \
        grep '^generation' "$switch_dir/said"
    umount "$state"
    bulkhead_on apply br0 >/dev/null
}

main() {
    start_dummy_switch
    make_dummy_bridge br0 "$intent" "$node"
    test_kept
    test_rollback
    test_clear
    test_damage
    test_full
    test_read_only
    [ "$failures" = 0 ]
}

main

#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# bulkheadd is killed right after a change: what it lets pass when it is back,
# and has proved nothing yet, is what it had put last, or what the switch
# holds, and never what was allowed before.
# Environment: BUILDDIR, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=agent-lib.sh
. "$here/agent-lib.sh"

intent=$srcdir/examples/ai-cluster.json
node=gpu-node-1

# A verifier that waits while there is the file STALL.
BULKHEAD=${BUILDDIR:-$srcdir/_build}/tests/verify/faulty

fails() { ! "$@"; }
marks() { flows br0 | grep -E "[:=]$1->ip_dscp" >/dev/null; }
kept() { (cd "$BULKHEAD_STATEDIR/br0" && echo *.plan); }
journal() { echo "$BULKHEAD_STATEDIR"/br0/*.journal; }
no_journal() { [ ! -e "$(journal)" ]; }
empty_journal() { [ -e "$(journal)" ] && [ ! -s "$(journal)" ]; }
is_whole() { [ "$(kept)" = "$whole" ]; }
last() { (cd "$BULKHEAD_STATEDIR/br0" && realpath -- *.plan | sort -V | tail -n1); }
is_folded() { ! is_whole && empty_journal; }
is_kept_anew() { [ -e "$(journal)" ] && ! is_whole; }
# becomes_folded: when nothing has changed for two seconds.
becomes_folded() {
    sleep 2
    soon is_folded
}
# kept_as FILE: all but times, digests and the journal's name, in any order; the
# first line says whether it has the hash of an intent.
kept_as() {
    tail -n +2 "$(last)" | python3 -c '
import json, sys
kept = json.load(sys.stdin)
bridge, generation, _, intent, *rest, _ = kept.pop("record")
del kept["proved"]
print("SOME" if intent else "NONE")
print(bridge, generation, *rest)
for name, items in sorted(kept.items()):
    print(name, *sorted(json.dumps(item) for item in items), sep="\n ")
' >"$1"
}
status() { "$BULKHEAD" status --bridge br0; }

# limit NUMBER: of inference, in the file of that tenant.
limit() {
    sed -E "s/\"limit\": ?\"[0-9]+Gbps\"/\"limit\":\"$1Gbps\"/" \
        "$folder/tenants/inference.json" >"$folder/.new"
    mv "$folder/.new" "$folder/tenants/inference.json"
    soon has_rate "${1}000000"
}

# All that is kept is in the file of the last generation.
keep_whole() {
    agent save
    whole=$(kept)
}

# killed NUMBER: when that is the limit, before more than a journal can say so.
killed() {
    limit "$1"
    agent_end KILL
}

# started_unproved: with the bridge as it is, or as it is kept.
started_unproved() {
    touch "$STALL"
    agent_start
    soon agent_says 'proves what has changed'
}
proved() {
    rm "$STALL"
    becomes_equal
}

test_kept() {
    python3 "$here/split.py" "$intent" "$folder"
    check 'the policy is there' becomes_equal
    keep_whole
    killed 31
    check 'killed after a change' is_whole
    check '... which the journal says' test -s "$(journal)"
    check '... so that status knows it' says ': as intended' 0 status
    check '... and says whence' says ' and its journal, verified' 0 status
    kill_switch
    begin_switch
    started_unproved
    check 'after a restart it is what comes, unproved' soon has_rate 31000000
    check '... and all with it' soon has_endpoint 02:00:00:01:00:01
    check '... and it is the intent' proved
    limit 32 >/dev/null
    keep_whole
    check 'kept as a whole, the journal is empty' empty_journal
    agent_end TERM
    agent_start
    becomes_equal >/dev/null
    agent save
    check 'what is kept is no other when it starts again' is_whole
}

# A journal that is damaged.
test_cut() {
    killed 33
    truncate -s -1 "$(journal)"
    check 'a line that is cut short has never been applied' \
        says 'meters 2 added, 2 deleted' 4 status
    started_unproved
    check '... so the one before comes' soon has_rate 32000000
    check '... and then the intent' proved
    check '... is there' has_rate 33000000
    keep_whole
    killed 35
    sed -i 's/35000000/36000000/' "$(journal)"
    check 'a journal that was changed is not trusted' \
        says 'has been changed' 3 status
    started_unproved
    check '... and the bridge is left as it is' has_rate 35000000
    check '... until all is proved' proved
    keep_whole
}

# A change while the whole is being kept, which does not have it.
test_meanwhile() {
    local child='' save rate
    for rate in 36 34 36 34 36; do      # One may be gone before it is caught.
        limit $rate >/dev/null
        child=$(catch_child)
        [ -z "$child" ] || break
    done
    agent save >"$switch_dir/save" 2>&1 &
    save=$!
    sleep 0.2
    limit 37 >/dev/null
    # What is begun after that one fails.
    prlimit --pid "$agent_pid" --fsize=4096:unlimited
    kill -CONT "$child"
    check 'a change while all is being kept' fails wait "$save"
    agent_end KILL
    check '... is in both journals' says ' and its journal, verified' 0 status
    agent_start
    becomes_equal >/dev/null
    keep_whole
    killed 35
    agent_start
    becomes_equal >/dev/null
}

# catch_fold NUMBER...: changes the limit until what keeps that by itself is
# caught: one may be gone before.
catch_fold() {
    local rate

    for rate; do
        keep_whole
        limit "$rate" >/dev/null
        child=$(catch_child)
        [ -z "$child" ] || break
    done
}
# dscp FROM TO: of a class, which is what no edit says.
dscp() {
    sed "s/\"dscp\":$1/\"dscp\":$2/" "$folder/policy.json" >"$folder/.new"
    mv "$folder/.new" "$folder/policy.json"
    soon marks "$2"
}

# What is kept after a while is made of what was kept, by another program.
test_folded() {
    local child=''
    catch_fold 34 36 34 36 34
    check 'what has changed is kept by a process' \
        eval "tr '\\0' ' ' <'/proc/$child/cmdline' | grep '^bulkheadd: keeps'"
    limit 33 >/dev/null
    kill -CONT "$child"
    check '... and a change meanwhile does not end it' soon fails is_whole
    kept_as "$switch_dir/folded"
    check '... nor is it in what is kept' eval "head -n1 '$switch_dir/folded' |
        grep NONE && ! grep -F 33000000 '$switch_dir/folded'"
    whole=$(kept)
    check '... until that is kept, too' becomes_folded
    kept_as "$switch_dir/folded"
    agent save
    kept_as "$switch_dir/saved"
    check '... as all that is known would be, but for the intent' \
        eval "! cmp '$switch_dir/folded' '$switch_dir/saved' &&
        diff <(tail -n +2 '$switch_dir/folded') \
             <(tail -n +2 '$switch_dir/saved')"
    whole=$(kept)
    limit 34 >/dev/null
    becomes_folded
    agent_end KILL
    started_unproved
    check 'what was so kept comes back' has_rate 34000000
    check '... and is the intent' proved
    keep_whole
    sed -i '$ s/34000000/35000000/' "$(last)"
    limit 36 >/dev/null
    sleep 2
    check 'what somebody has changed is not kept on' \
        soon eval 'agent status | grep "has been changed"'
    check '... but all that is known' agent save
    check '... and that is trusted' says ': as intended' 0 status
    catch_fold 34 36 34 36 34
    dscp 26 30 >/dev/null
    check 'what no edit says ends what keeps something else' \
        soon fails kill -0 "$child"
    sleep 2
    check '... and is kept itself' soon is_kept_anew
    dscp 30 26 >/dev/null
    keep_whole
}

# What no edit says.
test_whole() {
    limit 36 >/dev/null         # So that what comes next is not kept at once.
    whole=$(kept)
    limit 37 >/dev/null
    check 'all compiled anew' dscp 26 28
    agent_end KILL
    check 'what is kept is not that' is_whole
    check '... and has no journal any more' no_journal
    check '... so it is not trusted' says 'has no journal any more' 3 status
    started_unproved
    check '... and does not come back' eval '! marks 26'
    check '... nor goes anything else' marks 28
    check 'proved' proved
    keep_whole
    check '... and kept' says ': as intended' 0 status
}

# Back from a change that only the journal knows, and forth again.
test_rollback() {
    killed 38
    check 'rollback goes back from what the journal says' \
        exits 0 "$BULKHEAD" rollback --bridge br0
    check '... to the one before' has_rate 37000000
    check '... and forth again' exits 0 "$BULKHEAD" rollback --bridge br0
    check '... to that' has_rate 38000000
    check 'three are kept' eval 'kept | wc -w | grep -x 3'
    check '... and one journal' [ -e "$(journal)" ]
    agent_start
    check 'and bulkheadd goes on' becomes_equal
}

# A change that the bridge did not take is withdrawn by what no edit says, and
# nothing of both is sent.
test_unsent() {
    keep_whole
    ovs-vsctl set-manager ptcp:0:127.0.0.1
    check 'the bridge is unfit' soon agent_says 'a manager that may be'
    limit 41 >/dev/null || :
    check '... and takes no change' has_rate 38000000
    agent_end KILL
    agent_start
    soon agent_says 'a manager that may be' >/dev/null
    sleep 0.5
    check '... nor when bulkheadd begins anew' lacks_rate 41000000
    kill -STOP "$agent_pid"
    limit 38 >/dev/null
    sed 's/"dscp":28/"dscp":27/' "$folder/policy.json" >"$folder/.new"
    mv "$folder/.new" "$folder/policy.json"
    kill -CONT "$agent_pid"
    sleep 1
    agent_end KILL
    ovs-vsctl del-manager
    started_unproved
    sleep 0.5
    check '... which does not come later' lacks_rate 41000000
    check 'proved' proved
    keep_whole
}

# A disk that is full when a change comes: its process may write no file of
# more than 4 kB, which a journal becomes and a plan is from the start.
test_full() {
    keep_whole
    prlimit --pid "$agent_pid" --fsize=4096:unlimited
    limit 39 >/dev/null
    for rate in 40 41 42 43 44 45; do
        limit $rate >/dev/null
    done
    check 'changes that cannot be kept come all the same' has_rate 45000000
    check '... and then nothing is trusted' no_journal
    check '... which is said' says 'File too large' 2 agent save
    prlimit --pid "$agent_pid" --fsize=unlimited:unlimited
    agent_end KILL
    started_unproved
    check 'none of them comes back' has_rate 45000000
    check '... and the last is the intent' proved
}

# A file system that has become read-only.
test_read_only() {
    agent_end TERM
    if ! mount -t tmpfs tmpfs "$BULKHEAD_STATEDIR" 2>/dev/null; then
        echo '# skipped: a read-only file system (no right to mount)'
        return
    fi
    bulkhead_on apply br0 "$folder" >/dev/null
    mount -o remount,ro "$BULKHEAD_STATEDIR"
    agent_start
    soon is_as_intended >/dev/null
    limit 46 >/dev/null
    check 'read-only: changes come all the same' has_rate 46000000
    agent_end KILL
    started_unproved
    check '... and after a crash what was kept does not come back' \
        has_rate 46000000
    rm "$STALL"
    check '... and the last is the intent, but not kept' soon \
        says 'on br0: as intended, ' 4 bulkhead_on status br0 "$folder"
    agent_end KILL
    mount -o remount,rw "$BULKHEAD_STATEDIR"
    agent_start
    becomes_equal
    check 'once it can be written, all is kept again' exits 0 agent save
    check '... and no mark is left' \
        [ -z "$(find "$OVS_RUNDIR" -name 'bulkhead-*.void')" ]
    agent_end TERM
    umount "$BULKHEAD_STATEDIR"
    agent_start
}

main() {
    begin_node
    export STALL=$switch_dir/stall FORGET=$switch_dir/forget
    agent_start
    test_kept
    test_cut
    test_meanwhile
    test_folded
    test_whole
    test_rollback
    test_unsent
    test_full
    test_read_only
    agent_end TERM
    [ "$failures" = 0 ]
}

main

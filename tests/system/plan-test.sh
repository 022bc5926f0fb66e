#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# What plan tells, and when apply refuses a plan that was saved.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

intent=$srcdir/examples/ai-cluster.json
node=gpu-node-1

# plan INTENT [OPTION...]
plan() {
    local intent=$1
    shift
    "$BULKHEAD" plan "$intent" --node $node --bridge br0 "$@"
}

save() { plan "$1" -o "$switch_dir/saved"; }
apply_saved() { "$BULKHEAD" apply "$switch_dir/saved" "$@"; }

# words EXPECTED INTENT: the lines of a plan but for the counts.
words() {
    plan "$2" >"$switch_dir/words" || return 1
    diff <(echo "$1") <(grep '^  ' "$switch_dir/words")
}

# json INTENT EXPRESSION: holds for the object 'p' and the changes by name 'c'.
json() {
    plan "$1" -f json | python3 -c 'import json, sys
p = json.load(sys.stdin)
print(p)
c = {(x["what"], x["name"]): x for x in p["changes"]}
sys.exit(not eval("(" + sys.argv[1] + ")"))' "$2"
}

test_empty() {
    check 'a plan for an empty bridge' \
        says '  + bandwidth inference: 20Gbps, burst 65625B' 0 plan "$intent"
    check 'with --exit-code: 4' says '  + rule batch/no-ssh: flows 1 added' 4 \
        plan "$intent" --exit-code
    check 'apply --dry-run is the same' same_dry_run
    check 'it changes nothing' unchanged br0 plan "$intent"
    check 'and nothing is kept of it' test ! -e "$switch_dir/state"
    check 'apply: 0' exits 0 bulkhead_on apply br0
    check 'then there is nothing to do' says 'as intended' 0 \
        plan "$intent" --exit-code
}

# What only gives packets a tag is no limit; whose tag that is, is told.
test_tags() {
    local meter
    tags=$srcdir/tests/golden/plan/telemetry-arrivals/intent.json
    make_dummy_bridge br1 "$tags" n1
    "$BULKHEAD" compile "$tags" --node n1 -o "$switch_dir/tags" >/dev/null 2>&1
    sh "$switch_dir/tags/ovs-vsctl.sh" br1
    check 'a meter for a tag' \
        says '  + bandwidth training (tag): lets all pass' 0 tags plan
    check 'it is put there' exits 0 tags apply
    meter=$(sed -n 's/^meter=\([0-9]*\),.* exceed=pass .*/\1/p' \
        "$switch_dir/tags/meters.txt" | head -n 1)
    ovs-ofctl -O OpenFlow14 mod-meter br1 "meter=$meter,kbps,burst,stats,`
        `bands=type=microburst rate=4294967295 burst_bytes=4294967295 `
        `exceed=pass tag=7"
    check 'one of another tag is told' \
        says 'lets all pass, tag 7 -> lets all pass, tag ' 0 tags plan
}

# tags COMMAND: of what has tags, on br1.
tags() { "$BULKHEAD" "$1" "$tags" --node n1 --bridge br1; }

same_dry_run() {
    diff <(plan "$intent") <("$BULKHEAD" apply "$intent" --node $node \
                                         --bridge br0 --dry-run --no-verify)
}

test_words() {
    check 'a limit' words '  ~ tenant inference: flows 1 changed
  ~ endpoint inference/frontend0: flows 1 changed
  ~ endpoint inference/model0: flows 1 changed
  ~ bandwidth inference: 20Gbps, burst 65625B -> 25Gbps, burst 65625B
  ~ bandwidth inference (receive): 20Gbps, burst 65625B -> '$(
        )'25Gbps, burst 65625B' \
        "$(with 's/"limit": "20Gbps"/"limit": "25Gbps"/')"
    check 'limits of packets' words '  ~ endpoint batch/job0: flows 1 changed
  ~ endpoint batch/job1: flows 1 changed
  ~ limits batch: 2Mpps, burst 2kpkt -> 1Mpps, burst 2kpkt' \
        "$(with 's/"2Mpps"/"1Mpps"/')"
    check 'a rule that goes' words '  - rule batch/no-ssh: flows 1 deleted' \
        "$(with "$without_no_ssh")"
    check 'a rule with another name' words \
        '  - rule batch/no-ssh: flows 1 deleted
  + rule batch/no-ssh2: flows 1 added' \
        "$(with 's/"name": "no-ssh"/"name": "no-ssh2"/')"
    check 'a rule that changes' words \
        '  ~ rule inference/serve: flows 4 deleted' \
        "$(with 's/443, "8000-8100"/443/')"
    check 'an endpoint that moves' words '  ~ endpoint inference/frontend0: '$(
        )'flows 1 added, 1 changed, 1 deleted' \
        "$(with 's/"pf0vf2"/"pf0vf8"/')"
    check 'one that goes' says '  - endpoint batch/job1: flows 11 deleted' 0 \
        plan "$(with '/"interface": "pf0vf5"/s/"interface": "[^"]*",//')"
    check 'the same as JSON' json \
        "$(with 's/"limit": "20Gbps"/"limit": "25Gbps"/;'"$without_no_ssh")" '
        c["rule", "batch/no-ssh"]["change"] == "removed"
        and c["rule", "batch/no-ssh"]["flows"]["deleted"] == 1
        and c["bandwidth", "inference"]["after"] == "25Gbps, burst 65625B"
        and p["flows"] == {"added": 0, "changed": 3, "deleted": 1,
                           "kept": p["flows"]["kept"]}
        and p["generation"] == 1 and len(p["changes"]) == 6'
    # Names of what is not in the new intent come from what is kept.
    rm -r "$switch_dir/state"
    check 'without it they are cookies' words \
        '  - rule 0xb17da5865e696c9a: flows 1 deleted' \
        "$(with "$without_no_ssh")"
}

test_saved() {
    local changed
    changed=$(with "$without_no_ssh")
    check 'a plan is saved' exits 0 save "$changed"
    check 'for another node: 1, nothing changed' unchanged br0 \
        says 'for node gpu-node-1, not other' 1 apply_saved --node other
    check 'for another bridge: 1, nothing changed' unchanged br0 \
        says 'for bridge br0, not br1' 1 apply_saved --bridge br1
    check 'nor to another target' \
        says 'for the target userspace, not ovn' 1 apply_saved --target=ovn
    check 'a plan that is not there: 1' \
        says 'cannot read /nonexistent/saved' 1 "$BULKHEAD" apply \
        /nonexistent/saved
    check 'applied: 0' says ' 1 deleted, ' 0 apply_saved --node $node
    check 'and the bridge holds it' exits 0 bulkhead_on status br0 "$changed"
    check 'a second time: 3, nothing changed' unchanged br0 \
        says 'at generation 1, and the plan was made at 0' 3 apply_saved
    check '...before anything is proved' exits 1 \
        grep proved "$switch_dir/said"
    check '... which a dry run says, too' \
        says 'at generation 1, and the plan was made at 0' 3 \
        apply_saved --dry-run
    check 'a plan for another node than what is there: 3' \
        says "has the plan of node 'gpu-node-1', and this one is of node" 3 \
        "$BULKHEAD" plan "$(with 's/gpu-node-1/gpu-node-9/')" \
        --node gpu-node-9 --bridge br0
    check 'another is saved' exits 0 save "$intent"
    ovs-ofctl -O OpenFlow14 --strict del-flows br0 'table=20,priority=0'
    check 'the switch moves: 3, nothing changed' unchanged br0 \
        says 'holds other flows' 3 apply_saved
    check 'one is saved of what it holds now' exits 0 save "$intent"
    ovs-ofctl -O OpenFlow13 add-meter br0 \
        'meter=131073,kbps,burst,stats,bands=type=drop,rate=7,burst_size=7'
    check 'a meter moves: 3' says 'holds other flows' 3 apply_saved
    check 'and that is applied' exits 0 save "$intent"
    check 'which repairs both' exits 0 apply_saved
    check 'status: 0' exits 0 bulkhead_on status br0
}

test_intent_moves() {
    local moved=$switch_dir/moved.json
    cp "$intent" "$moved"
    check 'a plan is saved' exits 0 save "$moved"
    sed -i 's/"limit": "20Gbps"/"limit": "30Gbps"/' "$moved"
    check 'the intent moves: 1, nothing changed' unchanged br0 \
        says 'has changed since' 1 apply_saved
    rm "$moved"
    check 'the intent goes: 1, nothing changed' unchanged br0 \
        says 'cannot be compiled any more' 1 apply_saved
    # Blanks and the order of members mean nothing.
    python3 -c 'import json, sys
print(json.dumps(json.load(open(sys.argv[1])), sort_keys=True))' "$intent" \
        >"$moved"
    check 'it comes back in another form: 0' exits 0 apply_saved
    mkdir -p "$switch_dir/parts"
    cp "$intent" "$switch_dir/parts"
    check 'a plan of a folder is saved' exits 0 \
        env -C "$switch_dir" "$BULKHEAD" plan parts --node $node --bridge br0 \
        -o saved
    check 'it is applied from elsewhere' exits 0 env -C / "$BULKHEAD" apply \
        "$switch_dir/saved"
}

# A flow more in the saved plan, under a hash that is right again.
test_tampered() {
    check 'a plan is saved' exits 0 save "$intent"
    python3 - "$switch_dir/saved" <<'END'
import hashlib
import re
import sys

head, rest = open(sys.argv[1]).read().split("\n", 1)
evil = '"flows":[[0,65535,"0xb17d00000000ffff","","NORMAL"],'
rest, n = re.subn(r'"flows": ?\[', lambda m: evil, rest, count=1)
assert n == 1
head = re.sub(r"[0-9a-f]{40}", hashlib.sha1(rest.encode()).hexdigest(), head)
open(sys.argv[1], "w").write(head + "\n" + rest)
END
    check 'somebody adds a flow to it: 1, nothing changed' unchanged br0 \
        says 'not what its intent gives' 1 apply_saved
    mkfifo "$switch_dir/pipe"
    check 'a pipe is no file to save to' says 'no regular file' 1 \
        "$BULKHEAD" plan "$intent" --node "$node" --bridge br0 \
        -o "$switch_dir/pipe"
    ln -s saved-there "$switch_dir/link"
    : >"$switch_dir/saved-there"
    check 'a link leads to where it is saved' \
        "$BULKHEAD" plan "$intent" --node "$node" --bridge br0 \
        -o "$switch_dir/link"
    check 'and stays one' test -L "$switch_dir/link" -a \
        -s "$switch_dir/saved-there"
}

# An interface that is not there yet.
test_partial() {
    local changed
    changed=$(with 's/"pf0vf5"/"not-there"/')
    partial() {
        "$BULKHEAD" "$1" "$changed" --node $node --bridge br0 "${@:2}"
    }
    check 'a missing interface: 3, nothing changed' unchanged br0 \
        says 'not-there' 3 partial apply
    check 'a plan for it: 3' says 'not-there' 3 partial plan
    check 'with --partial: what goes' \
        says '  - endpoint batch/job1: flows 11 deleted' 0 \
        partial plan --partial -o "$switch_dir/saved"
    check 'apply of that plan takes no --partial: 2' unchanged br0 \
        says 'a saved plan has what' 2 apply_saved --partial
    check '... and says what is left out' \
        says 'unbound, so they match nothing: batch/job1' 0 apply_saved
    check 'apply --partial says it too' says \
        'batch/job1 is left out: bridge br0 lacks its interface not-there' 0 \
        partial apply --partial
    check 'the bridge knows nothing of it' exits 1 \
        grep 02:00:00:03:00:01 <(flows br0)
    check 'status of the whole intent: 4' says 'not-there' 4 partial status
    check 'status says that this is partial' says 'verified, partial' 0 \
        "$BULKHEAD" status --bridge br0
    check 'all there: --partial leaves nothing out' exits 1 grep 'left out' \
        <("$BULKHEAD" apply "$intent" --node $node --bridge br0 --partial 2>&1)
    check 'status: 0' exits 0 bulkhead_on status br0
    check 'apply without --partial' exits 0 bulkhead_on apply br0
    check '... is whole' says ', verified; kept before it' 0 \
        "$BULKHEAD" status --bridge br0
    check 'a bridge that is not there: 3' says 'did you mean br0' 3 \
        "$BULKHEAD" apply "$changed" --node $node --bridge br9 --partial
}

test_bad() {
    local size
    check 'a plan is saved' exits 0 save "$intent"
    size=$(stat -c %s "$switch_dir/saved")
    truncate -s $((size - 1)) "$switch_dir/saved"
    check 'one cut short: 1' says 'is cut short or has been changed' 1 \
        apply_saved
    save "$intent" >/dev/null
    sed -i '1s/^bulkhead-plan 1 /bulkhead-plan 2 /' "$switch_dir/saved"
    check 'one of another version: 1' \
        says 'is no plan that this version of Bulkhead has written' 1 \
        apply_saved
    check 'one for no folder: 1' says 'make its folder first' 1 \
        plan "$intent" -o "$switch_dir/none/saved"
    cp "$intent" "$switch_dir/mine.json"
    check 'one in place of the intent: 1' says 'no plan that was saved' 1 \
        plan "$switch_dir/mine.json" -o "$switch_dir/mine.json"
    check '... which stays' cmp "$intent" "$switch_dir/mine.json"
    check 'one that cannot be written: 1' says 'cannot write /dev/null/x' 1 \
        plan "$intent" -o /dev/null/x
    ovs-ofctl set-frags br0 drop
    check 'a plan for an unfit bridge: 3' says 'fragments' 3 plan "$intent"
    ovs-ofctl set-frags br0 normal
    check 'an intent needs a node: 2' says 'needs --node' 2 \
        "$BULKHEAD" apply "$intent" --bridge br0
    check 'and a bridge: 2' says 'needs --bridge' 2 \
        "$BULKHEAD" apply "$intent" --node $node
}

# A database that takes connections, and says nothing.
test_silence() {
    python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(9)
time.sleep(30)' "$switch_dir/silent.sock" &
    switch_pids+=($!)
    switch_await "$switch_dir/silent.sock" python3
    check 'a database that is silent: 3, within the time' \
        says 'silent.sock: Connection timed out' 3 timeout 3.5 \
        "$BULKHEAD" apply "$intent" --node $node --bridge br0 -t 2 \
        --db "unix:$switch_dir/silent.sock"
}

main() {
    start_dummy_switch
    make_dummy_bridge br0 "$intent" "$node"
    ovs-vsctl --timeout=10 add-port br0 pf0vf8 -- \
        set interface pf0vf8 type=dummy
    test_empty
    test_words
    test_saved
    test_intent_moves
    test_tampered
    test_partial
    test_bad
    ovs-vsctl --timeout=10 del-br br0
    test_tags
    test_silence
    [ "$failures" = 0 ]
}

main

#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# bulkheadd prepares proofs of changes of a tenant with many endpoints by a
# process of its own, which gives way to any change.
# Environment: BUILDDIR, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=agent-lib.sh
. "$here/agent-lib.sh"

node=node
tenant=tenant00000

# While there is the file LINGER, what prepares waits.
BULKHEAD=${BUILDDIR:-$srcdir/_build}/tests/verify/faulty

# Two tenants of 60 endpoints.
make_intent() {
    intent=$(mktemp)
    python3 "$here/../bench/make-intent.py" 2 60 40 >"$intent"
}

# edit CODE: does that to the object t of the tenant, in one step.
edit() {
    python3 - "$folder/tenants/$tenant.json" "$1" <<'EOF'
import json
import os
import sys

path, code = sys.argv[1:]
with open(path, encoding="ascii") as f:
    whole = json.load(f)
exec(code, {"t": next(iter(whole["tenants"].values()))})
new = os.path.join(os.path.dirname(path), ".new")
with open(new, "w", encoding="ascii") as f:
    json.dump(whole, f)
os.rename(new, path)
EOF
}
drop_rule() { edit 't["rules"].pop()'; }
change_bandwidth() { edit 't["bandwidth"]["limit"] = "'"$1"'Gbps"'; }

# count TEXT: lines of the log.
count() { grep -c -- "$1" "$switch_dir/bulkheadd.log" || true; }
is_more() { [ "$(count "$1")" -gt "$2" ]; }
prepared='proofs are prepared'
decided='proved at once by what is decided'

# long COMMAND...: within ten seconds.
long() {
    local tries
    for ((tries = 0; tries < 10; tries++)); do
        soon "$@" >/dev/null && return
    done
    soon "$@"
}

# It is the only one that then runs.
child() { pgrep -P "$agent_pid"; }
begun='are being prepared'

test_prepared() {
    check 'two tenants with many endpoints' long is_equal
    check 'at rest, proofs are prepared' long is_more "$prepared" 0
    check '... of each' [ "$(count 'are prepared by a process')" = 2 ]
    check '... and that is said' \
        [ "$(agent_json proofs prepared)" = true ]
    drop_rule
    check 'without a rule' becomes_equal
    check '... which is proved by what is decided' is_more "$decided" 0
    check 'then there is nothing to prepare' long is_more "$prepared" 1
    check '... anew' [ "$(count 'are prepared by a process')" = 2 ]
}

# What a change of meters makes of no use is prepared again; until then a
# change of rules does not wait for that.
test_yields() {
    local before pid n_begun
    before=$(count "$decided")
    n_begun=$(count "$begun")
    touch "$LINGER"
    change_bandwidth 33
    check 'another bandwidth' long has_rate 33000000
    check '... after which proofs are prepared again' \
        long is_more "$begun" "$n_begun"
    pid=$(child)
    check '... as status says' [ "$(agent_json proofs prepared)" = false ]
    check '... while it sleeps' idle
    drop_rule
    check 'a change meanwhile is made' becomes_equal
    check '... otherwise proved' [ "$(count "$decided")" = "$before" ]
    check '... and the process is ended' has_ended "$pid"
    before=$(count "$prepared")
    rm "$LINGER"
    check 'then they are prepared' long is_more "$prepared" "$before"
    before=$(count "$decided")
    drop_rule
    check '... for a change' becomes_equal
    check '... which is proved by what is decided' is_more "$decided" "$before"
}

# One that breaks is not begun again for nothing.
test_broken() {
    local before n_begun
    before=$(count "$prepared")
    n_begun=$(count "$begun")
    touch "$LINGER"
    change_bandwidth 34
    check 'where that process' long is_more "$begun" "$n_begun"
    kill -SEGV "$(child)"
    check '... breaks' soon is_more 'are not prepared by a process' 0
    rm "$LINGER"
    check '... that was it' long is_more "$prepared" "$before"
    before=$(count "$decided")
    drop_rule
    check '... and a change is made' becomes_equal
    check '... without it' [ "$(count "$decided")" = "$before" ]
    check 'after which they are prepared' \
        long is_more 'tenant00000 are prepared by a process' 2
}

main() {
    make_intent
    begin_node
    export LINGER=$switch_dir/linger
    python3 "$here/split.py" "$intent" "$folder"
    rm "$intent"
    agent_options=(-vprove:file:dbg -vgate:file:dbg -vprepare:file:dbg)
    agent_start
    test_prepared
    test_yields
    test_broken
    [ "$failures" = 0 ]
}

main

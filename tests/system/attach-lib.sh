# shellcheck shell=bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Shared by the tests of endpoints that interfaces bind, after agent-lib.sh.
# shellcheck disable=SC2034 # Tests use it.

intent=$srcdir/examples/ai-cluster.json
node=gpu-node-1
job1=02:00:00:03:00:01
target0=02:00:00:04:00:00

# job1 lacks its place; target0 everything.
unbind='/"node": "gpu-node-1",$/{N;/"pf0vf5"/d}
        /^ *"labels": { "role": "target" },$/{N;N;N;N;s/,\n.*//}'

attach() { "$BULKHEAD" attach "$@" --bridge br0; }
detach() { "$BULKHEAD" detach "$@" --bridge br0; }
partial_apply() {
    "$BULKHEAD" apply "$1" --partial --node $node --bridge br0
}

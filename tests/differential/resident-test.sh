#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# The compilation that is kept, against compilations of the whole: see
# resident.c.
#
# resident-test.sh [--long] [--seed=N]: 5,000 changes, always the same ones;
# --long: 100,000, of a random seed, which is printed.
# Environment: BUILDDIR; found by itself if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../system/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../system/lib.sh"

edits=5000
seed=1
while [ $# != 0 ]; do
    case $1 in
    --long) edits=100000 seed=$RANDOM$RANDOM ;;
    --seed=*) seed=${1#--seed=} ;;
    *) die "usage: resident-test.sh [--long] [--seed=N]" ;;
    esac
    shift
done
exec "${BUILDDIR:-$srcdir/_build}/tests/differential/resident" --floor \
    --seed="$seed" --edits="$edits"

#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# Open vSwitch's own test suite on the patched tree: the tests of meters, of
# telemetry, of the clock and of what a change of flows reaches, or with --whole
# all of it ("make check-long").
#
# A test that fails runs once more by itself, for those that depend on the
# machine's load, but not those of meters, which this is about.  What is
# not repeated, or fails again, must be on the list of what fails without our
# patches too.  Exit 77: skipped, with the reason.
# Environment: OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Names of tests that fail on Debian's sources as they are, one a line.
known=$here/ovs-suite-known-failures
# Names of tests that are not repeated.
once='(^|[^a-z])meter|microburst|time/warp-ns'
groups=(-j4 -k meters -k meter -k microburst -k time/warp-ns -k time/start
        -k upcall-limit -k tenant-queue -k translation)

require_cache() {
    local ours
    ours=$("$srcdir/build-aux/ovs-build" --prefix)
    if [ "$OVS_PREFIX" != "$ours" ]; then
        echo "skipped: $OVS_PREFIX is not of the cache: no tree to test"
        exit 77
    fi
}

# Prints the names of the tests that the latest run found failing.
failing() {
    sed -n '/^## Summary of the failures/,/^## Detailed failed tests/p' \
        "$tree/build/tests/testsuite.log" 2>/dev/null |
        sed -n 's/^ *[0-9]*: [^ ]* *\(.*[^ ]\)  *FAILED.*/\1/p;
                s/^ *[0-9]*: [^ ]*:[0-9]* *\(.*\)/\1/p' | sort -u
}

# judge LEFT: LEFT names what fails without excuse, one a line.
judge() {
    if [ -n "$(failing)" ] && [ -z "$1" ]; then
        echo "ok - Open vSwitch's suite: ${flags[*]}, but for what fails" \
             "without our patches too"
    else
        echo "not ok - Open vSwitch's suite: ${flags[*]}"
        printf '# %s\n' "${1:-it did not run to its end}"
        return 1
    fi
}

# run_suite LEAST FLAG...: fails also when fewer than LEAST tests ran.
run_suite() {
    local least=$1 ran
    shift

    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u TESTS -u OVS_RUNDIR \
        make -s -C "$tree/build" check V=0 TESTSUITEFLAGS="$*" 8>&- || return
    ran=$(sed -nE 's/^(All )?([0-9]+) tests? (were|was) (successful|run).*/\2/p
                   s/^ERROR: ([0-9]+) tests? were run.*/\1/p' \
              "$tree/build/tests/testsuite.log" | tail -n 1)
    [ "${ran:-0}" -ge "$least" ] || {
        echo "# only ${ran:-0} tests ran, not $least"
        return 1
    }
}

main() {
    local flags=("${groups[@]}") least=55 left
    case ${1:-} in
    --whole) flags=(-j8) least=2000 ;;
    '') ;;
    *) die "usage: ovs-suite-test.sh [--whole]" ;;
    esac
    find_ovs
    require_cache
    tree=$("$srcdir/build-aux/ovs-build" --tree)
    # One tree serves every build: one run of its suite at a time.
    exec 8>"$tree/suite.lock"
    flock 8
    if run_suite $least "${flags[*]}"; then
        echo "ok - Open vSwitch's suite: ${flags[*]}"
        return
    fi
    left=$(failing | grep -vxFf "$known" | grep -E "$once" || true)
    if [ -n "$left" ]; then
        judge "$left"
        return
    fi
    echo '# once more, each by itself'
    if run_suite 1 --recheck; then
        echo "ok - Open vSwitch's suite: ${flags[*]}, some at the second try"
        return
    fi
    judge "$(failing | grep -vxFf "$known" || true)"
}

main "$@"

#!/bin/sh
# Tests ovs-patches/series.sh: what it must accept and what it must refuse.
# Prints "ok - NAME" or "not ok - NAME" a test and fails if any test did.

set -u

root=$(cd "$(dirname "$0")/../.." && pwd -P)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/series-test.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
failed=0

# No identity and no trust in foreign trees, as for any user in a container.
export HOME="$tmp/home" GIT_CONFIG_NOSYSTEM=1
unset GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME \
    GIT_COMMITTER_EMAIL EMAIL XDG_CONFIG_HOME GIT_CONFIG_GLOBAL
mkdir "$HOME"

# report NAME STATUS
report() {
    if [ "$2" -eq 0 ]; then
        echo "ok - $1"
    else
        echo "not ok - $1"
        sed 's/^/# /' "$tmp/log"
        failed=1
    fi
}

# passes NAME COMMAND...
passes() {
    name=$1
    shift
    "$@" >"$tmp/log" 2>&1
    report "$name" $?
}

# refuses NAME STATUS TEXT COMMAND...: COMMAND must exit with STATUS and say
# TEXT on stderr.
refuses() {
    name=$1 status=$2 text=$3
    shift 3
    "$@" >"$tmp/out" 2>"$tmp/log"
    got=$?
    [ "$got" -eq "$status" ] && grep -qF -e "$text" "$tmp/log"
    report "$name" $?
}

# A copy of the series that a test may spoil, in $copy.
fresh_copy() {
    copy=$tmp/copy
    rm -rf "$copy"
    mkdir "$copy"
    cp -R "$root/ovs-patches" "$copy/"
    series=$copy/ovs-patches/series.sh
    patches=$copy/ovs-patches/3.1
    first=$(head -n 1 "$patches/series")
    last=$(tail -n 1 "$patches/series")
}

# The same of the first two patches, and of the lib/ files that they need: to
# apply all of them takes as long as all else here.
short_copy() {
    fresh_copy
    sed 1,2d "$patches/series" | while read -r name; do
        rm "$patches/$name"
    done
    in_place "3,\$d" "$patches/series"
    last=$(tail -n 1 "$patches/series")
    for file in "$copy"/ovs-patches/lib/*.[ch]; do
        grep -qF "lib/${file##*/}" "$patches"/*.patch || rm "$file"
    done
}

unpack() {
    mkdir "$1"
    tar -xzf "$(sed -n 's/^tarball: *//p' "$root/ovs-patches/3.1/BASE")" \
        --strip-components=1 --no-same-owner -C "$1"
}

# in_place SCRIPT FILE
in_place() {
    sed "$1" "$2" >"$tmp/edited" && cat "$tmp/edited" >"$2"
}

test_check() {
    fresh_copy
    passes "check accepts the series" "$series" check

    echo 'From: x' >"$patches/0099-unlisted.patch"
    refuses "check refuses an unlisted patch" 1 "is not in the series" \
        "$series" check

    fresh_copy
    echo 0099-gone.patch >>"$patches/series"
    refuses "check refuses a listed patch that is missing" 1 \
        "lists 0099-gone.patch" "$series" check

    fresh_copy
    echo "$first" >>"$patches/series"
    refuses "check refuses a patch that is listed twice" 1 "twice" \
        "$series" check

    short_copy
    : >"$copy/ovs-patches/lib/stray-file.c"
    refuses "check refuses a lib/ file that no patch mentions" 1 \
        "lib/stray-file.c" "$series" check
}

test_tampering() {
    short_copy
    passes "check accepts a series of two patches" "$series" check
    in_place 's/^@@ -\([0-9]*,[0-9]*\) +/@@ -1\1 +1/' "$patches/$last"
    refuses "check refuses a patch whose hunks have moved" 1 \
        "does not apply exactly" "$series" check

    short_copy
    in_place '/^+/s/ovs_json_real/ovs_json_rael/' "$patches/$first"
    refuses "check refuses a changed byte in an added line" 1 \
        "differs from what a refresh writes" "$series" check

    short_copy
    in_place 's/^ #include/ #inculde/' "$patches/$first"
    refuses "check refuses a changed byte in a context line" 1 \
        "does not apply exactly" "$series" check

    short_copy
    in_place 's/^From: /Date: Thu, 1 Jan 1970 00:00:00 +0000\n&/' \
        "$patches/$first"
    refuses "check refuses a header that a refresh would drop" 1 \
        "differs from what a refresh writes" "$series" check

    short_copy
    in_place '/^Signed-off-by/d' "$patches/$first"
    refuses "check refuses a patch without a sign-off" 1 "not signed off" \
        "$series" check
}

test_refresh() {
    fresh_copy
    unpack "$tmp/tree"
    passes "apply patches a pristine tree" "$series" apply "$tmp/tree"
    refuses "apply refuses a patched tree" 1 "has the series already" \
        "$series" apply "$tmp/tree"

    rm -f "$patches"/*.patch
    passes "refresh writes the series" "$series" refresh "$tmp/tree"
    passes "apply and refresh keep every byte" \
        diff -r "$root/ovs-patches" "$copy/ovs-patches"

    echo '/* Edited. */' >>"$tmp/tree/lib/gcra.c"
    "$series" refresh "$tmp/tree"
    passes "refresh brings back an edited lib/ file" \
        cmp "$tmp/tree/lib/gcra.c" \
        "$copy/ovs-patches/lib/gcra.c"
    cp "$root"/ovs-patches/lib/*.[ch] "$tmp/tree/lib/"

    echo x >>"$tmp/tree/NEWS"
    refuses "refresh refuses uncommitted changes" 1 "uncommitted changes" \
        "$series" refresh "$tmp/tree"
    in_place "\$d" "$tmp/tree/NEWS"
}

test_export() {
    fresh_copy
    unpack "$tmp/upstream"
    passes "export writes the series" "$series" export "$tmp/export"
    git init -q "$tmp/upstream"
    git -C "$tmp/upstream" add -A -f
    user="-c user.name=x -c user.email=x@example.org -c gc.auto=0"
    # shellcheck disable=SC2086
    git -C "$tmp/upstream" $user commit -q -m base
    # shellcheck disable=SC2086
    passes "the export applies with git am" \
        git -C "$tmp/upstream" $user am "$tmp"/export/*.patch
    passes "the export gives the same tree as apply" \
        diff -r -x .git "$tmp/tree" "$tmp/upstream"
    refuses "export refuses a directory that is in use" 1 "is not empty" \
        "$series" export "$tmp/export"
}

test_usage() {
    passes "--help is no error" "$series" --help
    refuses "no command is wrong usage" 2 "no command" "$series"
    refuses "an unknown command is wrong usage" 2 "unknown command" \
        "$series" frobnicate
    refuses "an unknown base is wrong usage" 2 "no series for base 9.9" \
        "$series" --base 9.9 check
    refuses "apply needs a directory" 2 "needs a DIR" "$series" apply
    mkdir "$tmp/empty"
    refuses "apply refuses a tree that is not the base" 1 \
        "is not that of Open vSwitch" "$series" apply "$tmp/empty"
}

test_check
test_tampering
test_refresh
test_export
test_usage
exit "$failed"

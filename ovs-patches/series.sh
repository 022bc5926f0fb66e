#!/bin/sh
# Keeps the patch series for Open vSwitch: applies it, refreshes it, checks it
# and exports it.  README.md beside this file says how it is meant to be used.
#
# Every git command runs without the user's and the system's configuration,
# so that neither a missing identity nor somebody's diff settings can change a
# byte of a patch, and so that trees of another owner are accepted.

set -eu

usage() {
    cat <<'EOF'
usage: series.sh [--base VERSION] COMMAND

Commands:
  apply [--upto N] DIR  patch the pristine source in DIR, one commit a patch
                        (only the first N patches), and copy lib/ files in
  refresh DIR           write the commits of an applied DIR back as patches,
                        and its copies of lib/ files back to lib/
  check [--build]       check that series, patches and lib/ files agree and
                        apply exactly (and that every step of them builds)
  export DIR            write the series with the lib/ files in its patches,
                        for `git am` on the pristine source, to the new DIR

Options:
  --base VERSION        the series to work on (default: 3.1)
  -h, --help            print this text

Exit status: 0 done, 1 the series or a tree is wrong, 2 wrong usage.
EOF
}

# fail PLACE CAUSE REMEDY
fail() {
    printf 'series.sh: %s: %s\n' "$1" "$2" >&2
    printf 'series.sh:   %s\n' "$3" >&2
    exit 1
}

bad_usage() {
    printf 'series.sh: %s\n' "$1" >&2
    usage >&2
    exit 2
}

# What the release's tarball has beyond the upstream repository: outputs of the
# autotools and of make.  Tracked, they would show up as changes after a build,
# and would fail checks of Open vSwitch's own that run where there is a .git.
generated='Makefile.in
aclocal.m4
build-aux/compile
build-aux/config.*
build-aux/depcomp
build-aux/install-sh
build-aux/ltmain.sh
build-aux/missing
config.h.in
configure
debian/control
debian/copyright
include/openvswitch/version.h
m4/lt*.m4
m4/libtool.m4
ofproto/ipfix-entities.def
package.m4
python/ovs/dirs.py
python/ovs/flow/ofp_fields.py
python/ovs/version.py
rhel/*.spec
tests/*testsuite'

# A caller's git hook exports GIT_DIR and such, which would aim our commands
# at the wrong repository.
isolate_git() {
    unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY \
        GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_COMMON_DIR GIT_NAMESPACE \
        GIT_PREFIX GIT_CONFIG_PARAMETERS GIT_DIFF_OPTS GIT_EXTERNAL_DIFF
    export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
    export GIT_CONFIG_COUNT=1
    export GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
    export GIT_AUTHOR_NAME='Bulkhead developers'
    export GIT_AUTHOR_EMAIL=bulkhead@example.org
    export GIT_COMMITTER_NAME="$GIT_AUTHOR_NAME"
    export GIT_COMMITTER_EMAIL="$GIT_AUTHOR_EMAIL"
    export LC_ALL=C
}

base_value() {
    value=$(sed -n "s/^$1: *//p" "$series_dir/BASE")
    [ -n "$value" ] || fail "$series_dir/BASE" "has no \"$1:\" line" \
        "add one, see the BASE of another version"
    printf '%s\n' "$value"
}

# The names of the patches, in order.
list_patches() {
    sed -e 's/[[:space:]]*#.*//' -e '/^[[:space:]]*$/d' "$series_dir/series"
}

# The names of our own files for Open vSwitch's lib/ directory.
list_lib() {
    for file in "$here"/lib/*.[ch]; do
        [ ! -e "$file" ] || basename "$file"
    done
}

# Succeeds if lib/automake.mk of tree $1 names lib/ file $2.
automake_names() {
    name_re=$(printf '%s' "$2" | sed 's/\./\\./g')
    grep -qE "(^|[[:space:]])lib/$name_re([[:space:]]|\$)" "$1/lib/automake.mk"
}

unpack_base() {
    tarball=$(base_value tarball)
    [ -r "$tarball" ] || fail "$tarball" "the base source is missing" \
        "install it: apt-get install $(base_value package)"
    mkdir -p "$1"
    tar -xzf "$tarball" --strip-components=1 --no-same-owner -C "$1"
}

require_base() {
    version=$(base_value version)
    [ -d "$1" ] || fail "$1" "no such directory" \
        "unpack $(base_value tarball) there"
    grep -qF "AC_INIT(openvswitch, $version," "$1/configure.ac" 2>/dev/null \
        || fail "$1/configure.ac" "is not that of Open vSwitch $version" \
                "unpack $(base_value tarball) into an empty directory"
}

# Makes tree $1 a repository whose tag "bulkhead-base" is the pristine source.
track_base() {
    [ -e "$1/.git" ] || git init -q --template= "$1"
    if git -C "$1" rev-parse -q --verify refs/tags/bulkhead-base >/dev/null
    then
        fail "$1" "has the series already" "apply it to a pristine source"
    fi
    if ! git -C "$1" rev-parse -q --verify HEAD >/dev/null; then
        mkdir -p "$1/.git/info"
        printf '%s\n' "$generated" >>"$1/.git/info/exclude"
        git -C "$1" add -A
        git -C "$1" commit -q -m "Open vSwitch $version"
    fi
    require_clean "$1"
    git -C "$1" tag bulkhead-base
}

require_clean() {
    changed=$(git -C "$1" status --porcelain --untracked-files=no | head -n 3)
    [ -z "$changed" ] || fail "$1" "has uncommitted changes: $changed" \
        "commit them, or amend the commit that they belong to"
}

# Applies patch $2 to tree $1 as a commit.  git itself would accept a hunk
# that has moved, and a series that rots hunk by hunk ends up misapplied.
apply_patch() {
    patch=$series_dir/$2
    [ -r "$patch" ] || fail "$series_dir/series" "lists $2, which is missing" \
        "add the patch or delete the line"
    if ! git -C "$1" apply --check --verbose "$patch" >"$work/apply" 2>&1 \
       || grep -qE '\((offset|fuzz)|with fuzz' "$work/apply"; then
        cat "$work/apply" >&2
        fail "$patch" "does not apply exactly" \
            "rebase it in an applied tree, then run: series.sh refresh TREE"
    fi
    git -C "$1" am --quiet --keep-cr "$patch" >"$work/am" 2>&1 || {
        cat "$work/am" >&2
        fail "$patch" "is no mail that git am takes" \
            "write it with: series.sh refresh TREE"
    }
}

# apply_series TREE [N]: applies the first N patches, or all.
apply_series() {
    list_patches | head -n "${2:-9999}" >"$work/list"
    while read -r name; do
        apply_patch "$1" "$name"
    done <"$work/list"
}

# Our own files stay out of the commits, so that a second base version can
# share them.
copy_lib() {
    list_lib >"$work/lib"
    while read -r name; do
        git -C "$1" ls-files --error-unmatch "lib/$name" >/dev/null 2>&1 \
            && fail "$here/lib/$name" "Open vSwitch has a lib/$name too" \
                    "rename ours"
        automake_names "$1" "$name" || continue
        cp "$here/lib/$name" "$1/lib/$name"
        echo "/lib/$name" >>"$1/.git/info/exclude"
    done <"$work/lib"
}

cmd_apply() {
    require_base "$1"
    track_base "$1"
    apply_series "$1" "${upto:-}"
    copy_lib "$1"
}

# format_patches TREE DIR: the commits of TREE since the base as patches with
# reproducible bytes: no date, no commit id, no git version.
format_patches() {
    mkdir -p "$2"
    git -C "$1" format-patch -q -N --stat=72 -p --full-index --zero-commit \
        --no-signature --no-renames --src-prefix=a/ --dst-prefix=b/ \
        --diff-algorithm=myers -o "$2" bulkhead-base..HEAD
    for file in "$2"/*.patch; do
        [ -e "$file" ] || return 0
        sed -e '1,/^$/{' -e '/^Date: /d' -e '}' "$file" >"$work/undated"
        cat "$work/undated" >"$file"
    done
}

write_series() {
    for file in "$1"/*.patch; do
        [ ! -e "$file" ] || basename "$file"
    done >"$1/series"
}

require_applied() {
    require_base "$1"
    git -C "$1" rev-parse -q --verify refs/tags/bulkhead-base >/dev/null \
        || fail "$1" "has no tag bulkhead-base" \
                "make the tree with: series.sh apply $1"
}

cmd_refresh() {
    require_applied "$1"
    require_clean "$1"
    format_patches "$1" "$work/new"
    write_series "$work/new"
    rm -f "$series_dir"/*.patch
    cp "$work/new"/* "$series_dir/"
    list_lib >"$work/lib"
    while read -r name; do
        [ ! -e "$1/lib/$name" ] || cmp -s "$1/lib/$name" "$here/lib/$name" \
            || cp "$1/lib/$name" "$here/lib/$name"
    done <"$work/lib"
}

check_listed() {
    list_patches | sort >"$work/listed"
    repeated=$(uniq -d "$work/listed")
    [ -z "$repeated" ] || fail "$series_dir/series" \
        "lists $repeated twice" "delete one of the lines"
    for file in "$series_dir"/*.patch; do
        [ -e "$file" ] || continue
        grep -qxF "$(basename "$file")" "$work/listed" \
            || fail "$file" "is not in the series" \
                    "list it in $series_dir/series or delete it"
    done
}

# What upstream asks of a patch that a machine can see.
check_form() {
    subject=$(sed -n 's/^Subject: \[PATCH\] //p' "$series_dir/$1")
    [ "${#subject}" -le 70 ] || fail "$series_dir/$1" \
        "its subject is longer than 70 characters" \
        "reword the commit, then run: series.sh refresh TREE"
    case $subject in
    *?:\ *.) ;;
    *) fail "$series_dir/$1" "its subject is not \"area: Summary.\"" \
            "reword the commit, then run: series.sh refresh TREE" ;;
    esac
    grep -q '^Signed-off-by: ' "$series_dir/$1" \
        || fail "$series_dir/$1" "is not signed off" \
                "amend the commit with -s, then run: series.sh refresh TREE"
}

check_lib() {
    list_lib >"$work/lib"
    while read -r name; do
        automake_names "$1" "$name" || fail "$here/lib/$name" \
            "no patch of $base mentions it in lib/automake.mk" \
            "mention it in the patch that first needs it"
        cmp -s "$here/lib/$name" "$1/lib/$name" || fail "$here/lib/$name" \
            "a patch creates a lib/$name of its own" \
            "keep the file in lib/ and out of the patch"
    done <"$work/lib"
}

# The patches must be what a refresh would write, or the next refresh would
# change patches that nobody touched.
check_refresh() {
    format_patches "$1" "$work/fresh"
    write_series "$work/fresh"
    list_patches >"$work/order"
    cmp -s "$work/order" "$work/fresh/series" \
        || fail "$series_dir/series" \
                "a refresh would name the patches otherwise" \
                "run: series.sh refresh TREE on an applied tree"
    while read -r name; do
        cmp "$series_dir/$name" "$work/fresh/$name" >&2 \
            || fail "$series_dir/$name" "differs from what a refresh writes" \
                    "run: series.sh refresh TREE on an applied tree"
    done <"$work/order"
}

check_steps() {
    total=$(list_patches | wc -l)
    step=1
    while [ "$step" -le "$total" ]; do
        echo "series.sh: building step $step of $total" >&2
        "$here/../build-aux/ovs-build" --base "$base" --step "$step" \
            >/dev/null \
            || fail "$series_dir" "step $step of the series does not build" \
                    "see the messages above"
        step=$((step + 1))
    done
}

cmd_check() {
    check_listed
    list_patches >"$work/forms"
    while read -r name; do
        [ ! -r "$series_dir/$name" ] || check_form "$name"
    done <"$work/forms"
    unpack_base "$work/tree"
    cmd_apply "$work/tree"
    check_lib "$work/tree"
    check_refresh "$work/tree"
    [ -z "$build" ] || check_steps
}

# Adds to the last commit of tree $1 the lib/ files that it mentions first.
add_lib() {
    list_lib >"$work/lib"
    while read -r name; do
        if [ ! -e "$1/lib/$name" ] && automake_names "$1" "$name"; then
            cp "$here/lib/$name" "$1/lib/$name"
            git -C "$1" add -f "lib/$name"
        fi
    done <"$work/lib"
    git -C "$1" diff --cached --quiet \
        || git -C "$1" commit -q --amend --no-edit
}

cmd_export() {
    [ ! -e "$1" ] || [ -z "$(ls -A "$1")" ] \
        || fail "$1" "is not empty" "name a new directory"
    unpack_base "$work/tree"
    require_base "$work/tree"
    track_base "$work/tree"
    list_patches >"$work/todo"
    while read -r patch_name; do
        apply_patch "$work/tree" "$patch_name"
        add_lib "$work/tree"
    done <"$work/todo"
    check_lib "$work/tree"
    format_patches "$work/tree" "$1"
}

here=$(cd "$(dirname "$0")" && pwd -P)
base=3.1 command='' dir='' upto='' build=''
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage; exit 0 ;;
    --base) [ $# -ge 2 ] || bad_usage "--base needs a version"
            base=$2; shift ;;
    --base=*) base=${1#--base=} ;;
    --upto) [ $# -ge 2 ] || bad_usage "--upto needs a number"
            upto=$2; shift ;;
    --build) build=yes ;;
    -*) bad_usage "unknown option $1" ;;
    *) if [ -z "$command" ]; then command=$1
       elif [ -z "$dir" ]; then dir=$1
       else bad_usage "too many arguments: $1"; fi ;;
    esac
    shift
done
series_dir=$here/$base

case $upto in *[!0-9]*) bad_usage "--upto needs a number, not $upto" ;; esac
[ -z "$upto" ] || [ "$command" = apply ] || bad_usage "--upto is for apply"
[ -z "$build" ] || [ "$command" = check ] || bad_usage "--build is for check"
case $command in
apply | refresh | export) [ -n "$dir" ] || bad_usage "$command needs a DIR" ;;
check) [ -z "$dir" ] || bad_usage "check takes no DIR" ;;
'') bad_usage "no command given" ;;
*) bad_usage "unknown command $command" ;;
esac
[ -d "$series_dir" ] || bad_usage "no series for base $base in $here"
[ -r "$series_dir/series" ] || fail "$series_dir/series" "is missing" \
    "create it: one patch name a line"

isolate_git
work=$(mktemp -d "${TMPDIR:-/tmp}/series.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
# A shell reads a script as it goes: if it is edited now, nothing is left to
# read.
{
    case $command in
    apply) cmd_apply "$dir" ;;
    refresh) cmd_refresh "$dir" ;;
    check) cmd_check ;;
    export) cmd_export "$dir" ;;
    esac
    exit
}

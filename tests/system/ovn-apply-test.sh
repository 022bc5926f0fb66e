#!/usr/bin/env bash
# Copyright (c) 2026 The Bulkhead authors.
# SPDX-License-Identifier: Apache-2.0
#
# plan, apply, status and rollback for a private northbound database of OVN:
# what is there, what others do to it, and what must be refused.
# Exit 77: skipped, with the reason.
# Environment: BULKHEAD, OVS_PREFIX, srcdir; found by themselves if unset.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=ovn-lib.sh
. "$here/ovn-lib.sh"

intent=$here/ovn.json
rows=118                        # Of it.

# bulk COMMAND ARGUMENT...: for the private database.
bulk() {
    local command=$1
    shift
    "$BULKHEAD" "$command" --target=ovn --timeout=20 "$@"
}

nbctl() { ovn-nbctl --timeout=10 "$@"; }

# now_holds INTENT: whatever was there.
now_holds() {
    bulk apply "$1" >"$switch_dir/applied" 2>&1 ||
        die "cannot apply $1: $(cat "$switch_dir/applied")"
}

# lacks TEXT STATUS COMMAND...: TEXT must not be in the output.
lacks() {
    local text=$1
    shift
    exits "$@" >"$switch_dir/said" 2>&1 &&
        ! grep -F -- "$text" "$switch_dir/said"
}

# All rows with their UUIDs, in order.
contents() { ovsdb-client dump "$OVN_NB_DB" OVN_Northbound; }

# unchanged COMMAND...: and the database holds what it held.
unchanged() {
    local before
    before=$(contents)
    "$@" && diff <(echo "$before") <(contents)
}

# edited FILE EXPRESSION: the intent, as a line of Python changes it.
edited() {
    python3 - "$intent" "$1" "$2" <<'PYTHON'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    intent = json.load(file)
exec(sys.argv[3], {"i": intent, "t": intent["tenants"]})
with open(sys.argv[2], "w", encoding="utf-8") as file:
    json.dump(intent, file)
PYTHON
}

# A database that has another schema: schema FILE EXPRESSION.
schema() {
    python3 - "$ovn_schemas/ovn-nb.ovsschema" "$1" "$2" <<'PYTHON'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
del schema["cksum"]
exec(sys.argv[3], {"s": schema, "t": schema["tables"]})
with open(sys.argv[2], "w", encoding="utf-8") as file:
    json.dump(schema, file)
PYTHON
}

n_transactions() {
    ovsdb-tool show-log "$switch_dir/nb.db" | grep -c '^record'
}

# The last transaction's lines about rows.
last_transaction() {
    ovsdb-tool -m show-log "$switch_dir/nb.db" |
        awk '/^record/ { text = "" } { text = text $0 "\n" }
             END { printf "%s", text }'
}

sends_nothing() {
    local before
    before=$(n_transactions)
    "$@" && [ "$(n_transactions)" = "$before" ]
}

test_start() {
    check 'a database that was never used is refused' unchanged \
        says 'is not initialized' 3 bulk apply "$intent"
    nbctl init
    check 'plan says what is to come' unchanged \
        says '+ endpoint a/e0: rows 1 added' 4 bulk plan "$intent" --exit-code
    check 'apply --dry-run too' unchanged \
        says "rows to be $rows added" 0 bulk apply "$intent" --dry-run
    check 'apply' says "rows $rows added" 0 bulk apply "$intent"
    check 'it is generation 1' \
        says 'generation 1 of' 0 bulk status
    check 'apply again sends nothing' sends_nothing \
        says "as intended, $rows rows" 0 bulk apply "$intent"
    check 'plan has nothing to do' \
        says 'as intended' 0 bulk plan "$intent" --exit-code
    check 'as JSON' says '"as_intended":true' 0 bulk status -f json
}

# What drop bands lose of "microburst" stands in the plan.
test_differences() {
    edited "$switch_dir/bursts.json" \
        "t['a'].update(bandwidth={'limit': '1Gbps', 'burst': '125kB'},
                       microburst={'mark': '20KiB'})"
    check 'plan says what is not marked' \
        says '#   - ECN-capable packets are not marked above 20480 bytes' 0 \
        bulk plan "$switch_dir/bursts.json"
    check 'also as JSON' says '"held":"type=drop rate=1000000' 0 \
        bulk plan "$switch_dir/bursts.json" -f json
    check 'plan has no more to say where nothing is lost' \
        says '"differences":[]' 0 bulk plan "$intent" -f json
}

# The same rows come by all ways.
test_same_rows() {
    "$BULKHEAD" compile "$intent" --target=ovn -o "$switch_dir/one"
    ovsdb-client transact "$OVN_NB_DB" "$(cat "$switch_dir/one/ovn-nb.json")" \
        >/dev/null
    check 'the rows of ovn-nb.json are the rows of apply' \
        says "as intended, $rows rows" 0 bulk status "$intent"
    now_holds "$intent"
}

# The row, and the Port_Group of all for the generation.
changes_one() {
    says 'rows 0 added, 1 changed, 0 deleted' 0 \
        bulk apply "$switch_dir/one.json" || return 1
    last_transaction >"$switch_dir/last"
    cat "$switch_dir/last"
    grep 'Logical_Switch_Port row "b-c/e0"' "$switch_dir/last" >/dev/null &&
        [ "$(grep -c '^  table' "$switch_dir/last")" = 2 ]
}

test_minimal() {
    edited "$switch_dir/one.json" \
        't["b-c"]["endpoints"]["e0"]["mac"] = "02:00:00:00:00:77"'
    check 'plan names what changes' \
        says '~ endpoint b-c/e0: rows 1 changed (addresses, port_security)' 0 \
        bulk plan "$switch_dir/one.json"
    check 'one endpoint, one row' changes_one
    edited "$switch_dir/two.json" 'del t["a"]["endpoints"]["e3"]'
    check 'what goes is said' says '- endpoint a/e3: rows 1 deleted' 0 \
        bulk plan "$switch_dir/two.json"
    check 'and goes' says ', 2 deleted' 0 bulk apply "$switch_dir/two.json"
    check 'and nothing is left' says 'as intended' 0 bulk status
    now_holds "$intent"
}

# What is ours and changed by hand, missing, or with our mark.
test_drift() {
    local acl
    acl=$(nbctl --bare --columns=_uuid find acl \
        external_ids:bulkhead-rule=a/web direction=to-lport | head -n 1)
    nbctl set acl "$acl" priority=5 \
        -- set logical_switch c/x other_config:mcast_snoop=true \
        -- lsp-set-port-security c/e0
    nbctl set meter_band "$(nbctl get meter bulkhead.control.a bands |
        tr -d '[]')" rate=5 -- clear logical_router a copp
    check 'status says that a limit was changed' \
        says 'control plane a: rows 1 changed (rate)' 4 bulk status
    check 'and that it is for fewer' \
        says 'router a: rows 1 changed (copp)' 4 bulk status
    check 'status says which rule was changed' \
        says 'rule a/web: rows 1 changed (priority)' 4 bulk status
    check 'and which network' \
        says 'network c/x: rows 1 changed (other_config)' 4 bulk status
    check 'and which endpoint' \
        says 'endpoint c/e0: rows 1 changed (port_security)' 4 bulk status
    check 'and how' says "+ACL 'a/web tracked to-lport" 4 bulk status -v
    nbctl lsp-del a/e0
    check 'and what is missing' \
        says 'endpoint a/e0: rows 1 missing' 4 bulk status
    nbctl pg-add copied a/e3 -- set port_group copied \
        external_ids='{bulkhead=b17d,bulkhead-id=a/copied}'
    check 'and what has our mark and is not of the intent' \
        says 'group a/copied: rows 1 too many' 4 bulk status
    check 'apply mends it' says 'rows 1 added' 0 bulk apply "$intent"
    check 'with nothing left' says "as intended, $rows rows" 0 bulk status
    check 'and it is no new generation' \
        says "generation $(generation) of" 0 bulk status
    nbctl set logical_switch c/x external_ids:theirs=kept \
        external_ids:bulkheadless=2
    check 'keys of others in external_ids are no drift' \
        says "as intended, $rows rows" 0 bulk status
    nbctl set logical_switch c/x other_config:mcast_snoop=true
    check 'and stay' says '1 changed' 0 bulk apply "$intent"
    check '... whatever they begin with' [ "$(nbctl get logical_switch c/x \
        external_ids:theirs external_ids:bulkheadless | xargs)" = 'kept 2' ]
    nbctl set logical_switch c/x external_ids:bulkhead-theirs=gone
    check 'keys of ours that the intent has not are' \
        says 'network c/x: rows 1 changed (external_ids)' 4 bulk status
    now_holds "$intent"
}

generation() {
    nbctl get port_group bulkhead external_ids:bulkhead-version | tr -d '"'
}

# of_their_group INTENT: which applies, and leaves nothing in it.
of_their_group() {
    lacks their_group 0 bulk apply "$1" &&
        [ "$(nbctl get port_group their_group ports)" = '[]' ]
}

# Rows of others, beside ours and in them.
test_others() {
    local acl
    nbctl ls-add theirs -- lsp-add theirs theirs-port \
        -- pg-add their_group theirs-port \
        -- acl-add their_group from-lport 7 ip4 drop \
        -- set logical_switch theirs external_ids:bulkhead=theirs
    check 'what others have beside it is no difference' \
        says "as intended, $rows rows" 0 bulk status
    nbctl lsp-add c/x stranger -- acl-add bulkhead from-lport 9 ip4 allow \
        -- pg-set-ports their_group a/e0
    check 'what is in a network of ours is said' \
        says "network c/x has others' Logical_Switch_Port 'stranger'" 4 \
        bulk status
    check 'and a rule in a group' says "group bulkhead has others' ACL" 4 \
        bulk status
    check 'as acl-list shows it' says "(from-lport 9 allow 'ip4')" 4 \
        bulk status
    acl=$(nbctl --bare --columns=_uuid find acl priority=9)
    nbctl set acl "$acl" name='"\u001b[1m"' \
        match="\"ip4 && ip4.src == {$(printf '192.0.2.7, %.0s' {1..9})::}\""
    check 'but no more of it than fits, and nothing for the terminal' \
        says "ACL '?[1m' (from-lport 9 allow 'ip4 && ip4.src == \
{$(printf '192.0.2.7, %.0s' {1..5})192.0....')" 4 bulk status
    nbctl set acl "$acl" match=ip4
    check 'and a group that takes our endpoint' \
        says "Port_Group 'their_group' has endpoint a/e0 in its ports" 4 \
        bulk status
    check 'apply leaves it there' unchanged \
        says 'which stays, and may pass' 0 bulk apply "$intent"
    edited "$switch_dir/no-e0.json" 'del t["a"]["endpoints"]["e0"]'
    check 'but not one of an endpoint that goes' \
        lacks their_group 0 bulk plan "$switch_dir/no-e0.json"
    check '... of which it is rid then' of_their_group "$switch_dir/no-e0.json"
    now_holds "$intent"
    edited "$switch_dir/no-c.json" 'del t["c"]'
    check 'what it is in does not go' unchanged \
        says "others' Logical_Switch_Port 'stranger' in its ports, and" 3 \
        bulk apply "$switch_dir/no-c.json"
    nbctl lsp-del stranger -- acl-del bulkhead from-lport 9 ip4 \
        -- ls-del theirs -- pg-del their_group
    check 'but when it has gone' says 'deleted' 0 \
        bulk apply "$switch_dir/no-c.json"
    now_holds "$intent"
    check 'nothing is said of an option that is not set' \
        lacks default_acl_drop 0 bulk status
    nbctl set NB_Global . options:default_acl_drop=true
    check 'but of one that drops what we allow' \
        says 'by which OVN drops what the intent allows' 0 bulk status
    check '... in apply, too' says 'default_acl_drop' 0 bulk apply "$intent"
    nbctl remove NB_Global . options default_acl_drop
}

# joins WORDS COMMAND...: after it, a network of ours is joined to another.
joins() {
    local words=$1
    shift
    nbctl "$@"
    check "joined: $words" unchanged says "$words" 3 bulk apply "$intent"
    check '... which status says' says 'not as intended' 4 bulk status
    nbctl --if-exists lsp-del stranger -- --if-exists lrp-del their_port
    nbctl --if-exists ls-del theirs -- --if-exists lr-del their_router
}

# Others who take hold of our ports, most of them by name.
test_joins() {
    local stays='which stays, and may pass'
    nbctl ls-add theirs -- lsp-add theirs to-ours \
        -- lsp-set-type to-ours router \
        -- set logical_switch_port to-ours options:router-port=a/x/router
    check 'status says how it is joined' says "'to-ours' names router port \
a/x/router in its options:router-port, which joins" 4 bulk status
    joins 'in its options:router-port' get logical_switch theirs name
    joins 'names endpoint a/e0 in its parent_name' ls-add theirs \
        -- lsp-add theirs nested a/e0 5
    joins 'names router port a/b-c/link in its peer' lr-add their_router \
        -- lrp-add their_router their_port 02:00:00:00:01:01 192.0.2.1/24 \
           peer=a/b-c/link
    joins "router a has others' Logical_Router_Port 'their_port'" \
        lrp-add a their_port 02:00:00:00:01:01 192.0.2.1/24
    joins "network c/x has others' Logical_Switch_Port 'stranger'" \
        lsp-add c/x stranger -- lsp-set-type stranger localnet
    joins "has endpoint c/e0 in its ports" ls-add theirs \
        -- add logical_switch theirs ports \
           "$(nbctl get logical_switch_port c/e0 _uuid)"
    nbctl create static_mac_binding logical_port=a/x/router ip=10.1.0.9 \
        mac='"02:00:00:00:00:09"'
    check 'what only speaks of it is said' \
        says "names router port a/x/router in its logical_port" 4 bulk status
    check '... and stays' unchanged says "$stays" 0 bulk apply "$intent"
    nbctl --all destroy static_mac_binding -- ls-add theirs \
        -- lsp-add theirs vip -- lsp-set-type vip virtual \
        -- set logical_switch_port vip options:virtual-parents='"x,a/e0"'
    check 'one of several names too' \
        says 'names endpoint a/e0 in its options:virtual-parents' 4 \
        bulk status
    nbctl ls-del theirs
    check 'and then all is as it was' says 'as intended' 0 bulk status
}

# refuses_name NAME COMMAND...: after it, for NAME.
refuses_name() {
    local name=$1
    shift
    nbctl "$@"
    check "another's $name is refused" unchanged \
        says "'$name'" 3 bulk apply "$switch_dir/new.json"
    check "and $name not planned" says "'$name'" 3 \
        bulk plan "$switch_dir/new.json"
}

# Nothing but a lost mark is in the way.
unmarked() {
    exits 3 bulk apply "$intent" 2>"$switch_dir/said" || return 1
    cat "$switch_dir/said"
    [ "$(grep -c '^bulkhead: OVN_Northbound' "$switch_dir/said")" -gt 1 ] &&
        ! grep '^bulkhead: OVN_Northbound' "$switch_dir/said" |
            grep -v 'or if it is Bulkhead'
}

test_clashes() {
    local new='t["d"] = json.loads(json.dumps(t["c"]).replace("c0", "d0"))
t["d"]["networks"]["x"]["vni"] = 44
t["d"]["limits"] = t["a"]["limits"]'
    edited "$switch_dir/new.json" "import json
$new
t['d']['endpoints'].pop('e1')
t['d']['endpoints']['e0']['interface'] = 'd0'
t['d']['endpoints']['e0']['mac'] = '02:00:00:00:00:99'"
    check 'a new tenant is one to be added' \
        says '+ network d/x: rows 10 added' 0 bulk plan "$switch_dir/new.json"
    refuses_name d/x ls-add d/x
    check 'which has not lost a mark' lacks 'has lost its mark' 3 \
        bulk apply "$switch_dir/new.json"
    nbctl ls-del d/x
    refuses_name d lr-add d
    nbctl lr-del d
    nbctl ls-add theirs
    refuses_name d/e0 lsp-add theirs d/e0
    nbctl lsp-del d/e0
    refuses_name d/x/router lsp-add theirs d/x/router
    nbctl ls-del theirs -- lr-add their_router
    refuses_name d/e0 lrp-add their_router d/e0 02:00:00:00:01:01 \
        192.0.2.1/24
    nbctl lr-del their_router
    refuses_name bulkhead.tenant.d pg-add bulkhead.tenant.d
    nbctl pg-del bulkhead.tenant.d
    refuses_name bulkhead.control.d meter-add bulkhead.control.d drop 1 pktps
    nbctl meter-del bulkhead.control.d
    refuses_name bulkhead.tenant.d_ip4 create address_set \
        name=bulkhead.tenant.d_ip4
    nbctl destroy address_set bulkhead.tenant.d_ip4
    nbctl remove logical_switch c/x external_ids bulkhead
    check 'a row of ours that lost its mark is not ours' unchanged \
        says "'c/x' that is not Bulkhead's" 3 bulk apply "$intent"
    check 'and every message says how it is again' unmarked
    # shellcheck disable=SC2046 # Of several words.
    nbctl $(sed -n 's/.*mark: ovn-nbctl //p' "$switch_dir/said" | head -n 1)
    check 'which is right' says "as intended, $rows rows" 0 bulk status
}

# clients NAME...: an intent with such tenants whom b-c serves, as it does a.
clients() {
    edited "$switch_dir/shared.json" "import json
for n, name in enumerate('$*'.split()):
    t[name] = json.loads(json.dumps(t['c']).replace('10.1.', f'10.{9 + n}.')
                         .replace('\"c', f'\"{name}'))
    t[name].update(peers=['b-c'], rules=[])
    t[name]['networks']['x'] = {'vni': 100 + n, 'gateway': f'10.{9 + n}.0.1',
                                'subnets': f'10.{9 + n}.0.0/16'}
    for e in t[name]['endpoints'].values():
        del e['addresses'][1]
t['b-c']['peers'] = '*'
i['peerings']['all'] = {'from': {'tenant': '*'}, 'to': {'tenant': 'b-c'},
                        'service': 'dns'}
i['guardrails'] = {}"
}

sets() {
    nbctl --bare --columns=name list address_set | sed '/^$/d; /\.lease\./d'
}

# The set of those who may ask, which all rules name.
test_sets() {
    local set=bulkhead.from.b_mc_cpeering_call_ip4
    clients d e
    now_holds "$switch_dir/shared.json"
    check 'few who are served have no set' [ -z "$(sets)" ]
    clients d e f
    now_holds "$switch_dir/shared.json"
    check 'many have one' [ "$(sets)" = "$set" ]
    clients d e f g
    check 'one more is one change of it, and of no ACL' \
        says '~ rule peering:all: rows 1 added, 1 changed (addresses)' 0 \
        bulk plan "$switch_dir/shared.json"
    now_holds "$switch_dir/shared.json"
    check 'which is sent by itself' [ "$(last_transaction |
        grep -c "Address_Set row \"$set\"")" = 1 ]
    nbctl add address_set "$set" addresses 192.0.2.9
    check 'status says what was added to it by hand' \
        says 'rule peering:all: rows 1 changed (addresses)' 4 bulk status
    check 'and what' says '192.0.2.9' 4 bulk status -v
    check 'apply takes it out' says 'rows 0 added, 1 changed' 0 \
        bulk apply "$switch_dir/shared.json"
    check '... of it' [ "$(nbctl get address_set "$set" addresses |
        grep -c 192.0.2.9)" = 0 ]
    nbctl set address_set "$set" external_ids:theirs=kept
    check 'keys of others stay' says 'as intended' 0 bulk status
    now_holds "$intent"
    check 'with the rule it goes' [ -z "$(sets)" ]
    nbctl create address_set name="$set" addresses=192.0.2.9 \
        >"$switch_dir/said"
    check "another's of its name is refused" unchanged \
        says "there is an Address_Set '$set' that is not Bulkhead's" 3 \
        bulk apply "$switch_dir/shared.json"
    "$BULKHEAD" compile "$switch_dir/shared.json" --target=ovn \
        -o "$switch_dir/shared" >"$switch_dir/compiled" 2>&1
    check '... by ovn-nbctl.sh, too' unchanged \
        says "Address_Set $set is not Bulkhead's and has a name that" 1 \
        sh "$switch_dir/shared/ovn-nbctl.sh" --timeout=10
    nbctl destroy address_set "$set"
    check '... which writes it else' exits 0 \
        sh "$switch_dir/shared/ovn-nbctl.sh" --timeout=10
    check '... as apply does' says 'as intended' 0 \
        bulk status "$switch_dir/shared.json"
    check '... but for the generation' says 'its rows say no generation' 0 \
        bulk status "$switch_dir/shared.json"
    check '... which apply writes then' says 'as intended' 0 \
        bulk apply "$switch_dir/shared.json"
    check '... and into nothing else' [ "$(last_transaction |
        grep -c ' row ')" = 1 ]
    check '... so that it is known' lacks 'no generation' 0 bulk status
    check 'clear takes it' exits 0 bulk clear
    check '... and leaves none' [ -z "$(sets)" ]
    now_holds "$intent"
}

# OVN's own DHCP server, which a/x and c/x have.
test_dhcp() {
    local own theirs
    own=$(nbctl --bare --columns=_uuid find dhcp_options \
        external_ids:bulkhead-id='"dhcp a/x 10.1.0.0/16"')
    nbctl set dhcp_options "$own" options:lease_time=5
    check 'status says of which network options were changed' \
        says 'network a/x: rows 1 changed (options)' 4 bulk status
    nbctl clear logical_switch_port a/e0 dhcpv4_options
    check 'and which endpoint has none' \
        says 'endpoint a/e0: rows 1 changed (dhcpv4_options)' 4 bulk status
    now_holds "$intent"
    theirs=$(nbctl create dhcp_options cidr=10.1.0.0/16)
    nbctl lsp-set-dhcpv4-options a/e0 "$theirs"
    check "or others'" says 'endpoint a/e0: rows 1 changed (dhcpv4_opt' 4 \
        bulk status
    check '... which ovn-nbctl.sh leaves' unchanged \
        says 'Logical_Switch_Port a/e0 has in its dhcpv4_options' 1 \
        sh "$switch_dir/one/ovn-nbctl.sh" --timeout=10
    check '... and apply takes away' says '0 added, 1 changed, 0 deleted' 0 \
        bulk apply "$intent"
    check '... while the row stays' [ \
        "$(nbctl get dhcp_options "$theirs" cidr)" = '"10.1.0.0/16"' ]
    nbctl destroy dhcp_options "$theirs"
    edited "$switch_dir/no-dhcp.json" 'del t["a"]["networks"]["x"]["dhcp"]'
    check 'without it, its rows go' \
        says '~ network a/x: rows 7 deleted' 0 bulk plan \
        "$switch_dir/no-dhcp.json"
    now_holds "$switch_dir/no-dhcp.json"
    check '... and no other' says 'as intended' 0 bulk status
    check "... and c's are there" [ "$(nbctl --bare --columns=cidr list \
        dhcp_options | sort | xargs)" = '10.1.0.0/16 fd00:1::/64' ]
    now_holds "$intent"
}

# other_database NAME EXPRESSION: with another schema, at NAME.sock.
other_database() {
    schema "$switch_dir/$1.ovsschema" "$2"
    ovn_database "$1" "$switch_dir/$1.ovsschema"
    ovn-nbctl --timeout=10 --db="unix:$switch_dir/$1.sock" init
}

test_schemas() {
    local db=unix:$switch_dir
    other_database older 's["version"] = "6.3.0"'
    check 'an older schema is refused' \
        says 'has schema 6.3.0, older than' 3 \
        bulk apply "$intent" --db="$db/older.sock"
    other_database lacking 'del t["ACL"]["columns"]["label"]'
    check 'one that lacks a column is refused' \
        says 'without the column label in table ACL' 3 \
        bulk apply "$intent" --db="$db/lacking.sock"
    other_database nameless 'del t["Static_MAC_Binding"]'
    check 'and one in which it could not look for names' \
        says 'without the table Static_MAC_Binding' 3 \
        bulk apply "$intent" --db="$db/nameless.sock"
    other_database newer 's["version"] = "9.0.0"
t["ACL"]["columns"]["tier"] = {"type": "integer"}'
    check 'a newer one that has all is taken' says "rows $rows added" 0 \
        bulk apply "$intent" --db="$db/newer.sock"
    check 'the southbound is refused' says 'there is no such database' 3 \
        bulk apply "$intent" --db="$OVN_SB_DB"
    check 'nobody there' says 'is its ovsdb-server running there' 3 \
        bulk apply "$intent" --db="$db/nobody.sock"
}

# A server that follows another one.
test_backup() {
    local active=unix:$switch_dir/nb.sock backup=unix:$switch_dir/backup.sock
    ovsdb-tool create "$switch_dir/backup.db" "$ovn_schemas/ovn-nb.ovsschema"
    ovn_serve backup --sync-from="$active"
    until ovs-appctl -t "$switch_dir/backup.ctl" \
        ovsdb-server/sync-status | grep replicating >/dev/null
    do
        sleep 0.1
    done
    check 'a backup is read' says "as intended, $rows rows" 0 \
        bulk status "$intent" --db="$backup"
    check 'and takes no changes' unchanged \
        says 'it is read only here, as a backup is; name the active' 3 \
        bulk apply "$intent" --db="$backup"
    end_server backup
}

# in_cluster NAME STATUS: waits for it.
in_cluster() {
    until ovs-appctl -t "$switch_dir/$1.ctl" cluster/status OVN_Northbound |
        grep "^Status: $2" >/dev/null
    do
        sleep 0.1
    done
}

end_server() {
    kill "$(cat "$switch_dir/$1.pid")"
    while [ -e "$switch_dir/$1.pid" ]; do sleep 0.05; done
    rm -f "$switch_dir/$1.sock"
}

# The servers of a cluster, of which the first one leads.
test_cluster() {
    local dir=unix:$switch_dir n all
    all=$dir/c2.sock,$dir/c3.sock,$dir/c1.sock
    ovsdb-tool create-cluster "$switch_dir/c1.db" \
        "$ovn_schemas/ovn-nb.ovsschema" "$dir/c1.raft" 2>/dev/null
    ovn_serve c1
    in_cluster c1 "cluster member"
    nbctl --db="$dir/c1.sock" init
    for n in c2 c3; do
        ovsdb-tool join-cluster "$switch_dir/$n.db" OVN_Northbound \
            "$dir/$n.raft" "$dir/c1.raft"
        ovn_serve "$n"
        in_cluster "$n" "cluster member"
    done
    check 'one that follows is refused' \
        says 'is not the leader of its cluster; name all servers' 3 \
        bulk apply "$intent" --db="$dir/c2.sock"
    check 'with all of them' says "rows $rows added" 0 \
        bulk apply "$intent" --db="$all"
    kill -KILL "$(cat "$switch_dir/c1.pid")"
    edited "$switch_dir/no-e0.json" 'del t["a"]["endpoints"]["e0"]'
    check 'the next leader takes over' says ' deleted, ' 0 \
        bulk apply "$switch_dir/no-e0.json" --db="$all"
    check 'and has it' says 'as intended' 0 \
        bulk status "$switch_dir/no-e0.json" --db="$all"
    end_server c3
    in_cluster c2 disconnected
    check 'the rest of a cluster is refused' \
        says 'has lost its cluster, or not joined it yet; most of' 3 \
        bulk status "$intent" --db="$all" --timeout=3
    end_server c2
}

# through HOW [COMMAND...]: starts a proxy, at proxy.sock.
through() {
    python3 "$here/nb_proxy.py" "$switch_dir/proxy.sock" \
        "$switch_dir/nb.sock" "$@" >"$switch_dir/proxy.out" 2>&1 &
    switch_pids+=("$!")
    switch_await "$switch_dir/proxy.sock" proxy
    proxy=unix:$switch_dir/proxy.sock
}

end_proxy() {
    kill "${switch_pids[-1]}"
    wait "${switch_pids[-1]}" 2>/dev/null || true
    unset 'switch_pids[-1]'
    rm "$switch_dir/proxy.sock"
    [ ! -s "$switch_dir/proxy.out" ] ||
        die "nb_proxy.py says: $(cat "$switch_dir/proxy.out")"
}

# A database that goes away in the middle.
test_lost() {
    local doubt='it has taken all of the change or nothing'
    through lost
    check 'a database that ends first has nothing of it' unchanged \
        says "$doubt" 3 bulk apply "$switch_dir/one.json" --db="$proxy"
    end_proxy
    check 'which status says' says 'as intended' 0 bulk status
    through silent
    check 'nor has one that says nothing' unchanged \
        says "$doubt" 3 "$BULKHEAD" apply "$switch_dir/one.json" \
        --target=ovn --timeout=3 --db="$proxy"
    end_proxy
    through unanswered
    check 'one that ends afterwards has all of it' \
        says "$doubt" 3 bulk apply "$switch_dir/one.json" --db="$proxy"
    end_proxy
    check 'which status says, too' says 'as intended' 0 \
        bulk status "$switch_dir/one.json"
    now_holds "$intent"
    through late kill -KILL "$(cat "$switch_dir/nb.pid")"
    check 'a server that is killed' says "$doubt" 3 \
        bulk apply "$switch_dir/one.json" --db="$proxy"
    end_proxy
    rm "$switch_dir/nb.sock" "$switch_dir/nb.pid"
    ovn_serve nb
    check 'has nothing of it either' says 'as intended' 0 bulk status "$intent"
}

# takes_meanwhile NAME COMMAND...: who comes first has it.
takes_meanwhile() {
    local name=$1
    shift
    through late ovn-nbctl --timeout=10 --db="$OVN_NB_DB" "$@"
    check "who takes the name $name meanwhile has it" says "'$name'" 3 \
        bulk apply "$switch_dir/new.json" --db="$proxy"
    check '... and nothing of the other change is there' \
        exits 1 nbctl get port_group bulkhead.tenant.d name
    end_proxy
}

# While rows of ours change: what joins a network to theirs, and what is not to
# be another.
test_late_joins() {
    edited "$switch_dir/mtu.json" 't["c"]["networks"]["x"]["mtu"] = 1400'
    through late ovn-nbctl --timeout=10 --db="$OVN_NB_DB" \
        lsp-add c/x stranger -- lsp-set-type stranger localnet
    check 'who joins a network meanwhile keeps it from changing' \
        says "network c/x has others' Logical_Switch_Port 'stranger'" 3 \
        bulk apply "$switch_dir/mtu.json" --db="$proxy"
    end_proxy
    nbctl lsp-del stranger
    nbctl lsp-set-port-security b-c/e0
    through late ovn-nbctl --timeout=10 --db="$OVN_NB_DB" \
        lsp-set-addresses b-c/e0 02:00:00:00:00:55
    check 'a column that others change meanwhile is compared again' \
        says 'rows 0 added, 1 changed' 0 \
        bulk apply "$switch_dir/one.json" --db="$proxy"
    end_proxy
    check '... and mended' says 'as intended' 0 \
        bulk status "$switch_dir/one.json"
}

# Others who change something between the look and the transaction.
test_concurrent() {
    through late ovn-nbctl --timeout=10 --db="$OVN_NB_DB" \
        set logical_switch_port b-c/e0 external_ids:theirs=kept
    check 'what changes meanwhile is looked at again' \
        says 'rows 0 added, 1 changed' 0 \
        bulk apply "$switch_dir/one.json" --db="$proxy"
    check 'and kept' [ "$(nbctl get logical_switch_port b-c/e0 \
        external_ids:theirs)" = kept ]
    end_proxy
    test_late_joins
    through late ovn-nbctl --timeout=10 --db="$OVN_NB_DB" \
        lsp-add c/x stranger
    check 'what others put meanwhile into what goes keeps it' \
        says "'stranger' in its ports, and" 3 \
        bulk apply "$switch_dir/no-c.json" --db="$proxy"
    end_proxy
    check 'and all of it is there' says 'network c/x has' 4 \
        bulk status "$switch_dir/one.json"
    nbctl lsp-del stranger
    through late ovn-nbctl --timeout=10 --db="$OVN_NB_DB" \
        remove logical_switch c/x external_ids bulkhead
    check 'what becomes theirs meanwhile' \
        says "'c/x' has endpoint c/e0 in its ports, and" 3 \
        bulk apply "$switch_dir/no-c.json" --db="$proxy"
    end_proxy
    check '...stays' nbctl get logical_switch c/x _uuid
    nbctl set logical_switch c/x external_ids:bulkhead=b17d
    takes_meanwhile d/x ls-add d/x
    nbctl ls-del d/x
    takes_meanwhile d lr-add d
    nbctl lr-del d -- ls-add theirs
    takes_meanwhile d/x/router lsp-add theirs d/x/router
    nbctl ls-del theirs
    takes_meanwhile bulkhead.tenant.d_ip4 create address_set \
        name=bulkhead.tenant.d_ip4
    nbctl destroy address_set bulkhead.tenant.d_ip4
    ovsdb-client lock "$OVN_NB_DB" bulkhead >"$switch_dir/lock.out" 2>&1 &
    switch_pids+=("$!")
    until grep locked "$switch_dir/lock.out" >/dev/null; do sleep 0.1; done
    check 'another that writes is waited for, and then said' unchanged \
        says 'another Bulkhead is changing it' 3 "$BULKHEAD" apply \
        "$intent" --target=ovn --timeout=2
    check 'but status does not wait' exits 0 \
        bulk status "$switch_dir/one.json"
    kill "${switch_pids[-1]}"
    unset 'switch_pids[-1]'
    now_holds "$intent"
}

test_saved() {
    local plan=$switch_dir/saved.plan
    bulk plan "$switch_dir/one.json" -o "$plan" >"$switch_dir/planned" 2>&1
    check 'a saved plan is carried out' says 'rows 0 added, 1 changed' 0 \
        "$BULKHEAD" apply "$plan"
    check 'once' unchanged says 'and the plan was made at' 3 \
        "$BULKHEAD" apply "$plan"
    bulk plan "$intent" -o "$plan" >"$switch_dir/planned" 2>&1
    nbctl set logical_switch c/x other_config:mcast_snoop=true
    check 'not if somebody has changed a row' unchanged \
        says 'has changed since the plan was made' 3 "$BULKHEAD" apply "$plan"
    nbctl remove logical_switch c/x other_config mcast_snoop
    check 'not to another database' \
        says 'another database than the one' 3 \
        "$BULKHEAD" apply "$plan" --db="unix:$switch_dir/newer.sock"
    check 'not to a bridge' says 'is for OVN' 1 \
        "$BULKHEAD" apply "$plan" --bridge=br0
    check 'not to another target' unchanged \
        says 'for the target ovn, not userspace' 1 \
        "$BULKHEAD" apply "$plan" --target=userspace
    check 'it is no intent to compare with' \
        says 'this is a saved plan, not an intent' 1 bulk status "$plan"
    check 'nor a part of one' unchanged \
        says "give it to 'bulkhead apply' alone" 1 bulk apply "$plan" "$intent"
    sed -i 's/"allow-related"/"allow"/' "$plan"
    check 'not if it was written to' says 'has been changed' 1 \
        "$BULKHEAD" apply "$plan"
    now_holds "$intent"
}

test_rollback() {
    local first
    first=$(generation)
    now_holds "$switch_dir/one.json"
    now_holds "$switch_dir/two.json"
    check 'three generations are kept' \
        says "kept before it: $((first + 1)) $first" 0 bulk status
    check 'rollback goes back by one' says 'rows 2 added' 0 bulk rollback
    check 'which is what was there' says 'as intended' 0 \
        bulk status "$switch_dir/one.json"
    check 'and a new generation' [ "$(generation)" = $((first + 3)) ]
    check 'rollback --to goes further' says 'rows' 0 \
        bulk rollback --to="$first"
    check 'to what was there then' says "as intended, $rows rows" 0 \
        bulk status "$intent"
    check 'not to what is not kept' unchanged \
        says 'there is no generation 1000 to go back to' 3 bulk rollback --to=1000
    nbctl set logical_switch c/x other_config:mcast_snoop=true
    rm -r "$BULKHEAD_STATEDIR"
    check 'without what is kept, no rollback' unchanged \
        says 'no earlier generation' 3 bulk rollback
    check 'and no status without an intent' \
        says 'name the intent' 3 bulk status
    check 'but generations go on' says "generation $((first + 5)) of" 0 \
        bulk apply "$intent"
}

# elsewhere COMMAND ARGUMENT...: as another admin host, which keeps its own.
elsewhere() { BULKHEAD_STATEDIR=$switch_dir/elsewhere bulk "$@"; }

# Two hosts that change the database by turns.
test_two_hosts() {
    local last
    now_holds "$switch_dir/one.json"
    now_holds "$intent"
    last=$(generation)
    elsewhere apply "$switch_dir/two.json" >"$switch_dir/applied" 2>&1
    check 'status says that another host has applied' \
        says "generation $((last + 1)) was applied from elsewhere" 4 \
        bulk status
    check 'also of an intent' \
        says "generation $((last + 1)) was applied from elsewhere" 0 \
        bulk status "$switch_dir/two.json"
    check 'plan says it, too' \
        says "generation $((last + 1)) was applied from elsewhere" 0 \
        bulk plan "$switch_dir/two.json"
    check 'the other host has nothing to say' \
        lacks elsewhere 0 elsewhere status
    check 'rollback goes back to the last one kept before that' \
        says "back to generation $last" 0 bulk rollback
    check '... which is what was there' says "as intended, $rows rows" 0 \
        bulk status "$intent"
    check 'and no more from elsewhere' lacks elsewhere 0 bulk status
    check 'it is a new generation' [ "$(generation)" = $((last + 2)) ]
    elsewhere apply "$switch_dir/two.json" >"$switch_dir/applied" 2>&1
    check 'apply says what it goes over' \
        says "generation $((last + 3)) was applied from elsewhere" 0 \
        bulk apply "$intent"
    check '... once' lacks elsewhere 0 bulk apply "$intent"
    last=$((last + 2))
    elsewhere clear >"$switch_dir/applied" 2>&1
    check 'rows that were cleared from elsewhere say none' \
        says 'its rows say no generation' 4 bulk status
    check '... and which one was before is not clear' unchanged \
        says 'not clear which one to go back to' 3 bulk rollback
    rm -r "$switch_dir/elsewhere"
    elsewhere apply "$switch_dir/one.json" >"$switch_dir/applied" 2>&1
    check 'nor is it of a database that began anew' unchanged \
        says 'it is at generation 1, before the last one' 3 bulk rollback
    check '--to says it' says "back to generation $((last + 2))" 0 \
        bulk rollback --to=$((last + 2))
}

test_clear() {
    nbctl ls-add theirs -- lsp-add theirs theirs-port
    check 'clear takes our rows' says "$rows deleted" 0 bulk clear
    check 'all of them' [ -z "$(nbctl --bare --columns=_uuid find \
        port_group external_ids:bulkhead=b17d)$(nbctl list acl)" ]
    check 'and no others' nbctl get logical_switch_port theirs-port name
    check 'which is as intended then' says 'cleared' 0 bulk status
    check 'and can be gone back from' says "rows $rows added" 0 bulk rollback
    check 'to what was there' says "as intended, $rows rows" 0 \
        bulk status "$intent"
    nbctl ls-del theirs
}

# How a database is named.
test_remotes() {
    local key=$switch_dir/key.pem cert=$switch_dir/cert.pem port
    check 'several servers of one database' says 'as intended' 0 \
        bulk status "$intent" \
        --db="unix:$switch_dir/nobody.sock,unix:$switch_dir/nb.sock"
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test \
        -keyout "$key" -out "$cert" 2>/dev/null
    end_server nb
    ovn_serve nb --remote=pssl:0:127.0.0.1 --private-key="$key" \
        --certificate="$cert" --ca-cert="$cert"
    # The socket is there before the port is, and before the control socket.
    switch_await "$switch_dir/nb.ctl" nb
    ovs-appctl -t "$switch_dir/nb.ctl" version >/dev/null
    port=$(sed -n 's/.*listening on port \([0-9]*\).*/\1/p' \
        "$switch_dir/nb.log" | tail -n 1)
    check 'by TLS' says 'as intended' 0 bulk status "$intent" \
        --db="ssl:127.0.0.1:$port" --private-key="$key" \
        --certificate="$cert" --ca-cert="$cert"
    check 'not without a key' says '--private-key is missing' 2 \
        bulk status "$intent" --db="ssl:127.0.0.1:$port" --ca-cert="$cert"
    check 'wherever the address stands' \
        says '--certificate is missing' 2 env \
        OVN_NB_DB="unix:$switch_dir/nobody.sock,ssl:127.0.0.1:$port" \
        "$BULKHEAD" status "$intent" --target=ovn --private-key="$key"
    check 'nor with files that are not there' \
        says "--ca-cert=$switch_dir/nobody.pem: No such file" 2 \
        bulk status "$intent" --db="ssl:127.0.0.1:$port" \
        --private-key="$key" --certificate="$cert" \
        --ca-cert="$switch_dir/nobody.pem"
    check 'nor with what is no key' says 'TLS cannot start' 3 \
        bulk status "$intent" --db="ssl:127.0.0.1:$port" \
        --private-key="$intent" --certificate="$cert" --ca-cert="$cert"
    check 'a bridge is not for it' says 'takes no --bridge' 2 \
        bulk apply "$intent" --bridge=br0
    check 'nor is a node' says 'takes no --node' 2 \
        bulk plan "$intent" --node=n1
    check 'what has no rows and no flows is compiled only' \
        says "'apply' takes --target=" 2 \
        "$BULKHEAD" apply "$intent" --target=text --node=n1 --bridge=br0
}

# What northd writes is no drift.
test_northd() {
    switch_spawn ovn-northd --ovnnb-db="$OVN_NB_DB" --ovnsb-db="$OVN_SB_DB"
    nbctl --wait=sb sync
    check 'northd writes' nbctl --timeout=10 wait-until \
        logical_switch_port a/x/gateway up=true
    check 'and that is no drift' says "as intended, $rows rows" 0 bulk status
}

main() {
    find_ovs
    find_bulkhead
    have_ovn || {
        echo "ovn-apply-test.sh: skipped: needs ovn-central:" \
             "./bootstrap --developer"
        exit 77
    }
    trap_cleanup switch_stop
    switch_prepare
    export OVN_RUNDIR=$switch_dir OVN_NB_DB=unix:$switch_dir/nb.sock \
           OVN_SB_DB=unix:$switch_dir/sb.sock
    ovn_database nb
    ovn_database sb
    test_start
    test_differences
    test_same_rows
    test_minimal
    test_drift
    test_others
    test_joins
    test_clashes
    test_sets
    test_dhcp
    test_schemas
    test_backup
    test_cluster
    test_lost
    test_concurrent
    test_saved
    test_rollback
    test_two_hosts
    test_clear
    test_remotes
    test_northd
    [ "$failures" = 0 ]
}

main

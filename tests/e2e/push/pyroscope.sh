#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# long: pushes many windows to a server that fails in turn
#
# Windows get to Pyroscope by Push: exactly their values, with the names that
# its pages know, within its limits, and with the credentials given.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/push.sh"

start_server state
windows spool 12
echo left >spool/.1700000000000000000-5
echo >spool/1700000000000000000-5.sent-0123456789abcdef
echo left >spool/.push.json.new
cat >auth <<-END
	# A comment.
	PYROSCOPE_BASIC_AUTH_USER=17
	PYROSCOPE_BASIC_AUTH_PASSWORD=secret=word
END
chmod 600 auth
PYROSCOPE_TENANT_ID=tenant push spool --push-auth auth \
	"pyroscope+http://127.0.0.1:$port/base/../"
expect_status 0
[ ! -s err ] || fail "$(cat err)"
expect_empty spool
expect_same state
expect_match state/log 'Push series=72 Authorization=Basic MTc6c2VjcmV0PXdvcmQ= X-Scope-OrgID=tenant$'
expect_eq requests "$(wc -l <state/log)" 1
expect_eq pushes "$(counter spool '[.pushes, .pushed_windows, .dropped_windows, .retries,
	.spooled_windows, .refused]')" '[1,12,0,0,0,{}]'
[ "$(counter spool '.last_success_unix_ns > 1700000000000000000 and .pushed_bytes > 1000')" = true ] ||
	fail "$(cat spool/push.json)"

# Profiles that need no change are sent as the collector wrote them.
start_server state3
windows spool 3 plain=1
push spool "pyroscope+http://127.0.0.1:$port"
expect_status 0
expect_empty spool
expect_same state3

# Stacks beyond the limits are merged or cut: the sums stay.
start_server state2
windows spool 1 stacks=17000 kinds=cpu
cp expected few
windows spool 1 depth=3000 kinds=memory first=1
cp expected deep
windows spool 1 odd=1 kinds=wall first=2
cp expected odd
windows spool 1 stacks=1500 name=4000 kinds=off_cpu first=3
jq -s 'add' few deep odd expected | jq 'with_entries(select(.key |
	split(" ") | length == 3))' >all
push spool "pyroscope+http://127.0.0.1:$port"
expect_status 0
expect_empty spool
[ ! -s state2/broken ] || fail "$(cat state2/broken)"
jq 'with_entries(select(.key | split(" ") | length == 3))' state2/sums >got
expect_eq sums "$(jq -cS . got)" "$(jq -cS . all)"
expect_match state2/sums '"comment perfrec: N small stacks were added to their parent frames": 2' \
	'"comment perfrec: N deep stacks were cut in the middle": 1' \
	'\[perfrec: frames left out\]'
expect_eq 'cut stacks' "$(counter spool .cut_stacks)" 20
[ "$(counter spool '.merged_stacks >= 1000 and .dropped_labels > 30')" = true ] ||
	fail "$(cat spool/push.json)"
expect_match err 'takes 25 labels'

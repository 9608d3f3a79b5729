# SPDX-License-Identifier: Apache-2.0
#
# perfrec ctl functions: states change while the program runs, and its text is
# as it was when recording stops.
. "$TOP/tests/e2e/lib.sh"
prog overhead/busy

mkfifo input
"$PERFREC" record -q -o data -- ./busy 0 <input >out.busy 2>err.busy &
recorder=$!
exec 9>input
wait_for 60 test -s out.busy
ctl()
{
	run_ok "$PERFREC" ctl -o data functions --json "$@"
	cp out list.json
}
function_is()
{
	jq -r ".functions[0].functions[] | select(.name == \"$1\") | .$2" list.json
}
rounds()
{
	[ "$(wc -l <out.busy)" -gt "$1" ]
}
# wait_rounds: two more have begun and ended.
wait_rounds()
{
	wait_for 120 rounds $(($(wc -l <out.busy) + 2))
}

ctl
expect_eq 'state of leaf' "$(function_is leaf state)" span
ctl --count leaf
expect_eq 'state of leaf' "$(function_is leaf state)" counted
wait_rounds
ctl
calls=$(function_is leaf calls)
[ "$calls" -ge 100000 ] || fail "leaf: $calls calls"

ctl --off leaf --off fib
expect_eq 'state of leaf' "$(function_is leaf state)" off
expect_eq 'state of fib' "$(function_is fib state)" off
ctl
calls=$(function_is leaf calls)
wait_rounds
ctl
expect_eq 'calls of leaf that is off' "$(function_is leaf calls)" "$calls"

ctl --span leaf
expect_eq 'state of leaf' "$(function_is leaf state)" span
wait_rounds
ctl
[ "$(function_is leaf calls)" -ge $((calls + 100000)) ] ||
	fail "leaf is not on again"

run "$PERFREC" ctl -o data functions --off 'nosuch*'
expect_error 1 "nosuch"
run "$PERFREC" ctl -o data list --off leaf
expect_error 2 "go with functions"

pid=$(pgrep -P $recorder busy)
"$O/tests/tools/text_same" "$pid" busy && fail "no text was patched"
run_ok "$PERFREC" ctl -o data stop busy
run_ok "$O/tests/tools/text_same" "$pid"
wait_rounds
exec 9>&-
wait $recorder || fail "exit status $?"
expect_eq "sums" "$(sed '$d' out.busy | sort -u | wc -l)" 1
"$O/tests/tools/trace_check" data/trace.pftrace >check || {
	cat check
	fail "the trace is not well formed"
}

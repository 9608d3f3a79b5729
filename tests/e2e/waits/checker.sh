# SPDX-License-Identifier: Apache-2.0
# long: alters each figure of a recording
#
# waits_check.py finds errors: each figure of a true recording, made larger or
# smaller by a twentieth, or removed.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

perf_permitted || skip 'perf_event is denied here'
waits_record true locks convoy
waits_agree true

# expect_wrong WHAT FILTER: the checker rejects the summary after jq's FILTER.
expect_wrong()
{
	mkdir -p changed
	jq "$2" true/summary.json >changed/summary.json || fail "jq: $2"
	! cmp -s true/summary.json changed/summary.json || fail "$1: no change"
	if python3 "$TOP/tests/tools/waits_check.py" changed/summary.json \
		true.truth 2>wrong; then
		fail "$1: the checker sees nothing"
	fi
	grep -q ' ' wrong || fail "$1: it does not say what is wrong"
}

thread='.processes[].threads[]'
for figure in on_cpu_ns runnable_ns blocked_ns switches; do
	expect_wrong "a thread without $figure" "del($thread.$figure)"
	expect_wrong "a thread with no $figure" "$thread.$figure = 0"
	expect_wrong "a thread with more $figure" \
		"$thread.$figure |= . * 2 + 10000000000"
done
expect_wrong 'blocked threads' "$thread.blocked_ns |= (. * 0.9 | floor)"
lock='(.functions[] | select(.name == "take_lock"))'
for figure in on_cpu_ns runnable_ns blocked_ns; do
	expect_wrong "a function without $figure" "del($lock.$figure)"
	expect_wrong "a function with more $figure" \
		"$lock.$figure |= . * 2 + 10000000000"
done
expect_wrong 'a blocked function' "$lock.blocked_ns |= (. * 0.9 | floor)"
expect_wrong 'another sum' "$lock.blocked_self_ns |= (. * 0.9 | floor)"
expect_wrong 'self beyond total' "$lock.runnable_self_ns = $lock.runnable_ns + 1"
expect_wrong 'calls' "$lock.calls += 1"
expect_wrong 'switches' "$lock.switches |= . * 2 + 10"
expect_wrong 'no function' 'del(.functions[] | select(.name == "take_lock"))'
expect_wrong 'no threads' '.processes[].threads = []'
expect_wrong 'what was only added up' "$thread.sched = \"sums\""

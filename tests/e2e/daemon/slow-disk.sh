# SPDX-License-Identifier: Apache-2.0
#
# The disk of one recording hangs: its program waits, and nobody else. Other
# programs of the same daemon record on, end and have their files; and when the
# disk goes on, nothing of the first recording is lost. A drain worker waited
# for a block of that trace, and with it every program in block mode.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
. "$TOP/tests/e2e/lib/hung.sh"

start_hanging_daemon
start_hung
kill -0 $hung || fail 'the program does not wait for its disk'

for i in 1 2 3; do
	preload timeout 200 ./calls 200000 >out ||
		fail "a program waits for the disk of another one: status $?"
done
count_summaries()
{
	[ "$(find data -path '*/calls-*/summary.json' | wc -l)" -eq 3 ]
}
wait_for 60 count_summaries
for summary in data/calls-*/summary.json; do
	expect_eq 'spans' "$(json "$summary" .totals.spans)" 200002
done
kill -0 $hung || fail 'the program has not waited for its disk'

rm hangs
wait $hung || fail "status $?"
wait_for 60 has_summary hung
expect_eq 'spans' "$(json data/hung-*/summary.json .totals.spans)" \
	$((CALLS + 2))
expect_eq 'dropped spans' \
	"$(json data/hung-*/summary.json .totals.dropped_spans)" 0
"$O/tests/tools/trace_check" data/hung-*/trace.pftrace >checked ||
	fail "$(cat checked)"
stop_daemon

# SPDX-License-Identifier: Apache-2.0
#
# The disk of one recording hangs: its program waits, and nobody else. Other
# programs of the same daemon record on, end and have their files; and when the
# disk goes on, nothing of the first recording is lost. A drain worker waited
# for a block of that trace, and with it every program in block mode.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

build_calls
cp calls hung
CALLS=3000000

touch hangs
export STALL_PATH=data/hung- STALL_WHILE=$PWD/hangs
LD_PRELOAD=$O/tests/progs/libstall_writes_preload.so \
	start_daemon --on-full=block --block-timeout 600s --workers 1
unset STALL_PATH STALL_WHILE
preload ./hung $CALLS >out.hung &
hung=$!
# Its trace has no block that is free, and its ring is full.
hung_spans()
{
	"$PERFREC" ctl list --json | jq '.programs[] | select(.program == "hung").spans'
}
waits()
{
	before=$(hung_spans)
	[ "${before:-0}" -gt 0 ] || return 1
	sleep 1
	[ "$(hung_spans)" = "$before" ]
}
wait_for 60 waits
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

# SPDX-License-Identifier: Apache-2.0
# timeout: 3000
#
# perfrec cut, compared with a reading of the whole trace (tools/cut_check.py):
# random ranges of recordings with each kind of event, raw and compressed; of one
# with losses; ranges around calls, with gaps; of one thread; and cuts of cuts.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need python3

prog trace/ranges
prog trace/coroutines
check=$O/tests/tools/trace_check

# holds DIR DEMANDED [OPTION...]
holds()
{
	dir=$1
	demanded=$2
	shift 2
	python3 "$TOP/tests/tools/cut_check.py" --demand "$demanded" "$@" \
		"$PERFREC" "$check" "$dir" || fail "cuts of $dir are wrong"
}

run_ok "$PERFREC" record -q --on-full=block --sched on -o data ./ranges 5
holds data slices,clipped,arguments,instants,values,states,flows,lanes,contexts,gaps \
	--compress --count 12 --thread '5 worker' --slowest leaf --slowest one_round

# CPU samples, every block of memory, the trace in bundles.
run_ok "$PERFREC" record -q --on-full=block --compress --alloc exact --cpu 499 \
	-o packed ./ranges 5
holds packed slices,clipped,values,contexts --seed 2 --count 6 --slowest annotate

run_ok "$PERFREC" record -q --on-full=block -o stacks ./coroutines
holds stacks slices,clipped,contexts --seed 3 --count 4

# Spans are lost while the collector is stopped.
start_daemon --on-full drop
LD_PRELOAD=$SHIM PERFREC_RING_KB=64 ./ranges 1 burst &
program=$!
has_trace()
{
	set -- data/ranges-*/trace.pftrace
	[ -s "$1" ]
}
wait_for 60 has_trace
kill -STOP "$collector"
: >go
wait_for 60 test -e done
kill -CONT "$collector"
: >end
wait $program || fail "status $?"
stop_daemon
lossy=$(echo data/ranges-*)
[ "$(json "$lossy/summary.json" .totals.dropped_spans)" -gt 0 ] ||
	fail 'nothing was lost'
holds "$lossy" slices,clipped,losses --seed 4 --count 6

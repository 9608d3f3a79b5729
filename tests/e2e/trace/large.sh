# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long: records five million calls, and reads them often
#
# The short form of `make bench-large`: of a fast thread and of many slow threads, all
# calls are there, the parts of a recording add up to the whole, the index is at most
# 1 % of the trace, and the collector needs no more memory for a recording that is four
# times as long.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
export PERFREC_RING_KB=64	# rings count as memory of the collector, too

# record FOLDER SPANS PROGRAM ARGUMENT...: by a collector of its own, whose memory at
# the most goes to $peak, in kB.
record()
{
	folder=$1 spans=$2
	shift 2
	start_daemon --on-full block --compress=off
	preload "$O/tests/bench/$1" "$2" "$3" >out || fail "$1: status $?"
	wait_for 100 has_summary "$1"
	peak=$(awk '/^VmHWM/ { print $2 }' "/proc/$collector/status")
	stop_daemon
	mv data/"$1"-* "$folder"
	expect_eq "$folder: spans" "$(json "$folder/summary.json" .totals.spans)" \
		"$spans"
	expect_eq "$folder: lost" \
		"$(json "$folder/summary.json" .totals.dropped_spans)" 0
}

# sums FILE...: of answers of `perfrec report --json`, by function.
sums()
{
	jq -s -S -c '[.[].functions[]] | group_by(.name) |
		map({ name: .[0].name, self: map(.self_ns) | add,
		      total: map(.total_ns) | add })' \
		"$@"
}

# adds_up FOLDER: five parts are the whole.
adds_up()
{
	step=$(json "$1/summary.json" '.wall_ns / 5 | floor')
	for part in 0 1 2 3 4; do
		upto=$(((part + 1) * step))
		[ $part -lt 4 ] || upto=$((9 * step))
		run_ok "$PERFREC" report --json --limit 0 --from $((part * step))ns \
			--to ${upto}ns "$1"
		mv out part.$part
	done
	run_ok "$PERFREC" report --json --limit 0 --from 0ns --to $((9 * step))ns "$1"
	[ "$(jq '.functions | length' out)" -ge 4 ] || fail 'few functions'
	expect_eq "$1: times of all parts" "$(sums part.?)" "$(sums out)"
	spans=$(json "$1/summary.json" .totals.spans)
	expect_eq "$1: calls" "$(jq .totals.calls out)" "$spans"
	# Both parts have the calls that the boundary clips.
	expect_eq "$1: calls of all parts" \
		"$(jq -s '[.[].totals | .calls - .open_at_from] | add' part.?)" \
		"$spans"
}

# index_is_small FOLDER
index_is_small()
{
	index=$(stat -c %s "$1/trace.index")
	trace=$(stat -c %s "$1/trace.pftrace")
	[ "$index" -gt 100 ] || fail "$1: the index has $index bytes"
	[ $((index * 100)) -le "$trace" ] ||
		fail "$1: the index has $index bytes, the trace $trace"
}

# compare PROGRAM SHORT-ARGUMENTS SHORT-SPANS LONG-ARGUMENTS LONG-SPANS
compare()
{
	# shellcheck disable=SC2086 # two arguments each
	record "$1.short" "$3" "$1" $2
	short=$peak
	# shellcheck disable=SC2086
	record "$1.long" "$5" "$1" $4
	[ "$short" -gt 1000 ] || fail "$1: the memory is $short kB"
	[ $((peak - short)) -le 24000 ] ||
		fail "$1: $short kB, and $peak kB for four times as many calls"
	"$O/tests/tools/trace_check" "$1.long/trace.pftrace" || fail "$1: trace"
	index_is_small "$1.long"
	adds_up "$1.long"
}

# Each round makes 1,023 calls, and main() and work().
compare page_calls '1023000 1' 1023002 '4092000 1' 4092002
# Each thread makes this number of calls, and work() and, once, main().
compare slow_threads '300 1000' 300301 '300 4000' 1200301

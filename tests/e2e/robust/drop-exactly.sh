# SPDX-License-Identifier: Apache-2.0
#
# The smallest ring and a collector that is stopped again and again, in drop mode:
# for each thread, recorded and dropped spans add up to an independent count,
# nesting is intact, and the losses are in the trace.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

prog robust/nest

start_daemon --on-full drop
LD_PRELOAD=$SHIM:$O/tests/progs/libcount_preload.so COUNT_OUT=count \
	PERFREC_RING_KB=64 ./nest &
program=$!
while kill -0 $program 2>/dev/null; do
	kill -STOP $collector
	sleep 0.03
	kill -CONT $collector
	sleep 0.03
done
wait $program || fail "status $?"
stop_daemon

"$O/tests/tools/count_names" --by-thread count.*[0-9] |
	awk '{ n[$2] += $3 } END { for (tid in n) print tid, n[tid] }' |
	sort >counted
json data/nest-*/summary.json '.processes[].threads[] |
	"\(.tid) \(.spans + .dropped_spans)"' | sort >accounted
diff counted accounted || fail 'recorded + dropped is not what was called'
expect_eq 'threads' "$(wc -l <counted)" 4

trace=$(echo data/nest-*/trace.pftrace)
"$O/tests/tools/trace_check" --json "$trace" >trace.json ||
	fail 'a rule is broken'
"$O/tests/tools/trace_check" --dump "$trace" |
	awk '$1 == "I" && /spans? lost/ { n += $6; places++ }
	END { print n + 0, places + 0 }' >lost
read -r lost places <lost
dropped=$(json data/nest-*/summary.json .totals.dropped_spans)
echo "dropped $dropped of $(awk '{ n += $2 } END { print n }' counted)" \
	"spans, at $places places"
[ "$places" -gt 0 ] || fail 'hardly anything was dropped: nothing is shown'
expect_eq 'spans lost, as the instants say' "$lost" "$dropped"
expect_eq 'threads with statistics of their losses' \
	"$(json trace.json .losses)" "$(json data/nest-*/summary.json \
	'[.processes[].threads[] | select(.dropped_spans > 0)] | length')"
# All that the program called and the collector kept is in the trace.
expect_eq 'begins in the trace' "$(json trace.json .begins)" \
	"$(json data/nest-*/summary.json '.totals | .spans - .folded_spans')"

# SPDX-License-Identifier: Apache-2.0
#
# All ways in which a program starts another: fork while threads run, exec chains,
# vfork, posix_spawn, system, popen. An independent count finds the same calls in
# each process, and the trace links the images of a process.
. "$TOP/tests/e2e/lib.sh"

prog families/family

# recorded WHAT COMMAND...: the same output, and in each process the same
# calls as counted in the same run.
recorded()
{
	what=$1
	shift
	rm -rf data count.*
	"$@" >expected
	expected=$?
	run env LD_PRELOAD="$O/tests/progs/libcount_preload.so" \
		COUNT_OUT="$PWD/count" timeout 100 \
		"$PERFREC" record -q -o data "$@"
	expect_status $expected
	[ ! -s err ] || fail "$what: stderr: $(cat err)"
	diff expected out || fail "$what: output has changed"
	"$O/tests/tools/count_names" --by-thread count.*[0-9] |
		awk '{ n[$1] += $3 } END { for (pid in n) print pid, n[pid] }' |
		sort >counted
	json data/summary.json '.processes[] |
		"\(.pid) \([.threads[].spans] | add // 0)"' |
		awk '$2 > 0 { n[$1] += $2 }
		END { for (pid in n) print pid, n[pid] }' | sort >kept
	diff counted kept || fail "$what: calls differ"
	"$O/tests/tools/trace_check" --dump data/trace.pftrace >dump ||
		fail "$what: a rule is broken"
	expect_eq "$what: calls in the trace" "$(grep "^B" dump | grep -cv " perfrec: ")" \
		"$(awk '{ n += $2 } END { print n }' counted)"
	expect_eq "$what: lost" "$(json data/summary.json '.totals |
		.dropped_spans + .truncated_spans + .broken_rings')" 0
}

recorded forks "$PWD/family" forks
expect_eq 'processes' "$(wc -l <counted)" 37

recorded spawns "$PWD/family" spawns
expect_eq 'processes' "$(wc -l <counted)" 5

recorded chain "$PWD/family" chain 10
expect_eq 'processes' "$(wc -l <counted)" 1
expect_eq 'images' "$(json data/summary.json '.processes | length')" 11
expect_eq 'images that were replaced' "$(json data/summary.json \
	'[.processes[] | select(.ended == "exec")] | length')" 10
expect_eq 'links forward' "$(grep -c "^I.* [0-9]* exec$" dump)" 10
expect_eq 'links back' "$(grep -c '^I.* image started by exec$' dump)" 10

recorded 'sh and env' sh -c "env A=b $PWD/family calls 40; $PWD/family \
	chain 2; (exec env -i LD_PRELOAD=\"\$LD_PRELOAD\" COUNT_OUT=$PWD/count \
	PERFREC_SOCKET=\"\$PERFREC_SOCKET\" $PWD/family spawns) | cat"
expect_eq 'processes' "$(wc -l <counted)" 7

# SPDX-License-Identifier: Apache-2.0
#
# --overhead counts each call, in threads and children, also when it begins with
# what earlier runs have learned: the hottest functions ended as off, with the
# calls of before. And a function that is counted from the start is recorded for
# moments, so that its durations are known.
. "$TOP/tests/e2e/lib.sh"
export XDG_CACHE_HOME="$PWD/cache"
prog overhead/busy
"$PERFREC" cc --hooks=entry -- "${CC:-gcc}" -O1 -o entry \
	"$TOP/tests/progs/overhead/busy.c" -pthread || fail 'entry build'

calls_of()
{
	json data/summary.json "[.functions[] | select(.name == \"$1\") | .calls] | add"
}

# main, three threads, two children: six times each. fib(15) is 1973 calls.
./busy 2000000 3 2 >expected
for program in busy entry; do
	for run in first second third; do
		run_ok "$PERFREC" record -q --overhead 2% --alloc=off --cpu=off \
			-o data -- ./$program 2000000 3 2
		cmp out expected || fail "$program, $run run: the output has changed"
		expect_eq "calls of leaf, $program, $run run" "$(calls_of leaf)" \
			12000000
		expect_eq "calls of fib, $program, $run run" "$(calls_of fib)" \
			$((6 * 1973))
		expect_eq "calls of work, $program, $run run" "$(calls_of work)" 6
		expect_eq "functions that are off, $program, $run run" \
			"$(json data/summary.json .totals.functions_off)" 0
		"$O/tests/tools/trace_check" data/trace.pftrace >check || {
			cat check
			fail "$program, $run run: the trace is not well formed"
		}
	done
done

mkfifo input
"$PERFREC" record -q --overhead 2% --alloc=off --cpu=off -o data -- \
	./busy 0 <input >out.busy 2>err.busy &
recorder=$!
exec 9>input
wait_for 60 test -s out.busy
has_durations()
{
	"$PERFREC" ctl -o data functions --json >list.json || return 1
	jq -e '.functions[0].functions[] | select(.name == "leaf" and
		.state == "counted" and .mean_ns > 0)' list.json >/dev/null
}
wait_for 120 has_durations
exec 9>&-
wait $recorder || fail "exit status $?: $(cat err.busy)"
expect_eq 'moments in which leaf was recorded' "$(json data/summary.json \
	'[.functions[] | select(.name == "leaf") |
		.recorded > 0 and .recorded < .calls] | all')" true

# SPDX-License-Identifier: Apache-2.0
#
# perfrec what-if: a function that does not exist, a text that is no change, and a
# recording without switches have no estimate; messages say so. An estimate is in its range.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

perf_permitted || skip "the kernel reports no switches here"

run_ok "$PERFREC" record -q -o lock "$WAITS/halved" lock
# Other programs may have the CPUs: then there is no estimate, and status 1.
run "$PERFREC" what-if --json 'comm* -50%' 'audit +10%' lock
[ "$status" -le 1 ] || fail "status $status"
expect_eq 'changes' "$(jq -r '[.changes[] | "\(.function) \(.factor) \(.calls)"] |
	join(",")' out)" 'comm* 0.5 240,audit 1.1 240'
expect_eq 'an estimate outside of its range, or with a refusal' "$(jq '
	select(if .refused then .estimate_ns != null else
		.low_ns > .estimate_ns or .estimate_ns > .high_ns end)' out)" ''
expect_eq 'the status' "$status" "$(jq 'if .refused then 1 else 0 end' out)"
run "$PERFREC" what-if 'comm* -50%' lock
expect_match out '^  change     comm\* -50 %: 240 calls'
expect_match out '^  estimate   '

# A change by 0 % changes nothing.
run "$PERFREC" what-if --json 'commit -0%' lock
expect_eq 'a change of nothing' "$(jq 'select(.refused == null) |
	(.estimate_ns - .run_ns) | fabs | select(. > 2)' out)" ''

run "$PERFREC" what-if 'nosuch -50%' lock
expect_status 1
expect_match err "matches 'nosuch'"
for wrong in commit 'commit 50%' 'commit -101%' 'commit -5' ' -5%' '-50%'; do
	run "$PERFREC" what-if -- "$wrong" lock
	expect_status 2
	expect_match err "'FUNC -N%'"
done
run "$PERFREC" what-if '@libc* -50%' lock
expect_status 2
expect_match err "'@libc\*': give the name of a function: a trace has no modules"
run "$PERFREC" what-if
expect_status 2

run_ok "$PERFREC" record -q --sched off -o off "$WAITS/halved" fork
run "$PERFREC" what-if 'left -50%' off
expect_status 1
expect_match out 'perfrec record --sched on'
run "$PERFREC" what-if 'left -50%' nowhere
expect_status 1

# Without calls the length of the run is not known.
run_ok "$PERFREC" record -q -o bare true
run "$PERFREC" what-if 'left -50%' bare
expect_status 1
expect_match out '^  run        not known'
expect_match out 'no calls of threads: add --patch'
run "$PERFREC" what-if --json 'left -50%' bare
expect_eq 'the run' "$(jq -c '[.run_ns, .replayed_ns, .refused]' out)" \
	'[null,null,"no calls"]'

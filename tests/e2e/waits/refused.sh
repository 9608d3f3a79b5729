# SPDX-License-Identifier: Apache-2.0
#
# Where perf_event_open() is refused, the sums of each thread are the kernel's,
# by schedstat; no function has figures; and both is said.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

refused()
{
	dir=$1
	shift
	run "$O/tests/progs/cpu_deny" "$PERFREC" record --alloc=off -o "$dir" \
		"$@"
	[ "$status" -ne 77 ] || skip 'no seccomp filter here'
	expect_status 0
	cp out "$dir.truth"
	waits_agree "$dir" --sums
	expect_eq "$dir: functions with figures" "$(json "$dir/summary.json" \
		'[.functions[] | select(.on_cpu_ns + .blocked_ns > 0)] | length')" 0
	expect_match err 'switches'
}
refused cpus "$WAITS/cpus" overcommitted
refused locks "$WAITS/locks" queue
refused tasks "$WAITS/tasks" short

# SPDX-License-Identifier: Apache-2.0
# long: switches threads for seconds
#
# More than half a million switches a second, by two pairs of threads with a CPU
# for each pair: none of them is lost, or it is said, and then the time that is
# not known is. A thread's time adds up in both cases.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

families cpus storm
[ -z "$sums" ] || exit 0
# expect_whole DIR: every switch is there, or its threads have unknown time.
expect_whole()
{
	unknown=$(json "$1/summary.json" \
		'[.processes[].threads[].unknown_sched_ns] | add')
	switches=$(json "$1/summary.json" \
		'[.processes[].threads[].switches] | add')
	# Without the switches of the main thread before it was recorded: a slow
	# disk causes some.
	true=$(jq -s '[.[] | select(.is == "thread") |
		.end.voluntary + .end.involuntary -
		.begin.voluntary - .begin.involuntary] | add' "$1.truth")
	[ "$true" -gt 100000 ] || skip "$true switches: this is no storm"
	[ "$unknown" -gt 0 ] || [ "$switches" -ge $((true - 8)) ] ||
		fail "$1: $switches of $true switches, and nobody says why"
}
expect_whole storm
# A collector that gets no CPU cannot keep up.
options='--cpu off'
cpu=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' \
	/proc/self/status)
command -v taskset >/dev/null || exit 0
starve()
{
	rm -rf starved
	run_ok taskset -c "$cpu" "$PERFREC" record -q -o starved "$WAITS/cpus" storm
	cp out starved.truth
}
# One CPU for the storm, its collector, and whatever else the machine does: the
# collector may see nothing before all is over.
starve
waits_are_true starved || { starve; waits_are_true starved; } || starve
waits_agree starved
expect_whole starved

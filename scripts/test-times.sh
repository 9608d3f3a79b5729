# SPDX-License-Identifier: Apache-2.0
#
# test-times.sh - the duration of a test; the runners of tests source it. CPU
# seconds include all processes that the shell has waited for since its start, so
# each test has a shell of its own. A daemon, which no process waits for, is not
# counted.
#
#     time_begin
#     time_end NAME     # $seconds: by the clock; adds to the file $TEST_TIMES
#
# A line of that file is "CPU-SECONDS SECONDS NAME", the name with $TEST_KIND
# in front.

time_begin()
{
	read -r time_began _ </proc/uptime
}

time_end()
{
	read -r time_now _ </proc/uptime
	seconds=$(awk -v a="$time_began" -v b="$time_now" \
		'BEGIN { printf "%.1f", b - a }')
	[ -n "${TEST_TIMES:-}" ] || return 0
	# A builtin in a pipe would be of another shell, which has waited for nobody.
	time_file=$(mktemp) || return 1
	times >"$time_file"
	cpu=$(tr 'ms' '  ' <"$time_file" | awk 'NR == 2 {
		printf "%.1f", $1 * 60 + $2 + $3 * 60 + $4 }')
	rm -f "$time_file"
	# One write, because other processes append to the file as well.
	echo "$cpu $seconds ${TEST_KIND:-}$1" >>"$TEST_TIMES"
}

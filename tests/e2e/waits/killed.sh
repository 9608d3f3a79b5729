# SPDX-License-Identifier: Apache-2.0
#
# A program is killed while its threads wait. Their waits last until then.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

perf_permitted || skip 'perf_event is denied here'
: >out
"$PERFREC" record -q --alloc=off -o data sh -c \
	'"$1" stays >out & echo $! >pid; wait; exit 0' - "$WAITS/tasks" 2>err &
perfrec=$!
wait_for 60 grep -q stays out
pid=$(cat pid)
asleep()
{
	! cat /proc/"$pid"/task/*/stat | sed 's/.*) //' | grep -qv '^S'
}
wait_for 60 asleep
# The wait lasts longer than the time measured here.
ns=$(($(date +%s%N)))
sleep 0.3
ns=$(($(date +%s%N) - ns))
kill -KILL "$pid"
wait $perfrec || fail "perfrec: $? $(cat err)"
# The first thread exists until its parent has waited for it, so perfrec may read
# its counts of the kernel then. Linux 6.12 and later count some whole sleeps as waiting
# for a CPU (docs/WAITS.md), about 1 of 800 beside other load.
for name in stay stays; do
	states=.blocked_ns
	[ $name = stay ] || states='.blocked_ns + .runnable_ns'
	blocked=$(json data/summary.json \
		".functions[] | select(.name == \"$name\") | $states")
	[ "$blocked" -ge $((ns - ns / 100)) ] ||
		fail "$name was blocked for $blocked ns of $ns"
done
expect_eq 'threads that were blocked' "$(json data/summary.json "[.processes[] |
	select(.name == \"tasks\").threads[] |
	select((if .tid == $pid then .blocked_ns + .runnable_ns else .blocked_ns end) >
		$((ns - ns / 100)))] | length")" 2

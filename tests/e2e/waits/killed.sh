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
# What is measured: the wait lasts for longer than this.
ns=$(($(date +%s%N)))
sleep 0.3
ns=$(($(date +%s%N) - ns))
kill -KILL "$pid"
wait $perfrec || fail "perfrec: $? $(cat err)"
for name in stay stays; do
	blocked=$(json data/summary.json \
		".functions[] | select(.name == \"$name\") | .blocked_ns")
	[ "$blocked" -ge $((ns - ns / 100)) ] ||
		fail "$name was blocked for $blocked ns of $ns"
done
expect_eq 'threads that were blocked' "$(json data/summary.json "[.processes[] |
	select(.name == \"tasks\").threads[] |
	select(.blocked_ns > $((ns - ns / 100)))] | length")" 2

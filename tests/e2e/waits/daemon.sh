# SPDX-License-Identifier: Apache-2.0
# long: computes for seconds in several processes
#
# A daemon with fifty programs at once: times equal their own measurements.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

perf_permitted || sums=--sums
# A thread that ends before the collector gets a CPU has sums only.
daemon_nice='nice -n -15'
start_daemon --sched on
pids=
for number in $(seq 50); do
	preload "$WAITS/locks" convoy >"truth.$number" 2>>err &
	pids="$pids $!"
done
for pid in $pids; do
	wait "$pid" || fail "a program: $? $(cat err)"
done
has_all()
{
	[ "$(find data -name summary.json | wc -l)" -eq 50 ]
}
wait_for 100 has_all
stop_daemon
late=0
for number in $(seq 50); do
	pid=$(head -n 1 "truth.$number" | jq .pid)
	summary=data/locks-$pid/summary.json
	option=$sums
	if [ -z "$sums" ] && grep -q '"sched": *"sums"' "$summary"; then
		option=--late
		late=$((late + 1))
	fi
	# shellcheck disable=SC2086 # no word, or one
	python3 "$TOP/tests/tools/waits_check.py" $option \
		"$summary" "truth.$number" || fail "program $number of 50"
done
[ $late -eq 0 ] || overloaded || fail "$late of 50 programs have threads with sums only"
[ $late -lt 25 ] || fail "$late of 50 programs have threads with sums only"

# SPDX-License-Identifier: Apache-2.0
#
# A daemon with fifty programs at once: the time of each is what it says itself.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

perf_permitted || sums=--sums
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
for number in $(seq 50); do
	pid=$(head -n 1 "truth.$number" | jq .pid)
	# shellcheck disable=SC2086 # no word, or one
	python3 "$TOP/tests/tools/waits_check.py" $sums \
		"data/locks-$pid/summary.json" "truth.$number" ||
		fail "program $number of 50"
done

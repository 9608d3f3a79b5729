# SPDX-License-Identifier: Apache-2.0
#
# A program that says its threads are those of processes with very many mappings:
# whose they are is read in /proc/PID/maps, 20 ms each time. That took all the
# time of a drain worker. Others are recorded, and it gets a tenth.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
[ "$(cat /proc/sys/vm/max_map_count)" -ge 65000 ] || skip 'few mappings'

# In clock ticks.
used_by_collector()
{
	sed 's/.*) //' /proc/$collector/stat | awk '{ print $12 + $13 }'
}
now()
{
	awk -v hz="$(getconf CLK_TCK)" '{ print int($1 * hz) }' /proc/uptime
}

build_calls
start_daemon --on-full block
mkfifo hold
"$O/tests/attacks/hostile" perfrec.sock claim 8 <hold >claims &
hostile=$!
exec 5>hold
wait_for 60 grep -q ready claims
from=$(now) used=$(used_by_collector)
sleep 2
used=$(($(used_by_collector) - used)) took=$(($(now) - from))
echo "the collector took $used of $took ticks"
[ $((used * 3)) -lt $took ] || fail 'the collector does nothing else'
preload ./calls 1000
exec 5>&-
wait $hostile || fail "the program that lies: status $?"
wait_for 60 has_summary calls
stop_daemon
expect_eq 'spans' "$(json data/calls-*/summary.json .totals.spans)" 1002

# SPDX-License-Identifier: Apache-2.0
#
# As waits/whom, for data from pipes, sockets and eventfds. Waits that the collector
# has not read are unknown: those below 1 ms, and more on a busy machine.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

perf_permitted || skip "the kernel reports no switches here"
for family in pipes pairs polls connections forked events closes; do
	whom $family 5
done

run_ok "$PERFREC" replay forked
grep -q 'waited on \[pipe .*woken by worker-[0-9] [0-9]* in send_data' out ||
	fail "no writer of the other process: $(cat out)"

# With --locks off nothing is known.
options='--locks off'
waits_record off whom pipes
run_ok "$PERFREC" replay off
grep -q 'woken by' out && fail "--locks off has wakers"
exit 0

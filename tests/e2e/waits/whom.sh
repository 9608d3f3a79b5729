# SPDX-License-Identifier: Apache-2.0
#
# The trace names the thread that held a lock while another waited, and the thread that
# released it. The program logs both. A name may be unknown, mostly if threads have to
# wait for a CPU; it may be wrong for 0.5 % of the time at most.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

perf_permitted || skip "the kernel reports no switches here"
for family in mutex-long mutex-short recursive checking robust timed queue \
	posts; do
	whom $family 20
done
whom inherit 20 --inherits
# Four threads that compute, on fewer CPUs, mostly find the lock free.
whom mutex-busy 1
# One thread records nothing else, so nearly all names are unknown.
whom silent 0

# With --locks off a wait has no more than its object.
options='--locks off'
waits_record off whom mutex-long
"$O/tests/tools/trace_check" --text off/trace.pftrace >text
grep -q 'held_by\|holds ' text && fail "--locks off has holders"
"$O/tests/tools/trace_check" --waits off/trace.pftrace >waits
[ -s waits ] || fail "--locks off has no waits"

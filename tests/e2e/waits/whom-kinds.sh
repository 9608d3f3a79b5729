# SPDX-License-Identifier: Apache-2.0
#
# As waits/whom, for locks of readers and writers, and for waits until other threads
# have come to a point. Readers have no ids: the trace says "readers".
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

perf_permitted || skip "the kernel reports no switches here"
for family in writers readers barrier joins once futex c11 handler; do
	waits_record "$family" whom "$family"
	python3 "$TOP/tests/tools/whom_check.py" --floor 20 --show \
		"$family/trace.pftrace" "$family.truth" ||
		fail "$family: the trace has other names than the program"
	"$O/tests/tools/trace_check" "$family/trace.pftrace" >wrong ||
		fail "$family: $(cat wrong)"
done

# SPDX-License-Identifier: Apache-2.0
#
# As waits/whom, for locks of readers and writers, and for waits until other threads
# have come to a point. Readers have no ids: the trace says "readers".
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

perf_permitted || skip "the kernel reports no switches here"
for family in writers readers barrier joins once futex c11 handler; do
	whom $family 20
done

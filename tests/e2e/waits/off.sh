# SPDX-License-Identifier: Apache-2.0
#
# With --sched off nothing is recorded of switches, and nothing is claimed.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

options='--sched off'
waits_record off locks convoy
waits_agree off --off
expect_none off/offcpu.pb.gz
options='--sched off --cpu 997'
waits_record sampled cpus split
waits_agree sampled --off
! perf_permitted || [ "$(json sampled/summary.json .totals.cpu_samples)" -gt 0 ] ||
	fail 'no CPU samples either'

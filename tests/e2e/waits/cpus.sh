# SPDX-License-Identifier: Apache-2.0
#
# Time of threads that want CPUs is what they say themselves: a known split
# between functions, half of it in the kernel, alone, with sleeps, and beside
# others on one CPU; loops and sleepers, alone and beside others; threads of one
# CPU that have it by turns.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

families cpus split split-sleeping preempted busy overcommitted sleeper \
	sleeper-loaded pingpong swaps

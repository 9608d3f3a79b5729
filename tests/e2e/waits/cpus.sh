# SPDX-License-Identifier: Apache-2.0
# long: computes for seconds in several threads
#
# Time of threads that need CPUs equals their own measurements: a known split
# between functions, half of it in the kernel, alone, with sleeps, and beside
# other threads on one CPU; loops and sleepers, alone and beside others; threads
# that take turns on one CPU.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

families cpus split split-sleeping preempted busy overcommitted sleeper \
	sleeper-loaded pingpong swaps

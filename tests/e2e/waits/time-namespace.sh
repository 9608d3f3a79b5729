# SPDX-License-Identifier: Apache-2.0
#
# In a time namespace the program's clock differs from the clock of the kernel's
# records. Both were in one recording: a sleep was on a CPU, and samples lay
# days before the calls.

. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"
need unshare
perf_permitted || skip 'the kernel permits no perf events here'

build naps <<-'SOURCE'
	#include <time.h>

	static volatile unsigned long done;

	__attribute__((noinline)) static void burn(void)
	{
		for (long i = 0; i < 3000000; i++)
			done += i;
	}
	__attribute__((noinline)) static void nap(void)
	{
		struct timespec time = { 0, 5000000 };

		nanosleep(&time, 0);
	}
	int main(void)
	{
		for (int i = 0; i < 20; i++) {
			burn();
			nap();
		}
		return 0;
	}
	SOURCE

# In a year that has not come, and before the machine was started.
for offset in 500000 -1; do
	unshare -T --boottime $offset --monotonic $offset --fork true 2>err ||
		skip "no time namespace: $(cat err)"
	run_ok unshare -T --boottime $offset --monotonic $offset --fork \
		"$PERFREC" record -q --cpu 999 -o "at$offset" -- ./naps
	json "at$offset/summary.json" '.functions[] | select(.name == "nap") |
		[.blocked_self_ns + .runnable_self_ns >= 95000000,
			.on_cpu_self_ns < .self_ns / 2] | all' >slept
	expect_eq "with $offset, nap() slept" "$(cat slept)" true
	json "at$offset/summary.json" '.functions[] | select(.name == "burn") |
		.cpu_samples > 0' >burnt
	expect_eq "with $offset, burn() has samples" "$(cat burnt)" true
done

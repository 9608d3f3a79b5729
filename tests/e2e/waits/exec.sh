# SPDX-License-Identifier: Apache-2.0
#
# The kernel ends the events of a thread that calls exec(), so nothing reports
# its later switches. It stayed on a CPU until the end of the recording: a shell
# with three commands of 5 ms was "on CPU 3.0 s". And the calls that were open
# at an exec of a program without the library went on until that program ended.

. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"
perf_permitted || skip 'the kernel permits no perf events here'

# no_more_than_used DIR: threads without records ran for no longer than the
# processes have CPU time.
no_more_than_used()
{
	json "$1/summary.json" '.totals.silent_on_cpu_ns' >ran
	used=$(json "$1/summary.json" '.user_ns + .sys_ns')
	[ "$(cat ran)" -le $((used + used / 100 + 5000000)) ] ||
		fail "$1: $(cat ran) ns on CPUs, of $used ns of CPU time"
}

# A child of fork() calls exec(), and so does a child that sh makes by vfork().
run_ok "$PERFREC" record -q -o shell -- sh -c '/bin/true; /bin/true; sleep 1'
no_more_than_used shell

cat >sleeper.c <<-'SOURCE'
	#include <time.h>
	int main(void)
	{
		struct timespec time = { 1, 0 };

		return nanosleep(&time, 0);
	}
	SOURCE
gcc -static -o sleeper sleeper.c || skip 'no static C library'

# An image that never says hello.
run_ok "$PERFREC" record -q -o static -- sh -c './sleeper & ./sleeper; wait'
no_more_than_used static

# The thread that calls exec() is not the first, another one works until then.
build threads -lpthread <<-'SOURCE'
	#include <pthread.h>
	#include <unistd.h>

	static volatile int ready;
	static volatile unsigned long done;

	__attribute__((noinline)) static void burn_forever(void)
	{
		for (;;)
			ready = ++done > 20000000;
	}
	static void *burn(void *unused)
	{
		burn_forever();
		return unused;
	}
	static void *replace(void *image)
	{
		char *const arguments[] = { image, 0 };

		while (!ready)
			usleep(1000);
		execv(image, arguments);
		return 0;
	}
	int main(int argc, char **argv)
	{
		pthread_t thread;

		(void)argc;
		pthread_create(&thread, 0, burn, 0);
		pthread_create(&thread, 0, replace, argv[1]);
		for (;;)
			pause();
	}
	SOURCE
run_ok "$PERFREC" record -q -o image -- ./threads ./sleeper
json image/summary.json '.functions[] | select(.name == "main") | .total_ns' \
	>main
wall=$(json image/summary.json .wall_ns)
[ "$(cat main)" -lt $((wall - 1000000000)) ] ||
	fail "main() took $(cat main) of $wall ns, with the program after its exec"
json image/summary.json '.functions[] | select(.name == "burn_forever") |
	.self_ns > 0' >burnt
expect_eq 'burn_forever() took time' "$(cat burnt)" true

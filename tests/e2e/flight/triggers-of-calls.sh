# SPDX-License-Identifier: Apache-2.0
#
# Slow calls in a program with threads fire their triggers, each once, whichever
# way they end; a call that does not end fires while it is open. The debug log of
# the daemon has a line for each trigger that fires.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

# fired REGEX: how often something of this text has.
fired()
{
	grep -c "trigger '.*$1" collect.log || :
}

# has_fired REGEX
has_fired()
{
	grep -q "trigger '.*$1" collect.log
}

# flight TRIGGER...: starts a daemon with the triggers.
flight()
{
	for trigger; do
		set -- "$@" --trigger "$trigger"
		shift
	done
	start_daemon --log debug --flight --on-full block "$@"
}

build planted -lpthread <<'SOURCE'
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <time.h>

static const struct timespec nap = { .tv_nsec = 50000000 };

__attribute__((noinline)) int quick(int i) { return i * 7; }
__attribute__((noinline)) void slow_request(void) { nanosleep(&nap, 0); }
__attribute__((noinline)) void slow_jump(jmp_buf *back)
{
	nanosleep(&nap, 0);
	longjmp(*back, 1);
}
__attribute__((noinline)) void slow_exit(void)
{
	nanosleep(&nap, 0);
	pthread_exit(0);
}
static void *serve(void *last)
{
	jmp_buf back;
	int sum = 0;

	for (int i = 0; i < 5; i++) {
		for (int j = 0; j < 20000; j++)
			sum += quick(j);
		slow_request();
	}
	if (!setjmp(back))
		slow_jump(&back);
	if (last)
		slow_exit();
	return (void *)(intptr_t)sum;
}
int main(void)
{
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], 0, serve, i % 2 ? &thread : 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], 0);
	return 0;
}
SOURCE
flight 'slow_* > 20ms' 'quick > 1000s' 'slow_request > 1000s'
run_ok preload ./planted
wait_for 60 has_summary planted
stop_daemon
expect_eq 'slow requests' "$(fired "call 'slow_request'")" 20
expect_eq 'that ended by longjmp()' "$(fired "call 'slow_jump'")" 4
expect_eq 'that ended with the thread' "$(fired "call 'slow_exit'")" 2
expect_eq 'all' "$(fired '')" 26
expect_eq 'each is another one' "$(sed -n 's/.* \(of thread .* at .*\)/\1/p' \
	collect.log | sort -u | wc -l)" 26
expect_eq 'threads' "$(sed -n 's/.* of thread \([0-9]*\) .*/\1/p' collect.log |
	sort -u | wc -l)" 4
rm -rf data

# --- a call that hangs, in a library that is loaded late
cat >late.c <<'SOURCE'
#include <fcntl.h>
#include <unistd.h>
__attribute__((noinline)) int stuck(void)
{
	char go;

	return (int)read(open("hold", O_RDONLY), &go, 1);
}
SOURCE
"${CC:-gcc}" -O1 -fPIC -shared -finstrument-functions -o late.so late.c ||
	fail 'cannot compile late.c'
build hangs -ldl <<'SOURCE'
#include <dlfcn.h>
int main(void)
{
	int (*stuck)(void) = (int (*)(void))dlsym(
		dlopen("./late.so", RTLD_NOW), "stuck");

	return stuck();
}
SOURCE
mkfifo hold
flight '@*late.so > 10ms'
preload ./hangs &
hangs=$!
wait_for 60 has_fired "call 'stuck'"
exec 3>hold
exec 3>&-
wait $hangs
wait_for 60 has_summary hangs
stop_daemon
expect_eq 'while it hung, and when it ended' "$(fired "call 'stuck'")" 2
rm -rf data

# --- relative to the p99
build usual <<'SOURCE'
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) void often(int slow)
{
	static const struct timespec nap = { .tv_nsec = 50000000 };

	if (slow)
		nanosleep(&nap, 0);
}
int main(void)
{
	for (int i = 0; i < 200000; i++)
		often(0);
	/* They are less than 1 %. */
	for (int i = 0; i < 1000 && access("stop", F_OK); i++)
		often(1);
	return 0;
}
SOURCE
flight 'often > 50 x p99'
preload ./usual &
usual=$!
wait_for 60 has_fired "call 'often'.* took 5[0-9]\{7\} ns\|call 'often'.* took [0-9]\{9,\} ns\|call 'often'.* took [6-9][0-9]\{7\} ns"
touch stop
wait $usual
stop_daemon
rm -rf data

# SPDX-License-Identifier: Apache-2.0
#
# A program has 300 threads before it says hello: each takes descriptors of the
# daemon, one for each CPU and one more. It had all descriptors, so no other client
# could connect. A program may have an eighth.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
. "$TOP/tests/e2e/lib/waits.sh"
perf_permitted || { echo 'perf_event_open is refused'; exit 77; }

cat >early.c <<'SOURCE'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *wait_for_ever(void *nothing)
{
	pause();
	return nothing;
}
__attribute__((constructor)) static void start(void)
{
	pthread_t thread;

	for (int i = 0; i < 300; i++)
		if (pthread_create(&thread, NULL, wait_for_ever, NULL))
			abort();
}
SOURCE
gcc -O1 -shared -fPIC -Wl,-z,initfirst -o early.so early.c -pthread ||
	fail 'cannot compile early.c'
cat >held.c <<'SOURCE'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	puts("ready");
	fflush(stdout);
	getchar();
	_Exit(0);
}
SOURCE
gcc -O1 -finstrument-functions -o held held.c || fail 'cannot compile held.c'
build_calls

ulimit -n 1024
start_daemon --sched on
mkfifo hold
LD_PRELOAD="$PWD/early.so:$SHIM" PERFREC_QUIET=1 \
	./held <hold >out 2>err &
exec 6>hold
wait_for 60 grep -q ready out
ls /proc/$collector/fd | wc -l >files
[ "$(cat files)" -lt 512 ] || fail "the daemon has $(cat files) descriptors open"
preload ./calls 10 >calls.out 2>calls.err
exec 6>&-
wait_for 60 has_summary calls
wait_for 60 has_summary held
expect_eq 'states of the other one' \
	"$(json data/calls-*/summary.json '.processes[0].threads[0].sched')" measured
expect_eq 'a note' "$(json data/held-*/summary.json \
	'[.notes[] | select(test("of the 301 threads that existed"))] | length')" 1
stop_daemon

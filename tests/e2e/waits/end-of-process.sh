# SPDX-License-Identifier: Apache-2.0
#
# A thread that waits when its process exits has a wait that says so; a thread that was
# cancelled in its wait has not.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"
perf_permitted || skip "the kernel reports no switches here"

cat >source.c <<'EOF'
#include <asleep.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static volatile pid_t waiter;

static void *wait_in_vain(void *unused)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push((void (*)(void *))pthread_mutex_unlock, &mutex);
	waiter = gettid();
	while (1)
		pthread_cond_wait(&never, &mutex);
	pthread_cleanup_pop(1);
	return unused;
}

static void *wait_until_exit(void *unused)
{
	return wait_in_vain(unused);
}

static void *wait_until_cancelled(void *unused)
{
	return wait_in_vain(unused);
}

int main(void)
{
	pthread_t cancelled, left;

	pthread_create(&cancelled, NULL, wait_until_cancelled, NULL);
	await_sleep(&waiter);
	pthread_cancel(cancelled);
	pthread_join(cancelled, NULL);
	waiter = 0;
	pthread_create(&left, NULL, wait_until_exit, NULL);
	await_sleep(&waiter);
	exit(0);
}
EOF
build ends -D_GNU_SOURCE -I "$TOP/tests/e2e/lib" -pthread <source.c
run_ok "$PERFREC" record -q -o data ./ends
run_ok "$PERFREC" replay data
grep -c 'waited on \[condition .*end of process' out >count
expect_eq 'waits until the end of the process' "$(cat count)" 1
run_ok "$PERFREC" report --view lock data
expect_match out 'until the process ended'
"$O/tests/tools/trace_check" data/trace.pftrace >wrong || fail "$(cat wrong)"

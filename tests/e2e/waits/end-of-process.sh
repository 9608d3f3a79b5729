# SPDX-License-Identifier: Apache-2.0
#
# A thread that waits when its process exits has a wait that says so; a thread that was
# cancelled in its wait has not.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"
perf_permitted || skip "the kernel reports no switches here"

cat >source.c <<'EOF'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int waiting;

static void *wait_in_vain(void *unused)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push((void (*)(void *))pthread_mutex_unlock, &mutex);
	waiting++;
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

static void until_waiting(int count)
{
	for (int now = 0; now < count; usleep(20000)) {
		pthread_mutex_lock(&mutex);
		now = waiting;
		pthread_mutex_unlock(&mutex);
	}
}

int main(void)
{
	pthread_t cancelled, left;

	pthread_create(&cancelled, NULL, wait_until_cancelled, NULL);
	until_waiting(1);
	pthread_cancel(cancelled);
	pthread_join(cancelled, NULL);
	pthread_create(&left, NULL, wait_until_exit, NULL);
	until_waiting(2);
	exit(0);
}
EOF
build ends -pthread <source.c
run_ok "$PERFREC" record -q -o data ./ends
run_ok "$PERFREC" replay data
grep -c 'waited on \[condition .*end of process' out >count
expect_eq 'waits until the end of the process' "$(cat count)" 1
run_ok "$PERFREC" report --view lock data
expect_match out 'until the process ended'
"$O/tests/tools/trace_check" data/trace.pftrace >wrong || fail "$(cat wrong)"

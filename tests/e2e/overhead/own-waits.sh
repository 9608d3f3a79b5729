# SPDX-License-Identifier: Apache-2.0
#
# A thread that waits for another one also waits for the hooks there. perfrec report
# --view lock estimates that part. Here all tiny calls are made while the other thread
# waits for them, so the cost of their hooks is the least estimate.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

perf_permitted || skip "the kernel reports no switches here"
"$PERFREC" record --help | grep -q -e --locks || skip "records no locks"

build turns -pthread <<'SOURCE'
#include <pthread.h>
#define ROUNDS 50
#define CALLS 20000
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER;
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
static int questions, answers;
__attribute__((noinline)) static void tiny(void) { __asm__ volatile(""); }
__attribute__((noinline)) static void answer(void)
{
	for (int i = 0; i < CALLS; i++)
		tiny();
}
static void *serve(void *unused)
{
	for (int i = 1; i <= ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		while (questions < i)
			pthread_cond_wait(&asked, &lock);
		pthread_mutex_unlock(&lock);
		answer();
		pthread_mutex_lock(&lock);
		answers = i;
		pthread_cond_signal(&answered);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}
__attribute__((noinline)) static void ask(int number)
{
	pthread_mutex_lock(&lock);
	questions = number;
	pthread_cond_signal(&asked);
	while (answers < number)
		pthread_cond_wait(&answered, &lock);
	pthread_mutex_unlock(&lock);
}
int main(void)
{
	pthread_t thread;

	pthread_create(&thread, 0, serve, 0);
	for (int i = 1; i <= ROUNDS; i++)
		ask(i);
	pthread_join(thread, 0);
	return 0;
}
SOURCE

run_ok "$PERFREC" record -q -o data ./turns
"$PERFREC" report --json --view lock --stacks data >locks.json ||
	fail 'report --view lock --stacks'
hooks=$(jq '.cost.hooks_ns' data/summary.json)
asked=$(jq '[.functions[] | select(.function == "ask") | .recording_ns] | add' \
	locks.json)
[ "$asked" -ge $((hooks / 2)) ] ||
	fail "waits in ask() have $asked ns of $hooks ns of hooks: $(cat locks.json)"
expect_eq 'locks and functions that lost more than they waited' "$(jq '[
	(.locks, .functions)[] | select(.recording_ns > .blocked_ns)] | length' locks.json)" 0
run_ok "$PERFREC" report --view lock data
expect_match out 'blocked\*  w/o perfrec  *waits'
# The rest is at most that: it is never printed as the time itself.
expect_match out '^ *[0-9.]* [mu]*s  *< [0-9.]* [mnu]*s  *[0-9]'

# Without hooks there is nothing to estimate.
build few -pthread <<'SOURCE'
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *run(void *unused)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return unused;
}
int main(void)
{
	volatile unsigned long work = 0;
	pthread_t thread;

	pthread_mutex_lock(&lock);
	pthread_create(&thread, 0, run, 0);
	while (work < 50000000)
		work++;
	usleep(20000);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, 0);
	return 0;
}
SOURCE
run_ok "$PERFREC" record -q -o rarely ./few
"$PERFREC" report --json --view lock rarely >few.json || fail 'report --view lock'
expect_eq 'an estimate without hooks' \
	"$(jq -c '[.locks[].recording_ns] | unique' few.json)" '[null]'

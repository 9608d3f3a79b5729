# SPDX-License-Identifier: Apache-2.0
#
# perfrec report --view lock: a lock in a variable has the name of that variable, of the
# program and of a library, with its place as in --view wait. A lock elsewhere has the
# functions that waited for it first. Programs that end at once have names as well.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

perf_permitted || skip "the kernel reports no switches here"
"$PERFREC" record --help | grep -q -e --locks || skip "records no locks"

cat >library.c <<'SOURCE'
#include <pthread.h>
pthread_mutex_t exported = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t *inner_lock(void) { return &inner; }
SOURCE
gcc -g -shared -fPIC -o liblibrary.so library.c || fail "the library does not compile"

cat >names.c <<'SOURCE'
#include <asleep.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

extern pthread_mutex_t exported, *inner_lock(void);
pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t hidden = PTHREAD_MUTEX_INITIALIZER;
struct {
	long number;
	pthread_mutex_t lock;
} server = { 0, PTHREAD_MUTEX_INITIALIZER };
struct job {
	pthread_mutex_t *lock;
	volatile pid_t tid;
};

__attribute__((noinline)) static void take(pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	__asm__ volatile("");
}
__attribute__((noinline)) static void worker(pthread_mutex_t *lock)
{
	take(lock);
	pthread_mutex_unlock(lock);
}
static void *run(void *pointer)
{
	struct job *job = pointer;

	job->tid = gettid();
	worker(job->lock);
	return 0;
}
int main(void)
{
	pthread_mutex_t local = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_t *heap = malloc(sizeof(*heap));
	pthread_mutex_t *locks[] = { &queue, &hidden, &server.lock, &exported,
				     inner_lock(), &local, heap };
	const int count = sizeof(locks) / sizeof(*locks);
	pthread_t threads[count];
	struct job jobs[count];

	pthread_mutex_init(heap, 0);
	for (int i = 0; i < count; i++) {
		jobs[i] = (struct job){ locks[i], 0 };
		pthread_mutex_lock(locks[i]);
		pthread_create(&threads[i], 0, run, &jobs[i]);
		await_sleep(&jobs[i].tid);
	}
	for (int i = 0; i < count; i++)
		pthread_mutex_unlock(locks[i]);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], 0);
	return 0;
}
SOURCE

# names FILE: of the mutexes of a recording of ./FILE.
names()
{
	run_ok "$PERFREC" record -q -o "$1.data" "./$1"
	"$PERFREC" report --json --view lock --limit 0 "$1.data" >locks.json ||
		fail "report --view lock"
	jq -r '.locks[].lock | select(startswith("mutex "))' locks.json |
		sed 's/ (0x[0-9a-f]*)/ (N)/; s/\([a-z]\)+0x[0-9a-f]*)/\1+N)/; s/\([a-z]\)+0x[0-9a-f]*$/\1+N/' |
		LC_ALL=C sort
}

# $1: file. The rest: options of the compiler.
compile()
{
	file=$1
	shift
	gcc -g -O1 -fno-optimize-sibling-calls -finstrument-functions "$@" \
		-D_GNU_SOURCE -I "$TOP/tests/e2e/lib" \
		-pthread -o "$file" names.c -L. -llibrary -Wl,-rpath,"$PWD" ||
		fail "$file does not compile"
}
compile pie -pie -fPIC
expect_eq 'names of locks' "$(names pie)" 'mutex exported (liblibrary.so+N)
mutex first waited for in take, called by worker (N)
mutex first waited for in take, called by worker (N)
mutex hidden (pie+N)
mutex inner (liblibrary.so+N)
mutex queue (pie+N)
mutex server+0x8 (pie+N)'

# --stacks: locks in no variable are one row for each stack that waited first.
"$PERFREC" report --json --view lock --stacks pie.data >stacks.json ||
	fail 'report --view lock --stacks'
expect_eq 'locks with one stack' "$(jq -c '[.locks[] | select(.count > 1) |
	[.count, .lock, .first_wait]]' stacks.json)" \
	'[[2,"mutex first waited for in take, called by worker",["take","worker","run"]]]'
expect_eq 'stacks of holders' "$(jq -c '[.locks[].holders[]?.stack] | unique' \
	stacks.json)" '[["main"]]'
for sum in .blocked_ns .waits .unknown_ns '(.hand_over_ns // 0)' \
	'([.holders[]?.blocked_ns] | add // 0)'; do
	expect_eq "the sum of $sum" "$(jq "[.locks[] | $sum] | add" stacks.json)" \
		"$(jq "[.locks[] | $sum] | add" locks.json)"
done
run_ok "$PERFREC" report --view lock --stacks pie.data
expect_match out '2 locks, first waited for in take < worker < run'

# The library's exported variable is copied into the program.
compile fixed -no-pie -fno-pie
expect_eq 'names of locks at fixed addresses' "$(names fixed)" \
	'mutex exported (fixed+N)
mutex first waited for in take, called by worker (N)
mutex first waited for in take, called by worker (N)
mutex hidden (fixed+N)
mutex inner (liblibrary.so+N)
mutex queue (fixed+N)
mutex server+0x8 (fixed+N)'

# Without symbols there is the place.
compile bare -pie -fPIC -s
expect_eq 'names of locks without symbols' "$(names bare | grep "bare+N$")" \
	'mutex bare+N
mutex bare+N
mutex bare+N'

# A program that is over before its map can be read.
cat >short.c <<'SOURCE'
#include <asleep.h>
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile pid_t waiter;
static void *run(void *unused)
{
	waiter = gettid();
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return unused;
}
int main(void)
{
	pthread_t thread;

	pthread_mutex_lock(&lock);
	pthread_create(&thread, 0, run, 0);
	await_sleep(&waiter);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, 0);
	return 0;
}
SOURCE
gcc -finstrument-functions -D_GNU_SOURCE -I "$TOP/tests/e2e/lib" -pthread -o short short.c || fail "short does not compile"
for run in 1 2 3 4 5; do
	run_ok "$PERFREC" record -q -o "short.$run" ./short
	"$PERFREC" dump "short.$run" | jq -r '.arguments.lock // empty' >locks
	expect_match locks '^mutex lock \(short\+0x'
	expect_no_match locks 'mutex 0x'
done

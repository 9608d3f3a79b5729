# SPDX-License-Identifier: Apache-2.0
# long: lets many allocations fail in turn
#
# An allocation of the collector fails, once, in one of its threads, or all fail
# from some number on. The program does not notice, and the daemon ends on request.
# Messages report losses, and a drain worker loses nothing that it can do a moment
# later. (A worker without memory for its list of programs never visited the new
# one: the program waited in block mode, and the daemon did not end. And
# summary.json lacked members without a message.)
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
program=
trap 'kill -KILL $collector $program 2>/dev/null' EXIT

# It calls leaf() 5,000 times and waits until ./go is there.
build calls <<'SOURCE'
#include <stdio.h>
#include <unistd.h>
static volatile long sum;
__attribute__((noinline)) static void leaf(long i) { sum += i; }
int main(void)
{
	for (long i = 0; i < 5000; i++)
		leaf(i);
	while (access("go", F_OK))
		usleep(10000);
	printf("%ld\n", sum);
	return 0;
}
SOURCE
: >go
./calls >expected
cat >fail.c <<'SOURCE'
/* Allocation number FAIL_AT of the threads called FAIL_THREAD... fails; with
 * FAIL_REST each later one fails, too. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
static long count;
static int fails(void)
{
	const char *thread = getenv("FAIL_THREAD"), *at = getenv("FAIL_AT");
	char name[16] = "";
	long is;

	if (!thread || !at || prctl(PR_GET_NAME, name) ||
	    strncmp(name, thread, strlen(thread)))
		return 0;
	is = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	if (is < atol(at) || (is > atol(at) && !getenv("FAIL_REST")))
		return 0;
	errno = ENOMEM;
	return 1;
}
void *malloc(size_t bytes)
{
	return fails() ? NULL : __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes)
{
	return fails() ? NULL : __libc_calloc(count, bytes);
}
void *realloc(void *block, size_t bytes)
{
	return fails() ? NULL : __libc_realloc(block, bytes);
}
SOURCE
${CC:-gcc} -O1 -fno-builtin -shared -fPIC -o libfail.so fail.c ||
	fail 'cannot compile fail.c'

# is_up: it listens, or has ended.
is_up()
{
	grep -q 'listening on' collect.log || ! kill -0 $collector 2>kill.err
}

# begin_failing THREAD NUMBER: a daemon below that, if it can begin.
begin_failing()
{
	export FAIL_THREAD="$1" FAIL_AT="$2"
	rm -rf data
	: >collect.log
	LD_PRELOAD=$PWD/libfail.so "$O/perfrec-collect" -o data --overhead off \
		--on-full block 2>collect.log &
	collector=$!
	unset FAIL_THREAD FAIL_AT
	wait_for 60 is_up
}

# program_ended WHAT STATUS: as it does by itself.
program_ended()
{
	[ $2 -eq 0 ] || fail "$1: the program ended with status $2"
	cmp -s out expected || fail "$1: the output of the program has changed"
}

end_failing()
{
	kill -TERM $collector 2>kill.err
	wait $collector
	status=$?
	collector=
	[ $status -le 1 ] || fail "$*: perfrec-collect: status $status"
}

failing()
{
	begin_failing "$@"
	preload timeout 200 ./calls >out 2>err
	program_ended "$*" $?
	end_failing "$@"
}

# members: the names of the members of each summary.
members()
{
	jq -c '[., .totals, .cost, .settings | keys]' data/calls-*/summary.json
}

failing none 1
members >whole
for at in 1 2 3 4; do
	begin_failing perfrec-drain $at
	rm -f go
	preload ./calls >out 2>err &
	program=$!
	wait_for 60 grep -E -q 'waits until it is recorded: out of memory' \
		collect.log
	: >go
	wait $program
	program_ended "drain $at" $?
	program=
	end_failing "drain $at"
	expect_eq "spans, lost ones and broken rings of drain $at" \
		"$(json data/calls-*/summary.json '.totals | .spans,
			.dropped_spans, .broken_rings' | tr '\n' ' ')" \
		'5001 0 0 '
done

# Some of each thread: all of them take minutes.
for one in perfrec-collect:5 perfrec-collect:17 perfrec-collect:70 \
		perfrec-collect:90 perfrec-drain:9 perfrec-drain:20 \
		perfrec-jobs:9 \
		perfrec-jobs:40 perfrec-jobs:90 perfrec-writer:1 \
		perfrec-writer:9 $(seq -f 'perfrec-jobs:%g' 200 50 700); do
	failing ${one%:*} ${one#*:}
	if [ $status -ne 0 ]; then
		expect_match collect.log 'emory|Resource temporarily'
	elif grep -q 'refused program' collect.log; then
		expect_none data/calls-*
	elif ! grep -q 'cannot write all of' collect.log; then
		members >some || fail "$one: no summary"
		cmp -s some whole || fail "$one: the summary is not whole"
		"$O/tests/tools/trace_check" data/calls-*/trace.pftrace ||
			fail "$one: a rule is broken"
	fi
done

# The program waits in block mode for a drain worker that gets no memory: until
# the daemon ends.
FAIL_REST=1
export FAIL_REST
for one in perfrec-drain:1 perfrec-drain:2 perfrec-drain:9 perfrec-collect:40 \
		perfrec-collect:90 perfrec-collect:130 perfrec-jobs:1 \
		perfrec-jobs:60 perfrec-jobs:400 perfrec-writer:1 \
		perfrec-writer:9; do
	begin_failing ${one%:*} ${one#*:}
	preload ./calls >out 2>err &
	program=$!
	wait_for 60 grep -E -q "emory|unavailable|recording '" collect.log
	end_failing "from $one on"
	wait $program
	program_ended "from $one on" $?
	program=
	members >some 2>members.err && cmp -s some whole ||
		expect_match collect.log 'emory|Resource temporarily'
done

# record_failing NUMBER: a recording that says nothing is whole.
quiet=0
record_failing()
{
	FAIL_THREAD=perfrec-collect FAIL_AT=$1 LD_PRELOAD=$PWD/libfail.so \
		"$PERFREC" record -q -o recorded -- ./calls >out 2>err
	status=$?
	if [ ! -s err ]; then
		quiet=$((quiet + 1))
		program_ended "record, $1" $status
		expect_eq "spans of record, $1" \
			"$(json recorded/summary.json .totals.spans)" 5001
	elif [ $status -eq 0 ]; then
		program_ended "record, $1" 0
	fi
	rm -rf recorded
}

# Where perfrec record cannot start, it says why.
for at in 1 10 20 30 40 45 50 55 60 65 70; do
	record_failing $at
done
expect_eq 'recordings without memory and without a word' $quiet 0

# The program itself is recorded, or the summary says why it is not. (A program
# whose connection found no memory was in no line.)
unset FAIL_REST
for at in $(seq 60 110); do
	record_failing $at
done
[ $quiet -lt 51 ] || fail 'no allocation of the connection mattered'
[ $quiet -gt 0 ] || fail 'no recording was whole'

# A snapshot keeps every rule, or it is said that it is not whole. (It lacked
# threads, and why.json said that nothing was missing.)
whole=0 partial=0
for at in $(seq 1 7 120); do
	rm -f go
	FAIL_THREAD=perfrec-flight FAIL_AT=$at LD_PRELOAD=$PWD/libfail.so \
		"$PERFREC" record -q --flight --margin 1ms \
		--trigger 'leaf > 1ns' -o recorded -- ./calls >out 2>err &
	program=$!
	wait_for 60 grep -q -E 'snapshot' err
	: >go
	wait $program
	program_ended "flight, $at" $?
	program=
	if grep -q 'memory: a snapshot is incomplete' err; then
		cat recorded/snapshots/*/why.json >why
		expect_match why 'Parts that found no memory: [1-9]'
		partial=$((partial + 1))
	elif ! grep -q 'emory' err; then
		for one in recorded/snapshots/*/trace.pftrace; do
			"$O/tests/tools/trace_check" "$one" ||
				fail "flight, $at: a rule is broken, and no word"
		done
		whole=$((whole + 1))
	fi
	rm -rf recorded
done
[ $partial -gt 0 ] || fail 'no allocation of the snapshot mattered'
[ $whole -gt 0 ] || fail 'no snapshot was whole'

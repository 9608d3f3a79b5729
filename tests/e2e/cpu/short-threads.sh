# SPDX-License-Identifier: Apache-2.0
#
# A program starts a thread for each task, which takes a twentieth of a sampling
# period of CPU time. The first thread works as much between the tasks. In the
# engine perf each thread began with a whole period, so all time was in one row
# "[not sampled]". In the engine signal the threads, shorter than a tick of the
# kernel, had an eighth of their samples. Now there are as many samples as the
# CPU time says, and each function has half.

. "$TOP/tests/e2e/lib.sh"
need jq

build tasks -O2 -g -pthread <<'SOURCE'
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

volatile uint64_t sink;

__attribute__((noinline)) void thread_work(uint64_t n)
{
	uint64_t s = n;

	for (uint64_t i = 0; i < n; i++) {
		s = s * 6364136223846793005ull + i;
		__asm__ volatile("" ::"r"(s));
	}
	sink = s;
}

__attribute__((noinline)) void main_work(uint64_t n)
{
	uint64_t s = n;

	for (uint64_t i = 0; i < n; i++) {
		s = s * 6364136223846793005ull + i;
		__asm__ volatile("" ::"r"(s));
	}
	sink = s;
}

static void *task(void *n)
{
	thread_work((uintptr_t)n);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t n = 500000;
	struct rusage used;

	for (int i = argc > 1 ? atoi(argv[1]) : 1500; i; i--) {
		pthread_t thread;

		pthread_create(&thread, NULL, task, (void *)n);
		main_work(n);
		pthread_join(thread, NULL);
	}
	getrusage(RUSAGE_SELF, &used);
	printf("%ld\n", (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
		(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000);
	return 0;
}
SOURCE
# function NAME: samples and CPU time in ns below a function, in two lines.
function_has()
{
	jq "[.functions[] | select(.name == \"$1\") | .total] |
		map(.samples) + [0], map(.cpu) + [0] | add" view.json
}

# check_cpu NAME [--cpu=...]: checks the samples and CPU time of ./tasks.
check_cpu()
{
	run "$PERFREC" record -q --alloc=off ${2:-} -o $1.data ./tasks
	expect_status 0
	ms=$(cat out)
	if jq -e '.notes | any(test("^no CPU samples"))' $1.data/summary.json \
		>/dev/null; then
		skip "perf_event is denied here"
	fi
	"$PERFREC" report --view cpu --json $1.data >view.json ||
		fail "$1: no view"
	set -- "$1" $(function_has main_work) $(function_has thread_work) \
		$(function_has '[short threads]')
	echo "$1, of $ms ms: main_work has $2 samples, $3 ns;" \
		"thread_work $4, $5; [short threads] $7 ns"
	# A shot stands for two periods of 99 Hz (samples_shot_periods()), and
	# on a busy machine some hit nothing: so half as many as periods, less
	# a fifth.
	[ $((($2 + $4) * 100)) -ge $((ms * 99 / 1000 * 40)) ] ||
		fail "$1: $2 and $4 samples, but $ms ms of CPU time"
	all=$(($3 + $5))
	[ $all -ge $((ms * 1000000 * 70 / 100)) ] ||
		fail "$1: only $all ns have functions"
	[ "$3" -ge $((all * 30 / 100)) ] && [ "$5" -ge $((all * 30 / 100)) ] ||
		fail "$1: main_work and thread_work do not have a half each"
	[ "$7" -le $((ms * 1000000 * 20 / 100)) ] ||
		fail "$1: $7 ns of $ms ms are [short threads]"
	jq -e '[.functions[].name | select(test("^.not sampled"))] == []' \
		view.json >/dev/null || fail "$1: the program has no samples"
}

# Timers of the program miss more short threads where these are preempted: so one
# of four tries.
(check_cpu signal --cpu=99,signal) || (check_cpu signal --cpu=99,signal) ||
	(check_cpu signal --cpu=99,signal) || check_cpu signal --cpu=99,signal
check_cpu perf --cpu=99,perf
check_cpu usual

# The same with a child for each task, which was in a row "[short processes]".
sed -e 's/static void \*task(void \*n)/static void task(void *n)/' \
	-e 's/^	return NULL;/	_exit(0);/' \
	-e 's/pthread_t thread;/pid_t child = fork();/' \
	-e 's/pthread_create(.*/if (!child) task((void *)n);/' \
	-e 's/pthread_join(.*/waitpid(child, NULL, 0);/' \
	-e 's/getrusage(RUSAGE_SELF/getrusage(RUSAGE_CHILDREN/' \
	-e 's/#include <pthread.h>/#include <sys\/wait.h>\n#include <unistd.h>/' \
	tasks.c >forks.c
${CC:-gcc} -O2 -g -o forks forks.c || fail 'cannot compile forks.c'
check_forks()
{
	rm -rf forks.data
	run "$PERFREC" record -q --alloc=off --cpu=99 -o forks.data ./forks
	expect_status 0
	ms=$(cat out)
	"$PERFREC" report --view cpu --json forks.data >view.json ||
		fail "no view"
	set -- $(function_has thread_work)
	echo "perf, of $ms ms in children: $1 samples, $2 ns"
	[ $(($1 * 100)) -ge $((ms * 99 / 1000 * 40)) ] ||
		fail "$1 samples, but $ms ms of CPU time in children"
	[ "$2" -ge $((ms * 1000000 * 60 / 100)) ] ||
		fail "only $2 ns of $ms ms in children have functions"
}
# The collector begins to sample a child when it gets a CPU: where it waits for
# longer than the child works, there is no sample.
(check_forks) || (check_forks) || (check_forks) || check_forks

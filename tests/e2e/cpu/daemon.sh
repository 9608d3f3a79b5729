#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# CPU time in a daemon (perfrec-collect(1)): of what a program forks, too, and
# of what it executes in recordings of their own, each once; not of what cannot
# load the library.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need jq

cat >children.c <<'SOURCE'
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void spend(void)
{
	struct timespec time = { 0 };
	volatile long sum = 0;

	while (time.tv_sec * 1000 + time.tv_nsec / 1000000 < 40) {
		for (int i = 0; i < 1000; i++)
			sum += i;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	}
}
static long long used(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000LL +
	       usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}
int main(int argc, char **argv)
{
	for (int i = 0; argc > 1 && i < 10; i++) {
		if (fork() == 0) {
			if (argc > 2)
				execl(argv[2], argv[2], (char *)0);
			spend();
			_exit(argc > 2);
		}
		wait(NULL);
	}
	spend();
	if (argc > 1)
		printf("%lld %lld\n", used(RUSAGE_SELF),
		       used(RUSAGE_CHILDREN));
	return 0;
}
SOURCE
${CC:-gcc} -O1 -o children children.c || fail 'cannot compile'
start_daemon --cpu=10,perf

# record COUNT ARGUMENT...: the program, of which there are COUNT recordings
# then; $sum is the CPU time in all of them, and $own, $others what getrusage()
# says, in us.
record()
{
	count=$1
	shift
	rm -rf data/*
	LD_PRELOAD=$SHIM ./children "$@" >used 2>err || fail "$(cat err)"
	read -r own others <used
	wait_for 60 has_summaries
	cat data/*/summary.json >all.json
	if jq -e '.notes | any(test("^no CPU samples"))' all.json >/dev/null; then
		skip 'perf_event is denied here'
	fi
	sum=$(jq -s '[.[].totals.cpu_ns] | add / 1000 | floor' all.json)
}
has_summaries()
{
	[ "$(find data -name summary.json | wc -l)" -eq "$count" ]
}

# expect_sum WHAT US: what is recorded is that, but for what comes before the
# hello, and the end of a process.
expect_sum()
{
	[ $((sum * 100)) -ge $(($2 * 75)) ] && [ $((sum * 100)) -le $(($2 * 125)) ] ||
		fail "$1: $sum us of $2"
}

record 1 fork
expect_sum 'forked children' $((own + others))
record 11 exec ./children
expect_sum 'executed programs' $((own + others))
if ${CC:-gcc} -O1 -static -o still children.c 2>/dev/null; then
	record 1 exec ./still
	expect_sum 'the program, not what is static' "$own"
fi
stop_daemon

# SPDX-License-Identifier: Apache-2.0
#
# --faults: each page fault in user mode counts for the innermost call, in every
# thread and forked child; without it they are null. Their number is known: each
# new page of a mapping without huge pages.
. "$TOP/tests/e2e/lib.sh"

build faults <<'SOURCE'
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define NO_HOOKS __attribute__((no_instrument_function))
__attribute__((noinline)) static void touch(volatile char *page, int pages)
{
	for (int i = 0; i < pages; i++)
		page[i * 4096L] = 1;
}
__attribute__((noinline)) static void few(char *page) { touch(page, 10); }
__attribute__((noinline)) static void many(char *page) { touch(page, 1000); }
__attribute__((noinline)) static void both(volatile char *page)
{
	page[0] = page[4096] = 1;
	few((char *)page + 2 * 4096);
	page[12 * 4096] = 1;
}
__attribute__((noinline)) static void none(char *page) { touch(page, 1000); }
NO_HOOKS static void *run(void *unused)
{
	char *memory = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || madvise(memory, 8 << 20, MADV_NOHUGEPAGE))
		_exit(1);
	many(memory);
	none(memory);
	for (int i = 0; i < 5; i++)
		both(memory + (4 << 20) + i * 13 * 4096);
	munmap(memory, 8 << 20);
	return unused;
}
NO_HOOKS int main(void)
{
	pthread_t thread[3];
	pid_t pid;

	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, run, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	pid = fork();
	if (!pid) {
		run(NULL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return 0;
}
SOURCE

# function NAME FIELD
function()
{
	jq "[.functions[] | select(.name == \"$1\") | .$2] | .[0]" \
		data/summary.json
}

# at_least_most WHAT IS LEAST MOST
between()
{
	[ "$2" -ge "$3" ] && [ "$2" -le "$4" ] ||
		fail "$1: $2 is not from $3 to $4"
}

# check WITH: of the last recording. Each of four runs of run() has 1,000 pages in
# many(), and five times both() with 3 of its own and 10 in few(). The code itself
# faults for a page or two when it first runs.
check()
{
	between "$1: touch" "$(function touch faults_self)" 4200 4210
	between "$1: many" "$(function many faults)" 4000 4010
	between "$1: few" "$(function few faults)" 200 210
	between "$1: few itself" "$(function few faults_self)" 0 5
	between "$1: both itself" "$(function both faults_self)" 60 70
	between "$1: both" "$(function both faults)" 260 275
	# The child that was forked shares what its parent had.
	between "$1: none" "$(function none faults)" 0 10
}

run_ok "$PERFREC" record -q --faults -o data ./faults
if jq -e '.notes | any(test("perf_event_open"))' data/summary.json >/dev/null; then
	echo 'perf_event_open is not permitted here'
	exit 77
fi
expect_eq 'nothing is lost' "$(json data/summary.json .totals.lost_cpu_samples)" 0
check 'with samples and switches'
run_ok "$PERFREC" report --view span --sort faults data
grep -q ' faults .*function$' out || fail 'no column of faults'
expect_eq 'the first row' "$(awk 'rows { print $NF == "[faults]" ? $(NF - 1) : $NF; exit }
	/function$/ { rows = 1 }' out)" touch
run "$PERFREC" record -q --faults --cpu off --sched off --alloc off -o data ./faults
check 'alone'

run "$PERFREC" record -q -o data ./faults
expect_eq 'without --faults' "$(function touch faults)" null
run "$PERFREC" report --view span --sort faults data
expect_status 1
grep -q 'record with --faults' err || fail 'not told what to do'

# SPDX-License-Identifier: Apache-2.0
#
# A program with more children than the collector has files for: all of them are
# recorded, to the last call, and they keep no other program out. With 1,024
# processes a daemon refused all others; where the files were used up it took
# the next child for a lie, and ended the whole recording.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

build_calls
# kids N FIFO: N children call leaf(), wait for the end of FIFO, and call it
# again; every other one ends by _exit().
build kids <<'SOURCE'
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }
static void child(const char *path, int i)
{
	char byte;
	int fd;

	leaf();
	fd = open(path, O_RDONLY);
	while (read(fd, &byte, 1) > 0)
		;
	leaf();
	if (i % 2)
		_exit(0);
	exit(0);
}
int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[1]) : 0, bad = 0, status;

	alarm(600); /* whatever becomes of the test */
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (!pid)
			child(argv[2], i);
	}
	for (int i = 0; i < count; i++)
		bad += wait(&status) < 0 || status;
	return bad ? 1 : 7;
}
SOURCE
KIDS=120
mkfifo hold

processes()
{
	"$PERFREC" ctl stats --json 2>/dev/null | jq .stats.processes
}
all_met()
{
	[ "$(processes)" -gt $KIDS ]
}

# try OPTION...: of the daemon.
try()
{
	rm -rf data
	: >collect.log
	(ulimit -n 300; exec "$O/perfrec-collect" -o data --on-full block "$@" \
		2>collect.log) &
	collector=$!
	wait_for 60 grep -q 'listening on' collect.log
	preload ./kids $KIDS hold &
	kids=$!
	exec 6>hold
	wait_for 60 all_met

	# The other program is recorded, before they end.
	PERFREC_DEADLINE_MS=20000 LD_PRELOAD=$SHIM ./calls 1000 7 >out 2>err
	expect_eq 'status of the other one' $? 7
	[ ! -s err ] || fail "$(cat err)"
	wait_for 60 has_summary calls
	expect_eq 'spans of the other one' \
		"$(json data/calls-*/summary.json .totals.spans)" 1002

	exec 6>&-
	wait $kids
	expect_eq 'status of the program' $? 7
	# The collector also finds their ends.
	wait_for 60 has_summary kids
	expect_eq 'spans, lost, processes' "$(json data/kids-*/summary.json '
		[([.functions[] | select(.name == "leaf") | .calls] | add),
		.totals.broken_rings + .totals.dropped_spans,
		.totals.processes] | join(" ")')" \
		"$((2 * KIDS)) 0 $((KIDS + 1))"
	few=$(json data/kids-*/summary.json .totals.unwatched_processes)
	[ "$few" -gt $((KIDS / 2)) ] && [ "$few" -lt $KIDS ] ||
		fail "$few of $KIDS are not watched"
	stop_daemon
	"$O/tests/tools/trace_check" data/kids-*/trace.pftrace >check.out ||
		fail "the trace: $(cat check.out)"
}

# Each process takes two more with CPU samples.
try --cpu off --sched off --overhead off
run_ok "$PERFREC" report data/kids-*
expect_match out 'unwatched +[0-9]* children of a program with very many'
# With the descriptors that changing functions takes.
try --cpu off --sched off --count child

# SPDX-License-Identifier: Apache-2.0
#
# The refusals of a daemon and their messages; the programs do their work.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

build_calls
./calls 1000 >expected

calls()
{
	LD_PRELOAD=$SHIM ./calls 1000 7 >out 2>err
	expect_eq 'status' $? 7
	cmp -s out expected || fail 'output has changed'
}
folders()
{
	find data -mindepth 1 -type d | wc -l
}

# --max-total: the first one does not know that it is too large.
start_daemon --max-total 1000
calls
[ ! -s err ] || fail "$(cat err)"
wait_for 60 has_summary calls
# The daemon counts the bytes of a recording after it has written the summary.
complete()
{
	"$PERFREC" ctl stats --json 2>/dev/null |
		jq -e '.stats.going_on == 0 and .stats.finishing == 0' >/dev/null
}
wait_for 60 complete
for i in $(seq 30); do
	calls
	expect_match err '^perfrec: not recording: .*too many|refused|limit'
done
expect_eq 'folders' "$(folders)" 1
expect_match collect.log \
	'refused program with pid [0-9]*: the recordings have reached --max-total'
# Not one line for each.
lines=$(grep -c refused collect.log)
[ "$lines" -lt 30 ] || fail "$lines lines"
stop_daemon

# Few files: some programs are refused, and the daemon serves on.
build waits <<'SOURCE'
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) static void leaf(void) { usleep(1000); }
int main(int argc, char **argv)
{
	alarm(600); /* whatever becomes of the test */
	leaf();
	fclose(fopen(argv[1], "w"));
	while (access("go", F_OK) < 0)
		leaf();
	return argc == 2 ? 7 : 1;
}
SOURCE
rm -rf data
: >collect.log
(ulimit -n 40; exec "$O/perfrec-collect" -o data 2>collect.log) &
collector=$!
wait_for 60 grep -q 'listening on' collect.log
programs=
for i in $(seq 20); do
	LD_PRELOAD=$SHIM PERFREC_QUIET=1 ./waits "up.$i" &
	programs="$programs $!"
done
for i in $(seq 20); do
	wait_for 60 test -e "up.$i"
done
: >go
for pid in $programs; do
	wait "$pid"
	expect_eq 'status with few files' $? 7
done
expect_match collect.log 'too many files are open|Too many open files'
# It closes the files of what has ended a moment later.
recorded()
{
	calls
	[ ! -s err ]
}
wait_for 60 recorded
wait_for 60 has_summary calls
expect_eq 'spans' "$(json data/calls-*/summary.json .totals.spans)" 1002
stop_daemon

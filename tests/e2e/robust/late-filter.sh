# SPDX-License-Identifier: Apache-2.0
#
# A collector that needs long to find the excluded functions delays a program no
# longer than the deadline. Spans of excluded functions before that are left out of
# all files, counted and reported.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

# ./calls: from its first call on names may be read.
build calls <<'SOURCE'
#include <stdio.h>
#include <unistd.h>
static volatile long sum;
__attribute__((noinline)) static void leaf(long i) { sum += i; }
__attribute__((noinline)) static void work(void)
{
	for (long i = 0; i < 10; i++)
		leaf(i);
}
int main(void)
{
	work();
	unlink("stall");
	printf("%ld\n", sum);
	return 0;
}
SOURCE
# The collector gives it 5 seconds.
cat >reader <<SCRIPT
#!/bin/sh
while [ -e "$PWD/stall" ]; do sleep 0.02; done
exec "$O/perfrec-reader"
SCRIPT
chmod +x reader
PERFREC_READER=$PWD/reader
export PERFREC_READER

# record DEADLINE: in $folder, if the reply to the hello kept it.
record()
{
	start_daemon --exclude leaf
	PERFREC_DEADLINE_MS=$1 preload ./calls >out || fail "exit status $?"
	expect_eq output "$(cat out)" 45
	stop_daemon
	folder=$(echo data/calls-*)
}
# figures: programs that did not wait, spans that were left out, and other spans.
figures()
{
	json "$folder/summary.json" \
		'.totals | "\(.early_starts) \(.filtered_spans) \(.spans)"'
}

for deadline in 1000 2000 3000; do
	: >stall
	record $deadline
	[ ! -e "$folder/summary.json" ] || break
done
expect_eq 'early, left out, spans' "$(figures)" '1 10 2'
expect_eq 'functions' \
	"$(json "$folder/summary.json" '[.functions[].name] | sort | join(" ")')" \
	'main work'
run "$PERFREC" report "$folder"
expect_match out 'early +1 program started before its filters were applied'
expect_match out 'left out +10 calls of excluded functions, which the program had recorded'
"$O/tests/tools/trace_check" "$folder/trace.pftrace" >check.log ||
	fail "$(cat check.log)"

# With enough time the program waits, and records none of them.
record 60000
expect_eq 'with all the time: early, left out, spans' "$(figures)" '0 0 2'

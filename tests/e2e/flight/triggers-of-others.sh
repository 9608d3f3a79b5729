# SPDX-License-Identifier: Apache-2.0
#
# Counters, annotations, signals and crashes fire their triggers, and a trigger
# that matches nothing causes a message. The debug log of the daemon has a line
# for each trigger that fires.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

fired()
{
	grep -c "trigger '.*$1" collect.log || :
}

has_fired()
{
	grep -q "trigger '.*$1" collect.log
}

build tells -I "$TOP/preload" <<'SOURCE'
#include <perfrec.h>
#include <pthread.h>
PERFREC_COUNTER(queue, "queue", PERFREC_COUNTS, 0);
PERFREC_COUNTER_TIMES(lag, "lag", PERFREC_NS, PERFREC_DOUBLE, 1000);
PERFREC_COUNTER(jobs, "jobs", PERFREC_COUNTS, PERFREC_INCREMENTAL);
PERFREC_COUNTER(own, "own", PERFREC_COUNTS,
		PERFREC_INCREMENTAL | PERFREC_PER_THREAD);
static void *more(void *unused)
{
	PERFREC_COUNT(&own, 3);
	for (int i = 0; i < 5; i++)
		PERFREC_COUNT(&jobs, 1);
	return unused;
}
int main(void)
{
	static const int values[] = { 5, 11, 12, 10, 13 };
	pthread_t thread[2];

	for (int i = 0; i < 5; i++)
		PERFREC_COUNT(&queue, values[i]);
	PERFREC_COUNT(&lag, 1.5);
	PERFREC_COUNT(&lag, 2.5);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], 0, more, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], 0);
	PERFREC_INSTANT("help");
	PERFREC_TRIGGER("help", "n", 1);
	PERFREC_INSTANT("late one");
	PERFREC_MARK("late mark");
	PERFREC_TRIGGER("x", PERFREC_NAME, "renamed");
	return 0;
}
SOURCE
start_daemon --log debug --flight --alloc=exact --on-full block \
	--trigger 'counter queue > 10' --trigger 'counter lag > 2us' \
	--trigger 'counter jobs >= 10' --trigger 'counter own > 2' \
	--trigger 'annotation late*' --trigger 'counter heap: alloc* > 1' \
	--trigger 'signal USR1'
run_ok preload ./tells
wait_for 60 has_summary tells

# --- a signal, while something is recorded
mkfifo hold
build waits <<'SOURCE'
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
	char go;

	return (int)read(open("hold", O_RDONLY), &go, 1);
}
SOURCE
preload ./waits &
waits=$!
exec 3>hold
# Its folder is there a moment before.
is_listed()
{
	"$PERFREC" ctl list --json | jq -e '.programs[] | select(.program == "waits")' \
		>listed
}
wait_for 60 is_listed
kill -USR1 "$collector"
wait_for 60 has_fired 'USR1'
exec 3>&-
wait $waits

# --- crashes, and ends that are no crash
build dies <<'SOURCE'
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	(void)argc;
	kill(getpid(), atoi(argv[1]));
	pause();
	return 0;
}
SOURCE
for number in 11 9 15; do
	cp dies "dies-$number"
	run preload "./dies-$number" $number
	expect_status $((128 + number))
	wait_for 60 has_summary "dies-$number"
done
stop_daemon
expect_eq queue "$(fired "counter 'queue'")" 2
expect_eq lag "$(fired "counter 'lag'")" 1
expect_eq jobs "$(fired "counter 'jobs'")" 1
expect_eq 'own of each thread' "$(fired "counter 'own'")" 2
expect_eq help "$(fired "annotation 'help'")" 1
expect_eq late "$(fired "annotation 'late ")" 2
expect_eq renamed "$(fired "annotation 'renamed'")" 1
expect_eq 'signals' "$(fired "signal ''")" 1
[ "$(fired "counter 'heap: allocated'")" -ge 1 ] || fail 'no heap counter'
expect_eq 'no TERM' "$(fired "crash 'dies-15'")" 0
# Before Linux 6.15 the parent may be too early.
if [ "$(printf '6.15\n%s\n' "$(uname -r)" | sort -V | head -1)" = 6.15 ]; then
	expect_eq SEGV "$(fired "crash 'dies-11'")" 1
	expect_eq KILL "$(fired "crash 'dies-9'")" 1
fi

# --- names that nothing has
build_calls
run_ok "$PERFREC" record --flight -o none --trigger 'lea > 5ms' \
	--trigger 'work > 1s' --trigger 'counter c > 1' \
	--trigger 'annotation a' -- ./calls 10
expect_match err "'lea > 5ms': no function .* [(]did you mean 'leaf'[?][)]" \
	"'counter c > 1': no counter" "'annotation a': no annotation"
expect_no_match err "'work > 1s'"

# --- a function with a trigger is recorded, whatever else is asked for
run_ok "$PERFREC" record -q --flight --count 'lea*' -o counted \
	--trigger 'work > 1000s' -- ./calls 5000
[ "$(json counted/summary.json .totals.counted_calls)" -gt 4000 ] ||
	fail 'leaf() is not counted'
run_ok "$PERFREC" record -q --flight --count 'lea*' -o recorded \
	--trigger 'leaf > 1000s' -- ./calls 5000
expect_eq 'calls that were only counted' \
	"$(json recorded/summary.json .totals.counted_calls)" 0

# SPDX-License-Identifier: Apache-2.0
# long: compares two traces packet by packet, in twenty ranges
# timeout: 240
#
# --keep last keeps the newest part of a trace. That part is a whole trace: packet
# by packet, it shows the same as the full trace from some moment on, raw and
# compressed, with each kind of event, with its index and without it. Its files
# respect the limit on the disk. The counts are those of the whole run.
. "$TOP/tests/e2e/lib.sh"
need python3

prog trace/ranges
prog trace/coroutines
build bulk <<'SOURCE'
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) static void leaf(void)
{
	__asm__ volatile("");
}
__attribute__((noinline)) static void nest(int depth)
{
	leaf();
	if (depth)
		nest(depth - 1);
	leaf();
}
int main(int count, char **words)
{
	int rounds = count > 1 ? atoi(words[1]) : 1;

	for (int i = 0; i < rounds; i++) {
		for (int j = 0; j < 300; j++)
			nest(20);
		usleep(10000);
	}
	return 0;
}
SOURCE
# In a round of bulk.
calls=$((300 * 21 * 3))

# check DIR: a trace without its oldest part, and its index.
check()
{
	"$O/tests/tools/trace_check" --json "$1/trace.pftrace" >trace.json ||
		fail "$1: a rule is broken"
	expect_none "$1/trace.head" "$1/.trace.joined" "$1/.trace.head.new"
	[ "$(json "$1/summary.json" .totals.trace_given_up_bytes)" -gt 0 ] ||
		fail "$1: nothing was given up"
	[ "$(json "$1/summary.json" .totals.trace_from_ns)" -gt 0 ] ||
		fail "$1: the trace does not say when it begins"
	expect_eq "$1: trace_stopped" \
		"$(json "$1/summary.json" .totals.trace_stopped)" null
	"$PERFREC" report "$1" >out || fail "$1: no report"
	expect_match out '^  trace      begins at [0-9.]+ [mu]?s: the older [0-9.]+ [KM]iB were discarded \(--keep last\)$'
	cp "$1/trace.index" index.first
	run_ok "$PERFREC" index "$1"
	cmp -s index.first "$1/trace.index" || fail "$1: another index"
}

# Processes: one is very busy, and one has contexts. The whole trace stays as
# whole.pftrace, because no file system can make holes here.
LD_PRELOAD=$O/tests/progs/libkeep_whole_preload.so \
	run "$PERFREC" record -q --on-full=block --sched on --compress=off \
	--keep last --max-size 8M -o data -- \
	sh -c './ranges 100 & ./bulk 60; ./coroutines >stacks; wait'
expect_status 0
mkdir whole
mv data/whole.pftrace whole/trace.pftrace || fail 'nothing was given up'
check data
expect_eq 'calls of nest' "$(json data/summary.json \
	'[.functions[] | select(.name == "nest").calls] | add')" \
	$((60 * 300 * 21))
python3 "$TOP/tests/tools/kept_same.py" --count 8 "$PERFREC" data whole ||
	fail 'what was kept is not the end of the whole'
python3 "$TOP/tests/tools/cut_same.py" --count 2 --short "$PERFREC" \
	data || fail 'a cut by the index is another one'
rm data/trace.index
python3 "$TOP/tests/tools/kept_same.py" --count 2 "$PERFREC" data whole ||
	fail 'without the index it is not'

# On file systems that can take bytes out of a file, and in memory. Its files
# take no more than 8 MiB, and the index.
limit=$((9 << 11))
look()
{
	now=$(find "$dir" -name '*trace*' -printf '%b + ' 2>/dev/null)
	now=$((${now}0))
}
record()
{
	dir=$1
	shift
	"$PERFREC" record -q --on-full=block --alloc=off --cpu=off --sched off \
		--keep last --max-size 8M -o "$dir" "$@" &
	recorder=$!
	most=0
	while kill -0 $recorder 2>/dev/null; do
		look
		# Bytes that moved from one file to the other meanwhile counted
		# twice.
		[ $now -le $limit ] || look
		[ $now -le $most ] || most=$now
		sleep 0.02
	done
	wait $recorder || fail "status $?"
	echo "$dir: at most $((most * 512)) bytes"
	[ $most -le $limit ] || fail "$dir takes too much"
}
record raw --compress=off -- ./bulk 60
check raw
expect_eq 'spans' "$(json raw/summary.json .totals.spans)" $((60 * calls + 1))
size=$(stat -c %s raw/trace.pftrace)
[ "$size" -gt $((5 << 20)) ] || fail "only $size bytes were kept"
[ $(($(stat -c %b raw/trace.pftrace) * 512)) -ge $((size / 2)) ] ||
	fail 'the trace has a hole'
if [ -d /dev/shm ] && memory=$(mktemp -d /dev/shm/keep-last.XXXXXX); then
	trap 'rm -rf "$memory"' EXIT
	record "$memory/data" --compress=off -- ./bulk 60
	check "$memory/data"
fi

# A thread for each task. The switches of a thread may lie in the trace behind all
# its calls, as they are written in hundreds. Each such thread has its process.
build tasks -pthread <<'SOURCE'
#include <pthread.h>
__attribute__((noinline)) static void nest(int depth)
{
	if (depth)
		nest(depth - 1);
	__asm__ volatile("");
}
static void *run(void *context)
{
	for (int i = 0; i < 40; i++)
		nest(300);
	return context;
}
int main(void)
{
	for (int i = 0; i < 800; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	return 0;
}
SOURCE
run_ok "$PERFREC" record -q --on-full=block --alloc=off --cpu=off --compress=off \
	--keep last --max-size 8M -o tasks-data ./tasks
check tasks-data
"$O/tests/tools/trace_check" --importer tasks-data/trace.pftrace >lines ||
	fail 'trace_check --importer'
expect_eq 'threads without a process' "$(grep -c '^thread	[0-9]*	-' lines)" 0

# Losses of programs that the trace no longer contains are counted, but the trace
# has no mark for them.
record_lossy()
{
	rm -rf lossy
	PERFREC_RING_KB=64 run "$PERFREC" record -q --on-full=drop --alloc=off \
		--cpu=off --compress=off --keep last --max-size 8M -o lossy -- sh -c \
		'for i in 1 2 3 4; do ./bulk 1; done
		exec env PERFREC_RING_KB=4096 ./bulk 60'
	expect_status 0
	lost=$(json lossy/summary.json .totals.dropped_spans)
}
# A collector that gets a CPU each time loses nothing.
for again in 1 2 3 4 5 6 7 8 9 10; do
	record_lossy
	[ "$lost" -eq 0 ] || break
done
[ "$lost" -gt 0 ] || fail "nothing was lost, $again times"
check lossy

# The collector is killed after the trace dropped a part. Readers, also perfrec
# report, read the two files as one; then the files are joined.
"$PERFREC" record -q --on-full=block --alloc=off --cpu=off --compress=off \
	--keep last --max-size 8M -o killed ./bulk 1000000 &
recorder=$!
given_up()
{
	[ -e killed/trace.head ]
}
wait_for 60 given_up
collector=$(pgrep -P $recorder -x perfrec-collect) || fail 'no collector'
program=$(pgrep -P $recorder -x bulk) || fail 'no program'
kill -9 "$collector"
kill "$program"
wait $recorder
run_ok "$PERFREC" report killed
expect_match out 'nest'
run "$PERFREC" open killed
expect_status 1
expect_match err 'is in two files'
run_ok "$PERFREC" report --repair killed
expect_none killed/trace.head killed/.trace.joined
[ -s killed/trace.index ] || fail 'no index'
"$O/tests/tools/trace_check" --allow-open --allow-cut killed/trace.pftrace ||
	fail 'killed: a rule is broken'

# Less than that: all of it is there.
run_ok "$PERFREC" record -q --keep last --max-size 8M -o all ./bulk 2
expect_eq 'given up' "$(json all/summary.json .totals.trace_given_up_bytes)" 0
expect_eq 'slices' "$("$O/tests/tools/trace_check" --counts all/trace.pftrace |
	awk '$2 == "nest" { print $1 }')" $((2 * 300 * 21))
[ -s all/trace.index ] || fail 'no index'

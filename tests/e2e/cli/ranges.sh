# SPDX-License-Identifier: Apache-2.0
# timeout: 3000
# long: compares many random ranges with each slice of a trace
#
# perfrec report --from, --to and --thread, and perfrec find, compared with a
# reading of each slice of the trace (tools/range_oracle.py): coroutines,
# exceptions, deep recursion, raw and compressed, and a trace without its end.
# Then the notes about ranges, and the refusals.
. "$TOP/tests/e2e/lib.sh"
need python3

# agrees FOLDER COUNT [OPTION...]
agrees()
{
	folder=$1
	count=$2
	shift 2
	python3 "$TOP/tests/tools/range_oracle.py" --count "$count" "$@" \
		"$PERFREC" "$O/tests/tools/trace_check" "$folder" ||
		fail "$folder: a range is not what its slices are"
}

prog trace/coroutines
run_ok timeout 100 "$PERFREC" record --alloc=off --cpu=off -q -o co \
	./coroutines 1
agrees co 25 --demand calls,clipped,recursion,contexts

cat >throws.cc <<'SOURCE'
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
template <class T> __attribute__((noinline)) T fall(T n)
{
	if (n <= 0)
		throw n;
	T got = fall<T>(n - 1);
	__asm__ volatile("");
	return got + 1;
}
__attribute__((noinline)) int attempt(int n)
{
	if (n == 16)
		usleep(2000);
	try {
		return fall(n);
	} catch (int caught) {
		return caught;
	}
}
struct wide {
	int n;
	__attribute__((noinline)) bool operator>(int other) const { return n > other; }
};
int main()
{
	int sum = 0;
	for (int i = 0; i < 100; i++)
		sum += attempt(i % 17) + (wide{ i } > 5);
	printf("%d\n", sum);
	_Exit(0); // main has no end
}
SOURCE
${CXX:-g++} -O1 -g -finstrument-functions -o throws throws.cc ||
	fail 'cannot compile throws.cc'
run_ok "$PERFREC" record --alloc=off --cpu=off --compress -q -o throws.data ./throws
agrees throws.data 25 --demand calls,clipped,recursion

# The trace also has waits and samples. A reader that starts in the middle does
# not know their starts, and must not report damage.
build naps -pthread <<'SOURCE'
#include <pthread.h>
#include <unistd.h>
__attribute__((noinline)) static void nap(int us) { usleep((unsigned int)us); }
__attribute__((noinline)) static void tick(void) { __asm__ volatile(""); }
__attribute__((noinline)) static void spin(void)
{
	for (int i = 0; i < 25; i++)
		tick();
}
__attribute__((noinline)) static void *run(void *unused)
{
	for (int i = 0; i < 200; i++) {
		nap(1500);
		spin();
	}
	return unused;
}
int main(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
SOURCE
run_ok "$PERFREC" record --cpu=999 -q -o naps.data ./naps
agrees naps.data 25 --demand calls,clipped

# In half of a trace, open calls last until its end.
cp -r co half
truncate -s "$(($(stat -c %s half/trace.pftrace) / 2))" half/trace.pftrace
agrees half 15 --allow '--allow-open --allow-cut' --demand unfinished

# --- operators ---
run "$PERFREC" find --json 'wide::operator>(int) const > 0ns' throws.data
expect_eq 'calls of operator>' "$(json out '.calls_of_function')" 100
run "$PERFREC" find --json 'wide::operator>' throws.data
expect_eq 'the same without parameters' "$(json out .matched)" 100

# --- notes ---
says()
{
	run_ok "$PERFREC" report "$@"
}
tid=$("$PERFREC" find --json --limit 1 main throws.data | jq '.calls[0].tid')
says --thread "$tid" throws.data
expect_match out '^perfrec: a part of throws\.data$'
expect_match out '^  range      all of the recording: '
expect_match out "^  calls      [0-9,]+ of 1 thread in 1 process: only of thread $tid\$"
expect_match out '^  lost       nothing$'
expect_match out 'self time +% +total +max +function$'
expect_match out ' fall<'
expect_no_match out 'clipped'
# A range within the nap of the first attempt(16), from one ms after its start.
begin=$("$PERFREC" find --json --sort time --limit 17 attempt throws.data |
	jq '.calls[16].begin_ns + 1000000')
says --from "${begin}ns" --to "$((begin + 1))ns" throws.data
expect_match out '^  range      [0-9.]+[mu]?s to [0-9.]+[mu]?s: 1 ns of the recording.s '
expect_match out '^  clipped    2 began before it, 2 ended after it: '
expect_match out '^ +1 +1 ns +100\.0 +1 ns +-  attempt\(int\)$'
says --from 0s --sort max --limit 1 throws.data
expect_match out '^  range      0s to the end: '
expect_match out '  \(1 of [0-9]+ functions; all: --limit 0\)$'
says --from 0s --markdown throws.data
expect_match out '^\| +[0-9,]+ \|.*`fall<'
says --from 0s --json throws.data
expect_eq 'calls of attempt' \
	"$(json out '.functions[] | select(.name == "attempt(int)") | .calls')" 100

# --- counters ---
build counts -I"$TOP/preload" <<'SOURCE'
#include <math.h>
#include <perfrec.h>
PERFREC_COUNTER(g_level, "level", "items", PERFREC_PER_THREAD);
PERFREC_COUNTER_TIMES(g_real, "real", "bytes", PERFREC_DOUBLE, 4);
PERFREC_COUNTER(g_late, "late", PERFREC_BYTES, 0);
__attribute__((noinline)) static void step(void) { __asm__ volatile(""); }
int main(void)
{
	PERFREC_COUNT(&g_level, 5);
	PERFREC_COUNT(&g_real, -0.5);
	step();
	PERFREC_COUNT(&g_level, 2);
	step();
	PERFREC_COUNT(&g_level, -7000);
	PERFREC_COUNT(&g_level, 9);
	PERFREC_COUNT(&g_real, NAN);
	step();
	PERFREC_COUNT(&g_late, 2048);
	step();
	return 0;
}
SOURCE
run_ok "$PERFREC" record -q --alloc=off --cpu=off -o counts.data ./counts
# step N: when it began, from 1 on
step()
{
	"$PERFREC" find --json --sort time step counts.data |
		jq -r ".calls[$1 - 1].begin_ns"
}
# counted FROM TO VALUES: of level, real, late, as "name at_from min max at_to"
counted()
{
	says --json --from "$(step "$1")ns" --to "$(step "$2")ns" counts.data
	expect_eq "counters from step $1 to $2" "$(json out '.counters[] |
		select(.name != "RSS") |
		"\(.name) \(.at_from) \(.min) \(.max) \(.at_to)"' |
		tr '\n' ';')" "$3"
}
for index in with without; do
	counted 1 2 'level 5 2 5 2;real -2 -2 -2 -2;'
	counted 2 3 'level 2 -7000 9 9;real -2 -2 -2 null;'
	counted 3 4 'late null 2048 2048 2048;level 9 9 9 9;real null null null null;'
	says --from "$(step 2)ns" --to "$(step 4)ns" counts.data
	expect_match out ' at begin +least +greatest +at end  counter$'
	expect_match out '^ +2 +-7,000 +9 +9  level    items, thread [0-9]+ '
	expect_match out '^ +- +2\.00 KiB .*  late    bytes, process [0-9]+ counts$'
	expect_match out '^ +-2 +-2 +-2 +nan  real    bytes, process '
	says --json --from 0s counts.data
	says --from 0s --thread "$(json out '.counters[] |
		select(.name == "level") | .tid')" counts.data
	expect_match out '  level '
	expect_no_match out '  real '
	says --markdown --from 0s --limit 1 counts.data
	expect_match out '^\| .*`late`'
	rm -f counts.data/trace.index
done

# --- refusals ---
refuses()
{
	wanted=$1
	text=$2
	shift 2
	run "$PERFREC" report "$@"
	expect_status "$wanted"
	expect_match err "$text"
	expect_eq 'nothing on stdout' "$(cat out)" ''
}
refuses 1 "--from '1h': 'co' ends before that: give a time from 0s to " --from 1h co
refuses 2 "--to '1s': that is before --from '2s': give a later time" --from 2s --to 1s co
refuses 2 "--to '1s': nothing is between that and --from '1s'" --from 1s --to 1s co
refuses 2 "--from '3': give a time with its unit .*such as 1.5us" --from 3 co
refuses 2 "--from '-3s': give a time with its unit" --from -3s co
refuses 2 "--to '3 parsecs': give a time with its unit" --to '3 parsecs' co
refuses 1 "--thread 'nobody': no thread has that number or name" --thread nobody co
refuses 2 '--view cpu cannot be combined with --from: choose --view functions, lock or path$' \
	--view cpu --from 1ms co
refuses 2 '--view io cannot be combined with --thread: choose --view functions, lock or path$' \
	--view io --thread main co
refuses 2 '--stacks cannot be combined with --to' --stacks --to 1ms co
# --to is the former name of --until, and in no help.
for name in --to --until; do
	"$PERFREC" report --json --from 1us $name 1ms co >"part$name" || fail "$name: status $?"
done
cmp part--to part--until || fail '--to and --until differ'
for command in report replay dump find cut open; do
	"$PERFREC" $command --help >help
	expect_match help '--until TIME'
	expect_no_match help '--to\b'
done
refuses 2 "--sort 'blocked': choose self, total, calls, max or name" --sort blocked --to 1ms co
refuses 1 "no such folder: 'nowhere'" --from 1ms nowhere
cat >idle.c <<'SOURCE'
int main(void) { return 0; }
SOURCE
${CC:-gcc} -o idle idle.c || fail 'cannot compile'
"$PERFREC" record -q --alloc=off --cpu=off -o idle.data ./idle || fail 'cannot record'
refuses 1 "'idle.data' has no calls, and times count from the first one: leave out --from" --from 0s idle.data

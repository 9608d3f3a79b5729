# SPDX-License-Identifier: Apache-2.0
#
# perfrec report --view path: of three stages that run one after the other, while their
# threads wait for each other, the path has all; of three that run beside each other, it
# has the longest. The parts add up to its length.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

perf_permitted || skip "the kernel reports no switches here"

# ./stages in-turn: each thread first joins the one before. ./stages beside: main joins
# all of them.
build stages -pthread <<'SOURCE'
#include <pthread.h>
#include <string.h>
#include <time.h>
#define STAGES 3
static pthread_t threads[STAGES];
static int in_turn;
/* CPU time of the thread, ms. */
__attribute__((no_instrument_function)) static void burn(long ms)
{
	struct timespec now;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < ms);
}
__attribute__((noinline)) static void await(long stage)
{
	pthread_join(threads[stage], 0);
}
__attribute__((noinline)) static void stage_0(void) { burn(40); }
__attribute__((noinline)) static void stage_1(void) { burn(400); }
__attribute__((noinline)) static void stage_2(void) { burn(40); }
static void *run(void *number)
{
	static void (*const stages[STAGES])(void) = { stage_0, stage_1, stage_2 };
	long stage = (long)number;

	if (in_turn && stage)
		await(stage - 1);
	stages[stage]();
	return 0;
}
int main(int argc, char **argv)
{
	in_turn = argc > 1 && !strcmp(argv[1], "in-turn");
	for (long i = 0; i < STAGES; i++)
		pthread_create(&threads[i], 0, run, (void *)i);
	for (long i = in_turn ? STAGES - 1 : 0; i < STAGES; i++)
		await(i);
	return 0;
}
SOURCE

# path NAME [FUNC]: of the recording NAME, into NAME.json; its sum is its length.
path()
{
	"$PERFREC" report --json --view path ${2+"$2"} "$1" >"$1.json" ||
		fail "$1: no path"
	expect_eq "$1: the sum of the parts" \
		"$(jq '([.functions[].time_ns, .stops[].unknown_ns] | add) -
			.length_ns' "$1.json")" 0
	expect_eq "$1: functions with other parts" \
		"$(jq '[.functions[] | select(.time_ns != .ran_ns + .hand_over_ns +
			.outside_ns + .unknown_ns)] | length' "$1.json")" 0
}

# on_cpu NAME FUNC: ms on the path.
on_cpu()
{
	jq --arg name "$2" '[.functions[] | select(.function == $name) |
		.on_cpu_ns] | add // 0 | . / 1e6 | floor' "$1.json"
}

run_ok "$PERFREC" record -q -o in-turn ./stages in-turn
path in-turn
for stage in 0:40 1:400 2:40; do
	ms=$(on_cpu in-turn "stage_${stage%:*}")
	# Records are slightly below the thread's own clock.
	[ "$ms" -ge $((${stage#*:} * 9 / 10)) ] ||
		fail "stage_${stage%:*} took ${stage#*:} ms, and has $ms on the path"
done
# main started the first stage.
expect_eq 'where it stops' \
	"$(jq -r '[.stops[].why] | unique | join(" ")' in-turn.json)" ''
expect_eq 'starts of threads on the path' \
	"$(jq '[.hand_overs[] | select(.object == "started") | .times] | add' \
		in-turn.json)" 1

# From the middle one's end, only.
path in-turn 'stage_1 > 10ms'
expect_eq 'calls' "$(jq .paths in-turn.json)" 1
expect_eq 'their functions' \
	"$(jq -r '[.functions[].function] | unique | join(" ")' in-turn.json)" stage_1

run_ok "$PERFREC" report --view path in-turn
expect_match out '^  path       .*, of the run$'
run_ok "$PERFREC" report --view path --from 1us in-turn
expect_match out '^  path       .*, of the range$'

# The end of the run waits for the second one, whatever the others do.
run_ok "$PERFREC" record -q -o beside ./stages beside
path beside
[ "$(on_cpu beside stage_1)" -ge 360 ] ||
	fail "stage_1 is not on the path: $(cat beside.json)"
expect_eq 'stage_0 is on no path' "$(on_cpu beside stage_0)" 0

# track NAME [OPTION...]: the path of the recording NAME as a track of its trace. It has
# the times of report --view path, and Perfetto's importer has nothing to say.
track()
{
	name=$1
	shift
	run_ok "$PERFREC" export --to perfetto "$@" -o track.pftrace "$name"
	"$O/tests/tools/trace_check" track.pftrace >out 2>&1 ||
		fail "$name: $(cat out)"
	"$PERFREC" report --json --view path "$@" "$name" >path.json ||
		fail "$name: no path"
	rm -rf tracked
	mkdir tracked
	cp track.pftrace tracked/trace.pftrace
	# It has no summary.json.
	"$PERFREC" dump tracked 2>err | jq -s '(.[] |
		select(.kind == "track" and .name == "perfrec: critical path") |
		.track) as $path | [.[] | select(.kind == "end" and
		.track == $path)]' >slices.json
	jq -S '[.[] | select(.depth == 1) | {key: .name, ns: .took_ns}] |
		group_by(.key) | map({(.[0].key): (map(.ns) | add)}) | add' \
		slices.json >got
	jq -S '[.functions[] | {key: (if .function == "" then "[no call]"
		else .function end), ns: .time_ns}] | group_by(.key) |
		map({(.[0].key): (map(.ns) | add)}) | add' path.json >wanted
	cmp -s wanted got || fail "$name: functions: $(diff wanted got)"
	expect_eq "$name: the whole track" \
		"$(jq '[.[] | select(.depth == 0) | .took_ns] | add' slices.json)" \
		"$(jq .length_ns path.json)"
	for kind in hand-over:hand_over outside:outside unknown:unknown; do
		expect_eq "$name: ${kind%:*}" "$(jq --arg kind "${kind%:*}" \
			'[.[] | select(.depth == 2 and .name == $kind) |
			.took_ns] | add // 0' slices.json)" \
			"$(jq "[.functions[].${kind#*:}_ns] | add // 0" path.json)"
	done
	expect_eq "$name: the unknown start" "$(jq '[.[] | select(.depth == 0 and
		(.name | startswith("unknown: "))) | .took_ns] | add // 0' \
		slices.json)" "$(jq '[.stops[].unknown_ns] | add // 0' path.json)"
	# One moment of the run has one thread.
	expect_eq "$name: slices that overlap" "$(jq '[.[] | select(.depth == 0)] |
		[.[1:], .[:-1]] | transpose |
		map(select(.[0].ns - .[0].took_ns < .[1].ns)) | length' \
		slices.json)" 0
}
track in-turn
track beside
track in-turn --thread stages --until 30ms

# No record names the writer of a pipe, so the path stops there.
build piped -pthread <<'SOURCE'
#include <pthread.h>
#include <time.h>
#include <unistd.h>
static int wire[2];
static void *put(void *unused)
{
	struct timespec nap = { 0, 30000000 };

	nanosleep(&nap, 0);
	return write(wire[1], "", 1) == 1 ? unused : wire;
}
__attribute__((noinline)) static void get(void)
{
	char byte;

	if (read(wire[0], &byte, 1) != 1)
		_exit(1);
}
int main(void)
{
	pthread_t thread;

	if (pipe(wire) || pthread_create(&thread, 0, put, 0))
		return 1;
	get();
	return pthread_join(thread, 0);
}
SOURCE
run_ok "$PERFREC" record -q -o piped.data ./piped
track piped.data

# The track has the longest of many calls.
build many <<'SOURCE'
__attribute__((noinline)) int leaf(int n) { __asm__ volatile(""); return n; }
int main(void)
{
	int sum = 0;

	for (int i = 0; i < 60000; i++)
		sum += leaf(i);
	return sum == 1;
}
SOURCE
run_ok "$PERFREC" record -q -o many.data ./many
run_ok "$PERFREC" export --to perfetto -o many.pftrace many.data
"$O/tests/tools/trace_check" --text many.pftrace >out || fail 'trace_check'
sed '/perfrec: critical path/,/^[^ ]/!d' out | grep -c '^    + ' >count
[ "$(cat count)" -gt 1000 ] && [ "$(cat count)" -le 100000 ] ||
	fail "the track has $(cat count) slices of functions"

# A write that fails is reported, even if those behind it succeed.
if command -v strace >/dev/null; then
	run strace -o calls -e trace=write -e inject=write:error=EIO:when=4 \
		"$PERFREC" export --to perfetto many.data
	expect_status 1
	expect_match err 'cannot write: Input/output error'
fi

# The track comes behind the last whole packet of a cut trace. No packet can follow
# bytes that are none.
mkdir broken
head -c -3 in-turn/trace.pftrace >broken/trace.pftrace
run_ok "$PERFREC" export --to perfetto -o broken.pftrace broken
"$O/tests/tools/trace_check" --allow-open --text broken.pftrace >out 2>&1
expect_match out 'perfrec: critical path'
{ cat in-turn/trace.pftrace && printf '\0\0\0\0'; } >broken/trace.pftrace
run "$PERFREC" export --to perfetto -o damaged.pftrace broken
expect_status 1
[ ! -e damaged.pftrace ] || fail 'a damaged trace was exported'

# The same as text; a part ends at its end.
run_ok "$PERFREC" report --view path in-turn
expect_match out 'path .*, of the run'
expect_match out 'stage_1$'
run_ok "$PERFREC" report --view path --to 30ms --thread stages in-turn
run "$PERFREC" report --view path nosuch in-turn
expect_status 1

# Functions that hand over have short names, as in the table; not with --full-names.
cat >names.cc <<'C'
#include <atomic>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
static std::mutex lock;
static std::atomic<int> waiter;
__attribute__((noinline)) bool sleeps(int tid)
{
	std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/stat");
	std::string id, name, state;
	file >> id >> name >> state;
	return state == "S";
}
__attribute__((noinline)) void hand_over(const std::string &)
{
	while (!waiter || !sleeps(waiter))
		usleep(1000);
	lock.unlock();
}
int main()
{
	lock.lock();
	std::thread thread([] {
		waiter = gettid();
		lock.lock();
		usleep(20000);
		lock.unlock();
	});
	hand_over("text");
	thread.join();
}
C
"$PERFREC" c++ g++ -O1 -pthread -o names names.cc || fail 'cannot compile names.cc'
run_ok "$PERFREC" record -q -o data -- ./names
run_ok "$PERFREC" report --view path data
expect_match out ' in hand_over\(std::string const&\) ended waits of '
run_ok "$PERFREC" report --view path --full-names data
expect_match out ' in hand_over\(std::__cxx11::basic_string<.*&\) ended waits of '

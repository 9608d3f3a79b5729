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

# The end of the run waits for the second one, whatever the others do.
run_ok "$PERFREC" record -q -o beside ./stages beside
path beside
[ "$(on_cpu beside stage_1)" -ge 360 ] ||
	fail "stage_1 is not on the path: $(cat beside.json)"
expect_eq 'stage_0 is on no path' "$(on_cpu beside stage_0)" 0

# The same as text; a part ends at its end.
run_ok "$PERFREC" report --view path in-turn
expect_match out 'path .*, of the run'
expect_match out 'stage_1$'
run_ok "$PERFREC" report --view path --to 30ms --thread stages in-turn
run "$PERFREC" report --view path nosuch in-turn
expect_status 1

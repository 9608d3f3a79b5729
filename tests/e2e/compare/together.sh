# SPDX-License-Identifier: Apache-2.0
#
# perfrec report over several recordings, such as those of ranks: values of a
# function are added, errors of samples are the root of the sum of squares, and
# --by recording shows which one has how much.
. "$TOP/tests/e2e/lib.sh"

build_calls
for rank in 0 1 2 3; do
	export PMIX_RANK=$rank
	run_ok "$PERFREC" record -q -o run.$rank ./calls $((100 + 100 * rank))
done
unset PMIX_RANK

# sums FILTER FOLDER...: what FILTER makes of all functions of the summaries.
sums()
{
	filter=$1
	shift
	for folder in "$@"; do
		echo "$folder/summary.json"
	done | xargs jq -s -c "[.[].functions[]] | group_by(.name)[] |
		select(map(.calls + .self_ns) | add > 0) | $filter" | sort
}

run_ok "$PERFREC" report run.0 run.1 run.2 run.3
expect_match out '^perfrec: run.0 and 3 more recordings$' \
	'^  recorded   1,008 calls of 4 threads in 4 processes$' \
	'calls +self time +% .* total +function$' '^ +1,000 .* leaf' '^ +4 .* work'
expect_no_match out 'median|p99'

run_ok "$PERFREC" report --json run.0 run.1 run.2 run.3
jq -c '.functions[] | [.name, (.values | (.calls, .wall, .["wall.total"], .on_cpu,
	.blocked) | .sum // 0)]' out | sort >got
sums '[.[0].name, (map(.calls) | add), (map(.self_ns) | add), (map(.total_ns) | add),
	(map(.on_cpu_self_ns) | add), (map(.blocked_self_ns) | add)]' \
	run.0 run.1 run.2 run.3 >want
cmp -s want got || fail "sums: $(diff want got)"
expect_eq leaf "$(jq -c '.functions[] | select(.name == "leaf").values.calls' out)" \
	'{"sum":1000,"min":100,"median":250,"max":400,"imbalance":1.6,"by_recording":[100,200,300,400]}'
expect_eq recordings "$(jq -c '[.recordings[] | [.directory, .rank, .spans, .complete]]' out)" \
	'[["run.0",0,102,true],["run.1",1,202,true],["run.2",2,302,true],["run.3",3,402,true]]'
expect_eq 'a sum of peaks' "$(jq -c '[.functions[].values.peak_space // empty | .sum] |
	unique' out)" '[null]'
expect_eq order "$("$PERFREC" report --json --sort name run.1 run.0 |
	jq -c '[.functions[].name] | . == sort')" true

run_ok "$PERFREC" report --by recording --sort calls run.0 run.1 run.2 run.3
expect_match out '^ +402 .* rank 3$' '^  calls, by recording$' \
	'^ +100 +250 +400 +1\.60 +rank 3 +leaf' '^ +1 +1 +1 +1\.00 +rank 0 +work'
# Without a rank of its own, a recording has the name of its folder.
cp -r run.0 copy
run "$PERFREC" report --by recording --limit 1 run.0 copy
expect_match out 'most in +function$' ' run.0 ' '^  and [0-9]+ more'

# Times from samples, by --overhead.
build spin <<'SOURCE'
#include <time.h>
static volatile unsigned long sum;
__attribute__((noinline)) static void spin(void)
{
	struct timespec now = { 0 };
	while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < 300) {
		for (int i = 0; i < 10000; i++)
			sum += i;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	}
}
int main(void)
{
	spin();
	return 0;
}
SOURCE
for run in a b; do
	run_ok "$PERFREC" record -q --cpu 499 --overhead 5 -o $run ./spin
done
if [ "$(jq -r .totals.time_from a/summary.json b/summary.json | sort -u)" = samples ]; then
	run "$PERFREC" report a b
	expect_match out 'self time +\+- +%'
	"$PERFREC" report --json a b >out
	want=$(sums 'select(any(.[]; .self_samples > 0)) |
		[.[0].name, (map(select(.self_samples > 0).self_error_ns | . * .) |
			add | sqrt | floor)]' a b)
	echo "$want" | jq -c .[0] | while read -r name; do
		echo "[$name,$(jq ".functions[] | select(.name == $name).self_error_ns" out)]"
	done >got
	echo "$want" | cmp -s - got || fail "errors: $want, got $(cat got)"
else
	echo 'times are not from samples here: errors are not looked at'
fi

# Recordings of other kinds: an empty one, an older perfrec, a killed collector.
run "$PERFREC" record -q -o nothing true
cp -r run.0 older
jq '.perfrec.version = "0.0.1" | .processes[] |= del(.rank) |
	.functions[] |= del(.on_cpu_self_ns)' run.0/summary.json >older/summary.json
run_ok "$PERFREC" report run.1 nothing older
expect_match out 'different versions of perfrec' 'different programs' '^ +300 .* leaf'
cp -r run.0 killed
rm killed/summary.json
run "$PERFREC" report run.1 killed
expect_error 1 "'killed' is no finished recording: its collector was killed"
run "$PERFREC" report run.1 nowhere
expect_error 1 "no such folder: 'nowhere'"

# The same recording twice: each value would count twice.
for again in run.0 run.0/ "$PWD/run.0"; do
	for command in report aggregate 'diff run.2 --'; do
		# shellcheck disable=SC2086 # a command and its first words
		run "$PERFREC" $command run.0 run.1 "$again"
		expect_error 1 "'run.0' and '$again' are the same recording: leave out one"
	done
done
run_ok "$PERFREC" diff run.0 run.0

# Options for one recording only.
for words in '--view cpu' --raw --recorded --markdown --repair '--html x' \
	'--from 1ms' '--to 1ms' '--thread 1'; do
	# shellcheck disable=SC2086 # an option and its value
	run "$PERFREC" report $words run.0 run.1
	expect_error 2 "^perfrec: error: ${words%% *}: is only for one recording"
done
run "$PERFREC" report --sort p99 run.0 run.1
expect_error 2 "--sort 'p99': of several recordings choose self, "
run "$PERFREC" report --by recording run.0
expect_error 2 '^perfrec: error: --by recording: give several recordings'
run "$PERFREC" report run.0 ''
expect_error 2 'give the name of a folder'

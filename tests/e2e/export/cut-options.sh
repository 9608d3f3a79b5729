# SPDX-License-Identifier: Apache-2.0
#
# perfrec cut: its output, its files, and its errors. trace/cut.sh tests the
# content of a cut.
. "$TOP/tests/e2e/lib.sh"

check=$O/tests/tools/trace_check
build calls <<'SOURCE'
#include <time.h>
__attribute__((noinline)) int leaf(int n) { __asm__ volatile(""); return n; }
__attribute__((noinline)) int inner(int n) { return leaf(n) + leaf(n + 1); }
__attribute__((noinline)) int slow(int n)
{
	const struct timespec time = { .tv_nsec = 2000000L * n };

	nanosleep(&time, NULL);
	return inner(n);
}
/* So that no call begins in the tick of the clock in which another ends. */
__attribute__((no_instrument_function)) static void pause_a_little(void)
{
	const struct timespec time = { .tv_nsec = 10000 };

	nanosleep(&time, NULL);
}
int main(void)
{
	int sum = slow(1);

	pause_a_little();
	sum += inner(1);
	pause_a_little();
	sum += slow(3);
	pause_a_little();
	return sum + slow(1) == 0;
}
SOURCE
"$PERFREC" record -q --sched off --alloc off -o data ./calls ||
	fail 'cannot record'

# expect_says STATUS TEXT: the last run ended so, and said TEXT in one line.
expect_says()
{
	expect_status "$1"
	grep -qF -- "$2" err || fail "'$2' is not said: $(cat err)"
	expect_eq "lines that are said: $(cat err)" "$(wc -l <err)" 1
}

# begins FILE: how many slices it has, by name.
begins()
{
	"$check" --counts "$1" | sort | tr '\t\n' ' ,' || fail "$1 breaks a rule"
}

# All of it.
run_ok "$PERFREC" cut --from 0s --to 1h -o all.pftrace data
expect_match out '^all\.pftrace: data from 0s to [0-9.]+m?s$' \
	'^  16 calls of 1 thread, [0-9.]+ (B|KiB)$' \
	'^  open it in https://ui\.perfetto\.dev$'
[ ! -s err ] || fail "it says $(cat err)"
expect_eq 'all slices' "$(begins all.pftrace)" "$(begins data/trace.pftrace)"
"$PERFREC" cut --from 0s --to 1h data >piped.pftrace || fail 'not to a pipe'
cmp all.pftrace piped.pftrace || fail 'standard output is not as the file'
"$PERFREC" cut --from 0s --to 1h --compress -o packed.pftrace data >out
expect_eq 'compressed' "$("$check" --text packed.pftrace)" \
	"$("$check" --text all.pftrace)"
[ "$("$check" --json packed.pftrace | jq .bundles)" -gt 0 ] ||
	fail 'it is not compressed'

# The range that a cut states about itself; an open side is missing.
for sides in '--from=0s --to=1us 0ns..1000ns' '--from=1us --to=1h 1000ns..3600000000000ns' \
	'--from=1us 1000ns..' '--to=1us ..1000ns'; do
	# shellcheck disable=SC2086 # words
	"$PERFREC" cut ${sides% *} -o about.pftrace data >/dev/null || fail "$sides"
	"$check" about.pftrace || fail "$sides"
	tr -c '[:print:]' '\n' <about.pftrace >about
	grep -A 3 '^perfrec\.cut_ranges' about | grep -qx -- "${sides##* }" ||
		fail "its ranges are not ${sides##* }: $(cat about)"
	expect_match about '^perfrec\.cut_of$' '^perfrec\.cut_origin_ns'
done

# Around calls. Any of the three calls of slow() may be the longest.
longest=$("$PERFREC" export --to csv --calls data |
	awk -F, '/"slow"/ && $5 > most { most = $5 } END { print most }')
run_ok "$PERFREC" cut --slowest slow --margin 0s -o slow.pftrace data
expect_match out "^slow\.pftrace: 1 call of 'slow', the slowest of 3, in 1 range of data from "
expect_eq 'the slowest' "$(begins slow.pftrace)" '1 inner,1 main,1 slow,2 leaf,'
run_ok "$PERFREC" cut --around "slow >= ${longest}ns" --margin 0s \
	-o around.pftrace data
cmp slow.pftrace around.pftrace || fail 'it is not around the same call'
# Three ranges; main() is begun again in each.
run_ok "$PERFREC" cut --slowest 'sl*w:7' --margin 0ns -o three.pftrace data
expect_match out "^three\.pftrace: 3 calls of 'sl\*w', in [23] ranges of data from "
"$check" --text three.pftrace >text
expect_match text '[+] main perfrec\.began_ns=[0-9]+' '[-] perfrec\.goes_on=true'
expect_eq 'calls of slow()' "$("$check" --counts three.pftrace |
	awk '$2 == "slow" { print $1 }')" 3
# With an hour around them it is all.
"$PERFREC" cut --slowest slow:3 --margin 1h -o hour.pftrace data >out
expect_eq 'all slices' "$(begins hour.pftrace)" "$(begins data/trace.pftrace)"
expect_match out 'in 1 range of data from 0s to '
run "$PERFREC" cut --slowest slow:3 --from 100s -o none.pftrace data
expect_says 1 "--from '100s': 'data' ends before that"
run "$PERFREC" cut --slowest slow:3 --to 1ns --margin 0s -o first.pftrace data
expect_says 1 "--slowest 'slow:3': no call matches; perfrec find 'slow' lists"

# Mistakes on the command line.
run "$PERFREC" cut -o no.pftrace data
expect_says 2 "give the range: --from and --until with times, --around"
run "$PERFREC" cut --from 2s --to 1s -o no.pftrace data
expect_says 2 "--to '1s': that is before --from '2s': give a later time"
run "$PERFREC" cut --from 2s --to 2s -o no.pftrace data
expect_says 2 "--to '2s': nothing is between that and --from '2s'"
run "$PERFREC" cut --from 2 --to 3s -o no.pftrace data
expect_says 2 'give a time with its unit'
run "$PERFREC" cut --from 0s --margin 1ms -o no.pftrace data
expect_says 2 '--margin: only with --around and --slowest'
run "$PERFREC" cut --around 'leaf > 1ms' --slowest leaf -o no.pftrace data
expect_says 2 '--slowest: not together with --around; choose one'
run "$PERFREC" cut --around 'leaf > soon' -o no.pftrace data
expect_status 2
expect_match err "^perfrec: error: --around 'leaf > soon': " '\^'
for count in 0 1001 99999999999999999999; do
	run "$PERFREC" cut --slowest leaf:$count -o no.pftrace data
	expect_says 2 'give a number of calls from 1 to 1000'
done
run "$PERFREC" cut --from 0s -o no.pftrace data data
expect_says 2 "'data': one recording at a time"
run "$PERFREC" cut --from 0s -o data/trace.pftrace data
expect_says 2 'that is a file of the recording itself'
if command -v script >/dev/null; then
	script -qec "'$PERFREC' cut --from 0s data" /dev/null >typed </dev/null
	expect_match typed 'a trace is no text for a terminal: give -o FILE'
fi

# Names and times that are not there.
run "$PERFREC" cut --slowest lefa -o no.pftrace data
expect_says 1 "--slowest 'lefa': no function of the trace matches: did you mean 'leaf'?"
run "$PERFREC" cut --around 'leaf > 1h' -o no.pftrace data
expect_says 1 "--around 'leaf > 1h': no call matches; perfrec find 'leaf' lists"
run "$PERFREC" cut --from 1h -o no.pftrace data
expect_says 1 "--from '1h': 'data' ends before that: give a time from 0s to "
run "$PERFREC" cut --from 0s --thread call -o no.pftrace data
expect_says 1 "no thread has that number or name: did you mean 'calls'?"
run "$PERFREC" cut --slowest leaf --thread 1 -o no.pftrace data
expect_says 1 "--thread '1': no thread has that number or name"
run "$PERFREC" cut --from 0s -o no.pftrace no-such-folder
expect_says 1 "no such folder: 'no-such-folder'"
expect_none no.pftrace*

# Files: there whole or not at all.
echo before >kept
run "$PERFREC" cut --from 1h -o kept data
expect_status 1
expect_eq 'a file that was not written anew' "$(cat kept)" before
run_ok "$PERFREC" cut --from 0s --to 1h -o kept data
cmp kept all.pftrace || fail 'it was not written anew'
run "$PERFREC" cut --from 0s -o no/such/file data
expect_says 1 "cannot write 'no/such/file'"
run "$PERFREC" cut --from 0s -o /dev/full data
expect_says 1 "cannot write '/dev/full': No space left"
run sh -c '"$1" cut --from 0s data >/dev/full' sh "$PERFREC"
expect_says 1 'cannot write: No space left'
expect_eq 'files that were left' "$(ls | grep -c '^kept\.\|pftrace\.')" 0

# A trace that is missing, goes on, was cut short, is damaged.
cp -r data no-trace
rm no-trace/trace.pftrace
run "$PERFREC" cut --from 0s -o no.pftrace no-trace
expect_says 1 "'no-trace' has no trace.pftrace"
cp -r data going-on
rm going-on/summary.json
run "$PERFREC" cut --from 0s -o on.pftrace going-on
expect_says 0 "warning: 'going-on' is no finished recording"
expect_eq 'all slices' "$(begins on.pftrace)" "$(begins data/trace.pftrace)"
cp -r data short
size=$(($(wc -c <data/trace.pftrace) - 3))
head -c "$size" data/trace.pftrace >short/trace.pftrace
run "$PERFREC" cut --from 0s -o short.pftrace short
expect_says 1 "'short/trace.pftrace' was cut"
"$check" short.pftrace || fail 'what could be read is no trace'
cp -r data damaged
{ head -c "$size" data/trace.pftrace; head -c 2000 /dev/zero; } \
	>damaged/trace.pftrace
run "$PERFREC" cut --from 0s -o damaged.pftrace damaged
expect_says 1 "'damaged/trace.pftrace' is damaged"
"$check" damaged.pftrace || fail 'what could be read is no trace'
for content in '' 'no trace at all'; do
	printf '%s' "$content" >damaged/trace.pftrace
	run "$PERFREC" cut --slowest leaf -o no.pftrace damaged
	expect_status 1
	expect_match err "'damaged/trace\.pftrace' is "
	run "$PERFREC" cut --from 0s -o no.pftrace damaged
	expect_status 1
done
expect_none no.pftrace*

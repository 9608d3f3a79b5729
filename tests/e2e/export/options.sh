#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# perfrec export, replay and dump: options, files and mistakes.
. "$TOP/tests/e2e/lib.sh"

build calls <<'SOURCE'
__attribute__((noinline)) int leaf(int n) { __asm__ volatile(""); return n; }
__attribute__((noinline)) int inner(int n) { return leaf(n) + leaf(n + 1); }
__attribute__((noinline)) int outer(int n) { return inner(n) + leaf(n) + 1; }
int main(void) { return outer(1) + outer(2) + leaf(3) == 0; }
SOURCE
"$PERFREC" record -q -o data ./calls || fail 'cannot record'

# expect_says STATUS TEXT: the last run ended so, and said TEXT in one line.
expect_says()
{
	expect_status "$1"
	grep -qF -- "$2" err || fail "'$2' is not said: $(cat err)"
	expect_eq "lines that are said: $(cat err)" "$(wc -l <err)" 1
}

# text OPTION...: the calls of replay without columns.
text()
{
	run_ok "$PERFREC" replay "$@" data
	# The names stand below the word "calls" of the head, which is its end.
	awk 'NR == 1 { calls = length($0) - 4; next }
		!/\/\* thread/ { print substr($0, calls) }' out
}
expect_eq 'all calls' "$(text | tr -s '\n' '|')" 'main() {|  outer() {|    inner() {|      leaf();|      leaf();|    } /* inner */|    leaf();|  } /* outer */|  outer() {|    inner() {|      leaf();|      leaf();|    } /* inner */|    leaf();|  } /* outer */|  leaf();|} /* main */|'
expect_eq '--depth' "$(text --depth 2 | tr -s '\n' '|')" \
	'main() {|  outer();|  outer();|  leaf();|} /* main */|'
expect_eq '--function' "$(text --function 'inn*' | tr -s '\n' '|')" \
	'inner() {|  leaf();|  leaf();|} /* inner */|inner() {|  leaf();|  leaf();|} /* inner */|'
expect_eq '--function and --depth' \
	"$(text --function outer --function leaf --depth 1 | tr -s '\n' '|')" \
	'outer();|outer();|leaf();|'
expect_eq '--min-duration' "$(text --min-duration 1h)" ''
expect_eq 'a thread by its name' "$(text --thread calls | wc -l)" 17
# Calls as long as the longest call of leaf() are also in its callers.
"$PERFREC" export --to csv --calls data >calls.csv
longest=$(awk -F, '/"leaf"/ && $5 > most { most = $5 } END { print most }' calls.csv)
expect_eq '--min-duration of csv' \
	"$(awk -F, -v least="$longest" 'NR > 1 && $5 >= least' calls.csv)" \
	"$("$PERFREC" export --to csv --calls --min-duration "${longest}ns" data |
		sed 1d)"

# Mistakes.
run "$PERFREC" replay --thread 1 data
expect_says 1 "--thread '1': no thread has that number or name"
[ ! -s out ] || fail "it writes $(cat out)"
for command in replay dump 'export --to chrome'; do
	# shellcheck disable=SC2086 # words
	run "$PERFREC" $command --function nobody data
	expect_says 1 "--function 'nobody': no function of the trace matches"
	[ ! -s out ] || fail "it writes $(cat out)"
done
run "$PERFREC" export --to svg data
expect_says 2 'a format, which is folded, flamechart, flamegraph, chrome, speedscope, firefox, callgrind, csv, parquet or perfetto'
run "$PERFREC" export data
expect_says 2 'give --to and a format: folded, flamechart'
run "$PERFREC" export --to folded --value heat data
expect_says 1 "has no value 'heat': it has calls, wall"
run "$PERFREC" export --to folded --depth 3 data
expect_says 2 '--depth: --to folded sums all calls up'
run "$PERFREC" export --to chrome --calls data
expect_says 2 '--calls: only with --to csv'
run "$PERFREC" export --to perfetto --depth 3 data
expect_says 2 '--depth: not with --to perfetto, which has the whole trace'
run "$PERFREC" export --to perfetto --value cpu data
expect_says 2 '--value: not with --to perfetto'
run "$PERFREC" export --to perfetto --thread nobody -o empty data
expect_says 1 "--thread 'nobody': no thread has that number or name"
run "$PERFREC" replay no-such-folder
expect_says 1 "no such folder: 'no-such-folder'"
run "$PERFREC" replay --function innre data
expect_says 1 "no function of the trace matches: did you mean 'inner'?"
run "$PERFREC" dump --thread call data
expect_says 1 "no thread has that number or name: did you mean 'calls'?"
for command in replay dump 'export --to chrome'; do
	# shellcheck disable=SC2086 # words
	run "$PERFREC" $command --from 1h data
	expect_says 1 "--from '1h': 'data' ends before that: give a time from 0s to "
done
run "$PERFREC" replay --from 1 data
expect_says 2 'give a time with its unit'
run "$PERFREC" replay --from 2s --until 1s data
expect_says 2 "--until '1s': that is before --from '2s': give a later time"
run "$PERFREC" dump --from 2s --to 2s data
expect_says 2 "--to '2s': nothing is between that and --from '2s'"
run "$PERFREC" export --to csv --calls --until 0s data
expect_says 2 "--until '0s': nothing is between that and --from '0s'"

# A recording without calls: what has something is said, and nothing is written.
cat >burn.c <<'SOURCE'
#include <time.h>
int main(void) { while (clock() < CLOCKS_PER_SEC / 4) { } return 0; }
SOURCE
gcc -O1 -o burn burn.c || fail 'cannot compile'
"$PERFREC" record -q --alloc off -o burnt ./burn || fail 'cannot record'
for format in folded flamegraph callgrind; do
	run "$PERFREC" export --to $format -o empty burnt
	expect_says 1 "'burnt' has nothing of wall to export: give --value cpu"
	[ ! -e empty ] || fail "a file is left: $(cat empty)"
done
for format in flamechart firefox 'csv --calls'; do
	# shellcheck disable=SC2086 # words
	run "$PERFREC" export --to $format burnt
	expect_says 1 "'burnt' has nothing of calls to export: give --to folded --value cpu"
	[ ! -s out ] || fail "it writes $(cat out)"
done
run "$PERFREC" export --to perfetto -o empty burnt
expect_says 1 "'burnt' has no calls of threads, so it has no path"
[ ! -e empty ] || fail 'a file is left'
run "$PERFREC" export --to speedscope burnt
expect_says 1 "'burnt' has nothing of calls to export: give --value cpu"
run_ok "$PERFREC" export --to folded --value cpu burnt
[ -s out ] || fail 'what was said has nothing'
"$PERFREC" record -q --alloc off --cpu off -o bare ./burn
run "$PERFREC" export --to folded bare
expect_status 1
expect_eq 'lines that are said' "$(wc -l <err)" 1

# A file is there whole or not at all.
echo before >kept
run "$PERFREC" export --to chrome -o kept no-such-folder
expect_status 1
expect_eq 'a file that was not written anew' "$(cat kept)" before
run "$PERFREC" export --to chrome -o no/such/file data
expect_says 1 "cannot write 'no/such/file'"
run_ok "$PERFREC" export --to chrome -o /dev/null data
[ -c /dev/null ] || fail '/dev/null is a file'
"$PERFREC" export --to chrome data >plain
"$PERFREC" export --to chrome -o kept data
cmp -s plain kept || fail 'the file is not as standard output'
expect_eq 'files that were left' "$(ls | grep -c 'kept\.')" 0
run sh -c '"$1" export --to chrome data >/dev/full' sh "$PERFREC"
expect_says 1 'cannot write: No space left'
TMPDIR=$PWD/gone run "$PERFREC" export --to speedscope data
expect_says 1 'No such file'

# A reader that has enough is no mistake, whether SIGPIPE ends perfrec or not.
# shellcheck disable=SC2016
for prefix in '' "trap '' PIPE;"; do
	sh -c "$prefix \"\$1\" dump data | head -n 1" sh "$PERFREC" >out 2>err
	[ ! -s err ] || fail "it says $(cat err)"
	expect_eq 'lines' "$(wc -l <out)" 1
done

# A trace that is missing, goes on, was cut, is damaged.
cp -r data no-trace
rm no-trace/trace.pftrace
run "$PERFREC" replay no-trace
expect_says 1 "'no-trace' has no trace.pftrace"
cp -r data going-on
rm going-on/summary.json
run_ok "$PERFREC" replay going-on
expect_match err "warning: 'going-on' is no finished recording"
expect_match out 'main\(\) \{'
cp -r data cut
size=$(($(wc -c <cut/trace.pftrace) - 3))
head -c "$size" data/trace.pftrace >cut/trace.pftrace
run "$PERFREC" dump cut
expect_says 1 "'cut/trace.pftrace' was cut"
expect_match out '"kind":"totals"'
cp -r data damaged
{ head -c "$size" data/trace.pftrace; head -c 2000 /dev/zero; } \
	>damaged/trace.pftrace
run "$PERFREC" dump damaged
expect_says 1 "'damaged/trace.pftrace' is damaged"
: >damaged/trace.pftrace
run "$PERFREC" replay damaged
expect_says 1 "'damaged/trace.pftrace' is no trace, or is empty"
run_ok "$PERFREC" export --to folded damaged

# The recording itself is never replaced.
cp -r data own
run "$PERFREC" export --to csv -o own/trace.pftrace own
expect_error 2 'that is a file of the recording itself'
cmp own/trace.pftrace data/trace.pftrace || fail 'the trace was replaced'

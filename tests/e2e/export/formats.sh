#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# perfrec export: the test reads each format, with the format's own tool where
# Debian has it and with a strict parser. Each has the calls by function and the
# totals of perfrec report --json, and names that could harm a viewer. perfrec
# dump also agrees.
. "$TOP/tests/e2e/lib.sh"
need python3 sqlite3 callgrind_annotate

flamegraph=$(command -v flamegraph.pl ||
	ls /usr/share/perl5/Devel/NYTProf/flamegraph.pl 2>/dev/null) ||
	skip 'flamegraph.pl is not installed (libdevel-nytprof-perl)'

prog export/hostile_names
"$PERFREC" record -q -o data ./hostile_names || fail 'cannot record'
"$PERFREC" report --json data >report.json

# export FORMAT [OPTION]...: into a file of that name.
export_to()
{
	format=$1
	shift
	run_ok "$PERFREC" export --to "$format" -o "$format" "$@" data
	[ ! -s out ] && [ ! -s err ] || fail "--to $format says something"
}
read_back()
{
	python3 "$TOP/tests/e2e/lib/read_export.py" "$@" ||
		fail "$* is not as it must be"
}
# Calls by name; dynamic events have their own names in the trace.
json report.json '.functions[] | select(.calls > 0) |
	"\(.calls)\t\(.name)"' | grep -v 'dynamic$' | sort >wanted
expect_eq 'functions that are told' "$(wc -l <wanted)" 14
same_calls()
{
	read_back "$1" "$2" | grep -v 'long:xxx' | sort >got
	cmp -s wanted got || { diff wanted got; fail "calls by $1"; }
	expect_eq "the long name by $1" \
		"$(read_back "$1" "$2" | grep -c "long:x\{4091\}$")" 1
}

export_to chrome
same_calls chrome chrome
expect_match chrome '"args":\{"text":"</script>\\n\\"\?","number":-7,"real":2.5\}'
export_to speedscope
same_calls speedscope speedscope
run_ok "$PERFREC" dump data
cp out dump
same_calls dump dump
# Its last line counts the slices of the trace, if all of it was read.
expect_match dump '"totals","begins":[0-9]+,"ends":[0-9]+,"unfinished":0,"first_ns":[0-9]+'
run_ok "$PERFREC" dump --from 1us data
expect_match out '"totals","begins":null,"ends":null,"unfinished":null,"first_ns":null,'

# Each call of csv, by sqlite3; '=cmd and '@sum are no formulas.
export_to csv --calls
sqlite3 :memory: '.mode tabs' '.import --csv csv calls' "
	select count(*), replace(function, '''=', '=') from calls
	where function not like 'long:%' group by function" |
	sed "s/	'@/	@/" | tr -d '\r' | sort >got
sed 's/\xe2\x80\xae/?/' wanted | sort >wanted.sorted
sqlite3 :memory: '.import --csv csv calls' \
	"select count(*) from calls where finished = 1" >count
expect_eq 'calls of csv' "$(cat count)" "$(json report.json .totals.spans)"
own=$(sqlite3 :memory: '.import --csv csv calls' 'select sum(self_ns) from calls')
expect_match csv "\"'=cmd" "\"'@sum" '^"?[0-9]+,.*"a;b ""q"" '
cmp -s wanted.sorted got || { diff wanted.sorted got; fail 'calls by csv'; }

# In the chart and in Firefox' samples the time that functions take themselves.
export_to flamechart
read_back folded flamechart | awk -F'\t' '
	$2 ~ /;/ { own += $1 } END { printf "%.0f\n", own }' >got
expect_eq 'time of the chart' "$(cat got)" "$own"
export_to firefox
read_back firefox firefox >got
expect_eq 'time of Firefox' "$(awk '{ own += $1 } END { printf "%.0f\n", own }' got)" "$own"
expect_match got '	main$' '	fib$' '	name_all$'
gzip -dc firefox | jq -r '.threads[] | . as $t | .markers | range(.length) as $i |
	$t.stringArray[.name[$i]] + " \(.phase[$i]) \(.startTime[$i] >= 0)"' >markers
expect_match markers '^</script>;instant 0 true$'

# Functions: as the report has them.
export_to csv
sqlite3 :memory: '.import --csv csv f' \
	'select sum(calls), sum(self_ns) from f' >got
expect_eq 'sums of functions' "$(cat got)" \
	"$(json report.json '[.functions[].calls, 0] | add')|$(
	   json report.json '[.functions[].self_ns, 0] | add')"

# Merged stacks.
export_to folded --value calls
expect_eq 'calls of folded' "$(read_back folded folded |
	awk '{ calls += $1 } END { print calls }')" \
	"$(json report.json .totals.spans)"
expect_match folded '^main;name_all;a:b "q"' '^main;name_all;line\?end\?\?tab 1$' \
	'^main;name_all;right\?left 1$'
export_to speedscope --value calls
read_back speedscope speedscope | sed 's/;b "q/:b "q/; s/&amp;/\&amp:/; s/\xe2\x80\xae/?/' |
	LC_ALL=C sort >scope
read_back folded folded | LC_ALL=C sort >stacks
cmp -s stacks scope || { diff stacks scope; fail 'speedscope of calls'; }
export_to folded
sum=$(read_back folded folded | awk '{ own += $1 } END { printf "%.0f\n", own }')
"$flamegraph" folded >folded.svg || fail 'flamegraph.pl'
expect_eq 'total of flamegraph.pl' "$(sed -n \
	's/.*<title>all (\([0-9,]*\) samples, 100%)<.*/\1/p' folded.svg |
	tr -d ,)" "$sum"
export_to callgrind
expect_eq 'total of callgrind' "$(callgrind_annotate callgrind |
	awk '/PROGRAM TOTALS/ { gsub(",", "", $1); print $1 }')" "$sum"
# A number of calls is no time, so these figures do not depend on the clock.
export_to callgrind --value calls
callgrind_annotate --inclusive=yes --threshold=100 callgrind >annotated ||
	fail 'callgrind_annotate'
expect_eq 'calls in main' "$(awk '/:main \[/ {
	gsub(",", "", $1); print $1 }' annotated)" "$(json report.json .totals.spans)"
# All values of the profile are events, the chosen one first.
expect_match callgrind '^events: calls wall_ns wall_measured_ns$' '^[0-9]+ [0-9]+ [0-9]+ [0-9]+$' \
	"^summary: $(json report.json .totals.spans) [0-9]+ [0-9]+\$"
expect_eq 'wall time of callgrind' "$(callgrind_annotate callgrind |
	awk '/PROGRAM TOTALS/ { gsub(/,|\([ 0-9.]*%\)/, ""); print $2 }')" "$sum"
expect_match annotated ':</script><b>&amp; ' ':\(1\) x '
expect_match callgrind '^calls=176 0$|^calls=176 ' 'cfn=\([0-9]+\) fib$'

# Self costs add up to the total, also of samples, which know no number of calls.
cat >spin.c <<'SOURCE'
#include <time.h>
static volatile long sink;
__attribute__((noinline)) static void spin(void) { sink++; }
int main(void) { while (clock() < CLOCKS_PER_SEC / 5) spin(); }
SOURCE
cc -g -O1 -fno-optimize-sibling-calls -o spin spin.c || fail 'cc'
run_ok "$PERFREC" record -q -o samples -- ./spin
"$PERFREC" export --to callgrind --value cpu -o callgrind samples || fail 'export cpu'
expect_match callgrind '^calls='
callgrind_annotate --auto=no --threshold=100 callgrind >annotated || fail 'callgrind_annotate'
expect_eq 'self costs' "$(awk '/%\)/ { gsub(",", "", $1); if (/PROGRAM/) all = $1; else sum += $1 }
	END { print (all > 0) " " (sum - all) }' annotated)" '1 0'

export_to flamegraph --value calls
read_back flamegraph flamegraph >got
expect_match got '	</script><b>&amp; \(1, ' "'/C|=cmd" 'line\?end'
expect_eq 'frames that are main' "$(grep -c '	main (.*100.00 %)$' got)" 1

# SPDX-License-Identifier: Apache-2.0
# long: writes the pages of many ranges
#
# The page of a part of a recording: its figures equal those of perfrec report of
# the same part, it says which part it is, and it shows no call outside. It
# refuses the same ranges as perfrec report, and writes no file then.
. "$TOP/tests/e2e/lib.sh"
need python3

build parts -pthread <<'SOURCE'
#include <pthread.h>
#include <unistd.h>
static volatile long sink;
__attribute__((noinline)) static void tick(int i) { sink += i; }
__attribute__((noinline)) static void spin(void)
{
	for (int i = 0; i < 1000; i++)
		tick(i);
	for (int i = 0; i < 2000000; i++)
		sink += i;
}
__attribute__((noinline)) static void *run(void *unused)
{
	for (int i = 0; i < 20; i++) {
		usleep(2000);
		spin();
	}
	return unused;
}
int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, NULL);
	run(NULL);
	pthread_join(thread, NULL);
	return 0;
}
SOURCE
run_ok "$PERFREC" record -q --cpu=999 -o data ./parts

# page OPTION...: into page.json.
page()
{
	run_ok "$PERFREC" report --html page.html "$@" data
	python3 "$TOP/tests/tools/page_read.py" page.html >page.json ||
		fail "$*: the page breaks the rules"
}

# same OPTION...: the page has the figures of the report.
same()
{
	page "$@"
	expect_eq "$*: figures" "$(jq -c '[.functions[] | select(.["calls.self"] > 0) |
		[.name, .["calls.self"], .["wall.self"], .["wall.total"]]] | sort' page.json)" \
		"$("$PERFREC" report --json "$@" data | jq -c '[.functions[] |
		[.name, .calls, .self_ns, .total_ns]] | sort')"
	expect_eq "$*: all has a time" "$(jq -c '[.unknown_time.wall, .unknown_time.calls]' \
		page.json)" '[0,0]'
}

# By calls, and not by time: the program may be on no CPU for a quarter of that.
"$PERFREC" find --json --sort time --limit 40 spin data >spins.json
from=$(jq '.calls[10].begin_ns' spins.json) to=$(jq '.calls[20].begin_ns' spins.json)
same --from ${from}ns --to ${to}ns
expect_eq 'the part' "$(jq -c '[.time.first_ns, .time.last_ns, .part.thread]' page.json)" \
	"[$from,$to,null]"
expect_match page.json '"range": "[0-9.]*[mu]*s to [0-9.]*m*s"'
expect_eq 'calls outside' "$(jq --argjson from $from --argjson to $to '[.calls[] |
	select(.begin < $from or .begin + .duration > $to)] | length' page.json)" 0
expect_eq 'calls inside' "$(jq '.calls | length > 10' page.json)" true
# The other thread also has the name of the program.
tid=$("$PERFREC" find --json --sort time 'run' data | jq '[.calls[].tid] | max')
same --thread "$tid"
expect_eq 'the part' "$(jq -c '[.part.range, .part.thread, (.threads | length)]' page.json)" \
	"[null,\"$tid\",2]"
expect_eq 'CPU time in some bucket' "$(jq '.overview.cpu | add > 0' page.json)" true
same --to ${to}ns --thread "$tid"
same --from ${to}ns
page --from ${to}ns --no-source
# Nothing happens between two events.
begin=$("$PERFREC" find --json --limit 1 main data | jq '.calls[0].begin_ns')
page --from $((begin + 1))ns --to $((begin + 2))ns
expect_eq 'of 1 ns' "$(jq -c '[.time.last_ns - .time.first_ns, .tree.wall.sum]' page.json)" '[1,1]'

refuses()
{
	wanted=$1 text=$2
	shift 2
	run "$PERFREC" report --html no.html "$@" data
	expect_error "$wanted" "$text"
	[ ! -e no.html ] || fail "$*: a page"
}
refuses 1 "--from '1h': 'data' ends before that" --from 1h
refuses 2 "--to '1s': that is before --from '2s'" --from 2s --to 1s
refuses 2 "--to '3': give a time with its unit" --to 3
refuses 1 "--thread 'nobody': no thread has that number or name" --thread nobody
refuses 2 '--html: takes no option but' --from 1ms --json
refuses 2 '--view cpu cannot be combined with' --from 1ms --view cpu

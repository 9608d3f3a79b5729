# SPDX-License-Identifier: Apache-2.0
#
# perfrec find: it lists slow calls with their time, thread and arguments, in the
# right order and with the right exit status. A mistake in the expression has a
# caret at its place.
. "$TOP/tests/e2e/lib.sh"

# Thread "slow" has 100 requests; requests 7, 42 and 99 take 30 ms or longer.
build serve -I"$TOP/preload" -pthread <<'SOURCE'
#define _GNU_SOURCE
#include <perfrec.h>
#include <pthread.h>
#include <unistd.h>
__attribute__((noinline)) static void work(int id)
{
	PERFREC_SCOPE("request", "id", id, "kind", id % 2 ? "odd" : "even");
	if (id == 7 || id == 42 || id == 99)
		usleep(30000);
}
__attribute__((noinline)) static void *serve(void *unused)
{
	pthread_setname_np(pthread_self(), "slow");
	for (int id = 0; id < 100; id++)
		work(id);
	return unused;
}
__attribute__((noinline)) int quick(int n) { return n + 1; }
int main(void)
{
	pthread_t thread;
	int sum = 0;

	pthread_create(&thread, NULL, serve, NULL);
	for (int i = 0; i < 50; i++)
		sum += quick(i);
	pthread_join(thread, NULL);
	return sum == 0;
}
SOURCE
"$PERFREC" record -q --alloc=off --cpu=off -o data ./serve || fail 'cannot record'

# finds STATUS WORD...: perfrec find ended so.
finds()
{
	wanted=$1
	shift
	run "$PERFREC" find "$@"
	expect_status "$wanted"
}

finds 0 --json 'request > 20ms' data
for id in 7 42 99; do
	expect_eq "request $id" "$(json out ".calls[] |
		select(.arguments.id == $id) | .duration_ns >= 30000000")" true
done
expect_eq 'the longest come first' \
	"$(json out '[.calls[].duration_ns] | . == (sort | reverse)')" true
expect_eq 'what is matched' "$(json out '.matched == (.calls | length)')" true
expect_eq 'what else is said' "$(json out '.calls[] | select(.arguments.id == 42) |
	[.name, .arguments.kind, .thread, .unfinished, .context]' |
	tr -d ' \n')" '["request","even","slow",false,null]'
begin=$(json out '.calls[] | select(.arguments.id == 42) | .begin_ns')
took=$(json out '.calls[] | select(.arguments.id == 42) | .duration_ns')

finds 0 --json 'request >= 0ns' data
expect_eq 'all requests' "$(json out '.calls | length')" 100
finds 0 --json --sort time --limit 3 request data
expect_eq 'the first ones' "$(json out '[.calls[].arguments.id] | @csv')" 0,1,2
expect_eq 'all that match' "$(json out .matched)" 100
finds 0 --json 'request > 20ms' --from "${begin}ns" --to "$((begin + 1))ns" data
expect_eq 'in its range' "$(json out '[.calls[].arguments.id] | @csv')" 42
expect_eq 'its whole duration' "$(json out '.calls[0].duration_ns')" "$took"
expect_eq 'the folder may be first' \
	"$("$PERFREC" find data 'request > 20ms' --json)" \
	"$("$PERFREC" find 'request > 20ms' --json data)"

# As people see it.
finds 0 'request > 20ms' data
expect_match out '^perfrec: [0-9]+ calls: request > 20ms$'
expect_match out '^ +time +took +thread +call$'
expect_match out '^ +0\.[0-9]{9}s +[0-9.]+ m?s  [0-9]+ slow +request\(id=42, kind="even"\)$'
finds 0 request data
expect_match out 'perfrec: 100 calls: request; the 20 longest$'
expect_eq 'rows' "$(grep -c 'request(' out)" 20
finds 0 --sort time --limit 5 request data
expect_match out '; the 5 first$'

# None.
finds 1 'request > 1h' data
expect_match err "no call matches 'request > 1h': 100 calls took at most [0-9.]+ "
expect_eq 'nothing on stdout' "$(cat out)" ''
finds 1 --json 'request > 1h' data
expect_eq 'as JSON' "$(json out '[.matched, .calls_of_function, (.calls | length)] | @csv')" 0,100,0
finds 1 'reqest > 20ms' data
expect_match err "'reqest': no function of the trace matches: did you mean 'request'\?"
finds 1 request --thread slov data
expect_match err "--thread 'slov': no thread has that number or name: did you mean 'slow'\?"
finds 1 quick --thread slow data
expect_match err "'quick' has calls, but none in the chosen thread"
finds 1 main --from 1h data
expect_match err "--from '1h': 'data' ends before that: give a time from 0s to [0-9.]+m?s$"
finds 1 main no-such-folder
expect_match err "no such folder: 'no-such-folder'"

# refused TEXT COLUMN WHY: the caret is below byte COLUMN.
refused()
{
	finds 2 "$1" data
	expect_match err "perfrec find '.*': $3"
	expect_eq "the place in '$1'" "$(sed -n 3p err)" "$(printf '  %*s^' "$2" '')"
}
refused 'request > fast' 10 'give a time, such as 10ms'
refused 'request > 20' 12 'give the unit of the time'
refused 'request >' 9 'give a time'
refused '> 20ms' 0 'give the name of a function'
refused 'a<b>::f(int) > 5msec' 15 'give a number and its unit'
refused '@libc.so > 5ms' 0 'give the name of a function: a trace has no modules'
finds 2 request --from 2s --to 1s data
expect_match err "--to '1s': that is before --from '2s'"
finds 2 request --to 0s data
expect_match err "--to '0s': nothing is between that and --from '0s'"
finds 2 request --limit -1 data
finds 2 request data data
expect_match err "perfrec find 'FUNC > TIME' \[DIR\]"
finds 2
expect_match err "perfrec find 'FUNC > TIME' \[DIR\]"
finds 2 ''
finds 2 request --sort size data
expect_match err 'choose duration or time'

# find lists the calls of the whole part of a cut trace, and fails.
cp -r data cut
truncate -s -20 cut/trace.pftrace
finds 1 'request >= 0ns' cut
expect_match out 'request\(id=42'
expect_match err "'cut/trace.pftrace' was cut"
: >cut/trace.pftrace
finds 1 request cut
expect_match err 'is no trace, or is empty'

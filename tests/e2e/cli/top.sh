# SPDX-License-Identifier: Apache-2.0
#
# perfrec top: it shows the calls that the program made, and no calls a second for
# a function that rests. It writes no file, and reports errors.
. "$TOP/tests/e2e/lib.sh"

# ./turns: calls early() 1,000 times; then, when ./go is there, late() 500
# times; then waits for ./end.
build turns <<'SOURCE'
#include <fcntl.h>
#include <unistd.h>
__attribute__((noinline)) static void early(void) { __asm__ volatile(""); }
__attribute__((noinline)) static void late(void) { __asm__ volatile(""); }
static void await(const char *file)
{
	while (access(file, F_OK) < 0)
		usleep(1000);
}
int main(void)
{
	alarm(600);
	for (int i = 0; i < 1000; i++)
		early();
	if (creat("began", 0600) < 0)
		return 1;
	await("go");
	for (int i = 0; i < 500; i++)
		late();
	if (creat("went", 0600) < 0)
		return 1;
	await("end");
	return 0;
}
SOURCE

"$PERFREC" record -q --alloc=off --cpu off -o live ./turns &
recorder=$!
trap 'touch go end' EXIT
wait_for 60 test -f began
# of FUNCTION MEMBER: in the first object of ./out.
of()
{
	head -n 1 out | jq ".functions[] | select(.name == \"$1\") | .$2 | tonumber? // ."
}
top()
{
	run "$PERFREC" top -o live "$@"
}

ls live | sort >files
top --json --count 1 --interval 100ms turns
expect_status 0
expect_eq 'calls of early' "$(of early calls)" 1000
expect_eq 'calls a second of early, which rests' "$(of early calls_per_s)" 0
expect_eq 'state of early' "$(of early state)" '"span"'
[ "$(of await self_ns_per_s | cut -d . -f 1)" -gt 0 ] ||
	fail 'await, which runs, has no self time'
# usleep() is waiting; without the right to see switches both are 0. If the host
# takes the CPU away at first, a later slice shows it.
waits_more()
{
	top --json --count 1 --interval 100ms turns
	jq -e '.functions[] | select(.name == "await") |
		.blocked_self_ns > .on_cpu_self_ns or .blocked_self_ns == 0' \
		out >waits
}
wait_for 60 waits_more
[ "$(jq .rss_bytes out)" -gt 100000 ] || fail "memory: $(jq .rss_bytes out)"
expect_eq 'losses' "$(jq .lost out)" 0

# A call of late() is seen in some interval, and only there.
"$PERFREC" top -o live --json --interval 100ms >stream 2>err.stream &
stream=$!
wait_for 60 test -s stream
touch go
sums()
{
	[ "$(jq -c '.functions[] | select(.name == "late" and .calls == 500)' \
		stream | wc -l)" -ge 2 ]
}
wait_for 60 sums
kill $stream
wait $stream
new=$(sed '$d' stream | jq -s '[.[] | .interval_ns as $ns | .functions[] |
	select(.name == "late") | .calls_per_s * $ns / 1e9] | add | round')
expect_eq 'calls of late in all intervals' "$new" 500

top --count 2 --interval 100ms --limit 1
expect_status 0
expect_eq 'tables' "$(grep -c '^ *SELF .*FUNCTION' out)" 2
grep -q ' await' out || fail 'no row of await'
expect_match out '^ *SELF +ON CPU +BLOCKED +CALLS/S '
ls live | sort | cmp - files || fail 'perfrec top wrote files'

# Several at once, and a flush between them: each has its answer.
for i in 1 2 3; do
	"$PERFREC" top -o live --json --count 3 --interval 100ms >many.$i &
	eval "pid$i=\$!"
done
"$PERFREC" ctl -o live flush >flushed || fail 'flush'
grep -q 'wall\..*pb\.gz' flushed || fail 'a flush between has no profile'
for i in 1 2 3; do
	eval "wait \$pid$i" || fail "top $i of several"
	expect_eq 'objects' "$(wc -l <many.$i)" 3
done

# Own cost includes the cost of samples, as in the summary: ./spin makes no calls
# after its start.
build spin <<'SOURCE'
#include <unistd.h>
__attribute__((noinline)) static void burn(void)
{
	for (volatile long i = 1; i % 1000000 || access("end", F_OK) < 0; i++)
		;
}
int main(void)
{
	alarm(600);
	burn();
	return 0;
}
SOURCE
"$PERFREC" record -q --alloc=off --cpu 999,signal --overhead off -o spun ./spin &
spinner=$!
wait_for 60 test -L spun/control
has_own_cost()
{
	run "$PERFREC" top -o spun --json --count 1 --interval 100ms
	jq -e '.calls_per_s == 0 and .own_ns_per_s > 0' out >own
}
wait_for 60 has_own_cost

# Without -o, the recording of the current folder, or the only one. Two are named as
# a reason to choose.
unset XDG_RUNTIME_DIR
mkdir found found/tmp
cp turns found
export TMPDIR="$PWD/found/tmp"
"$PERFREC" record -q --alloc=off --cpu off -o found/perfrec.data found/turns &
finder=$!
wait_for 60 test -L found/perfrec.data/control
finds()
{
	(cd "$1" && "$PERFREC" top --json --count 1 --interval 100ms) >out 2>err
	[ "$(of early calls)" = 1000 ]
}
wait_for 60 finds found
wait_for 60 finds /
"$PERFREC" record -q --alloc=off --cpu off -o second ./turns &
second=$!
wait_for 60 test -L second/control
run "$PERFREC" top --count 1
expect_error 1 '2 perfrec record are running: name the folder of one: perfrec top -o DIR'
wait_for 60 finds found

# What cannot be.
top --count 1 nobody
expect_error 1 "no program 'nobody' is being recorded"
top a b
expect_error 2 "one target at a time"
top --socket x
expect_error 2 "give --socket or -o, not both"
top --interval 1ms
expect_error 2 'give a time from 100ms'
run "$PERFREC" top -o nowhere
expect_error 1 "nothing is being recorded into 'nowhere'"
run "$PERFREC" top --socket "$PWD/none"
expect_error 1 'no perfrec-collect serves'
touch end
for one in $recorder $finder $second; do
	wait $one || fail "perfrec record: status $?"
done
wait $spinner || fail "perfrec record ./spin: status $?"
top
expect_error 1 "nothing is being recorded into 'live'"

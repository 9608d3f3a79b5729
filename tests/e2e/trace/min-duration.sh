# SPDX-License-Identifier: Apache-2.0
#
# --min-duration: short calls stay out of the trace, and out of nothing else. The
# calls in the trace have their callers; output made from the trace says that calls
# are missing; a killed collector has written the starts of open calls.
. "$TOP/tests/e2e/lib.sh"

build calls -I"$TOP/preload" <<'SOURCE'
#include <perfrec.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#define CALL __attribute__((noinline)) static void
static volatile long sum;
CALL leaf(long i) { sum += i; }
CALL branch(long i) { leaf(i); leaf(i + 1); }
CALL told(long i) { PERFREC_INSTANT("here", "i", i); }
CALL around(long i) { leaf(i); told(i); }
CALL nap(void)
{
	const struct timespec time = { 0, 30000000 };

	nanosleep(&time, NULL);
}
CALL request(long i) { branch(i); nap(); }
CALL wait_for(const char *name)
{
	while (access(name, F_OK) < 0)
		usleep(10000);
}
static void *run(void *unused)
{
	for (long i = 0; i < 20000; i++)
		branch(i);
	for (long i = 0; i < 3; i++)
		request(i);
	for (long i = 0; i < 10; i++)
		around(i);
	return unused;
}
int main(int argc, char **argv)
{
	pthread_t thread;

	alarm(600);
	pthread_create(&thread, NULL, run, NULL);
	run(NULL);
	pthread_join(thread, NULL);
	if (argc > 1)
		wait_for(argv[1]);
	return 0;
}
SOURCE

# calls FILE: of each function, by the summary.
calls()
{
	json "$1" '.functions[] | select(.module | endswith("calls")) |
		"\(.calls) \(.name)"' | sort -k 2
}

# slices DIR NAME: how many the trace has.
slices()
{
	awk -v FS='\t' -v name="$2" '$2 == name { n = $1 } END { print n + 0 }' \
		"$1.counts"
}

# A call of 20 ms may look as long when the machine is busy, so no test counts
# the short calls that stay: each that does must be long, or have a reason.
check()
{
	"$PERFREC" record -q -o "$1" --min-duration 20ms ./calls 2>err ||
		fail "record: $(cat err)"
	"$O/tests/tools/trace_check" --dump "$1/trace.pftrace" >"$1.events" ||
		fail "the trace of $1 breaks a rule"
	"$O/tests/tools/trace_check" --counts "$1/trace.pftrace" >"$1.counts"
}

"$PERFREC" record -q -o all ./calls 2>err || fail "record: $(cat err)"
check short
calls all/summary.json >wanted
calls short/summary.json >got
[ "$(wc -l <wanted)" -ge 8 ] || fail 'functions are missing in the summary'
diff wanted got || fail 'other calls are counted'

# --- calls in the trace
for name in main request nap told around; do
	count=$(awk -v name=$name '$2 == name { print $1 }' wanted)
	expect_eq "slices of $name" "$(slices short $name)" "$count"
done
# Every other call is long, or contains such a call.
awk '$1 == "B" { stack[$2 "/" $3, ++depth[$2 "/" $3]] = $4
		 kept[$2 "/" $3, depth[$2 "/" $3]] = $6 == "told" }
	$1 == "I" { kept[$2 "/" $3, depth[$2 "/" $3]] = 1 }
	$1 == "E" { thread = $2 "/" $3; at = depth[thread]--
		if ($4 - stack[thread, at] >= 20000000)
			kept[thread, at] = 1
		if (!kept[thread, at])
			print "a slice at " stack[thread, at] " has no reason"
		else
			kept[thread, at - 1] = 1 }' short.events >wrong
[ ! -s wrong ] || fail "short calls are in the trace: $(head -n 3 wrong)"

# --- calls that are not in the trace
begins=$(awk -v FS='\t' '$2 !~ /^perfrec: / { n += $1 } END { print n }' \
	short.counts)
expect_eq 'spans, slices and short ones' "$(json short/summary.json \
	'.totals | .spans - .short_spans - .folded_spans')" "$begins"
expect_eq 'of all' "$(json all/summary.json '.totals.short_spans')" 0
[ "$(json short/summary.json '.totals.short_spans')" -gt 100000 ] ||
	fail 'too few calls were left out'
expect_eq 'the setting' "$(json short/summary.json '.settings.min_duration_ns')" \
	20000000
for name in branch leaf; do
	[ "$(slices short $name)" -lt 1000 ] || fail "$name is in the trace"
done

# --- who says so
mkdir cut
run "$PERFREC" report short
expect_match out 'short +[0-9,]+ calls shorter than --min-duration'
run "$PERFREC" replay short
expect_match err 'calls shorter than 20.0 ms are not in the trace'
run "$PERFREC" replay all
expect_no_match err 'are not in the trace'
run_ok "$PERFREC" find 'request > 1ns' short
expect_match err 'calls shorter than 20.0 ms are not in the trace'
expect_eq 'the minimum of find' \
	"$("$PERFREC" find --json 'request > 1ns' short 2>err |
		jq .min_duration_ns)" 20000000
run "$PERFREC" report --from 0s short
expect_match out 'short +calls shorter than 20.0 ms are missing'
run "$PERFREC" report --from 0s all
expect_no_match out 'are missing'
expect_eq 'the minimum of a range' \
	"$("$PERFREC" report --json --from 0s short | jq .min_duration_ns)" \
	20000000
"$PERFREC" cut --from 0s --to 10s -o cut/trace.pftrace short 2>err ||
	fail "cut: $(cat err)"
run "$PERFREC" replay cut
expect_match err 'calls shorter than 20.0 ms are not in the trace'
run "$PERFREC" dump short
expect_match out '"perfrec.min_duration_ns":"?20000000'
cp -r short lost
rm lost/summary.json lost/wall.pb.gz
run "$PERFREC" report lost
expect_match out 'Calls shorter than 20.0 ms are missing'
run_ok "$PERFREC" report --repair lost
expect_match out 'Calls shorter than 20.0 ms are missing'

# --- a collector that is killed
collector_of()
{
	pgrep -P "$recorder" -x perfrec-collect >pid
}

# The calls that are open now.
is_open()
{
	"$O/tests/tools/trace_check" --allow-open --allow-cut --dump \
		killed/trace.pftrace 2>&1 |
		awk '$1 == "B" && $6 == "wait_for" { begun = 1 }
			END { exit !begun }'
}
"$PERFREC" record -q -o killed --min-duration 20ms ./calls go 2>err &
recorder=$!
wait_for 60 collector_of
wait_for 60 is_open
kill -9 "$(cat pid)"
touch go
wait $recorder
"$O/tests/tools/trace_check" --allow-open --allow-cut killed/trace.pftrace ||
	fail 'the trace of a killed collector breaks a rule'
run_ok "$PERFREC" report --json killed
for name in main wait_for; do
	expect_eq "$name of a killed collector" \
		"$(json out ".functions[] | select(.name == \"$name\") | .calls")" 1
done

# --- values
for value in 0 0us 1us 1h; do
	run_ok "$PERFREC" record -q -o values --min-duration $value true
done
for value in 5 1.5 -1us 61m 2h 1000 soon; do
	run "$PERFREC" record -o values --min-duration $value true
	expect_error 2 "--min-duration '$value': give a time with its unit \(ns, us, ms, s, m or h\) of at most 1h"
done

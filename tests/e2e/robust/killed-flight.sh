# SPDX-License-Identifier: Apache-2.0
#
# A flight recorder is killed while it writes snapshots: snapshots with their final
# names are whole, and perfrec record, if it sees that, and perfrec report --repair
# remove unfinished ones. KILLS is the number of rounds.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

build calls <<'SOURCE'
#include <unistd.h>
static volatile long sum;
__attribute__((noinline)) static void leaf(long i) { sum += i; }
int main(void)
{
	while (access("stop", F_OK) < 0)
		for (long i = 0; i < 1000; i++)
			leaf(i);
	return 0;
}
SOURCE
program=
trap '[ -z "$collector" ] || kill -KILL $collector; touch stop' EXIT

seed=${SEED:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}
echo "seed $seed"
# any BELOW: the next random number, in $random.
any()
{
	seed=$(((seed * 25173 + 13849) % 65536))
	random=$((seed * $1 / 65536))
}

is_asked_for()
{
	[ -d "$data" ] && find "$data" -name '.0*-*.new' | grep -q . ||
		! kill -0 $asker 2>/dev/null
}

spans()
{
	"$PERFREC" ctl stats --json 2>/dev/null |
		jq '.stats.recordings[0].spans // 0'
}
has_spans()
{
	[ "$(spans)" -gt 1000000 ]
}

# hidden: how much of $data is not finished.
hidden()
{
	find "$data" -name '.*' | wc -l
}

check_whole()
{
	for snapshot in "$data"/snapshots/*; do
		[ -e "$snapshot" ] || continue
		"$O/tests/tools/trace_check" "$snapshot/trace.pftrace" ||
			fail "the trace of $snapshot"
		jq -e .trace.slices "$snapshot/why.json" >/dev/null ||
			fail "why.json of $snapshot"
	done
}

for kill in $(seq "${KILLS:-4}"); do
	rm -f stop
	start_daemon --flight --memory 32M --margin 50ms
	preload ./calls &
	program=$!
	wait_for 60 has_spans
	data=$(echo data/calls-*)
	any 3
	for i in $(seq "$random"); do
		"$PERFREC" ctl snapshot >/dev/null || fail 'a snapshot'
	done
	"$PERFREC" ctl snapshot >asked 2>&1 &
	asker=$!
	wait_for 60 is_asked_for
	any 100
	sleep 0.0$random
	kill -KILL $collector
	wait $collector
	collector=
	wait $asker
	touch stop
	wait $program || fail "the program: status $?"
	echo "killed after 0.0$random s: $(hidden) not finished"
	# The rest of a collector that died at the worst moment.
	if [ "$kill" = 1 ]; then
		mkdir -p "$data/snapshots/.0077-101500-call.new"
		echo x >"$data/snapshots/.0077-101500-call.new/trace.pftrace"
		echo x >"$data/.wall.pb.gz.new"
	fi
	before=$(hidden)
	announced=$(find "$data/snapshots" -mindepth 1 -maxdepth 1 \
		-name '0*' | wc -l)
	run "$PERFREC" report "$data"
	expect_error 1 'was killed; its snapshots are in .*--repair'
	expect_eq 'what a report removes' "$(hidden)" "$before"
	run_ok "$PERFREC" report --repair "$data"
	expect_match err 'is of --flight: its snapshots, in'
	[ "$before" -eq 0 ] || expect_match err 'removed [0-9]+ snapshots? of'
	[ "$kill" != 1 ] || expect_match err 'removed 1 file of'
	expect_eq 'left' "$(hidden)" 0
	expect_eq 'snapshots' "$(find "$data/snapshots" -mindepth 1 \
		-maxdepth 1 | wc -l)" "$announced"
	check_whole
	run_ok "$PERFREC" report --repair "$data"
	expect_no_match err removed
done

# --- files of another owner stay
mkdir "$data/snapshots/.0078-101500-call.new"
echo mine >"$data/snapshots/.0078-101500-call.new/notes"
run "$PERFREC" report --repair "$data"
expect_error 1 'is no recording of perfrec'
expect_eq 'notes' "$(cat "$data/snapshots/.0078-101500-call.new/notes")" mine

# --- perfrec record tidies up itself
rm -f stop
: >err
"$PERFREC" record --flight --margin 1ms -o rec ./calls 2>err &
recorder=$!
data=rec
is_recorded()
{
	[ "$("$PERFREC" ctl -o rec list --json 2>/dev/null |
		jq '.programs[0].spans // 0')" -gt 1000 ] 2>/dev/null
}
wait_for 60 is_recorded
"$PERFREC" ctl -o rec snapshot >/dev/null || fail 'a snapshot'
mkdir rec/snapshots/.0099-101500-call.new
mkdir rec/.push
echo '{' >rec/.push/.123-4
kill -KILL "$("$PERFREC" ctl -o rec list --json | jq .collector.pid)"
wait_for 60 test -s err
touch stop
wait $recorder && fail 'status 0'
expect_match err 'removed 1 snapshot of' 'removed 1 window of' \
	'it has only the snapshots'
rmdir rec/.push || fail 'the window is still there'
expect_eq 'left' "$(hidden)" 0
check_whole

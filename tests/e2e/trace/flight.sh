# SPDX-License-Identifier: Apache-2.0
#
# The flight recorder: no trace, but snapshots of its memory, each a recording of
# its own. Overlapping snapshots become one, the oldest go, and a snapshot that
# cannot be written causes no other harm.
. "$TOP/tests/e2e/lib.sh"
need prlimit

build server -lpthread <<'SOURCE'
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static struct timespec pause_for = { .tv_nsec = 100000 };

__attribute__((noinline)) void step(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) void request(void)
{
	for (int i = 0; i < 50; i++)
		step();
	nanosleep(&pause_for, 0);
}

static void *serve(void *unused)
{
	(void)unused;
	while (access("stop", F_OK))
		request();
	return 0;
}

/* server [slow] */
int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argv;
	if (argc > 1)
		pause_for.tv_nsec = 10000000;
	pthread_create(&thread, 0, serve, 0);
	serve(0);
	pthread_join(thread, 0);
	return 0;
}
SOURCE

trap 'touch stop' EXIT
slow=

# begin DIR OPTION...: records the server, which runs on.
begin()
{
	data=$1
	shift
	rm -f stop
	"$PERFREC" record --flight "$@" -o "$data" ./server $slow \
		>"$data.out" 2>"$data.err" &
	recorder=$!
	wait_for 60 is_recorded
}

# There are requests in memory.
is_recorded()
{
	spans=$("$PERFREC" ctl -o "$data" list --json 2>/dev/null |
		jq '.programs[0].spans // 0')
	[ "${spans:-0}" -gt 1000 ]
}

end()
{
	touch stop
	wait $recorder || fail "perfrec record: status $?: $(cat "$data.err")"
}

snapshot()
{
	run timeout 200 "$PERFREC" ctl -o "$data" snapshot "$@"
}

total()
{
	json "$data/summary.json" ".totals.$1"
}

# figure MEMBER: of the recording that goes on.
figure()
{
	"$PERFREC" ctl -o "$data" stats --json >stats.json || fail 'ctl stats'
	json stats.json ".stats.recordings[0].$1"
}

# --- one snapshot is a recording
begin one --margin 50ms
snapshot --why 'somebody asked'
expect_status 0
folder=$(cat out)
[ -d "$folder" ] || fail "no folder '$folder'"
[ ! -e one/trace.pftrace ] || fail 'there is a trace'
"$O/tests/tools/trace_check" "$folder/trace.pftrace" || fail 'the trace'
why=$folder/why.json
expect_eq 'cause' "$(json "$why" '.listed[0].cause')" asked
expect_eq 'what' "$(json "$why" '.listed[0].what')" 'somebody asked'
expect_eq 'window' "$(json "$why" '.to_ns - .from_ns')" 100000000
expect_eq 'missing' "$(json "$why" '.missing | length')" 0
expect_eq 'threads' "$(json "$why" .trace.threads)" 2
slices=$(json "$why" .trace.slices)
run_ok "$PERFREC" report --json "$folder"
[ ! -s err ] || fail "report said: $(cat err)"
expect_eq 'slices' "$(json out .totals.spans)" "$slices"
grep -q 'This is a snapshot of .*somebody asked' out ||
	fail "report does not say what it is: $(cat out)"
expect_eq 'functions' "$(jq -r '[.functions[].name] | sort | join(" ")' out)" \
	'main request serve step'
run_ok "$PERFREC" find --json --limit 0 'request > 0us' "$folder"
[ "$(jq '.calls | length' out)" -gt 0 ] || fail 'no request is found'
run_ok "$PERFREC" replay "$folder"
[ ! -s err ] || fail "replay said: $(cat err)"
run_ok "$PERFREC" cut --from 10ms --to 20ms -o cut.pftrace "$folder"
"$O/tests/tools/trace_check" cut.pftrace || fail 'the cut of a snapshot'
run_ok "$PERFREC" report --repair "$folder"
end
grep -q "snapshot 'one/snapshots/${folder##*/}': .*somebody asked" one.err ||
	fail "not announced: $(cat one.err)"
expect_eq 'snapshots' "$(total snapshots)" 1
expect_eq 'triggers' "$(total triggers)" 1
expect_eq 'lost' "$(total lost_triggers)" 0
expect_eq 'list' "$(json one/summary.json '.snapshots[0]')" "${folder##*/}"
[ "$(total flight_kept_ns)" -gt 100000000 ] || fail 'nothing was kept'
run "$PERFREC" find request one
expect_error 1 "is of --flight: name one of its snapshots"

# --- overlapping snapshots become one
begin two --margin 2s
for i in 1 2; do
	timeout 200 "$PERFREC" ctl -o two snapshot --why $i >two.$i &
	eval "asker$i=$!"
done
wait "$asker1" && wait "$asker2" || fail 'no snapshot'
end
times=$(jq -s '[.[].listed[].begin_ns] | unique | max - min' \
	two/snapshots/*/why.json)
# They ask at about the same time; if not, they need not be one.
if [ "$times" -lt 1900000000 ]; then
	expect_eq 'folders' "$(cat two.1)" "$(cat two.2)"
	expect_eq 'events' "$(json two/snapshots/*/why.json .events)" 2
fi
expect_eq 'triggers' "$(total triggers)" 2

# --- the oldest go, except for a renamed one
begin three --margin 1ms --snapshots 2
for i in 1 2 3 4; do
	snapshot --why $i
	expect_status 0
	[ $i != 1 ] || mv "$(cat out)" three/snapshots/interesting
done
expect_eq 'triggers so far' "$(figure triggers)" 4
expect_eq 'snapshots so far' "$(figure snapshots)" 4
expect_eq 'removed so far' "$(figure removed_snapshots)" 1
[ "$(figure snapshot_bytes)" -gt 0 ] || fail 'snapshots have no bytes'
[ "$(figure flight_bytes)" -gt 0 ] || fail 'the memory is empty'
expect_eq 'memory' "$(figure flight_bytes_max)" 268435456
[ "$(figure flight_kept_ns)" -gt 0 ] || fail 'nothing is kept'
run_ok "$PERFREC" ctl -o three stats
expect_match out 'KEPT +MEMORY +TRIGGERS +NO SNAP\. +SNAPSHOTS +REMOVED' \
	' 4 +0 +4 +1 +0 .* three'
end
expect_eq 'left' "$(jq -r '.listed[].what' three/snapshots/*/why.json |
	sort | tr '\n' ' ')" '1 3 4 '
expect_eq 'removed' "$(total removed_snapshots)" 1
expect_eq 'hidden' "$(find three/snapshots -name '.*' | wc -l)" 0

# --- what cannot be written is said once, and the recording goes on
begin four --margin 500ms
collector=$("$PERFREC" ctl -o four list --json | jq .collector.pid)
prlimit --pid "$collector" --fsize=4096: || skip 'prlimit does not work here'
for i in 1 2; do
	snapshot
	expect_error 1 'is not in a snapshot: File too large'
done
expect_eq 'unwritten so far' "$(figure unwritten_snapshots)" 2
expect_eq 'lost so far' "$(figure lost_triggers)" 2
expect_eq 'left behind' "$(find four/snapshots -mindepth 1 | wc -l)" 0
prlimit --pid "$collector" --fsize=unlimited:
snapshot
expect_status 0
end
expect_eq 'said' "$(grep -c 'cannot write all of a snapshot' four.err)" 1
expect_eq 'unwritten' "$(total unwritten_snapshots)" 2
expect_eq 'lost' "$(total lost_triggers)" 2
expect_eq 'snapshots' "$(total snapshots)" 1

# --- a collector that is killed leaves the snapshots, and no trace to repair
begin killed
snapshot
expect_status 0
kill -KILL "$("$PERFREC" ctl -o killed list --json | jq .collector.pid)"
wait_for 60 test -s killed.err
touch stop
wait $recorder && fail 'status 0'
expect_match killed.err "'killed' is not complete: it has only the snapshots"
expect_no_match killed.err '--repair'
run_ok "$PERFREC" report "$(ls -d killed/snapshots/*)"

# --- few switches of threads are written, though a packet has room for more
slow=slow
begin slow --sched on --margin 100ms
snapshot
expect_status 0
folder=$(cat out)
end
slow=
"$PERFREC" report --json slow | jq -e .settings.sched >/dev/null &&
	[ "$(total sched_threads)" -gt 0 ] &&
	{
		"$PERFREC" dump "$folder" >events || fail 'dump'
		[ "$(grep -c '"kind":"stretch"' events)" -gt 5 ] ||
			fail "no switches: $(head -c 2000 events)"
	}

# --- without --flight there are none
rm stop
"$PERFREC" record -q -o five ./server &
recorder=$!
data=five
wait_for 60 is_recorded
snapshot
expect_error 1 'recording goes on without --flight'
expect_eq 'memory' "$(figure flight_bytes_max)" 0
end

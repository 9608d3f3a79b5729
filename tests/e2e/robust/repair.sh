# SPDX-License-Identifier: Apache-2.0
# long: repairs a trace that is cut at many bytes
#
# A recording without a summary: perfrec report makes one from the trace, with
# the figures that the collector would have written; --repair writes it, once;
# a trace that is cut at any byte is read up to there; and while the collector
# runs, nobody repairs. perfrec record says that its collector was killed.
. "$TOP/tests/e2e/lib.sh"

prog robust/repair_me
seed=${SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
echo "seed $seed"

# random LESS_THAN: a number in $number
random()
{
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	number=$((seed / 65536 * 32768 + seed % 32768))
	number=$((number % $1))
}

# figures FILE: calls and times by name, which is what a trace knows, and of how
# many calls it is known how long they took.
figures()
{
	json "$1" '([.functions[] | select(.recorded > 0)] | group_by(.name) |
		map([.[0].name, (map(.recorded) | add),
			(map(.measured_self_ns) | add),
			(map(.measured_total_ns) | add),
			(if length > 1 then null else .[0] |
				.durations // "" |
				[scan(":(\\d+)")[0] | tonumber] | add end)])),
		(.totals | [.processes, .threads, .spans, .span_threads,
			.dropped_spans, .waits, .wait_ns])'
}

# longest FILE: of each function, by name, how long its longest call took.
longest()
{
	json "$1" '[.functions[] | select(.recorded > 0)] | group_by(.name) |
		map(.[0].name, (map(.max_ns) | max))[]'
}

# as_measured WHOLE REPAIRED: a trace has durations as they were measured, the
# collector has taken its own cost off them.
as_measured()
{
	longest "$1" >corrected
	longest "$2" >raw
	paste corrected raw | awk '$1 + 0 && $1 > $2 { exit 1 }' ||
		fail "a corrected duration is longer than the raw one"
}

# listing DIR: its files.
listing()
{
	(cd "$1" && sha256sum -- *)
}

# --- a finished recording, without what a killed collector would not write ---
for options in '' '--compress' '--ring-size 64K --on-full drop'; do
	rm -rf whole lost
	# shellcheck disable=SC2086
	"$PERFREC" record -q -o whole $options ./repair_me 8 2>err ||
		fail "record $options: $(cat err)"
	cp -r whole lost
	rm lost/summary.json lost/wall.pb.gz
	listing lost >before
	figures whole/summary.json >wanted
	run_ok "$PERFREC" report --json lost
	expect_match err "'lost' has no summary.json.*perfrec report --repair lost"
	figures out >got
	diff wanted got || fail "report $options: other figures"
	as_measured whole/summary.json out
	expect_eq "report $options: rebuilt" "$(json out '.rebuilt.damaged')" false
	listing lost >after
	diff before after || fail "report $options: it has changed the folder"

	run "$PERFREC" report --html page lost
	expect_error 1 'its collector was killed; perfrec report --repair lost'
	run "$PERFREC" open --pprof lost
	expect_error 1 'its collector was killed; perfrec report --repair lost'
	run "$PERFREC" export --to chrome -o chrome lost
	expect_match err "warning: 'lost' is no finished recording: its collector was killed"
	run "$PERFREC" export --to folded lost
	expect_error 1 'its collector was killed; perfrec report --repair lost'

	run_ok "$PERFREC" report --repair lost
	expect_match err "'lost' has summary.json and wall.pb.gz now.*, and ends at [0-9.]+m?s: what came later is lost"
	expect_match out 'Unknown: allocations, CPU samples'
	"$PERFREC" report --json lost >out || fail 'report of what was repaired'
	figures out >got
	diff wanted got || fail "repair $options: other figures"
	cmp whole/trace.pftrace lost/trace.pftrace || fail 'the trace has changed'
	for dir in whole lost; do
		"$PERFREC" export --to folded --value calls $dir | sort >$dir.folded
	done
	cmp whole.folded lost.folded || fail "repair $options: another profile"
	"$PERFREC" report --html page lost || fail 'no page of what was repaired'

	listing lost >before
	run_ok "$PERFREC" report --repair lost
	expect_match err 'there is nothing to repair'
	listing lost >after
	diff before after || fail 'the second repair has changed something'
done

# --- a profile that the collector had written stays ---
rm -rf lost
cp -r whole lost
rm lost/summary.json
# An empty file is what a machine without power leaves.
: >lost/summary.json
: >lost/.summary.json.new
"$PERFREC" report --repair lost >out 2>err || fail 'repair of an empty summary'
cmp whole/wall.pb.gz lost/wall.pb.gz || fail 'the profile was written anew'
figures lost/summary.json >/dev/null

# --- on the disk ---
"$PERFREC" record -q --sync -o synced ./repair_me 2 2>err || fail "$(cat err)"
expect_eq 'synced: threads' "$(json synced/summary.json .totals.threads)" 3
if command -v strace >/dev/null; then
	strace -f -o calls -e trace=fsync,renameat "$PERFREC" record -q --sync \
		-o traced ./repair_me 2 2>err && expect_eq 'fsync() after the summary' \
		"$(sed '1,/"summary.json")/d' calls | grep -c 'fsync.* = 0$')" \
		$(($(find traced -type f | wc -l) + 2))
fi

# --- cut at any byte ---
"$PERFREC" record -q -o whole-z --compress ./repair_me 8 || fail 'record'
for dir in whole whole-z; do
	size=$(wc -c <$dir/trace.pftrace)
	spans=$(json $dir/summary.json .totals.spans)
	for try in $(seq 0 8); do
		random "$size"
		[ "$try" -gt 0 ] || number=187
		rm -rf cut
		mkdir cut
		head -c "$number" $dir/trace.pftrace >cut/trace.pftrace
		run "$PERFREC" report --json cut
		# Without one whole packet there is nothing to show.
		if [ $status -eq 1 ]; then
			expect_match err 'it is empty, or no trace'
			[ "$number" -lt 600000 ] || fail "nothing in $number bytes"
			continue
		fi
		expect_status 0
		expect_eq "cut at $number of $size: all of it" "$(json out \
			'.rebuilt | .read_bytes + .cut_bytes, .damaged')" \
			"$number
false"
		[ "$(json out .totals.spans)" -le "$spans" ] ||
			fail "cut at $number: more spans than $spans"
		# So short a trace may be somebody else's.
		if ! grep -aq perfrec.version cut/trace.pftrace &&
			[ $dir = whole ]; then
			run "$PERFREC" report --repair cut
			expect_error 1 'something else wrote its trace.pftrace'
			continue
		fi
		"$PERFREC" report --repair cut >out 2>err ||
			fail "cut at $number ($try): $(cat err)"
		[ "$try" -gt 1 ] || "$PERFREC" report --html page cut >out 2>err ||
			fail "cut at $number ($try), page: $(cat err)"
	done
done

# --- half a packet is no damage once it is repaired, either ---
for dir in whole whole-z; do
	rm -rf cut
	mkdir cut
	head -c -3 $dir/trace.pftrace >cut/trace.pftrace
	"$PERFREC" report --repair cut >out 2>err || fail "$(cat err)"
	run_ok "$PERFREC" report --json --from 0ns cut
	expect_match err "warning: 'cut/trace.pftrace' ends in [0-9]* bytes of half a packet, because its collector was killed"
done

# --- damaged inside: one note says so, without a word of half a packet ---
rm -rf cut
mkdir cut
head -c 50000 whole/trace.pftrace >cut/trace.pftrace
head -c 50000 /dev/zero >>cut/trace.pftrace
run_ok "$PERFREC" report --json cut
expect_eq 'damaged' "$(json out '.rebuilt | .damaged, .cut_bytes' | xargs)" 'true 0'
expect_eq 'notes of damage' "$(json out '.notes[]' |
	grep -c 'is damaged at byte [0-9]* of 100000: what follows')" 1
expect_eq 'other notes' "$(json out '.notes[]' |
	grep -Ec 'half a packet|Bad message|^1 [a-z]*s ')" 0

# --- a summary that cannot be read is not called one ---
rm -rf lost
cp -r whole lost
echo '{' >lost/summary.json
run "$PERFREC" report --repair lost
expect_status 1
expect_match err "lost/summary.json' is damaged, move it away"
expect_no_match err 'nothing to repair'

# --- folders without a trace ---
mkdir empty other
: >empty/trace.pftrace
echo 'no trace' >other/trace.pftrace
for dir in empty other; do
	run "$PERFREC" report $dir
	expect_error 1 'it is empty, or no trace'
	run "$PERFREC" report --repair $dir
	expect_status 1
	expect_none $dir/summary.json $dir/wall.pb.gz
done

# --- the collector is killed ---
# has_trace: something can be read.
has_trace()
{
	[ "$(find killed -name trace.pftrace -size +300k)" ]
}

# start [OPTION...]: $collector and $perfrec run.
start()
{
	rm -rf killed end
	"$PERFREC" record -q -o killed --max-size 2G "$@" ./repair_me 32 end \
		>out.record 2>err.record &
	perfrec=$!
	wait_for 60 has_trace
	collector=$(pgrep -P $perfrec perfrec-collect) || fail 'no collector'
}
trap 'touch end' EXIT
for options in '' '--compress'; do
	# shellcheck disable=SC2086
	start $options
	for option in --json --repair; do
		run "$PERFREC" report $option killed
		expect_error 1 "'killed' is no finished recording: it still goes on"
	done
	expect_none killed/summary.json
	kill -KILL "$collector"
	wait_for 60 test -s err.record
	touch end
	wait $perfrec
	expect_eq "status of record $options" $? 1
	expect_match err.record 'perfrec-collect was killed by signal 9' \
		"'killed' is not complete: its trace ends there.*report --repair killed"
	run_ok "$PERFREC" report --json killed
	[ "$(json out .totals.threads)" -gt 1 ] || fail 'no threads'
	[ "$(json out .totals.spans)" -gt 1000 ] || fail 'hardly a span'
	"$PERFREC" report --repair killed >out 2>err || fail "$(cat err)"
	"$PERFREC" report --html page killed || fail 'no page'
done

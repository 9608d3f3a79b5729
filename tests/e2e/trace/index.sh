# SPDX-License-Identifier: Apache-2.0
# timeout: 3000
# long: reads each of many random ranges twice
#
# trace.index: readers find the same with it and without it, and a page has the same
# content, in random ranges of recordings with each kind of event: raw and
# compressed, with threads whose many calls fill several chunks, with a killed
# collector, and with any damage of the index. Readers ignore the index of another
# trace.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need python3

prog trace/ranges
prog trace/coroutines

# same FOLDER [OPTION...]
same()
{
	folder=$1
	shift
	[ -s "$folder/trace.index" ] || fail "$folder has no index"
	python3 "$TOP/tests/tools/index_same.py" "$@" "$PERFREC" \
		"$O/tests/tools/window_dump" "$folder" ||
		fail "$folder: the index does not say what the trace says"
}

# same_calls FOLDER [OPTION...]
same_calls()
{
	folder=$1
	shift
	python3 "$TOP/tests/tools/calls_same.py" "$@" "$O/tests/tools/window_dump" \
		"$O/tests/tools/calls_dump" "$folder" ||
		fail "$folder: a page by the index is another one"
}

# curves FOLDER [-i]: those of counters; -i: by the index.
curves()
{
	"$O/tests/tools/curves_check" ${2:+"$2"} "$1/trace.pftrace" 12 7 ||
		fail "$1: the curves of counters are others"
}

# same_cuts FOLDER [OPTION...]: of short ranges; trace/cut-index has others.
same_cuts()
{
	folder=$1
	shift
	python3 "$TOP/tests/tools/cut_same.py" --short --count 3 "$@" "$PERFREC" \
		"$folder" || fail "$folder: a cut by the index is another one"
}

run_ok "$PERFREC" record -q --on-full=block --sched on -o data ./ranges 5
same data --count 8 --damage 6
same_calls data
curves data -i

run_ok "$PERFREC" record -q --on-full=block --compress --alloc exact -o packed \
	./ranges 5
same packed --seed 2 --count 6 --damage 3
curves packed -i

# The largest of many processes is the last.
run_ok "$PERFREC" record -q --alloc exact -o processes sh -c \
	'for i in $(seq 40); do expr 1 + 1; done; exec ./ranges 1'
curves processes -i

run_ok "$PERFREC" record -q --on-full=block -o stacks ./coroutines
same stacks --seed 3 --count 5
same_calls stacks --seed 3

run_ok "$PERFREC" record -q --on-full=block --min-duration 300ns -o long ./ranges 5
same long --seed 4 --count 5

# Several chunks: of 64 Ki calls, and a part of one.
prog trace/many
for compress in off on; do
	run_ok "$PERFREC" record -q --on-full=block --compress=$compress \
		-o "many-$compress" ./many
	same "many-$compress" --seed 5 --count 3
done
same_cuts many-on --seed 5 --find leaf
same_calls many-on --seed 5 --count 1
# The index suffices to find that no such call exists.
run "$PERFREC" find 'leaf > 1h' many-on
expect_error 1 "no call matches 'leaf > 1h': [0-9,]* calls took at most "
expect_eq 'calls of leaf' "$(sed 's/.*> 1h.: \([0-9,]*\) .*/\1/; s/,//g; q' err)" \
	"$(json many-on/summary.json '.functions[] | select(.name == "leaf(long)" or
		.name == "leaf") | .calls')"
expect_no_match err 'has no index'
# A thread that the index does not contain.
same many-off --seed 8 --count 4 --batches 1
same_cuts many-off --seed 8 --batches 1 --find deep

for part in '--seed 8 --batches 1' '--seed 9'; do
	python3 "$TOP/tests/tools/parts_same.py" $part --count 4 "$PERFREC" many-off ||
		fail "many-off: the index ($part) changes an export"
done
# A replay of a range reads only the parts that it needs.
[ "$(stat -c %s many-off/trace.pftrace)" -gt $((2500 * 1024)) ] ||
	fail 'a trace that is too short to be torn'
cp -r many-off torn
dd if=/dev/zero of=torn/trace.pftrace conv=notrunc bs=1024 seek=1500 count=1000 \
	2>/dev/null
end=$("$PERFREC" find --json --sort time --limit 1 main many-off |
	jq '.calls[0].duration_ns')
for command in replay 'export --to chrome' 'export --to speedscope'; do
	for folder in many-off torn; do
		run "$PERFREC" $command --from $((end - 100000))ns --min-duration 1ms \
			"$folder"
		expect_status 0
		mv out "$folder.out"
	done
	cmp many-off.out torn.out || fail "$command of a range reads all of the trace"
done
grep -q main many-off.out || fail 'no call of main'

# The index has the last values of many counters, and is small nevertheless.
prog trace/counters
run_ok "$PERFREC" record -q --on-full=block --compress=off -o set \
	./counters 248 300 2 calls
same_cuts set --seed 9
curves set -i
index_bytes=$(stat -c %s set/trace.index)
trace_bytes=$(stat -c %s set/trace.pftrace)
[ $((index_bytes * 33)) -lt "$trace_bytes" ] ||
	fail "an index of $index_bytes bytes for a trace of $trace_bytes"

# Open calls last until the last event of all: also in a thread whose whole trace is
# read before that event is known.
for percent in 65 75; do
	rm -rf cut-off
	cp -r many-off cut-off
	rm cut-off/summary.json
	truncate -s $(($(stat -c %s many-off/trace.pftrace) * percent / 100)) \
		cut-off/trace.pftrace
	same cut-off --count 0
done

# Readers read the end of the trace, which has no index yet.
start_daemon --on-full block
preload ./many &
program=$!
long_trace()
{
	set -- data/many-*/trace.index
	[ -f "$1" ] && [ "$(stat -c %s "$1")" -gt 1000 ]
}
wait_for 60 long_trace
kill -KILL $collector
wait $collector 2>/dev/null
collector=
wait $program || fail "status $?"
same "$(echo data/many-*)" --seed 6 --count 3
same_cuts "$(echo data/many-*)" --seed 6 --slowest deep

curves "$(echo data/many-*)"

# That of another trace.
cp -r packed other
cp stacks/trace.index other/trace.index
same other --seed 7 --count 2
curves other

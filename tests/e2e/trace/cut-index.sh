# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# long: reads each of many random ranges twice
#
# perfrec cut and find by the index return the same as without it, packet by packet
# and call by call: in random ranges of recordings with each kind of event and
# several extents; raw and compressed, with switches, samples and blocks of memory;
# with calls left out; of contexts; and with an index that is cut short, damaged, or
# of another trace. (trace/index tests one whose collector was killed, and a part of
# an index.) Replays and exports of ranges are compared byte by byte.
. "$TOP/tests/e2e/lib.sh"
need python3

prog trace/ranges
prog trace/coroutines

# same FOLDER [OPTION...]
same()
{
	folder=$1
	shift
	[ -s "$folder/trace.index" ] || fail "$folder has no index"
	python3 "$TOP/tests/tools/cut_same.py" "$@" "$PERFREC" "$folder" ||
		fail "$folder: a cut by the index is another one"
}

# same_parts FOLDER [OPTION...]
same_parts()
{
	folder=$1
	shift
	python3 "$TOP/tests/tools/parts_same.py" --count 12 --function leaf "$@" \
		"$PERFREC" "$folder" ||
		fail "$folder: a replay or an export by the index is another one"
}

run_ok "$PERFREC" record -q --on-full=block --sched on -o data ./ranges 500
# Several extents, or all is read each time.
[ "$(stat -c %s data/trace.pftrace)" -gt 600000 ] || fail 'a small trace'
same data --count 6 --damage 4 --slowest leaf --slowest one_round \
	--thread '5 worker'
same_parts data --damage 4 --thread "$(json data/summary.json \
	'.processes[0].pid')"

run_ok "$PERFREC" record -q --on-full=block --compress --alloc exact --cpu 499 \
	-o packed ./ranges 300
same packed --seed 3 --count 3 --slowest annotate --find annotate
same_parts packed --seed 3

run_ok "$PERFREC" record -q --on-full=block --min-duration 300ns -o long ./ranges 5
same long --seed 4 --count 3

run_ok "$PERFREC" record -q --on-full=block -o stacks ./coroutines
same stacks --seed 5 --count 3 --find leaf
same_parts stacks --seed 5

# That of another trace.
cp -r packed other
cp stacks/trace.index other/trace.index
same other --seed 7 --count 1

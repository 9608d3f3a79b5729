# SPDX-License-Identifier: Apache-2.0
# timeout: 3000
# long: reads each of many random ranges twice
#
# perfrec index makes the index of a trace from the trace alone: readers find the
# same with it and without it, in random ranges of recordings with each kind of
# event, raw and compressed, cut at any byte, with any file in place of the index.
# After an error message, no file has changed.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need python3

seed=${SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
echo "seed $seed"
prog trace/ranges
prog trace/coroutines
prog trace/many

# random LESS_THAN: a number in $number
random()
{
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	number=$((seed / 65536 * 32768 + seed % 32768))
	number=$((number % $1))
}

# same FOLDER [OPTION...]: with the index and without.
same()
{
	folder=$1
	shift
	[ -s "$folder/trace.index" ] || fail "$folder has no index"
	python3 "$TOP/tests/tools/index_same.py" --seed "$seed" "$@" "$PERFREC" \
		"$O/tests/tools/window_dump" "$folder" ||
		fail "$folder: the index does not say what the trace says"
	# Readers do not use the index of a damaged trace.
	used=-i
	case " $* " in *' --torn '*) used='' ;; esac
	"$O/tests/tools/curves_check" $used "$folder/trace.pftrace" 3 "$seed" ||
		fail "$folder: the curves of counters are others"
}

# indexed FOLDER REGEX: perfrec index makes an index with this message, and nothing
# the next time.
indexed()
{
	run_ok "$PERFREC" index "$1"
	expect_match out "^$1/trace.index: $2 calls?, [0-9.]+ [KM]?i?B"
	expect_none "$1/.trace.index.new"
	cp "$1/trace.index" made
	run_ok "$PERFREC" index "$1"
	expect_match err "'$1' already has a complete index"
	cmp -s "$1/trace.index" made || fail "$1: another index"
}

# again FOLDER REGEX [OPTION...]: makes the missing index.
again()
{
	folder=$1 slices=$2
	shift 2
	rm "$folder/trace.index"
	indexed "$folder" "$slices"
	same "$folder" "$@"
}

run_ok "$PERFREC" record -q --on-full=block --sched on -o data ./ranges 5
again data '[0-9,]+' --count 5
run_ok "$PERFREC" record -q --on-full=block --compress --alloc exact -o packed \
	./ranges 5
again packed '[0-9,]+' --count 3
run_ok "$PERFREC" record -q --on-full=block -o stacks ./coroutines
again stacks '[0-9,]+' --count 3
run_ok "$PERFREC" record -q --on-full=block --min-duration 300ns -o long ./ranges 5
again long '[0-9,]+' --count 3
# Losses and waits, and from somewhere on compressed.
run_ok "$PERFREC" record -q --ring-size 64K --on-full drop -o lossy ./many
again lossy '[0-9,]+' --count 2

# Several chunks.
for compress in off on; do
	run_ok "$PERFREC" record -q --on-full=block --compress=$compress \
		-o "many-$compress" ./many
	again "many-$compress" '359,605' --count 2
done

# An index that is cut short and lacks a thread; one with a changed byte; one of
# another trace; one of an unknown format.
cp -r many-off worse
for how in cut byte foreign none; do
	cp many-off/trace.index worse/trace.index
	case $how in
	cut) head -c 9000 many-off/trace.index >worse/trace.index ;;
	byte) # another one than is there
		byte=$(od -An -tu1 -j5000 -N1 worse/trace.index)
		printf "\\$(printf %o $((byte ^ 1)))" |
			dd of=worse/trace.index bs=1 seek=5000 conv=notrunc 2>dd.err ||
			fail "$(cat dd.err)" ;;
	foreign) cp data/trace.index worse/trace.index ;;
	none) echo 'no index' >worse/trace.index ;;
	esac
	indexed worse '359,605'
	cmp -s worse/trace.index many-off/trace.index ||
		fail "$how: another index of the same trace"
done
run_ok "$PERFREC" index --again worse
expect_match out '^worse/trace.index: 359,605 calls'

# A trace that was cut at any byte: its whole packets are indexed, and threads last
# until its end.
for trace in many-off many-on; do
	rm -rf cut
	mkdir cut
	random "$(stat -c %s $trace/trace.pftrace)"
	head -c $((number / 2 + 100000)) $trace/trace.pftrace >cut/trace.pftrace
	run_ok "$PERFREC" index cut
	expect_match err "'cut' is no finished recording: its collector was killed"
	same cut --count 2
done
# Also if the last event is a wait, which comes before the calls in the trace.
size=$(stat -c %s data/trace.pftrace)
for part in 3 4 5 6 7; do
	rm -rf cut
	mkdir cut
	head -c $((size * part / 8)) data/trace.pftrace >cut/trace.pftrace
	run_ok "$PERFREC" index cut
	same cut --count 1
done
# One that ends where a thread has begun, and has done nothing yet.
python3 "$TOP/tests/tools/thread_starts.py" many-off/trace.pftrace >starts ||
	fail 'see above'
expect_eq 'threads that begin' "$(wc -l <starts)" 3
for at in $(tail -n 2 starts); do
	rm -rf cut
	mkdir cut
	head -c "$at" many-off/trace.pftrace >cut/trace.pftrace
	run_ok "$PERFREC" index cut
	same cut --count 2
done
# A trace may end where a thread has an instant, and no call yet: a forked child.
python3 "$TOP/tests/tools/thread_starts.py" data/trace.pftrace 8 >starts ||
	fail 'see above'
tail -n 9 starts >last
while read -r at; do
	rm -rf cut
	mkdir cut
	head -c "$at" data/trace.pftrace >cut/trace.pftrace
	run_ok "$PERFREC" index cut
	same cut --count 1
	run_ok "$PERFREC" dump cut
	grep -q '"name":"forked"' out && break
done <last
track=$(sed -n 's/.*"track":\([0-9]*\),"name":"forked".*/\1/p' out | tail -n 1)
[ "$track" ] || fail 'no forked child has an instant without a call'
expect_no_match out "\"kind\":\"begin\".*\"track\":$track,"
# Damaged from some point on: the part before has its index.
cp -r many-off torn
rm torn/trace.index
head -c 4800000 many-off/trace.pftrace >torn/trace.pftrace
head -c 5000 /dev/zero >>torn/trace.pftrace
tail -c +4805001 many-off/trace.pftrace >>torn/trace.pftrace
run "$PERFREC" index torn
expect_status 1
expect_match err "'torn/trace.pftrace' is damaged from byte [0-9]* of"
expect_match out '^torn/trace.index: [0-9,]+ calls'
same torn --torn --count 2
"$PERFREC" report --json --from 0ns --to 1ms many-off >whole.json
"$PERFREC" report --json --from 0ns --to 1ms torn >torn.json 2>err
for file in whole torn; do
	json $file.json '.functions, .totals.calls' >$file.txt
done
cmp whole.txt torn.txt || fail 'what is before the damage is reported otherwise'

# A large trace that has to be read says how not to.
run_ok "$PERFREC" record -q --on-full=block --compress=off --max-size 1G -o large \
	./many 6
cp large/trace.index whole.index
for how in none short whole; do
	case $how in
	none) rm large/trace.index ;;
	short) head -c $(($(stat -c %s whole.index) / 8)) whole.index >large/trace.index ;;
	whole) cp whole.index large/trace.index ;;
	esac
	run_ok "$PERFREC" report --from 0ns --to 1ms large
	case $how in
	none) expect_match err '[0-9.]+ MiB of the trace were read, because it has no index that fits: perfrec index large makes' ;;
	short) expect_match err '[0-9.]+ MiB of the trace were read, because its index ends early: perfrec index large' ;;
	whole) expect_no_match err 'perfrec index' ;;
	esac
done

# --- mistakes ---
cp many-off/trace.index before
run "$PERFREC" index nowhere
expect_error 1 "no such folder: 'nowhere'"
run "$PERFREC" index ''
expect_error 2 "'': give the name of a folder"
run "$PERFREC" index many-off many-on
expect_error 2 "'many-on': one recording at a time"
run "$PERFREC" index many-off/summary.json
expect_error 1 "'many-off/summary.json' is no recording"
mkdir other empty
echo 'a trace of something else' >other/trace.pftrace
: >empty/trace.pftrace
run "$PERFREC" index other
expect_error 1 "'other' is no recording of perfrec"
run "$PERFREC" index empty
expect_error 1 "'empty/trace.pftrace' is no trace, or is empty"
expect_none other/trace.index empty/trace.index empty/.trace.index.new
# The file would be larger than it may be.
(ulimit -f 1 && exec "$PERFREC" index --again many-off) >out 2>err
status=$?
expect_error 1 "cannot write 'many-off/trace.index': File too large"
cmp before many-off/trace.index || fail 'another index'
expect_none many-off/.trace.index.new
# A recording that still goes on.
start_daemon --on-full block
preload ./ranges 1 burst >/dev/null &
program=$!
started()
{
	set -- data/ranges-*/trace.pftrace
	[ -s "$1" ]
}
wait_for 60 started
run "$PERFREC" index "$(echo data/ranges-*)"
expect_error 1 "'data/ranges-[0-9-]*' is in use: its recording still goes on"
touch go end
wait $program || fail "status $?"
stop_daemon

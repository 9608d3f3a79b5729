#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# large.sh [--spans N] [--threads N] [--seconds N] [--only PART,...] [--raw]
# [--keep] - the cost of large recordings: of N (10^9) spans of one fast thread, and
# of N (1,000) threads with a call per ms for N (120) seconds; and the time of the
# commands that read them. Prints a table with each number beside its reach
# (docs/BENCHMARKS.md, large recordings).
#
#	lua	the fast thread: Lua with hooks on tests/real/workload.lua
#	slow	the threads: tests/bench/slow_threads.c
#	minimum	the size of traces of Lua and LevelDB with --min-duration 1us
#	cost	index and histograms in the collector, of saved rings (bench_replay)
#
# A new part is a function part_NAME that prints rows; a new row of a recording
# belongs into rows_of_commands. Files lie in O, --keep leaves the recordings there.
# REAL_DIR/overhead-real has, or gets, the programs (tests/real/overhead_build.sh).
# Programs that cannot be built are skipped, and a line says so.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
O=$(cd "${O:-$top/build}" && pwd)
programs=${REAL_DIR:-$O/real}/overhead-real
spans=1000000000 threads=1000 seconds=120 only='lua slow minimum cost' keep=''
compress=auto bytes_a_span=6
PERFREC=$O/perfrec

usage()
{
	echo "usage: $0 [--spans N] [--threads N] [--seconds N]" \
		"[--only PART,...] [--raw] [--keep]" >&2
	exit 2
}

# number WHAT TEXT: TEXT as a whole number above 0; 1e9 is one.
number()
{
	echo "$2" | grep -Eq '^[1-9][0-9]*(e[0-9]+)?$' || {
		echo "large.sh: $1 '$2' is not a number above 0" >&2
		exit 2
	}
	printf '%.0f' "$2"
}

while [ $# -gt 0 ]; do
	case $1 in
	--spans | --threads | --seconds | --only) [ $# -gt 1 ] || usage ;;
	esac
	case $1 in
	--spans) spans=$(number "$1" "$2"); shift ;;
	--threads) threads=$(number "$1" "$2"); shift ;;
	--seconds) seconds=$(number "$1" "$2"); shift ;;
	--only)	only=$(echo "$2" | tr , ' '); shift ;;
	--raw)	compress=off bytes_a_span=26 ;;
	--keep)	keep=yes ;;
	*)	usage ;;
	esac
	shift
done
for part in $only; do
	grep -q "^part_$part()" "$0" || {
		echo "large.sh: there is no part '$part': lua, slow, minimum, cost" >&2
		exit 2
	}
done

work=$(mktemp -d "$O/bench-large.XXXXXX")
pid=''
clean_up()
{
	[ -z "$pid" ] || kill "$pid" 2>/dev/null || :
	[ -n "$keep" ] || rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM
for variable in $(env | sed -n 's/^\(PERFREC_[A-Z_]*\)=.*/\1/p'); do
	unset "$variable"
done
# A socket of our own: a daemon of this user is not asked.
mkdir -m 700 "$work/run"
export XDG_RUNTIME_DIR="$work/run" XDG_CACHE_HOME="$work/cache"
cd "$work"

note()
{
	echo "bench-large: $*" >&2
}

# need_room BYTES WHAT: ends all when the disk has less.
need_room()
{
	room=$(df -P -B1 . | awk 'NR == 2 { print $4 }')
	[ "$room" -ge "$1" ] && return
	note "$2 needs $(($1 / 1000000)) MB below $O, which has" \
		"$((room / 1000000)) MB: make room, set O, or record less" \
		"(--spans, --seconds)"
	exit 1
}

# row WHAT MEASURED REACH: one line of the table.
row()
{
	printf '| %-52s | %-28s | %-14s |\n' "$1" "$2" "$3"
}

json()
{
	jq -r "$2" "$1/summary.json"
}

# share PART WHOLE: as %.
share()
{
	awk -v part="$1" -v whole="$2" \
		'BEGIN { printf "%.2f %%", whole ? 100 * part / whole : 0 }'
}

# The perfrec-collect of process $1.
collector_of()
{
	tr ' ' '\n' <"/proc/$1/task/$1/children" | while read -r child; do
		read -r name <"/proc/$child/comm" || continue
		[ "$name" != perfrec-collect ] || echo "$child"
	done 2>/dev/null
}

# The most that the collector of process $1 has, until that ends: $anon of its own,
# $rings (kB).
watch_collector()
{
	anon=0 rings=0
	while kill -0 "$1" 2>/dev/null; do
		collector=$(collector_of "$1" 2>/dev/null) || :
		awk '/^RssAnon/ { anon = $2 } /^RssShmem/ { rings = $2 }
			END { print anon + 0, rings + 0 }' \
			"/proc/${collector:-0}/status" >figures 2>/dev/null || :
		if read -r own shared <figures; then
			[ "$own" -le "$anon" ] || anon=$own
			[ "$shared" -le "$rings" ] || rings=$shared
		fi
		sleep 0.1
	done
}

# record DIR COMMAND...: and what its collector had.
record()
{
	folder=$1
	shift
	"$PERFREC" record -q --overhead off --on-full block \
		--compress=$compress -o "$folder" -- "$@" >/dev/null &
	pid=$!
	watch_collector $pid
	wait $pid || {
		note "$folder: exit status $?"
		exit 1
	}
	pid=''
}

# Reads from the disk, if we may empty the cache.
cold=cold
make_cold()
{
	sync
	if ! { echo 3 >/proc/sys/vm/drop_caches; } 2>/dev/null; then
		cold='not cold'
	fi
}

# timed WHAT REACH COMMAND...: a row with its time and memory, from the disk.
timed()
{
	what=$1 reach=$2
	shift 2
	make_cold
	/usr/bin/time -o time -f '%e %M' "$@" >out 2>err || {
		note "$what: $(head -n 1 err)"
		return
	}
	row "$what, $cold" "$(awk '{ printf "%s s, %.0f MB", $1, $2 / 1024 }' \
		time)" "$reach"
}

# moment FOLDER PERCENT [MS]: a time of the recording, MS later.
moment()
{
	json "$1" ".wall_ns * $2 / 100 + ${3:-0} * 1000000 | floor" |
		sed 's/$/ns/'
}

# rows_of_commands DIR FUNCTION: runs commands on the recording.
rows_of_commands()
{
	timed 'report' '1 s, 200 MB' "$PERFREC" report "$1"
	for percent in 0 37 50 90; do
		timed "report of 100 ms at $percent %" '0.3 s' "$PERFREC" report \
			--from "$(moment "$1" $percent)" \
			--to "$(moment "$1" $percent 100)" "$1"
	done
	timed 'report of 5 % to 75 %' '0.3 s' "$PERFREC" report \
		--from "$(moment "$1" 5)" --to "$(moment "$1" 75)" "$1"
	timed 'cut of 100 ms at 50 %' '0.3 s' "$PERFREC" cut --from \
		"$(moment "$1" 50)" --to "$(moment "$1" 50 100)" -o cut "$1"
	rm -f cut
	timed "find $2 > 5 ms" '-' "$PERFREC" find "$2 > 5ms" "$1"
	timed "find $2 > 1 h, which there are not" '0.3 s' sh -c \
		"'$PERFREC' find '$2 > 1h' '$1' || [ \$? = 1 ]"
	timed 'page' '1 s, 200 MB' "$PERFREC" report --html page.html "$1"
	timed 'page of 100 ms at 50 %' '-' "$PERFREC" report --html page.html \
		--from "$(moment "$1" 50)" --to "$(moment "$1" 50 100)" "$1"
	rm -f page.html
}

# rows_of_recording DIR: figures of the recording, after record().
rows_of_recording()
{
	raw=$(json "$1" .totals.trace_unpacked_bytes)
	[ "$raw" -gt 0 ] || raw=$(stat -c %s "$1/trace.pftrace")
	row 'spans, lost' "$(json "$1" '"\(.totals.spans), \(.totals.dropped_spans)"')" \
		'-, 0'
	row 'seconds, load of the machine' "$(json "$1" '.wall_ns / 1e9 | floor'), $(cut -d' ' -f1 \
		/proc/loadavg)" '-'
	row 'trace, unpacked' "$(($(stat -c %s "$1/trace.pftrace") / 1000000)) MB, $((raw / 1000000)) MB" '-'
	row 'index, of the unpacked trace' \
		"$(share "$(stat -c %s "$1/trace.index")" "$raw")" '1 %'
}

row_of_memory()
{
	row "collector's memory above a short run" \
		"$(((anon - $1) / 1024)) MB (all $((anon / 1024)) MB)" '64 MB'
	row 'the rings, which are memory of the program' \
		"$((rings / 1024)) MB" '-'
}

lua_rounds()
{
	# A round is 323,000 spans.
	echo $((($1 + 322999) / 323000))
}

part_lua()
{
	[ -x "$programs/budget/lua.calls" ] || return 0
	need_room $((spans * bytes_a_span + 1200000000)) 'the recording of Lua'
	set -- "$programs/budget/lua.calls" "$top/tests/real/workload.lua"
	record short "$@" "$(lua_rounds $((spans / 100)))"
	short=$anon
	record lua "$@" "$(lua_rounds "$spans")"
	row '**Lua, one thread**' '' ''
	rows_of_recording lua
	row_of_memory "$short"
	rows_of_commands lua luaV_execute
	[ -n "$keep" ] || rm -rf short lua
}

part_slow()
{
	need_room $((threads * seconds * 1000 * (bytes_a_span + 10) +
		1200000000)) 'the recording of slow threads'
	record short "$O/tests/bench/slow_threads" "$threads" \
		$((seconds * 1000 / 10))
	short=$anon
	record slow "$O/tests/bench/slow_threads" "$threads" $((seconds * 1000))
	row "**$threads threads, a call per ms**" '' ''
	rows_of_recording slow
	row_of_memory "$short"
	rows_of_commands slow serve
	[ -n "$keep" ] || rm -rf short slow
}

# command_of PROGRAM FEW: some millions of spans.
command_of()
{
	case $1 in
	lua)	command="$programs/budget/lua.calls $top/tests/real/workload.lua 60" ;;
	*)	command="$programs/budget/leveldb.calls $work/db 100000" ;;
	esac
	[ -x "${command%% *}" ]
}

part_minimum()
{
	row '**--min-duration 1us, bytes left**' '' ''
	for program in lua leveldb; do
		command_of $program || continue
		need_room 8000000000 "the recording of $program"
		compress=off
		# shellcheck disable=SC2086 # a command and its arguments
		"$PERFREC" record -q --overhead off --compress=off --on-full block \
			-o all -- $command >/dev/null
		# shellcheck disable=SC2086
		"$PERFREC" record -q --overhead off --compress=off --on-full block \
			--min-duration 1us -o long -- $command >/dev/null
		row "$program" "$(share "$(stat -c %s long/trace.pftrace)" \
			"$(stat -c %s all/trace.pftrace)") (calls: $(share \
			"$(json long '.totals.spans - .totals.short_spans')" \
			"$(json long .totals.spans)"))" \
			"$([ $program = lua ] && echo '1 %' || echo '2 %')"
		rm -rf all long db
	done
}

# The minimum of nine rounds, so that other load counts little. ns a span: a span
# is two records.
part_cost()
{
	row '**The collector, ns of CPU time a span**' '' ''
	for program in lua leveldb; do
		command_of $program || continue
		# shellcheck disable=SC2086
		env O="$O" "$O/tests/bench/save_ring" cells 8000000 $command \
			>/dev/null 2>err || {
			note "$program: $(cat err)"
			continue
		}
		"$O/tests/tools/bench_replay" cells 9 >out
		rm -rf cells db
		awk -F '[ ,]+' '/with the index/ {
			if (!n++ || $1 < base) base = $1
			if (n == 1 || $5 < index_) index_ = $5
			if (n == 1 || $9 < both) both = $9 }
		END { printf "%.2f %.2f %.2f\n", 2 * base, 2 * (index_ - base),
			2 * (both - base) }' out >figures
		read -r base index both <figures
		row "$program, without index and histograms" "$base" '-'
		row "$program, the index" "$index" '2'
		row "$program, the index and histograms" "$both" '3'
	done
}

case " $only " in
*' lua '* | *' minimum '* | *' cost '*)
	sh "$top/tests/real/overhead_build.sh" "$O" "$programs" lua leveldb ||
		note 'Lua and LevelDB cannot be built: left out' ;;
esac
echo "| $(uname -r), $(nproc) CPUs, perfrec $("$PERFREC" --version |
	awk '{ print $2; exit }') | measured | reach |"
echo '|---|---|---|'
for part in $only; do
	"part_$part"
done
[ -z "$keep" ] || note "the recordings are in $work"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# flight.sh [--spans N] [--seconds N] [--slow N] [--calls N] [--only PART,...] - the
# flight recorder: prints a table with each number beside its reach
# (docs/BENCHMARKS.md, the flight recorder).
#
#	cost	a snapshot of N (46,000,000) calls of Lua, all that 256 MB hold
#	load	eight threads make N (10^6) spans a second for N (30) seconds, with
#		N (50) slow requests: the number of these in snapshots; and the
#		duration of a metronome's ticks while perfrec ctl snapshot runs
#		all the time, and while it does not
#	redis, memcached	the same for slow requests of servers under load
#
# REAL_DIR/overhead-real has, or gets, the programs (tests/real/overhead_build.sh).
# Programs that cannot be built are skipped, and a line says so.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
O=$(cd "${O:-$top/build}" && pwd)
programs=${REAL_DIR:-$O/real}/overhead-real
spans=1000000 seconds=30 slow=50 calls=46000000
only='cost load redis memcached'
PERFREC=$O/perfrec

while [ $# -gt 1 ]; do
	case $1 in
	--spans) spans=$2 ;;
	--seconds) seconds=$2 ;;
	--slow)	slow=$2 ;;
	--calls) calls=$2 ;;
	--only)	only=$(echo "$2" | tr , ' ') ;;
	*)	break ;;
	esac
	shift 2
done
[ $# -eq 0 ] || {
	echo "usage: $0 [--spans N] [--seconds N] [--slow N] [--calls N]" \
		"[--only PART,...]" >&2
	exit 2
}

work=$(mktemp -d "$O/bench-flight.XXXXXX")
pids=''
clean_up()
{
	# shellcheck disable=SC2086 # several
	[ -z "$pids" ] || kill $pids 2>/dev/null || :
	rm -rf "$work"
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
	echo "bench-flight: $*" >&2
}

# row WHAT MEASURED REACH: one line of the table.
row()
{
	printf '| %-46s | %-40s | %-16s |\n' "$1" "$2" "$3"
}

total()
{
	jq -r ".totals.$2" "$1/summary.json"
}

# record DIR TRIGGER COMMAND...
record()
{
	dir=$1 trigger=$2
	shift 2
	"$PERFREC" record -q --flight --overhead off --on-full block \
		--trigger "$trigger" --margin 10ms --snapshots 5000 \
		--snapshot-bytes 4G -o "$dir" -- "$@"
}

# rows_of DIR EXPRESSION THREADS: what became of the slow requests.
rows_of()
{
	python3 "$top/tests/bench/flight_found.py" "$PERFREC" "$1" planted \
		"$2" "$3" >found
	read -r planted whole beside snapshots bytes <found
	row 'slow requests whole in a snapshot' "$whole of $planted" 'all'
	row "of these with $3 threads beside them" "$beside" 'all'
	row 'snapshots, MB' "$snapshots, $((bytes / 1000000))" '-'
	row 'spans, lost' "$(total "$1" spans), $(total "$1" dropped_spans)" '-, 0'
	row 'triggers, lost' "$(total "$1" triggers), $(total "$1" lost_triggers)" \
		'-, 0'
}

part_cost()
{
	cells=-
	if [ -x "$programs/budget/lua.calls" ]; then
		env O="$O" "$O/tests/bench/save_ring" cells 8000000 \
			"$programs/budget/lua.calls" \
			"$top/tests/real/workload.lua" 60 >/dev/null 2>&1 &&
			cells=cells
	fi
	"$O/tests/tools/bench_snapshot" "$cells" "$calls" 3 trace >out
	rm -f cells trace
	row "**a snapshot of $calls calls, $([ $cells = - ] && echo random ||
		echo Lua)**" "load $(cut -d' ' -f1 /proc/loadavg)" ''
	row 'memory, bytes a call' "$(awk 'NR == 1 { print $3 }' out)" '4'
	awk -F '[ ,]+' '$1 == "raw" || $1 == "compressed" {
		if (!($1 in ns) || $2 < ns[$1]) ns[$1] = $2
		if (!($1 in s) || $8 < s[$1]) s[$1] = $8
		bytes[$1] = $(NF - 1)
	} END { for (kind in ns) print kind, ns[kind], s[kind], bytes[kind] }' \
		out | while read -r kind ns s bytes; do
		row "$kind: ns of CPU a call, seconds, MB" \
			"$ns, $s, $((bytes / 1000000))" '-, 2, -'
	done
}

# Snapshots are asked for while "with" is there.
ask_for_snapshots()
{
	while :; do
		sleep 0.2
		[ ! -e with ] || "$PERFREC" ctl -o load snapshot >/dev/null 2>&1 || :
	done
}

part_load()
{
	row "**8 threads, $spans spans/s for $seconds s**" \
		"load $(cut -d' ' -f1 /proc/loadavg)" ''
	ask_for_snapshots &
	pids=$!
	record load 'request > 19ms' "$O/tests/bench/flight_load" 8 "$spans" \
		"$seconds" "$slow" 5 >ticks 2>err || note "load: $(cat err)"
	kill "$pids"
	pids=''
	rows_of load 'request > 19ms' 8
	row 'spans a second' "$(awk -v s="$seconds" '$1 == "spans" {
		printf "%.0f", $2 / s }' ticks)" "$spans"
	for kind in without with; do
		row "the longest of N ticks $kind snapshots, us; > 1 ms" \
			"$(awk -v kind=$kind '$1 == kind { printf "%d of %d; %d",
				$3 / 1000, $2, $4 }' ticks)" '-'
	done
}

part_redis()
{
	server=$programs/budget/redis.calls/src/redis-server
	[ -x "$server" ] || return 0
	row '**redis**' "load $(cut -d' ' -f1 /proc/loadavg)" ''
	python3 "$top/tests/bench/flight_client.py" redis "$work/redis.sock" \
		"$seconds" "$slow" planted &
	client=$!
	record redis 'debugCommand > 19ms' "$server" --port 0 --unixsocket \
		"$work/redis.sock" --io-threads 4 --io-threads-do-reads yes \
		--enable-debug-command yes --save '' >/dev/null 2>err &
	recorder=$!
	pids="$client $recorder"
	wait $client || note 'redis: the client has failed'
	printf 'SHUTDOWN NOSAVE\r\n' | python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
s.sendall(sys.stdin.buffer.read()); s.recv(1)' "$work/redis.sock" || :
	wait $recorder || note "redis: $(tail -n 1 err)"
	pids=''
	rows_of redis 'debugCommand > 19ms' 2
}

# A memcached that sleeps for some keys.
build_slow_memcached()
{
	slow_made=$programs/budget/memcached.slow
	[ ! -x "$slow_made/memcached" ] || return 0
	[ -d "$programs/budget/memcached.calls" ] || return 1
	rm -rf "$slow_made"
	cp -a "$programs/budget/memcached.calls" "$slow_made"
	sed -i '/^void process_command_ascii(conn \*c, char \*command) {/a\
    if (strncmp(command, "get slow_", 9) == 0) usleep(20000);' \
		"$slow_made/proto_text.c"
	make -C "$slow_made" memcached >make.log 2>&1 || {
		note "memcached: $(tail -n 1 make.log)"
		rm -rf "$slow_made"
		return 1
	}
}

part_memcached()
{
	build_slow_memcached || return 0
	row '**memcached**' "load $(cut -d' ' -f1 /proc/loadavg)" ''
	python3 "$top/tests/bench/flight_client.py" memcached \
		"$work/memcached.sock" "$seconds" "$slow" planted &
	client=$!
	record memcached 'process_command_ascii > 19ms' \
		"$slow_made/memcached" -u "$(id -un)" -t 4 -s \
		"$work/memcached.sock" >/dev/null 2>err &
	recorder=$!
	pids="$client $recorder"
	wait $client || note 'memcached: the client has failed'
	"$PERFREC" ctl -o memcached list --json |
		jq -r '.programs[].pid' | xargs kill
	wait $recorder || :
	pids=''
	rows_of memcached 'process_command_ascii > 19ms' 3
}

case " $only " in
*' cost '*) programs_wanted=lua ;;
*)	programs_wanted= ;;
esac
for part in redis memcached; do
	case " $only " in
	*" $part "*) programs_wanted="$programs_wanted $part" ;;
	esac
done
# shellcheck disable=SC2086 # several
[ -z "$programs_wanted" ] ||
	sh "$top/tests/real/overhead_build.sh" "$O" "$programs" \
		$programs_wanted >&2 ||
	note 'not all programs can be built: those are left out'
row 'what' 'measured' 'reach'
row '---' '---' '---'
for part in $only; do
	"part_$part"
done

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Real programs within a budget (`perfrec record --overhead 5%`): how long they
# take, which functions are muted, and whether perf finds the same ten top
# functions in the plain build.
#
#     lua         tests/real/workload.lua
#     sqlite      SQLite's own speed test
#     tcc         compiles SQLite
#     leveldb     fills, reads and walks a database; a thread that compacts
#     memcached   four threads, under load
#     redis       under redis-benchmark on loopback
#
# usage: overhead-real.sh BUILD DIR [NAME...]
#
# Asserted for each program, however busy the machine is: the output is that of the
# plain build; nothing is lost; at least 95 % of the CPU samples lie in named spans;
# the trace keeps every rule. Asserted for lua, sqlite and tcc, which make the same
# calls each time: with --count '*' and with the budget, each function has the number
# of calls that a counting library finds in a run of its own (functions that were off
# at times: no more). Asserted for redis, recorded by a daemon with a budget: its
# text equals its file when the recording is stopped.
#
# Printed only: times, and the table of ten (overhead_top.awk). BUILD is the make's
# $(O); DIR/budget caches the programs. Ends with a line "N passed, N failed, N
# skipped". Exits with 77 when the sources cannot be fetched.
set -eu

build=$(cd "$1" && pwd)
mkdir -p "$2"
real=$(cd "$2" && pwd)
dir=$real/budget
here=$(cd "$(dirname "$0")" && pwd)
shift 2
[ $# -gt 0 ] || set -- lua sqlite tcc leveldb memcached redis
# shellcheck source=tests/real/compare.sh
. "$here/compare.sh"
# shellcheck source=tests/real/fetch.sh
. "$here/fetch.sh"
# shellcheck source=tests/real/parts.sh
. "$here/parts.sh"
need_tools "$build"
mkdir -p "$dir"

# The machine may be too busy for the usual 100 ms.
export PERFREC_DEADLINE_MS=20000
work=$(mktemp -d "$dir/run.XXXXXX")
server=
trap 'rm -rf "$work"' EXIT
port=$((20000 + $$ % 20000))

wrong()
{
	echo "$name: $*" >&2
	return 1
}

# --- running --------------------------------------------------------------------

# take RUN COMMAND...: the program, of kind $kind, started by COMMAND (words before
# it). Its output goes to $work/RUN.out, its wall time in ms to $wall.
take()
{
	run=$1
	shift
	begin=$(date +%s%N)
	"run_$name" "$@" >"$work/$run.out" 2>"$work/$run.err" || {
		status=$?
		tail -n 5 "$work/$run.err" >&2
		wrong "$run: exit status $status"
		return 1
	}
	wall=$((($(date +%s%N) - begin) / 1000000))
}

# The program, by the same name each time: its length makes other calls.
same_name()
{
	ln -sf "$dir/$name.$kind" "$work/program"
}

run_lua()
{
	same_name
	"$@" "$work/program" "$here/workload.lua" "${few:-400}"
}

run_sqlite()
{
	same_name
	"$@" "$work/program" --verify --size "${few:-40}" :memory: |
		sed 's/ *[0-9.]*s$//'
}

run_tcc()
{
	same_name
	src=$(echo "$real"/src/sqlite3-*/)
	tcc=$(echo "$real"/src/tcc-*/)
	mkdir -p "$work/tcc"
	files=
	for number in $(seq "${few:-6}"); do
		cp "$src/sqlite3.c" "$work/tcc/$number.c"
		files="$files $number.c"
	done
	# shellcheck disable=SC2086 # words
	(cd "$work/tcc" && "$@" "$work/program" -w -B"$tcc" -I"$tcc/include" \
		-I"/usr/include/$(gcc -print-multiarch)" -c $files && cksum ./*.o)
}

run_leveldb()
{
	rm -rf "$work/db"
	"$@" "$dir/leveldb.$kind" "$work/db" 200000
}

# serve LOAD COMMAND...: runs the server COMMAND in the background, puts LOAD on it,
# and ends it.
serve()
{
	load=$1
	shift
	"$@" >"$work/server.out" 2>"$work/server.err" &
	server=$!
	status=0
	$load || status=$?
	awk '{ printf "%d\n", ($14 + $15) * 10 }' "/proc/$server/stat" \
		>"$work/server.cpu"
	kill -TERM "$server"
	wait "$server" || :
	server=
	return $status
}

load_memcached()
{
	"$dir/memcached.plain/load" "$work/socket" 4 200
}

run_memcached()
{
	rm -f "$work/socket"
	serve load_memcached "$@" "$dir/memcached.$kind/memcached" -u root -t 4 \
		-s "$work/socket"
}

redis_cli()
{
	"$dir/redis.plain/src/redis-cli" -p $port "$@"
}

load_redis()
{
	until redis_cli ping >/dev/null 2>&1; do
		kill -0 "$server" || return
		sleep 0.05
	done
	# Twice the same, so the contents are.
	for _ in 1 2; do
		"$dir/redis.plain/src/redis-benchmark" -p $port -q -c 16 -P 4 \
			-n "${requests:-40000}" -t \
			set,get,incr,lpush,lpop,sadd,hset,zadd,lrange_100 \
			>/dev/null
		redis_cli eval 'local t = 0 for i = 1, 300000 do t = t + i % 7
			redis.call("hset", "h", i % 100, t) end return t' 0
	done
	redis_cli dbsize
	redis_cli get counter:__rand_int__
}

run_redis()
{
	serve load_redis "$@" "$dir/redis.$kind/src/redis-server" --port $port \
		--bind 127.0.0.1 --save '' --dir "$work"
}

# --- what must hold -------------------------------------------------------------

# same RUN: its output is that of the plain build.
same()
{
	cmp -s "$work/plain.out" "$work/$1.out" && return
	diff "$work/plain.out" "$work/$1.out" | head -n 5 >&2
	wrong "$1: not the output of the plain build"
}

# record RUN OPTION...: records into $work/RUN; checks for errors.
record()
{
	into=$1
	shift
	rm -rf "${work:?}/$into"
	take "$into" "$build/perfrec" record --quiet --max-size 16G \
		-o "$work/$into" "$@" --
	same "$into"
	"$build/tests/tools/trace_check" "$work/$into/trace.pftrace" \
		>"$work/checked" || {
		tail -n 5 "$work/checked" >&2
		wrong "$into: the trace is not well formed"
	}
	lost=$(jq '.totals | .dropped_spans + .truncated_spans +
		.unslotted_spans + .broken_rings + .muted_spans' \
		"$work/$into/summary.json")
	[ "$lost" = 0 ] || wrong "$into: $lost spans are lost"
}

# In spans: of the CPU samples, in per cent.
in_spans()
{
	jq '100 * ([.functions[].cpu_samples] | add) / .totals.cpu_samples' \
		"$work/$1/summary.json"
}

# calls_of RUN: name<TAB>calls.
calls_of()
{
	"$build/perfrec" report --json --limit 0 "$work/$1" |
		jq -r '.functions[] | select(.calls > 0) |
			"\(.name)\t\(.calls)"' |
		awk -F '\t' '{ sum[$1] += $2 }
			END { for (one in sum) print one "\t" sum[one] }'
}

# exact RUN WITNESS: see above.
exact()
{
	"$build/tests/tools/trace_check" --text "$work/$1/trace.pftrace" |
		sed -n 's/^ *\* perfrec: \(.*\) off\(:.*\)\{0,1\}$/\1/p' |
		sort -u >"$work/off"
	calls_of "$1" >"$work/calls"
	awk -F '\t' -v off="$work/off" -v run="$1" -v name="$name" '
	BEGIN { while ((getline line < off) > 0) was_off[line] = 1 }
	FNR == NR {
		count = split($2, names, "|")
		for (i = 1; i <= count; i++)
			witness[names[i]] = $1
		next
	}
	{
		functions++
		if ($1 in was_off ? $2 > witness[$1] : $2 != witness[$1]) {
			printf "%s: %s: %d calls, counted %d\n", $1, run, $2,
				witness[$1]
			bad++
		} else if (!($1 in was_off)) {
			equal++
			calls += $2
		}
	}
	END {
		printf "%s: %s: %d functions, %d never off, ", name, run,
			functions, equal
		printf "whose %d calls are exact\n", calls
		exit bad > 0 || !equal
	}' "$2" "$work/calls" >"$work/exact" || {
		head -n 5 "$work/exact" >&2
		wrong "$1: not the calls that a counting library has seen"
	}
	cat "$work/exact"
}

# Few rounds: every call is seen by the counting library.
counted()
{
	case $name in
	lua)	few=20 ;;
	sqlite)	few=8 ;;
	tcc)	few=1 ;;
	esac
	kind=plain
	take plain
	for kind in entry calls; do
		witness=$([ $kind = entry ] && echo witness || echo calls)
		rm -f "$work"/count.*
		built=$kind kind=$witness
		COUNT_OUT=$work/count take witness env \
			LD_PRELOAD="$build/tests/progs/libcount_preload.so"
		kind=$built
		same witness
		"$build/tests/tools/count_names" "$work"/count.*[0-9] \
			>"$work/witness.$kind"
		[ -s "$work/witness.$kind" ] || wrong 'the witness saw nothing'
		record $kind-counted --cpu=off --alloc=off --count '*'
		exact $kind-counted "$work/witness.$kind"
		record $kind-within --cpu=off --alloc=off --overhead 5%
		exact $kind-within "$work/witness.$kind"
	done
	few=
}

# The server runs on while the recording is stopped.
load_stopped()
{
	load_redis
	"$build/tests/tools/text_same" "$server" redis-server \
		>"$work/same" && wrong 'nothing was patched' && return 1
	"$build/perfrec" ctl stop redis-server >&2
	"$build/tests/tools/text_same" "$server" redis-server ||
		wrong 'its text is not restored'
}

stopped()
{
	mkdir "$work/daemon"
	export XDG_RUNTIME_DIR="$work/daemon"
	kind=entry
	requests=4000
	"$build/perfrec-collect" --overhead 5% -o "$work/daemon" \
		>"$work/daemon.log" 2>&1 &
	daemon=$!
	tries=0
	until "$build/perfrec" ctl list >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 200 ] || wrong "no daemon: $(cat "$work/daemon.log")"
		sleep 0.05
	done
	status=0
	serve load_stopped env \
		LD_PRELOAD="$build/libperfrec_preload.so" \
		"$dir/redis.entry/src/redis-server" --port $port \
		--bind 127.0.0.1 --save '' --dir "$work" >"$work/stopped.out" ||
		status=$?
	kill "$daemon"
	wait "$daemon" || :
	unset XDG_RUNTIME_DIR
	requests=
	[ $status = 0 ] || return 1
	echo "$name: text restored while it runs, $(wc -l <"$work/same") mapping differed"
}

# --- the table ------------------------------------------------------------------

# The functions that perf finds in the plain build: a sample's stack on each line,
# the leaf first, with functions of the program only; "-" is other code.
sampled()
{
	command -v perf >/dev/null || return 0
	kind=plain
	take sampled perf record -q -e cpu-clock -F 2000 \
		--call-graph dwarf,8192 -o "$work/perf.data" --
	perf script -i "$work/perf.data" -F ip,sym,dso --no-inline \
		2>/dev/null | awk -v program="$program" '
	NF == 0 { if (stack != "") print stack; stack = ""; next }
	{
		dso = $NF
		sub(/^[ \t]*[0-9a-f]+ /, "")
		sub(/ \([^()]*\)$/, "")
		one = index(dso, program) ? $0 : "-"
		if (one != "-" || stack == "")
			stack = stack == "" ? one : stack "\t" one
	}
	END { if (stack != "") print stack }' >"$work/stacks"
	rm -f "$work/perf.data"
}

# told RUN: what overhead_top.awk needs of the recording.
told()
{
	jq -r '.functions[] | [.name, .state, .calls, .recorded, .self_ns,
		.cpu_ns] | @tsv' "$work/$1/summary.json"
}

# say_times RUN TITLE
say_times()
{
	jq -r --arg title "$2" --arg name "$name" --arg plain "$plain" \
		--arg wall "$3" --arg spans "$(in_spans "$1")" '
	def part(a; b): if b > 0 then 1000 * a / b | round / 10 else 0 end;
	. as $all | .totals | "\($name): \($title): \($wall) ms " +
		"(\(($all.user_ns + $all.sys_ns) / 1e6 | round) of CPU), " +
		"plain \($plain); " +
		"\(.functions_counted) counted, \(.functions_off) off of " +
		"\(.functions_known); \(part(.counted_calls; .spans +
			.counted_calls)) % of \(.spans + .counted_calls) " +
		"calls only counted; cost \(1000 * (.overhead_reached // 0) |
			round / 10) %; \($spans | tonumber * 10 | round / 10)" +
		" % of samples in spans"' "$work/$1/summary.json"
}

budget()
{
	kind=plain
	take plain
	plain=$wall
	if [ -e "$work/server.cpu" ]; then
		plain="$plain ($(cat "$work/server.cpu") of CPU)"
	elif command -v perf >/dev/null; then
		take plain perf stat -x, -e task-clock -o "$work/stat" --
		plain="$plain ($(awk -F , '/task-clock/ { printf "%d", $1 }' \
			"$work/stat") of CPU)"
	fi
	sampled
	for kind in entry calls; do
		export XDG_CACHE_HOME="$work/cache.$kind"
		for turn in first second; do
			record $kind-$turn --overhead 5%
			say_times $kind-$turn "$kind build, $turn run" "$wall"
		done
		jq -en "$(in_spans $kind-second) >= 95" >/dev/null ||
			wrong "$kind: $(in_spans $kind-second) % in spans"
		[ -s "$work/stacks" ] || continue
		told $kind-second >"$work/told"
		awk -F '\t' -v name="$name" -v kind="$kind" \
			-f "$here/overhead_top.awk" "$work/told" "$work/stacks"
	done
	unset XDG_CACHE_HOME
}

check()
{
	program=$name
	[ "$name" != redis ] || program=redis-server
	[ "$name" = memcached ] || [ "$name" = redis ] || program=$name.plain
	few=
	requests=
	export XDG_CACHE_HOME="$work/cache"
	case $name in
	lua | sqlite | tcc)
		counted ;;
	redis)
		stopped ;;
	esac
	budget
}

# A program that must be fetched and cannot be is a skip.
one()
{
	sh "$here/overhead_build.sh" "$build" "$real" "$1"
	name=$1
	check
}

for program; do
	part "$program" one "$program"
	rm -rf "${work:?}"/*
done
parts_end

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench.sh [--quick] [--rounds N] [--json FILE] - measure perfrec beside
# floors and peers, alternately in one run: only ratios of one run mean
# something (docs/BENCHMARKS.md explains them). Being slow is no failure. The
# script fails if a tool in lossless mode lost something.
#
# O is the folder of the binaries (default: build); `make bench` builds them.
# REAL_DIR has, or gets, the Lua of tests/real/fetch-build.sh.
#
# Every measurement becomes a line "ROUND PROGRAM CONFIG METRIC VALUE";
# tests/bench/report.awk makes tables and JSON of these lines. Metrics:
#
#	cpu       ns of CPU a span, of the threads that make spans
#	wall      ns a span, of the program's own loop
#	whole     ns a span, from the start of the tool to its end
#	other     ns of CPU a span, of the tool outside of the program
#	bytes     a span, on disk
#	spans     in the program;  lost  not recorded
#	rss       KiB at most, of the collector;  start  ns
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
O=$(cd "${O:-$top/build}" && pwd)
bin=$O/tests/bench
shim=$O/libperfrec_preload.so
lttng_hooks=liblttng-ust-cyg-profile-fast.so
fib_spans=2692537 # of one fib(30)

rounds=7 spans=5000000 lua_rounds=24 lua_warm=1 starts=400 json=''
while [ $# -gt 0 ]; do
	case $1 in
	--quick) rounds=3 spans=2000000 lua_rounds=8 starts=100 ;;
	--rounds) rounds=$2; shift ;;
	--json)	json=$(realpath -m "$2"); shift ;;
	*)	echo "usage: $0 [--quick] [--rounds N] [--json FILE]" >&2
		exit 2 ;;
	esac
	shift
done

work=$(mktemp -d "$O/bench.XXXXXX")
cd "$work"
samples=$work/samples log=$work/log
have_uftrace=yes have_lttng=no
session=perfrec-bench-$$
daemon_pid='' sessiond_pid=''

finish()
{
	[ -z "$daemon_pid" ] || kill -CONT "$daemon_pid" 2>/dev/null || true
	[ -z "$daemon_pid" ] || kill "$daemon_pid" 2>/dev/null || true
	[ "$have_lttng" = no ] || lttng destroy "$session" >/dev/null 2>&1 || true
	[ -z "$sessiond_pid" ] || kill "$sessiond_pid" 2>/dev/null || true
	cd /
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

for variable in $(env | sed -n 's/^\(PERFREC_[A-Z_]*\)=.*/\1/p'); do
	unset "$variable"
done
export XDG_RUNTIME_DIR="$work" LTTNG_HOME="$work" BENCH_OUT="$work/out" BENCH_METER=lua

note()
{
	echo "bench: $*" >&2
}

give_up()
{
	tail -n 5 "$log" >&2
	note "$*"
	exit 1
}

# sample PROGRAM CONFIG METRIC VALUE [DIVISOR]
sample()
{
	echo "$round $1 $2 $3 $4 ${5:-1}" |
		awk '{ printf "%s %s %s %s %.9g\n", $1, $2, $3, $4, $5 / $6 }' \
		>>"$samples"
}

# --- one run of one program under one tool ----------------------------------

# The command of program $1 into $command; built plain if $2 says so.
command_of()
{
	case $1 in
	tight|fib) command="$bin/spans${2:-} $1 $spans" ;;
	first)	command="$bin/spans${2:-} first 131072" ;;
	burst)	command="$bin/spans${2:-} burst $((spans / 2))" ;;
	threads*)
		threads=${1#threads}
		command="$bin/spans${2:-} tight $((spans / threads)) $threads" ;;
	# The first round goes more than twice over a ring and is not timed.
	lua)	command="$lua${2:-} $top/tests/real/workload.lua"
		command="$command $((lua_rounds + lua_warm)) $lua_warm" ;;
	esac
}

# take PROGRAM CONFIG COMMAND...: run it; its times become samples,
# and $all the spans that it made, the untimed ones too.
take()
{
	program=$1 config=$2
	shift 2
	rm -f out tree
	preload=''
	[ "$program" != lua ] || preload=$bin/libmeter.so
	LD_PRELOAD=$preload "$bin/measure" tree tree "$@" >>"$log" 2>&1 ||
		give_up "$program, $config: exit status $?: $*"
	[ -s out ] || give_up "$program, $config: the program took no time"
	if [ "$program" = lua ]; then
		read -r cpu process <out
		made=$((lua_spans - lua_warm_spans)) all=$lua_spans wall=''
	else
		read -r made cpu wall process all <out
	fi
	read -r tree_cpu whole <tree
	sample "$program" "$config" cpu "$cpu" "$made"
	sample "$program" "$config" spans "$all"
	[ -z "$wall" ] || sample "$program" "$config" wall "$wall" "$made"
	sample "$program" "$config" whole "$whole" "$all"
	other=$((tree_cpu - process))
}

# hooks PROGRAM CONFIG LIBRARY [VARIABLE=VALUE...]
hooks()
{
	program=$1 config=$2 library=$3
	shift 3
	command_of "$program"
	[ "$program" != lua ] || library=$library:$bin/libmeter.so
	# shellcheck disable=SC2086 # a command and its arguments
	take "$program" "$config" \
		env "$@" LD_PRELOAD="$library" $command
}

# number NAME: of perfrec's summary in data/; the totals come first.
number()
{
	sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" data/summary.json | head -n 1
}

lost_spans()
{
	echo $(($(number dropped_spans) + $(number truncated_spans) +
		$(number unslotted_spans)))
}

# perfrec PROGRAM CONFIG OPTION...
perfrec()
{
	program=$1 config=$2
	shift 2
	command_of "$program"
	# shellcheck disable=SC2086 # a command and its arguments
	take "$program" "$config" "$O/perfrec" record --quiet --max-size 64G \
		--alloc=off --cpu=off -o data "$@" -- $command
	recorded=$(number spans)
	lost=$(lost_spans)
	sample "$program" "$config" lost "$lost"
	if [ "$lost" -gt 0 ] && ! echo "$*" | grep -q drop; then
		cp data/summary.json "$O/bench-lost.json"
		note "$program, $config: $lost spans lost; see $O/bench-lost.json"
	fi
	[ "$recorded" -gt 1000 ] || return 0
	sample "$program" "$config" other \
		"$(number collector_cpu_ns)" "$recorded"
	sample "$program" "$config" bytes "$(number trace_bytes)" "$recorded"
	rm -rf data
}

# uftrace PROGRAM: two records of 16 bytes a span are kept. It counts a frame
# that longjmp leaves as open for ever, and Lua has many.
uftrace()
{
	[ "$have_uftrace" = yes ] || return 0
	command_of "$1"
	rm -rf udata
	# shellcheck disable=SC2086 # a command and its arguments
	take "$1" uftrace uftrace record --no-libcall --no-event --no-pager \
		--max-stack=65535 -d udata $command
	bytes=$(cat udata/*.dat | wc -c)
	lost=$((all - bytes / 32))
	sample "$1" uftrace other "$other" "$all"
	sample "$1" uftrace bytes "$bytes" "$all"
	sample "$1" uftrace lost $((lost > 0 ? lost : 0))
	rm -rf udata
}

# CPU ns of LTTng's daemons so far; the kernel tells it in steps of 10 ms.
lttng_cpu()
{
	for pid in $lttng_pids $(pgrep -x lttng-consumerd); do
		sed 's/.*) //' "/proc/$pid/stat"
	done | awk -v hz="$(getconf CLK_TCK)" \
		'{ ticks += $12 + $13 } END { printf "%.0f", ticks * 1e9 / hz }'
}

# lttng_run PROGRAM CONFIG [OPTION...]: options are the channel's.
lttng_run()
{
	[ "$have_lttng" = yes ] || return 0
	program=$1 config=$2
	shift 2
	{
		lttng create "$session" --output="$work/ldata"
		lttng enable-channel -u -s "$session" "$@" channel
		lttng enable-event -u -s "$session" -c channel -a
		lttng add-context -u -s "$session" -c channel -t vtid
		lttng start "$session"
	} >>"$log" 2>&1 || give_up "cannot set up an LTTng session"
	before=$(lttng_cpu)
	hooks "$program" "$config" $lttng_hooks LTTNG_UST_ALLOW_BLOCKING=1
	lttng stop "$session" >>"$log" 2>&1
	sample "$program" "$config" other $(($(lttng_cpu) - before)) "$all"
	lost=$(lttng list "$session" |
		sed -n 's/.*[Dd]iscarded events: *//p' | head -n 1)
	# It has been seen to say 2^63.
	if [ ${#lost} -lt 12 ]; then
		sample "$program" "$config" lost "${lost:-0}" 2
	fi
	sample "$program" "$config" bytes \
		"$(find ldata -type f -exec cat {} + | wc -c)" "$all"
	lttng destroy "$session" >>"$log" 2>&1
	rm -rf ldata
}

# --- a daemon of our own ------------------------------------------------------

# daemon_start OPTION...: it records each span, as perfrec record does here.
daemon_start()
{
	rm -rf daemon socket
	"$O/perfrec-collect" -o daemon --socket "$work/socket" --log error \
		--max-size 64G --overhead off --alloc off --cpu off --sched off \
		"$@" 2>>"$log" &
	daemon_pid=$!
	tries=0
	until [ -S socket ]; do
		tries=$((tries + 1))
		[ $tries -lt 200 ] || give_up "perfrec-collect does not start"
		sleep 0.02
	done
}

daemon_stop()
{
	kill "$daemon_pid"
	wait "$daemon_pid" || true
	daemon_pid=''
}

# Until the daemon has written the only recording that it has; there is
# nothing to wait on but the file.
daemon_recorded()
{
	tries=0
	until ls daemon/*/summary.json >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 3000 ] || give_up "the daemon ends no recording"
		sleep 0.02
	done
	rm -rf data
	mv "$(dirname daemon/*/summary.json)" data
}

# A collector that stands still: everything beyond one ring is dropped.
stopped()
{
	daemon_start --on-full drop
	hooks tight perfrec_stopped "$shim" PERFREC_SOCKET="$work/socket" \
		BENCH_STOP="$daemon_pid"
	kill -CONT "$daemon_pid"
	daemon_recorded
	lost=$(lost_spans)
	sample tight perfrec_stopped lost "$lost"
	daemon_stop
	[ "$lost" -gt 0 ] || give_up "tight, perfrec_stopped: it dropped nothing"
}

# memory PROGRAM: of a run, and of one ten times as long.
memory()
{
	for times in 1 10; do
		daemon_start --on-full block
		(
			spans=$((2 * fib_spans * times))
			lua_rounds=$((lua_rounds * times / 4)) lua_warm=0
			command_of "$1"
			# shellcheck disable=SC2086 # a command
			env LD_PRELOAD="$shim" PERFREC_SOCKET="$work/socket" \
				BENCH_OUT=/dev/null $command >/dev/null 2>>"$log"
		)
		daemon_recorded
		sample "$1" "memory$times" spans "$(number spans)"
		sample "$1" "memory$times" rss \
			"$(awk '/VmHWM/ { print $2 }' "/proc/$daemon_pid/status")"
		daemon_stop
	done
}

start_up()
{
	daemon_start
	for program in /bin/true "$bin/one_call"; do
		"$bin/measure" start "$starts" "$program" plain \
			"no_daemon,LD_PRELOAD=$shim,PERFREC_QUIET=1" \
			"daemon,LD_PRELOAD=$shim,PERFREC_SOCKET=$work/socket" \
			>start_times 2>>"$log" || give_up "cannot start $program"
		awk -v program="${program##*/}" \
			'{ print ++n[$1], program, $1, "start", $2 }' \
			start_times >>"$samples"
	done
	daemon_stop
}

# --- source lines of 100 MB of debug information ------------------------------

# symbolizer NAME COMMAND...: a peer, for the same addresses.
symbolizer()
{
	name=$1
	shift
	command -v "$1" >/dev/null || return 0
	rm -f tree
	"$bin/measure" tree tree "$@" <addresses >/dev/null 2>>"$log" ||
		give_up "$name: exit status $?"
	read -r tree_cpu whole <tree
	sample symbols "$name" whole "$whole"
}

symbols()
{
	"$bin/symbolize" "$bin/big" 10000 addresses >symbols_times ||
		give_up "cannot look up source lines"
	read -r first cached known <symbols_times
	sample symbols perfrec_lines whole "$first"
	sample symbols perfrec_cached whole "$cached"
	sample symbols perfrec_lines known "$known"
	symbolizer addr2line addr2line -fie "$bin/big"
	symbolizer llvm_symbolizer llvm-symbolizer -f -i -e "$bin/big"
}

# --- a profile of 100,000 stacks -------------------------------------------------

profile()
{
	"$bin/profile" 100000 . >profile_times 2>>"$log" ||
		give_up "cannot write a profile"
	read -r added written bytes <profile_times
	sample profile perfrec_add whole "$added"
	sample profile perfrec_write whole "$written"
	sample profile perfrec_write bytes "$bytes"
}

# --- everything, in turn --------------------------------------------------------

floors()
{
	command_of "$1" .plain
	# shellcheck disable=SC2086 # a command and its arguments
	take "$1" base $command
	for kind in empty floor floor_shared; do
		hooks "$1" $kind "$bin/libhooks_$kind.so"
	done
}

# first_function PROGRAM: the first function of the thread that makes spans.
first_function()
{
	case $1 in
	lua)	echo main ;;
	*)	echo worker_main ;;
	esac
}

one_round()
{
	for program in $programs; do
		floors "$program"
		perfrec "$program" perfrec_block
		perfrec "$program" perfrec_drop --on-full drop
		case $program in burst|first) continue ;; esac
		uftrace "$program"
		lttng_run "$program" lttng
		case $program in threads*) continue ;; esac
		perfrec "$program" perfrec_compress --compress
		perfrec "$program" perfrec_excluded \
			--filter "$(first_function "$program")"
		perfrec "$program" perfrec_muted --exclude '*'
		hooks "$program" perfrec_off "$shim" PERFREC_QUIET=1
		PERFREC_RSEQ=off perfrec "$program" perfrec_norseq
	done
	stopped
	for threads in 1 2 4; do
		program=threads$threads
		perfrec "$program" perfrec_wait
		uftrace "$program"
		lttng_run "$program" lttng_wait --blocking-timeout=inf
	done
}

command -v uftrace >/dev/null || {
	note "uftrace is not installed: left out"
	have_uftrace=no
}
if ! command -v lttng-sessiond >/dev/null || ! ldconfig -p | grep -q $lttng_hooks
then
	note "LTTng-UST is not installed: left out"
elif lttng --no-sessiond list >/dev/null 2>&1; then
	have_lttng=yes
	lttng_pids=$(pgrep -x lttng-sessiond)
elif lttng-sessiond --daemonize --no-kernel --pidfile="$work/sessiond" \
		>>"$log" 2>&1; then
	have_lttng=yes
	sessiond_pid=$(cat sessiond)
	lttng_pids=$sessiond_pid
else
	note "lttng-sessiond does not start: LTTng-UST is left out"
fi

programs='tight burst first fib threads2'
lua=${REAL_DIR:-$O/real}/lua
round=0
if { [ -x "$lua" ] && [ -x "$lua.plain" ]; } ||
	sh "$top/tests/real/fetch-build.sh" "${lua%/lua}" --plain >>"$log" 2>&1
then
	programs="$programs lua"
	lua=$(readlink -f "$lua")
	lua_spans=1 lua_warm_spans=0
	measured_rounds=$lua_rounds
	lua_rounds=0
	perfrec lua count
	lua_rounds=$measured_rounds warm_spans=$recorded
	perfrec lua count
	lua_spans=$recorded lua_warm_spans=$warm_spans
	: >"$samples"
else
	note "no Lua ($(tail -n 1 "$log")): left out"
fi

while [ "$round" -lt "$rounds" ]; do
	round=$((round + 1))
	note "round $round of $rounds"
	one_round
done
start_up
round=0
while [ "$round" -lt "$rounds" ] && [ "$round" -lt 5 ]; do
	round=$((round + 1))
	profile
done
round=0
if sh "$top/tests/bench/big_program.sh" "$bin/big" >>"$log" 2>&1; then
	while [ "$round" -lt "$rounds" ] && [ "$round" -lt 5 ]; do
		round=$((round + 1))
		symbols
	done
else
	note "no program with 100 MB of debug information: left out"
fi
round=0
while [ "$round" -lt "$rounds" ] && [ "$round" -lt 5 ]; do
	round=$((round + 1))
	memory fib
	[ "$programs" = "${programs% lua}" ] || memory lua
done

{
	date -u '+%Y-%m-%d %H:%M UTC'
	sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1
	nproc
	uname -r
	cat /sys/devices/system/clocksource/clocksource0/current_clocksource
	"$bin/measure" clock
	echo "$rounds"
} >machine
awk -v machine=machine -v json="$json" -f "$top/tests/bench/report.awk" \
	"$samples"

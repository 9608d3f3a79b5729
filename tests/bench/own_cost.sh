#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# own_cost.sh [ROW...] - the cost of recording by a summary (cost.total_ns), beside
# the CPU time, user and system, that the program really took more than alone. Both
# run alternately. The minimum of the CPU times counts, which shows the machine
# without other load, and the median of the summaries. A row is off if the two
# differ by more than 25 % of the real cost and by more than 1 % of the CPU time of
# the recorded program (docs/OVERHEAD.md). That is no failure. O is the build
# directory.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
O=$(cd "${O:-$top/build}" && pwd)
bin=$O/tests/bench
shim=$O/libperfrec_preload.so
rounds=${BENCH_ROUNDS:-5}
work=$(mktemp -d "$O/bench-own-cost.XXXXXX")
daemon='' program='' rows=" $* "
finish()
{
	[ -z "$program" ] || kill "$program" 2>/dev/null || true
	[ -z "$daemon" ] || kill -CONT "$daemon" 2>/dev/null || true
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
	cd /
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM
cd "$work"
export BENCH_OUT="$work/out"
: >samples

die()
{
	tail -n 3 log >&2
	echo "own_cost.sh: $*" >&2
	exit 1
}

# cpu COMMAND...: into $cpu, what the program says that it took.
cpu()
{
	rm -f out
	"$@" >log 2>&1 || die "failed: $*"
	cpu=$(awk '{ sum += $1 } END { print sum + 0 }' out)
}

# said FOLDER...: into $said, the sum of what the summaries say.
said()
{
	said=$(awk '/"cost": *\{/, /\}/ {
		if (sub(/.*"total_ns": */, ""))
			sum += $0
	} END { print sum + 0 }' "$@")
}

sample()
{
	echo "$name|$cpu|$alone|$said" >>samples
}

# wanted NAME: whether this row was asked for.
wanted()
{
	name=$1
	[ "$rows" = '  ' ] && return
	case $rows in *" $name "*) ;; *) return 1 ;; esac
}

# row NAME COMMAND OPTION...: under perfrec record.
row()
{
	wanted "$1" || return 0
	command=$2
	shift 2
	cpu $command
	alone=$cpu
	rm -rf data
	cpu "$O/perfrec" record -q --max-size 16G --alloc=off --cpu=off "$@" \
		-o data -- $command
	said data/summary.json
	sample
}

until_true()
{
	tries=0
	until "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ "$tries" -lt 600 ] || die "waited in vain: $*"
		sleep 0.05
	done
}

start_daemon()
{
	rm -rf data socket*
	"$O/perfrec-collect" -o data --socket "$work/socket" --max-size 16G \
		--log error "$@" >log 2>&1 &
	daemon=$!
	until_true test -S socket.ctl
}

stop_daemon()
{
	kill "$daemon"
	wait "$daemon" || true
	daemon=''
}

# served COMMAND...: the daemon records it.
served()
{
	cpu env PERFREC_SOCKET="$work/socket" LD_PRELOAD="$shim" "$@"
}

# has_summaries COUNT
has_summaries()
{
	[ "$(find data -name summary.json | wc -l)" -eq "$1" ]
}

# daemon_row NAME COMMAND COUNT OPTION...: COUNT programs in turn.
daemon_row()
{
	wanted "$1" || return 0
	command=$2 count=$3
	shift 3
	cpu $command
	alone=$((cpu * count))
	start_daemon "$@"
	sum=0
	for i in $(seq "$count"); do
		served $command
		sum=$((sum + cpu))
	done
	cpu=$sum
	until_true has_summaries "$count"
	said data/*/summary.json
	stop_daemon
	sample
}

# The collector is stopped before the first loop and goes on at the end.
stopped_row()
{
	wanted "$1" || return 0
	cpu $2
	alone=$cpu
	start_daemon --on-full drop
	BENCH_STOP=$daemon served $2
	kill -CONT "$daemon"
	until_true has_summaries 1
	said data/*/summary.json
	stop_daemon
	sample
}

# Paused by perfrec ctl, from before it starts.
ctl_row()
{
	wanted "$1" || return 0
	cpu $2
	alone=$cpu
	start_daemon
	"$O/perfrec" ctl --socket "$work/socket" pause >log 2>&1 ||
		die 'ctl pause'
	served $2
	until_true has_summaries 1
	said data/*/summary.json
	stop_daemon
	sample
}

calls="$bin/own_cost calls 3000000"
plain=$bin/own_cost.plain
for round in $(seq "$rounds"); do
	echo "bench: own cost, round $round of $rounds" >&2
	row block "$calls"
	row drop "$calls" --on-full drop
	stopped_row drop-stopped "$calls"
	row depth-1 "$calls" --depth 1
	row depth-2 "$calls" --depth 2
	row exclude-one "$calls" --exclude leaf
	row exclude-all "$calls" --exclude leaf --exclude work
	row paused "$bin/own_cost paused 3000000"
	row paused-depth "$bin/own_cost paused 3000000" --depth 2
	ctl_row paused-ctl "$calls"
	PERFREC_RSEQ=off row rseq-off "$calls"
	row threads-8 "$bin/own_cost threads 3000000 8"
	row threads-200 "$bin/own_cost threads 3000000 200"
	row forks-20 "$bin/own_cost forks 1000000 20"
	row forks-200 "$bin/own_cost forks 1000000 200"
	row arguments "$bin/own_cost arguments 2000000"
	row arguments-plain "$plain arguments 2000000"
	row texts "$bin/own_cost texts 1000000"
	row instants "$bin/own_cost instants 5000000"
	row counters "$bin/own_cost counters 5000000"
	row arguments-off "$bin/own_cost arguments 2000000" --categories=-*
	row exact "$bin/own_cost blocks 3000000" --alloc=exact
	row exact-plain "$plain blocks 3000000" --alloc=exact
	row exact-drop "$plain blocks 3000000" --alloc=exact --on-full drop
	row sampled "$plain blocks 10000000" --alloc=sampled
	row sampled-64K "$plain blocks 10000000" --alloc=sampled:64K
	row cpu-99-perf "$plain spin 300000" --cpu=99,perf
	row cpu-99-signal "$plain spin 300000" --cpu=99,signal
	row cpu-5000-perf "$plain spin 300000" --cpu=5000,perf
	row cpu-5000-signal "$plain spin 300000" --cpu=5000,signal
	row defaults "$calls" --cpu=99 --alloc=auto
	daemon_row daemon "$calls" 1 --on-full block
	daemon_row daemon-5 "$bin/own_cost calls 500000" 5 --on-full block
	daemon_row daemon-exact "$plain blocks 3000000" 1 --on-full block \
		--alloc=exact
done
# The cost in a summary is a difference of two measurements. Its minimum would be
# the most disturbed one, so the median counts.
awk -F '|' '
function middle(row,    i, j, swap, count)
{
	count = runs[row]
	for (i = 2; i <= count; i++)
		for (j = i; j > 1 && say[row, j] < say[row, j - 1]; j--) {
			swap = say[row, j]
			say[row, j] = say[row, j - 1]
			say[row, j - 1] = swap
		}
	return say[row, int((count + 1) / 2)]
}
!($1 in least) { order[++rows] = $1; least[$1] = $2; alone[$1] = $3 }
$2 < least[$1] { least[$1] = $2 }
$3 < alone[$1] { alone[$1] = $3 }
{ say[$1, ++runs[$1]] = $4 }
END {
	printf "%-18s %9s %9s %9s %9s %7s\n", "own cost, ms", "alone",
		"recorded", "really", "said", "ratio"
	for (i = 1; i <= rows; i++) {
		r = order[i]; real = least[r] - alone[r]
		said = middle(r)
		off = said - real
		off = off < 0 ? -off : off
		is_off = (off > real / 4 && off > least[r] / 100)
		ratio = (real > 0) ? said / real : 0
		printf "%-18s %9.1f %9.1f %9.1f %9.1f %7.2f%s\n", r,
			alone[r] / 1e6, least[r] / 1e6, real / 1e6,
			said / 1e6, ratio, is_off ? "  off" : ""
	}
}' samples

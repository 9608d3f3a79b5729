#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# alloc.sh [--quick] - the cost of recording a pair of malloc() and free(), beside
# floors and peers, alternately in one run. In each round, programs that the table
# compares with the floor run REPEATS times, A B C A B C, each time for some
# milliseconds. The minimum counts, which shows the machine without other load. A
# cost is the minimum of all rounds, a ratio that of two such costs; beside it
# stands the range of the ratios of single rounds (docs/BENCHMARKS.md). O is the
# build directory.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
O=$(cd "${O:-$top/build}" && pwd)
bin=$O/tests/bench
repeats=${BENCH_REPEATS:-8}
rounds=${BENCH_ROUNDS:-5} pairs=300000 blocks=1000000 slow=200000
case ${1:-} in
--quick) rounds=${BENCH_ROUNDS:-3} slow=50000 ;;
'')	;;
*)	echo "usage: $0 [--quick]" >&2
	exit 2 ;;
esac
work=$(mktemp -d "$O/bench-alloc.XXXXXX")
daemon=''
finish()
{
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
	cd /
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM
cd "$work"
samples=$work/samples
: >"$samples"

# sample MODE CONFIG: from the program's line in ./out: ns a pair.
sample()
{
	awk -v round="$round" -v mode="$1" -v config="$2" \
		'$1 == "pairs" { print round, mode, config, $3 / $2 }' out >>"$samples"
}

# with MODE CONFIG PAIRS COMMAND...: which runs the program given behind it.
with()
{
	mode=$1 config=$2 count=$3
	shift 3
	case $mode in
	*2)	set -- "$@" "$bin/alloc" "${mode%2}" "$count" 2 ;;
	*)	set -- "$@" "$bin/alloc" "$mode" "$count" ;;
	esac
	[ "${BENCH_TRACE:-}" ] && echo "$(date +%T) $mode $config" >&2
	"$@" >out 2>log || {
		tail -n 3 log >&2
		echo "alloc.sh: $mode, $config has failed" >&2
		exit 1
	}
	sample "$mode" "$config"
}

number()
{
	sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" data/summary.json | head -n 1
}

# perfrec MODE CONFIG COUNT OPTION...
perfrec()
{
	mode=$1 config=$2 count=$3
	shift 3
	rm -rf data
	with "$mode" "$config" "$count" "$O/perfrec" record -q --cpu=off \
		"$@" -o data --
	events=$(($(number allocs) + $(number frees)))
	lost=$(($(number dropped_allocs) + $(number dropped_frees)))
	case $config in exact*) ;; *) return 0 ;; esac
	echo "$round $mode $config-lost $lost" >>"$samples"
	echo "$round $mode $config-collector" \
		$(($(number collector_cpu_ns) / (events + 1))) >>"$samples"
}

# A daemon's memory at most, for a program with so many blocks.
memory()
{
	rm -rf recordings
	"$O/perfrec-collect" -o recordings --socket "$work/socket" \
		--alloc=exact --on-full block --log error 2>log &
	daemon=$!
	until [ -S socket.all ] || [ -e socket.all ]; do sleep 0.02; done
	PERFREC_SOCKET=$work/socket LD_PRELOAD=$O/libperfrec_preload.so \
		"$bin/alloc" live "$1" >out
	until ls recordings/*/summary.json >/dev/null 2>&1; do sleep 0.05; done
	awk '/VmHWM/ { print $2 * 1024 }' "/proc/$daemon/status"
	kill "$daemon"
	wait "$daemon" || true
	daemon=''
}

peers()
{
	for mode in hot live hot2; do
		case $mode in live) count=$blocks ;; *) count=$pairs ;; esac
		if command -v heaptrack >/dev/null; then
			with "$mode" heaptrack "$count" \
				heaptrack -o "$work/heaptrack"
			rm -f "$work"/heaptrack*
		fi
		[ "$tcmalloc" ] || continue
		with "$mode" tcmalloc "$count" env LD_PRELOAD="$tcmalloc"
		with "$mode" tcmalloc-profile $slow env LD_PRELOAD="$tcmalloc" \
			HEAPPROFILE="$work/tcmalloc"
		rm -f "$work"/tcmalloc*.heap
	done
}

tcmalloc=$(ldconfig -p | sed -n 's/.*libtcmalloc\.so\.[0-9]* .*=> //p' |
	head -n 1)
round=0
while [ "$round" -lt "$rounds" ]; do
	round=$((round + 1))
	echo "bench: allocations, round $round of $rounds" >&2
	for mode in hot burst live hot2; do
		case $mode in live) count=$blocks ;; *) count=$pairs ;; esac
		repeat=0
		[ "$mode" = live ] && repeat=$((repeats / 2))
		while [ "$repeat" -lt "$repeats" ]; do
			repeat=$((repeat + 1))
			with "$mode" base "$count" env
			with "$mode" floor "$count" \
				env LD_PRELOAD="$bin/liballoc_floor.so"
			with "$mode" read "$count" \
				env LD_PRELOAD="$bin/liballoc_floor_read.so"
			perfrec "$mode" exact "$count" --alloc=exact \
				--on-full block
			perfrec "$mode" exact-drop "$count" --alloc=exact \
				--on-full drop
		done
		with "$mode" wrapper "$count" \
			env LD_PRELOAD="$bin/liballoc_wrapper.so"
		perfrec "$mode" sampled "$count" --alloc=sampled
		perfrec "$mode" off "$count" --alloc=off
	done
	peers
done
few=$(memory 1000)
many=$(memory $blocks)

awk -v bytes="$(((many - few) / blocks))" '
function sort(list, n,   i, j, x) {
	for (i = 2; i <= n; i++) {
		x = list[i]
		for (j = i - 1; j > 0 && list[j] > x; j--)
			list[j + 1] = list[j]
		list[j + 1] = x
	}
}
function median(list, n) {
	sort(list, n)
	return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
function base_of(config) {
	return config == "tcmalloc-profile" ? "tcmalloc" : "base"
}
function over(mode, config, round) {
	return value[mode, config, round] - value[mode, base_of(config), round]
}
function least(mode, config,   i, lowest) {
	lowest = ""
	for (i = 1; i <= rounds; i++)
		if ((mode, config, i) in value &&
		    (lowest == "" || value[mode, config, i] < lowest))
			lowest = value[mode, config, i]
	return lowest
}
function cost(mode, config) {
	return least(mode, config) - least(mode, base_of(config))
}
function shown(mode, config) {
	if (least(mode, config) == "")
		return "        -"
	return sprintf("%9.1f", cost(mode, config))
}
function ratio(mode, config,   i, n, list, floor) {
	for (i = 1; i <= rounds; i++) {
		floor = over(mode, "floor", i)
		if ((mode, config, i) in value && floor > 0)
			list[++n] = over(mode, config, i) / floor
	}
	if (!n)
		return sprintf("%16s", "-")
	sort(list, n)
	return sprintf("%5.2f %4.2f-%-5.2f",
		       cost(mode, config) / cost(mode, "floor"), list[1], list[n])
}
function plain(mode, config,   i, n, list) {
	for (i = 1; i <= rounds; i++)
		if ((mode, config, i) in value)
			list[++n] = value[mode, config, i]
	return n ? sprintf("%9.1f", median(list, n)) : "        -"
}
function row(config, title,   i) {
	printf "%-30s", title
	for (i = 1; i <= modes; i++)
		printf " %s %s", shown(mode[i], config), ratio(mode[i], config)
	print ""
}
function tell(config, title,   i) {
	printf "%-30s", title
	for (i = 1; i <= modes; i++)
		printf " %s %16s", plain(mode[i], config), ""
	print ""
}
{
	# Losses are those of the worst run, times those of the best.
	key = $2 SUBSEP $3 SUBSEP $1
	worse = $3 ~ /-lost$/ ? $4 > value[key] : $4 < value[key]
	if (!(key in known) || worse)
		value[key] = $4
	known[key] = 1
	rounds = $1 > rounds ? $1 : rounds
}
END {
	modes = split("hot burst live hot2", mode)
	printf "\n%-30s", "malloc + free, ns of CPU"
	for (i = 1; i <= modes; i++)
		printf " %9s %16s", mode[i], "x floor, range"
	print ""
	tell("base", "nothing preloaded")
	row("wrapper", "a wrapper")
	row("floor", "FLOOR: clock and 24 bytes")
	row("read", "16 bytes, read by a process")
	row("off", "perfrec, --alloc=off")
	row("exact", "perfrec, exact, block")
	row("exact-drop", "perfrec, exact, drop")
	row("sampled", "perfrec, sampled")
	row("heaptrack", "heaptrack")
	row("tcmalloc-profile", "tcmalloc HEAPPROFILE")
	tell("exact-lost", "exact, block: lost")
	tell("exact-drop-lost", "exact, drop: lost")
	tell("exact-collector", "collector, ns a record, block")
	tell("exact-drop-collector", "collector, ns a record, drop")
	print "collector, bytes for a block that is in use: " bytes
}' "$samples"

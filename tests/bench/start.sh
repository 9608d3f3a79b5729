#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# start.sh - starts each program and library of the benchmarks with small counts, so
# that a change of perfrec breaks none of them unseen. It measures nothing. Each
# benchmark script is only parsed. O is the build directory. Ends with the sum:
# "N passed, N failed".
set -u

top=$(cd "$(dirname "$0")/../.." && pwd)
O=$(cd "${O:-$top/build}" && pwd) || exit 2
bench=$O/tests/bench
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export BENCH_OUT="$work/out" BENCH_METER=one_call XDG_RUNTIME_DIR="$work"
export PYTHONDONTWRITEBYTECODE=1
passed=0 failed=0

# try COMMAND...: it succeeds.
try()
{
	if "$@" >log 2>&1; then
		passed=$((passed + 1))
	else
		echo "not ok $*: exit status $?"
		head -n 20 log | sed 's/^/    | /'
		failed=$((failed + 1))
	fi
}
# try_output FILE COMMAND...: it succeeds, and FILE has something in it afterwards.
try_output()
{
	file=$1
	shift
	rm -f "$file"
	try "$@"
	[ -s "$file" ] || { echo "not ok $*: wrote no $file"; failed=$((failed + 1)); }
}
# preload LIBRARY COMMAND...
preload()
{
	library=$1
	shift
	try env LD_PRELOAD="$bench/$library" "$@"
}
# record COMMAND...: by perfrec, and the recording is complete.
record()
{
	try "$O/perfrec" record -q --on-full=block -o data -- "$@"
	try "$O/tests/tools/trace_check" data/trace.pftrace
}

for what in first tight burst fib; do
	try_output out "$bench/spans" $what 1000 2
	try_output out "$bench/spans.plain" $what 1000
done
record "$bench/spans" tight 1000
record "$bench/one_call"
try_output costs "$bench/measure" tree costs true
try_output log "$bench/measure" start 1 "$bench/one_call" plain other,LANG=C
try_output log "$bench/measure" clock
try_output log "$bench/locks" 2
try_output log "$bench/annotate"
try_output log "$bench/annotate" paused
for what in hot burst; do
	try_output log "$bench/alloc" $what 1000 2
done
try_output log "$bench/alloc" live 1000
for what in calls paused threads forks arguments texts instants counters blocks spin; do
	try_output out "$bench/own_cost" $what 10 2
	try_output out "$bench/own_cost.plain" $what 10 2
done
for library in empty floor floor_shared; do
	preload libhooks_$library.so "$bench/spans" tight 1000
done
for library in wrapper floor floor_read; do
	preload liballoc_$library.so "$bench/alloc" hot 1000
done
rm -f out
preload libmeter.so "$bench/one_call"
[ -s out ] || { echo "not ok libmeter.so: wrote no $BENCH_OUT"; failed=$((failed + 1)); }
mkdir profile
try_output profile/wall.pb.gz "$bench/profile" 100 profile
try_output addresses "$bench/symbolize" "$O/perfrec" 10 addresses
record "$bench/page_calls" 1000 2
try "$O/perfrec" report --html page.html data
record "$bench/slow_threads" 2 40 10
try_output cells "$bench/save_ring" cells 100 "$bench/spans" tight 1000
try_output log "$O/tests/tools/bench_replay" cells
try_output log "$O/tests/tools/bench_snapshot" cells 100 1 trace
record "$bench/flight_load" 2 1000 1 1 1
record "$bench/push_load" 1
record "$bench/push_away" 1

for script in "$top"/scripts/bench.sh "$top"/tests/bench/*.sh; do
	try sh -n "$script"
done
for script in "$top"/tests/bench/*.py; do
	try python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$script"
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]

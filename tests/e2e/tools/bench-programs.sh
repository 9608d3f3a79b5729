#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Programs of `make bench` that link the collector find its helpers and print
# their figures, and the row of a collector that stands still drops spans: it is
# measured on what scripts/bench.sh starts.
. "$TOP/tests/e2e/lib.sh"
need gcc
bin=$O/tests/bench

cat >lines.c <<'SOURCE'
int one(int x);
int one(int x) { return x + 1; }
int main(void) { return one(0) - 1; }
SOURCE
gcc -g -O0 -o lines lines.c || fail lines
run_ok "$bin/symbolize" "$PWD/lines" 20 addresses
expect_match out '^[0-9]+ [0-9]+ [1-9]'

run_ok "$bin/profile" 1000 .
expect_match out '^[0-9]+ [0-9]+ [1-9][0-9]*$'

# The function daemon_start(), with what the script gives it.
sed -n '/^daemon_start()/,/^}/p' "$TOP/scripts/bench.sh" >daemon.sh
expect_match daemon.sh perfrec-collect
work=$PWD log=$PWD/log daemon_pid=
give_up()
{
	fail "$*"
}
trap '[ -z "$daemon_pid" ] || kill -KILL $daemon_pid' EXIT
. ./daemon.sh
daemon_start --on-full drop
LD_PRELOAD=$O/libperfrec_preload.so PERFREC_SOCKET=$work/socket \
	PERFREC_RING_KB=1024 BENCH_STOP=$daemon_pid BENCH_OUT=out.spans \
	"$bin/spans" tight 1000000 >out 2>err || fail "exit status $?: $(cat err)"
kill -CONT $daemon_pid
written()
{
	[ -s "$(echo daemon/*/summary.json)" ]
}
wait_for 60 written
[ "$(json daemon/*/summary.json .totals.dropped_spans)" -gt 900000 ] ||
	fail "it dropped nothing: $(json daemon/*/summary.json .totals.spans) spans"
kill $daemon_pid
wait $daemon_pid
daemon_pid=

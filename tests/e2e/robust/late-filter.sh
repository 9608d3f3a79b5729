# SPDX-License-Identifier: Apache-2.0
#
# A collector that takes long to find out what is excluded holds a program for no
# longer than the deadline. What the program records of excluded functions until
# then is left out of everything, counted and said.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
build_calls
# Each name of the C library is compared with each of these patterns.
set -- --exclude leaf
i=0
while [ $i -lt 4000 ]; do
	set -- "$@" --exclude "*a*b*c*d*e*f*$i"
	i=$((i + 1))
done

# A deadline is wanted that the reply to the hello keeps and the comparison does
# not. How long these take depends on the machine and on what else runs there:
# a program that is not recorded got no reply, one that waited had all the time.
early=0
for deadline in 1000 300 100 30 3000 1000 300 100 30; do
	start_daemon "$@"
	PERFREC_DEADLINE_MS=$deadline preload ./calls 10 >out ||
		fail "exit status $?"
	expect_eq output "$(cat out)" 45
	stop_daemon
	folder=$(echo data/calls-*)
	[ ! -e "$folder/summary.json" ] ||
		early=$(json "$folder/summary.json" .totals.early_starts)
	[ "$early" -eq 0 ] || break
	echo "deadline of $deadline ms: not recorded, or in time"
done
expect_eq 'programs that did not wait' "$early" 1
expect_eq 'calls of excluded functions, left out' \
	"$(json "$folder/summary.json" .totals.filtered_spans)" 10
expect_eq 'spans' "$(json "$folder/summary.json" .totals.spans)" 2
expect_eq 'functions' \
	"$(json "$folder/summary.json" '[.functions[].name] | sort | join(" ")')" \
	'main work'
run "$PERFREC" report "$folder"
expect_match out 'early +1 program that did not wait until the collector knew what is excluded'
expect_match out 'left out +10 spans of excluded functions, which the program had recorded'
"$O/tests/tools/trace_check" "$folder/trace.pftrace" >check.log ||
	fail "$(cat check.log)"

# Who is given the time waits, and records none of them.
start_daemon "$@"
PERFREC_DEADLINE_MS=60000 preload ./calls 10 >out || fail "exit status $?"
stop_daemon
folder=$(echo data/calls-*)
expect_eq 'programs that did not wait' \
	"$(json "$folder/summary.json" .totals.early_starts)" 0
expect_eq 'calls of excluded functions, left out' \
	"$(json "$folder/summary.json" .totals.filtered_spans)" 0

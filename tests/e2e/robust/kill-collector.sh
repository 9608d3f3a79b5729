# SPDX-License-Identifier: Apache-2.0
# long: kills collectors at many moments
#
# The collector is killed, or stopped and continued, at random moments, also during
# hello: the program runs on and ends as usual, and a continued collector completes
# its recordings. Prints the longest time in which a thread of the program made no
# progress. It should be below 200 ms, but other load on the machine counts as
# well, so only a time that load cannot explain is a failure.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

seed=${SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
echo "seed $seed"
calls=2000000
# A program waits this long if the collector is stopped before its hello.
export PERFREC_DEADLINE_MS=2000

# random LESS_THAN: a number in $number
random()
{
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	number=$((seed / 65536 % $1))
}

# sleep_ms MS
sleep_ms()
{
	sleep "$(printf '0.%03d' "$1")"
}

start_program()
{
	preload timeout -k 1 100 "$O/tests/progs/gaps" $calls 2 gap >got 2>err &
	program=$!
}

# end_program WHAT: it ends as if nothing had happened.
end_program()
{
	wait $program
	expect_eq "$1: status" $? 0
	cmp -s expected got || fail "$1: the program's output has changed"
	[ ! -s err ] || fail "$1: the program's stderr: $(cat err)"
	[ "$(cat gap)" -lt 20000000 ] ||
		fail "$1: the program stood still for $(cat gap) us"
	cat gap >>"gaps.$2"
}

# written: some trace has a first packet.
written()
{
	[ "$(find data -name trace.pftrace -size +0)" ]
}

"$O/tests/progs/gaps" $calls 2 gap >expected
for mode in block drop; do
	for try in 1 2 3 4 5 6; do
		start_daemon --on-full $mode
		start_program
		random 125
		sleep_ms "$number"
		# The last one leaves something to look at.
		[ $try -lt 6 ] || wait_for 60 written
		kill -KILL $collector
		wait $collector 2>/dev/null
		collector=
		end_program "killed after $number ms, $mode" $mode.kill
		for trace in data/gaps-*/trace.pftrace; do
			[ -f "$trace" ] || continue
			# Killed before it could write a first packet.
			[ -s "$trace" ] || continue
			"$O/tests/tools/trace_check" --allow-open --allow-cut \
				"$trace" || fail "killed: $trace is broken"
		done
	done
	written || fail 'all traces of killed collectors are empty'
	start_daemon --on-full $mode
	for try in 1 2 3 4; do
		start_program
		random 125
		sleep_ms "$number"
		kill -STOP $collector
		end_program "stopped after $number ms, $mode" $mode.stop
		kill -CONT $collector
	done
	# It stops for a moment, and goes on while the program runs.
	for try in 1 2 3 4; do
		start_program
		random 50
		sleep_ms "$number"
		kill -STOP $collector
		random 300
		sleep_ms "$number"
		kill -CONT $collector
		end_program "stopped for $number ms, $mode" $mode.pause
	done
	stop_daemon
	for trace in data/gaps-*/trace.pftrace; do
		"$O/tests/tools/trace_check" "$trace" ||
			fail "stopped: $trace is broken"
	done
	expect_no_match collect.log ' ends: '
	for summary in data/gaps-*/summary.json; do
		# Stopped before hello, it finds nobody when it goes on.
		pid=${summary%/*}
		grep -q "pid ${pid##*-}[):].* \(was not recorded\|is gone\)" \
			collect.log && continue
		# 2 threads and main
		spans=$(json "$summary" '.totals | .spans + .dropped_spans')
		end=$(json "$summary" '.processes[0].ended')
		[ "$spans" -eq $((2 * calls + 3)) ] ||
			fail "$summary: recorded + lost is $spans ($end)"
	done
done

# Hello: a collector that does not answer, or dies before it does.
calls=1000
"$O/tests/progs/gaps" $calls 2 gap >expected
unset PERFREC_DEADLINE_MS
start_daemon
for try in 1 2 3; do
	kill -STOP $collector
	began=$(date +%s%N)
	start_program
	end_program 'stopped before hello' hello
	echo $((($(date +%s%N) - began) / 1000)) >>gaps.hello
	kill -CONT $collector
done
stop_daemon
for try in 1 2 3; do
	start_daemon
	kill -STOP $collector
	began=$(date +%s%N)
	start_program
	random 90
	sleep_ms "$number"
	kill -KILL $collector
	wait $collector 2>/dev/null
	collector=
	end_program "killed $number ms after hello" hello
	echo $((($(date +%s%N) - began) / 1000)) >>gaps.hello
done

for kind in gaps.*; do
	echo "longest ${kind#gaps.}: $(sort -n "$kind" | tail -n 1) us"
done

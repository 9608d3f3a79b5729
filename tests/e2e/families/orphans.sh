# SPDX-License-Identifier: Apache-2.0
#
# A child that outlives its parent, and first records long after it, is
# recorded as any other: by a daemon always, by perfrec record --follow; and
# perfrec record without it says who went on.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
trap ': >go; [ -z "$collector" ] || kill -KILL $collector' EXIT

# ./orphan STEPS: a process for each letter, which forks the next one and ends:
# "f" calls leaf() 10 times first, "s" calls nothing, "d" does as daemon(3). The
# last process comes after the letters: it makes ./up when its parent has ended,
# waits for ./go, calls leaf() 1,000 times, and makes ./done.
prog families/orphan

spans()
{
	json "$1/summary.json" '.totals.spans'
}

# --- a daemon: the session lasts until the last one has ended -----------------
start_daemon --on-full block
ctl()
{
	"$PERFREC" ctl "$@"
}
state_is()
{
	[ "$(ctl --json list | jq -r '.programs[0].state')" = "$1" ]
}
is_over()
{
	[ -s "$(echo data/orphan-*/summary.json)" ]
}
for steps in f s d fS dd sff fsssf; do
	rm -f go done
	rm -rf data/*
	preload ./orphan $steps
	# All recorded processes have ended, and the collector has freed their
	# state.
	wait_for 60 state_is waiting
	: >go
	wait_for 60 is_over
	own=$(printf %s $steps | tr -dc f | wc -c)
	expect_eq "spans of $steps" "$(spans data/orphan-*)" $((1000 + 10 * own))
	expect_eq "broken rings of $steps" \
		"$(json data/orphan-*/summary.json .totals.broken_rings)" 0
	[ -e done ] || fail "$steps: it ended before its program"
done

# A session that waits can be stopped.
rm -rf data/* go done
preload ./orphan f
wait_for 60 state_is waiting
ctl stop orphan >/dev/null || fail 'stop'
expect_eq 'stopped' "$(spans data/orphan-*)" 10
: >go
stop_daemon
expect_no_match collect.log 'warning|error'

# --- perfrec record: says who went on ----------------------------------------
# They go on until ./go, which comes after the command and its recording.
rm -f go done up
run_ok "$PERFREC" record -q --cpu off -o record \
	sh -c './orphan dS; while [ ! -e up ]; do sleep 0.01; done'
expect_eq 'lines' "$(wc -l <err)" 1
expect_match err '^perfrec: 1 process went on unrecorded .*: orphan; perfrec record --follow records until'
expect_eq 'name' "$(json record/summary.json '.went_on[].name')" orphan
run "$PERFREC" report record
expect_match out '  note +1 process went on unrecorded'
: >go
wait_for 60 test -e done

# --- and follows them --------------------------------------------------------
rm -f go done
(sleep 0.5; : >go) &
run_ok "$PERFREC" record -q --follow -o record ./orphan fdSs
[ ! -s err ] || fail "$(cat err)"
[ -e done ] || fail 'it did not wait'
expect_eq 'followed' "$(spans record)" 1010
expect_eq 'nobody' "$(json record/summary.json '.totals.went_on')" 0

# The status is the command's, and descendants that exec are followed.
rm -f go done
(sleep 0.5; : >go) &
run "$PERFREC" record -q --follow -o record sh -c 'sh -c "./orphan fd" & exit 3'
expect_status 3
[ -e done ] || fail 'it did not wait'
expect_eq 'followed' "$(spans record)" 1010

# A signal ends the following in good order.
rm -f go done up
"$PERFREC" record --follow -o record ./orphan fd 2>err &
perfrec=$!
wait_for 60 grep -q 'has ended; recording goes on' err
# The last process makes it when its parent has ended. Until then perfrec may find
# both of them.
wait_for 60 test -e up
kill -INT $perfrec
wait $perfrec
expect_eq 'status' $? 0
expect_eq 'until then' "$(spans record)" 10
# It is not the command's end that they have outlived.
expect_match err 'note +1 process went on unrecorded when the recording ended'
: >go
wait_for 60 test -e done

# A recording that somebody ends: --follow would not have helped.
"$PERFREC" record -q --cpu off -o ended sh -c ': >began; while [ ! -e over ]; do sleep 0.01; done' 2>err &
perfrec=$!
wait_for 60 test -e began
"$PERFREC" ctl -o ended stop >/dev/null || fail 'cannot end it'
wait_for 60 test -e ended/summary.json
: >over
wait "$perfrec"
run "$PERFREC" report ended
expect_match out '  note +[0-9]+ process.* when the recording ended: .*, as it was ended while the program ran$'
expect_no_match out 'follow'

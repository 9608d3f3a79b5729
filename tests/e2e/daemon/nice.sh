# SPDX-License-Identifier: Apache-2.0
#
# The slow work for a program is done by threads that are as nice as it is, but
# no nicer than 10; and that for another one beside it, by threads that are not.
# Rings of a program that is as nice as that are emptied by workers that are.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need nice

# nice_values THREAD: of all threads of the collector with this name.
nice_values()
{
	for task in /proc/$collector/task/*; do
		[ "$(cat "$task/comm" 2>/dev/null)" = "$1" ] || continue
		# The name has no blanks.
		cut -d " " -f 19 "$task/stat" 2>/dev/null
	done | sort -n | uniq | tr '\n' ' '
}

# both_are THREAD NICE: the nice values of THREAD for the normal program and for
# the nice one.
both_are()
{
	[ "$(nice_values "$1")" = "$own $2 " ]
}

is_alone()
{
	[ "$(nice_values perfrec-writer)" = "$own " ]
}

# calls_for NAME COMMAND...: ./NAME calls until it is killed; in $victim.
calls_for()
{
	cp calls "$1"
	shift
	LD_PRELOAD=$SHIM PERFREC_QUIET=1 "$@" 1000000000 7 >out 2>err &
	victim=$!
}

build_calls
own=$(cut -d ' ' -f 19 /proc/self/stat)
[ "$own" -le 6 ] || skip "is nice itself: $own"
start_daemon
calls_for plain ./plain
plain=$victim
for pair in 4:$((own + 4)) 19:10; do
	calls_for nice nice -n "${pair%:*}" ./nice
	wait_for 60 both_are perfrec-writer "${pair#*:}"
	run_ok "$PERFREC" ctl flush
	for thread in perfrec-jobs perfrec-writer; do
		wait_for 60 both_are $thread "${pair#*:}"
	done
	kill -KILL $victim
	wait $victim || :
	wait_for 60 is_alone
done
kill -KILL $plain
wait $plain || :
expect_eq 'nice workers' "$(nice_values perfrec-nice0)" '10 '

# waits_of WORKER: how often it has waited for something to do.
waits_of()
{
	for task in /proc/$collector/task/*; do
		[ "$(cat "$task/comm" 2>/dev/null)" != "$1" ] ||
			awk '/^voluntary/ { print $2 }' "$task/status"
	done
}
cp calls last
before=$(waits_of perfrec-nice0)
PERFREC_QUIET=1 LD_PRELOAD=$SHIM nice -n 19 ./last 1000 7 >out 2>err
expect_eq 'status of last' $? 7
wait_for 60 has_summary last
expect_eq 'spans of last' "$(json data/last-*/summary.json .totals.spans)" 1002
[ "$(waits_of perfrec-nice0)" -gt "$before" ] || fail "perfrec-nice0 did nothing"
stop_daemon

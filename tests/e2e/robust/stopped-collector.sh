# SPDX-License-Identifier: Apache-2.0
#
# A program that starts while the collector is stopped waits for a while, and
# then runs unrecorded. The collector says so once it goes on, whether the
# program has ended by then or not.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
build waiter <<'SOURCE'
#include <stdio.h>

int main(void)
{
	puts("started");
	fflush(stdout);
	return getchar() == 'x';
}
SOURCE
# Each of the two programs waits for so long.
export PERFREC_DEADLINE_MS=300
start_daemon
stop_process $collector
: | preload ./waiter >/dev/null || fail "exit status $?"
mkfifo input
preload ./waiter <input >out.waiter &
program=$!
exec 9>input
wait_for 60 grep -q started out.waiter
kill -CONT $collector
wait_for 60 grep -q 'refused program with pid [0-9]*: it ended before the collector could answer' \
	collect.log
# The second hello may be read later than the first.
is_met()
{
	[ -n "$(ls -d data/waiter-* 2>/dev/null)" ]
}
wait_for 60 is_met
# The folder is made before the program is looked at. The thread that does both
# answers only when it has.
"$PERFREC" ctl stats >stats || fail 'perfrec ctl stats'
exec 9>&-
wait $program || fail "exit status $?"
wait_for 60 grep -q "'waiter' (pid [0-9]*) was not recorded: it could not wait for an answer any longer" \
	collect.log
stop_daemon

# SPDX-License-Identifier: Apache-2.0
#
# A daemon is killed while functions of a program, and of its child, are off or
# are being switched: perfrec-keeper restores their text, and they run on. This
# also holds if the keeper was killed before, because the daemon starts another,
# and for a child that was forked a moment before.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
. "$TOP/tests/e2e/lib/forks.sh"
# The keeper is in no group of the daemon's. It has its name a moment after the
# first text was written, and ignores signals by then.
find_keeper()
{
	keeper=$(pgrep -P $collector perfrec-keeper)
}
kill_daemon()
{
	kill -KILL $collector
	wait $collector 2>/dev/null
	collector=
}
# end_well: as end_forks, and the keeper has ended.
end_well()
{
	end_forks
	[ ! -e "/proc/$keeper" ] || wait_for 60 expect_gone
}
expect_gone()
{
	[ ! -e "/proc/$keeper" ]
}

# The daemon alone; what asks it to end does not end the keeper.
start_daemon
start_forks
switch_all_off
wait_for 60 find_keeper
kill -TERM "$keeper"
kill -INT "$keeper"
expect_eq 'descriptors of the keeper' \
	"$(find "/proc/$keeper/fd" -lname 'pipe:*' -o -lname '*collect.log' | wc -l)" 0
kill_daemon
end_well

# The keeper first.
start_daemon
start_forks
switch --off leaf
wait_for 60 find_keeper
kill -KILL "$keeper"
old=$keeper
new_keeper()
{
	find_keeper && [ "$keeper" != "$old" ]
}
wait_for 60 new_keeper
wait_for 60 grep -q 'perfrec-keeper, .* has ended' collect.log
# It has taken in the memory of both, and their lists.
has_all()
{
	[ "$(find "/proc/$keeper/fd" -lname '*perfrec-text*' | wc -l)" -eq 2 ]
}
wait_for 60 has_all
kill_daemon
end_well

# While functions are switched on and off.
start_daemon
start_forks
switch --off '*'
wait_for 60 find_keeper
while :; do
	"$PERFREC" ctl functions --span '*' || break
	"$PERFREC" ctl functions --off '*' || break
done >out.flips 2>&1 &
flips=$!
flipped()
{
	[ "$(grep -c '^off.*leaf' out.flips)" -ge 5 ]
}
wait_for 120 flipped
kill_daemon
wait $flips
end_well

# A normal end leaves no file and no process.
start_daemon
start_forks
switch --off '*'
wait_for 60 find_keeper
stop_daemon
wait_for 60 expect_gone
end_well

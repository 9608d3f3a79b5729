# SPDX-License-Identifier: Apache-2.0
#
# A daemon is killed while functions of a program, and of its child, are off or
# are being switched: perfrec-keeper restores their text, and they run on. Also
# if the keeper was killed before: then there is another one. A child that was
# forked a moment before is restored, too.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
mkdir run
export XDG_RUNTIME_DIR=$PWD/run
build forks <<'SOURCE'
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
__attribute__((noinline)) int leaf(int i) { return i * 3; }
__attribute__((noinline)) int other(int i) { return leaf(i) + 1; }
int main(void)
{
	pid_t child = fork();
	volatile int sum = 0;
	char byte;

	for (int i = 0; i < 1000; i++)
		sum += other(i);
	printf("%s %d\n", child ? "parent" : "child", (int)getpid());
	fflush(stdout);
	/* Each hears of the end of the input. */
	while (read(0, &byte, 1) > 0)
		;
	for (int i = 0; i < 1000; i++)
		sum += other(i);
	if (child)
		waitpid(child, NULL, 0);
	printf("sum %d\n", sum);
	return 0;
}
SOURCE
both_there()
{
	[ "$(grep -c '^[pc]' out.forks)" -eq 2 ]
}
same()
{
	"$O/tests/tools/text_same" "$1" >/dev/null
}
differs()
{
	! "$O/tests/tools/text_same" "$1" forks >/dev/null
}
# The keeper is in no group of the daemon's.
find_keeper()
{
	keeper=$(pgrep -P $collector perfrec-keeper)
}
# start: the program and its child in $parent and $child.
start()
{
	rm -f input
	mkfifo input
	: >out.forks
	preload ./forks <input >out.forks 2>err.forks &
	program=$!
	exec 9>input
	wait_for 30 both_there
	parent=$(awk '$1 == "parent" { print $2 }' out.forks)
	child=$(awk '$1 == "child" { print $2 }' out.forks)
}
switch()
{
	run "$PERFREC" ctl functions "$@"
	expect_status 0
}
kill_daemon()
{
	kill -KILL $collector
	wait $collector 2>/dev/null
	collector=
}
# end_well: all text is as in the files, and the program comes to its end.
end_well()
{
	wait_for 30 same "$parent"
	wait_for 30 same "$child"
	exec 9>&-
	wait $program || fail "exit status $?"
	expect_eq sums "$(grep -c '^sum 2999000$' out.forks)" 2
	[ ! -e "/proc/$keeper" ] || wait_for 30 expect_gone
}
expect_gone()
{
	[ ! -e "/proc/$keeper" ]
}

# The daemon alone; what asks it to end does not end the keeper.
start_daemon
start
switch --off '*'
wait_for 30 differs "$parent"
wait_for 30 differs "$child"
find_keeper || fail "there is no perfrec-keeper"
kill -TERM "$keeper"
kill -INT "$keeper"
expect_eq 'descriptors of the keeper' \
	"$(find "/proc/$keeper/fd" -lname 'pipe:*' -o -lname '*collect.log' | wc -l)" 0
kill_daemon
end_well

# The keeper first.
start_daemon
start
switch --off leaf
find_keeper || fail "there is no perfrec-keeper"
kill -KILL "$keeper"
old=$keeper
new_keeper()
{
	find_keeper && [ "$keeper" != "$old" ]
}
wait_for 30 new_keeper
expect_match collect.log 'perfrec-keeper, .* has ended'
# It has taken in the memory of both, and their lists.
has_all()
{
	[ "$(find "/proc/$keeper/fd" -lname '*perfrec-text*' | wc -l)" -eq 2 ]
}
wait_for 30 has_all
kill_daemon
end_well

# While functions are switched on and off.
start_daemon
start
switch --off '*'
find_keeper || fail "there is no perfrec-keeper"
while :; do
	"$PERFREC" ctl functions --span '*' || break
	"$PERFREC" ctl functions --off '*' || break
done >out.flips 2>&1 &
flips=$!
flipped()
{
	[ "$(grep -c '^off.*leaf' out.flips)" -ge 5 ]
}
wait_for 30 flipped
kill_daemon
wait $flips
end_well

# In good order nothing is left, and nobody is.
start_daemon
start
switch --off '*'
find_keeper || fail "there is no perfrec-keeper"
stop_daemon
expect_none "/proc/$keeper"
end_well

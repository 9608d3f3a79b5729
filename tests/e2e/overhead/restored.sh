# SPDX-License-Identifier: Apache-2.0
#
# The text of a program and of its child is as its file when recording stops:
# by ctl stop, and when the daemon ends.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
mkdir run
export XDG_RUNTIME_DIR=$PWD/run
build forks <<'SOURCE'
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
__attribute__((noinline)) int leaf(int i) { return i * 3; }
int main(void)
{
	volatile int sum = 0;
	pid_t child;
	char byte;

	for (int i = 0; i < 1000; i++)
		sum += leaf(i);
	child = fork();
	for (int i = 0; i < 1000; i++)
		sum += leaf(i);
	printf("%s %d\n", child ? "parent" : "child", (int)getpid());
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	for (int i = 0; i < 1000; i++)
		sum += leaf(i);
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
# try HOW...: a program whose functions are off, recording ends by HOW, and all
# text is restored.
try()
{
	start_daemon
	rm -f input
	mkfifo input
	: >out.forks
	preload ./forks <input >out.forks 2>err.forks &
	program=$!
	exec 9>input
	wait_for 30 both_there
	parent=$(awk '$1 == "parent" { print $2 }' out.forks)
	child=$(awk '$1 == "child" { print $2 }' out.forks)
	run "$PERFREC" ctl functions --off '*'
	expect_status 0
	wait_for 30 differs "$parent"
	wait_for 30 differs "$child"
	"$@"
	wait_for 30 same "$parent"
	wait_for 30 same "$child"
	exec 9>&-
	wait $program || fail "exit status $?"
	expect_eq sums "$(grep -c '^sum 4495500$' out.forks)" 2
}
by_ctl()
{
	run "$PERFREC" ctl stop forks
	expect_status 0
	same "$parent" || fail "ctl stop has returned, and text is patched"
	same "$child" || fail "ctl stop has returned, and text is patched"
}
by_end()
{
	stop_daemon
}
try by_ctl
stop_daemon
try by_end

# SPDX-License-Identifier: Apache-2.0
#
# forks.sh - a program with a child, whose functions a daemon of the test's own
# switches, sourced after daemon.sh. Builds ./forks.

mkdir run
export XDG_RUNTIME_DIR=$PWD/run
build forks <<'SOURCE'
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
__attribute__((noinline)) int leaf(int i) { return i * 3; }
__attribute__((noinline)) int other(int i) { return leaf(i) + 1; }
static int call(void)
{
	int sum = 0;

	for (int i = 0; i < 1000; i++)
		sum += other(i);
	return sum;
}
int main(void)
{
	int sum = call();
	pid_t child = fork();
	char byte;

	sum += call();
	printf("%s %d\n", child ? "parent" : "child", (int)getpid());
	fflush(stdout);
	/* Each hears of the end of the input. */
	while (read(0, &byte, 1) > 0)
		;
	sum += call();
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
# same PID, differs PID: whether its text is as in its file.
same()
{
	"$O/tests/tools/text_same" "$1" >/dev/null
}
differs()
{
	! "$O/tests/tools/text_same" "$1" forks >/dev/null
}
# start_forks: the program and its child in $parent and $child.
start_forks()
{
	rm -f input
	mkfifo input
	: >out.forks
	preload ./forks <input >out.forks 2>err.forks &
	program=$!
	exec 9>input
	wait_for 60 both_there
	parent=$(awk '$1 == "parent" { print $2 }' out.forks)
	child=$(awk '$1 == "child" { print $2 }' out.forks)
}
switch()
{
	run_ok "$PERFREC" ctl functions "$@"
}
# switch_all_off: all functions, in both.
switch_all_off()
{
	switch --off '*'
	wait_for 60 differs "$parent"
	wait_for 60 differs "$child"
}
# end_forks: all text is as in the files, and the program comes to its end.
end_forks()
{
	wait_for 60 same "$parent"
	wait_for 60 same "$child"
	exec 9>&-
	wait $program || fail "exit status $?"
	expect_eq sums "$(grep -c '^sum 4498500$' out.forks)" 2
}

# SPDX-License-Identifier: Apache-2.0
#
# The collector is killed while functions of a program, and of its child, are
# off: perfrec-keeper restores their text, and they run on.
. "$TOP/tests/e2e/lib.sh"
prog overhead/busy
build forks -I. <<'SOURCE'
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
__attribute__((noinline)) int leaf(int i) { return i * 3; }
int main(void)
{
	pid_t child = fork();
	volatile int sum = 0;
	char byte;

	for (int i = 0; i < 1000; i++)
		sum += leaf(i);
	printf("%s %d\n", child ? "parent" : "child", (int)getpid());
	fflush(stdout);
	/* Each hears of the end of the input. */
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

mkfifo input
: >out.forks
"$PERFREC" record -q -o data -- ./forks <input >out.forks 2>err.forks &
recorder=$!
exec 9>input
both_there()
{
	[ "$(wc -l <out.forks)" -eq 2 ]
}
wait_for 60 both_there
parent=$(awk '$1 == "parent" { print $2 }' out.forks)
child=$(awk '$1 == "child" { print $2 }' out.forks)
run_ok "$PERFREC" ctl -o data functions --off '*'
# The collector may not have seen the child yet.
differs()
{
	! "$O/tests/tools/text_same" "$1" forks >/dev/null
}
wait_for 60 differs "$parent"
wait_for 60 differs "$child"

run_ok "$PERFREC" ctl -o data list --json
kill -KILL "$(json out .collector.pid)"
restored()
{
	"$O/tests/tools/text_same" "$1" >/dev/null
}
wait_for 60 restored "$parent"
wait_for 60 restored "$child"
# perfrec says this only where it sees the collector's end before the program's.
wait_for 60 grep -q 'goes on unrecorded' err.forks
exec 9>&-
status=0
wait $recorder || status=$?
expect_eq 'the status where the collector was killed' $status 1
expect_eq 'sums' "$(grep -c '^sum 2997000$' out.forks)" 2

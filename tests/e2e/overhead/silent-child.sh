# SPDX-License-Identifier: Apache-2.0
#
# A forked child whose functions are all off calls no hook, so it records
# nothing. Its text is looked after all the same: when recording stops it is as
# it was, also where the collector may not open the child's memory.
. "$TOP/tests/e2e/lib.sh"

build forker <<'SOURCE'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static int leaf(int x)
{
	return x * 3 + 1;
}

/* usage: forker undumpable|plain, then a line on stdin for each step */
int main(int argc, char **argv)
{
	char line[64];
	pid_t child;

	if (argc > 1 && !strcmp(argv[1], "undumpable"))
		prctl(PR_SET_DUMPABLE, 0);
	child = fork();
	if (!child) {
		for (int x = 0;;) {
			x = leaf(x);
			usleep(1000);
		}
	}
	printf("%d\n", child);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		if (!strcmp(line, "dump\n"))
			break;
	kill(child, 9);
	waitpid(child, NULL, 0);
	return 0;
}
SOURCE

for how in plain undumpable; do
	rm -f input out.child
	mkfifo input
	"$PERFREC" record -q --exclude '*' -o data-$how -- ./forker $how \
		<input >out.child 2>err.child &
	recorder=$!
	exec 9>input
	wait_for 60 test -s out.child
	child=$(cat out.child)
	# Only root may read the memory of an undumpable process.
	if [ $how = plain ] || [ "$(id -u)" -eq 0 ]; then
		"$O/tests/tools/text_same" "$child" forker &&
			fail "$how: no text was patched"
	fi
	run_ok "$PERFREC" ctl -o data-$how stop forker
	restored()
	{
		"$O/tests/tools/text_same" "$child" >same.out 2>&1
	}
	if [ $how = plain ] || [ "$(id -u)" -eq 0 ]; then
		wait_for 60 restored || fail "$how: $(cat same.out)"
	fi
	exec 9>&-
	wait $recorder || fail "$how: exit status $?"
	expect_eq "$how: spans" "$(json data-$how/summary.json .totals.spans)" 0
done

# SPDX-License-Identifier: Apache-2.0
#
# Children that the collector does not know when recording stops, or when it is
# killed: they do not find its socket. Their functions are off, so they record
# nothing, and are restored all the same. Children that are forked later have a
# parent that is restored.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
mkdir run
export XDG_RUNTIME_DIR=$PWD/run
build forker <<'SOURCE'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static int leaf(int x)
{
	return x * 3 + 1;
}

/* A line on stdin is so many children, each of which has a child. They end with
 * this process. */
int main(void)
{
	volatile int sum = 0;
	char line[64], byte;
	int ends[2];

	if (pipe(ends) < 0)
		return 1;
	for (int i = 0; i < 1000; i++)
		sum += leaf(i);
	printf("parent %d\n", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		for (int i = atoi(line); i > 0; i--) {
			if (fork())
				continue;
			(void)!fork();
			dprintf(1, "child %d\n", (int)getpid());
			close(ends[1]);
			(void)!read(ends[0], &byte, 1);
			_exit(leaf(1) != 4);
		}
		puts("forked");
		fflush(stdout);
	}
	return sum != 1000 * 999 / 2 * 3 + 1000;
}
SOURCE
same()
{
	for pid in $(awk '$2 { print $2 }' out.forker); do
		"$O/tests/tools/text_same" "$pid" >same.out 2>&1 || return 1
	done
}
forked()
{
	[ "$(grep -c '^child' out.forker)" -eq "$1" ]
}
start()
{
	start_daemon
	# Old files would show the line of the last program before this one starts.
	rm -f input out.forker
	mkfifo input
	preload ./forker <input >out.forker 2>err.forker &
	program=$!
	exec 9>input
	wait_for 60 grep -q parent out.forker
	run_ok "$PERFREC" ctl functions --off '*'
	parent=$(awk '$1 == "parent" { print $2 }' out.forker)
	"$O/tests/tools/text_same" "$parent" forker >/dev/null &&
		fail "no text was patched"
	mv run/perfrec.sock run/away
	echo 6 >&9
	wait_for 60 forked 12
	mv run/away run/perfrec.sock
	same && fail "no text of children was patched"
}
end()
{
	wait_for 60 same
	echo 1 >&9
	wait_for 60 forked 14
	same || fail "a child that was forked later: $(cat same.out)"
	exec 9>&-
	wait $program || fail "exit status $?: $(cat err.forker)"
}

start
run_ok "$PERFREC" ctl stop forker
same || fail "ctl stop has returned: $(cat same.out)"
end
stop_daemon

start
kill -KILL "$collector"
wait "$collector" 2>/dev/null
collector=
end

# SPDX-License-Identifier: Apache-2.0
#
# A child that exits before the collector sees it has not called exec().
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

build parent <<'SOURCE'
#include <fcntl.h>
#include <unistd.h>
#include <sys/wait.h>
__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }
static void wait_for(const char *name)
{
	while (access(name, F_OK) != 0)
		usleep(1000);
}
int main(void)
{
	siginfo_t info;
	pid_t child;

	leaf();
	wait_for("go");
	child = fork();
	if (!child) {
		leaf();
		_exit(0);
	}
	/* It stays a zombie. */
	waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
	close(creat("exited", 0600));
	wait_for("end");
	return waitpid(child, NULL, 0) != child;
}
SOURCE

start_daemon --on-full drop
preload ./parent &
program=$!
met()
{
	set -- data/parent-*/trace.pftrace
	[ -s "$1" ]
}
wait_for 60 met
kill -STOP "$collector"
: >go
wait_for 60 test -e exited
kill -CONT "$collector"
run_ok "$PERFREC" ctl -o data flush
: >end
wait $program || fail "status $?"
stop_daemon
summary=$(echo data/parent-*)/summary.json
expect_eq 'how they ended' "$(json "$summary" \
	'[.processes[].ended] | sort | join(" ")')" 'exit exit'
expect_eq 'calls' "$(json "$summary" \
	'[.functions[] | select(.name == "leaf") | .calls] | add')" 2

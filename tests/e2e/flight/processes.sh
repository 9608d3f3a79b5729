# SPDX-License-Identifier: Apache-2.0
#
# Slow calls of a program that forks, executes another, closes all descriptors or
# may make no system call any more are in snapshots, and it ends as it would have.
. "$TOP/tests/e2e/lib.sh"

build tree <<'SOURCE'
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long sum;
__attribute__((noinline)) static void leaf(long i) { sum += i; }
__attribute__((noinline)) static void work(void)
{
	for (long i = 0; i < 2000; i++)
		leaf(i);
}
__attribute__((noinline)) static void forked(void) { usleep(60000); }
__attribute__((noinline)) static void executed(void) { usleep(60000); }
__attribute__((noinline)) static void closed(void) { usleep(60000); }
int main(int argc, char **argv)
{
	pid_t child[4] = { 0 };

	work();
	if (argc > 1) {
		executed();
		return 0;
	}
	if (!(child[0] = fork()))
		execl(argv[0], argv[0], "again", (char *)0);
	if (!(child[1] = fork())) {
		for (int fd = 3; fd < 256; fd++)
			close(fd);
		work();
		closed();
		_exit(0);
	}
	if (!(child[2] = fork())) {
		forked();
		work();
		_exit(0);
	}
	if (!(child[3] = fork())) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		for (;;)
			work();
	}
	for (int i = 0; i < 3; i++)
		waitpid(child[i], 0, 0);
	kill(child[3], SIGKILL);
	waitpid(child[3], 0, 0);
	return 7;
}
SOURCE
run timeout 100 "$PERFREC" record --flight --on-full block --overhead off \
	--margin 20ms --trigger 'forked > 50ms' --trigger 'executed > 50ms' \
	--trigger 'closed > 50ms' -o data ./tree
expect_status 7
cat data/snapshots/*/why.json >whys
expect_eq 'slow calls' "$(jq -r '.listed[].what' whys | sort | tr '\n' ' ')" \
	'closed executed forked '
expect_eq 'missing' "$(jq -r '.missing[]' whys)" ''
for snapshot in data/snapshots/*; do
	"$O/tests/tools/trace_check" "$snapshot/trace.pftrace" ||
		fail "the trace of $snapshot"
done
expect_eq 'lost triggers' "$(json data/summary.json .totals.lost_triggers)" 0

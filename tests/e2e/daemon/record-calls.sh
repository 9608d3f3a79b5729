# SPDX-License-Identifier: Apache-2.0
#
# The collector of `perfrec record` makes no system call that may wait for a client,
# up to its end (daemon/client-calls does the same for a daemon). At its end it looks
# for processes that go on. One of them has not said hello yet.
# timeout: 400
# long: runs a collector below strace
. "$TOP/tests/e2e/lib.sh"
need strace

strace -e trace=none true 2>strace.err || skip "$(head -n 1 strace.err)"
trap ': >go' EXIT
# Its constructor runs before the shim's.
cat >wait.c <<'SOURCE'
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void hold(void)
{
	close(open("up", O_WRONLY | O_CREAT, 0600));
	while (access("go", F_OK) < 0)
		usleep(1000);
}
SOURCE
${CC:-gcc} -O1 -fPIC -shared -o libwait.so wait.c || fail 'cannot compile'
build_calls
build family <<'SOURCE'
#include <unistd.h>
int main(void)
{
	/* A child that has not recorded. */
	if (fork() == 0) {
		while (access("go", F_OK) < 0)
			usleep(1000);
		_exit(0);
	}
	return 0;
}
SOURCE
cp calls late
# With these options only programs with hooks say hello, so the collector looks for
# hooks in the executable.
strace -D -f --seccomp-bpf -y --decode-pids=comm -s 256 -o strace.out \
	-e trace=%file,%desc,%network,execve,process_vm_readv,process_vm_writev,pidfd_getfd \
	"$PERFREC" record -q -o data --alloc off --cpu off -- sh -c './family; ./calls 1000
	LD_PRELOAD="$LD_PRELOAD:./libwait.so" ./late 1000 &
	while [ ! -e up ]; do sleep 0.01; done' >out 2>err
expect_eq 'who goes on' "$(json data/summary.json '[.went_on[].name] | sort | join(" ")')" \
	'family late'
: >go
pid=$(sed -n 's/^\([0-9]*\)<.*execve("[^"]*perfrec-collect".*/\1/p' strace.out | head -n 1)
wait_for 60 grep -q "^$pid<.*+++ exited" strace.out
awk -v pid="$pid" -v own="$PWD" \
	-f "$TOP/tests/e2e/lib/client-calls.awk" strace.out |
	LC_ALL=C sort >seen
grep -q '^main openat /proc/PID/environ O_PATH$' seen ||
	fail "strace saw no look at an environment: $(cat seen)"
sed '/^#/d; /^$/d' "$TOP/tests/e2e/lib/client-calls.allow" \
	"$TOP/tests/e2e/lib/client-calls-end.allow" | LC_ALL=C sort >allowed
LC_ALL=C comm -23 seen allowed >new
[ ! -s new ] || fail "calls that are in no client-calls*.allow: $(cat new)"

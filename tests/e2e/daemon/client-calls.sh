# SPDX-License-Identifier: Apache-2.0
#
# The system calls that the main thread and the drain workers make on descriptors
# and paths of clients are those of lib/client-calls.allow, which says why each
# does not wait for a client. strace watches them beside programs of all kinds and
# attacks.
# timeout: 400
# long: runs a daemon below strace
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
. "$TOP/tests/attacks/lib.sh"
need strace

strace -e trace=none true 2>strace.err || skip "$(head -n 1 strace.err)"
trap '[ -z "$attacker" ] || kill -KILL $attacker; [ -z "$collector" ] || kill -KILL $collector' EXIT
# So that the collector, not strace, is our child.
: >collect.log
strace -D -f -y --decode-pids=comm -s 256 -o strace.out \
	-e trace=%file,%desc,%network,process_vm_readv,process_vm_writev,pidfd_getfd \
	"$O/perfrec-collect" -o data 2>collect.log &
collector=$!
wait_for 60 grep -q 'listening on' collect.log

# judge: what $pid did as strace.out says.
judge()
{
	awk -v pid="$pid" -v own="$PWD" \
		-f "$TOP/tests/e2e/lib/client-calls.awk" strace.out |
		LC_ALL=C sort >seen
	sed '/^#/d; /^$/d' "$TOP/tests/e2e/lib/client-calls.allow" |
		LC_ALL=C sort >allowed
	LC_ALL=C comm -23 seen allowed >new
	[ ! -s new ] || fail "calls that are not in client-calls.allow: $(cat new)"
}

build_calls
build family <<'SOURCE'
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static int child(int depth)
{
	if (depth && fork() == 0)
		_exit(child(depth - 1));
	wait(NULL);
	return 0;
}
int main(int argc, char **argv)
{
	child(3);
	if (argc > 2)
		execv(argv[1], argv + 1);
	return 0;
}
SOURCE
preload ./calls 1000
preload ./family ./calls 1000
for name in children scribble lease held; do
	if start_attack "$name"; then
		cp calls "beside_$name"
		preload "./beside_$name" 1000
		[ "$name" = held ] || "$PERFREC" ctl list >list.out
	fi
	stop_attack
done
pid=$collector
stop_daemon
wait_for 60 grep -q "^$pid<.*+++ exited" strace.out
judge
for expected in 'fcntl memfd F_GET_SEALS' 'openat /proc/PID/comm -' 'recvmsg socket MSG_DONTWAIT'; do
	grep -q "main $expected" seen || fail "strace saw no $expected: $(cat seen)"
done
# Hostile programs lie: the runner would find times that cannot be.
rm -rf data

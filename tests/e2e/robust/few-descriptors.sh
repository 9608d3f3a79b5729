# SPDX-License-Identifier: Apache-2.0
#
# A collector without free descriptors, because others have connected and say
# nothing, cannot inspect the children that a program forks. It took that for a
# lie of the program ("a slot names a process not its own"), and ended the
# recording. Now these children wait until files are closed, and nothing is lost.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
. "$TOP/tests/attacks/lib.sh"
brood=
trap 'kill -KILL $attacker $collector $brood 2>/dev/null' EXIT

# When ./fork is there it forks 60 children, which call leaf() 10 times, wait until
# ./go is there, and call it 1,000 times more. 60 * 1,010 calls, and main().
build brood <<'SOURCE'
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }
__attribute__((no_instrument_function)) static void child(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < 10; i++)
		leaf();
	while (access("go", F_OK))
		usleep(10000);
	for (int i = 0; i < 1000; i++)
		leaf();
	_exit(0);
}
int main(void)
{
	while (access("fork", F_OK))
		usleep(10000);
	for (int i = 0; i < 60; i++)
		if (!fork())
			child();
	while (wait(NULL) > 0)
		;
	return 0;
}
SOURCE

(ulimit -n 56; exec "$O/perfrec-collect" -o data --overhead off \
	--on-full block 2>collect.log) &
collector=$!
wait_for 60 grep -q 'listening on' collect.log
preload ./brood &
brood=$!
wait_for 60 grep -q 'recording .data/brood' collect.log
attack()
{
	hostile silent 40 again
}
start_attack silent || fail 'no attack'
wait_for 60 grep -q 'too many files are open' collect.log
: >fork
wait_for 60 grep -q 'children of .brood. wait until they are recorded' collect.log
stop_attack
: >go
wait $brood
brood=
wait_for 60 has_summary brood
stop_daemon
summary=$(echo data/brood-*/summary.json)
expect_eq 'spans, what is lost, broken rings' \
	"$(json "$summary" '.totals | .spans, .dropped_spans, .broken_rings' |
		tr '\n' ' ')" "$((60 * 1010 + 1)) 0 0 "
expect_eq processes "$(json "$summary" '.processes | length')" 61
expect_match "$summary" 'too many files are open'
expect_no_match collect.log 'not its own'
for trace in data/*/trace.pftrace; do
	"$O/tests/tools/trace_check" "$trace" || fail "$trace: a rule is broken"
done

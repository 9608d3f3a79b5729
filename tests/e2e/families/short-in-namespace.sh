# SPDX-License-Identifier: Apache-2.0
#
# A program makes a pid namespace for its children, which are short: who they
# are in /proc cannot be found out in time. Every call of theirs is in the
# recording all the same.
. "$TOP/tests/e2e/lib.sh"
need unshare

unshare -p -f true 2>/dev/null || skip 'unshare is not permitted'

# Its first child is the namespace's init, whose children are born and gone.
build program <<'SOURCE'
#define _GNU_SOURCE
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int sum;
__attribute__((noinline)) static void leaf(void)
{
	sum++;
}
__attribute__((no_instrument_function)) static void call(int n)
{
	while (n-- > 0)
		leaf();
}
__attribute__((no_instrument_function)) static int inside(void)
{
	call(100);
	for (int i = 0; i < 3; i++) {
		if (fork() == 0) {
			call(100);
			_exit(0);
		}
		wait(0);
	}
	return 3;
}
__attribute__((no_instrument_function)) int main(void)
{
	int status = 0;

	call(100);
	if (unshare(CLONE_NEWPID))
		return 1;
	if (fork() == 0)
		_exit(inside());
	wait(&status);
	return WEXITSTATUS(status);
}
SOURCE

for turn in 1 2 3 4 5; do
	run "$PERFREC" record -q -o data -- ./program
	expect_status 3
	expect_eq stderr "$(cat err)" ''
	expect_eq "calls, turn $turn" "$(json data/summary.json \
		'.functions[] | "\(.name) \(.calls)"')" 'leaf 500'
	"$O/tests/tools/trace_check" data/trace.pftrace ||
		fail 'a rule is broken'
done

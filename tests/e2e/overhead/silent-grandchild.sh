# SPDX-License-Identifier: Apache-2.0
#
# A process that never recorded has text that was changed for its parent, which has
# ended: a library that no other process has loaded. The collector restores that
# text as well, although another process has more text to restore.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
mkdir run
export XDG_RUNTIME_DIR=$PWD/run
build plug.so -shared -fPIC <<'SOURCE'
__attribute__((noinline)) int plug(int i) { return i * 5; }
SOURCE
awk 'BEGIN { for (i = 0; i < 200; i++)
	printf "__attribute__((noinline)) int big%d(int i) { return i * %d; }\n", i, i }' |
	build big.so -shared -fPIC
build family <<'SOURCE'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int call(const char *path, const char *name)
{
	void *library = dlopen(path, RTLD_NOW);
	int (*function)(int) = (int (*)(int))dlsym(library, name);

	return function(1);
}

static void say(const char *who)
{
	printf("%s %d\n", who, (int)getpid());
	fflush(stdout);
}

/* Each process waits for its line of the file input, and for the end of it. */
int main(void)
{
	int ends[2];
	char byte;

	if (pipe(ends) < 0)
		return 1;
	if (!fork()) {
		volatile int sum = call("./plug.so", "plug");

		say("child");
		if (read(0, &byte, 1) != 1 || fork())
			return sum != 5;
		say("grandchild");
		close(ends[1]);
		(void)!read(ends[0], &byte, 1);
		return 0;
	}
	call("./big.so", "big1");
	say("parent");
	close(ends[0]);
	while (access("stop", F_OK))
		usleep(10000);
	return 0;
}
SOURCE
there()
{
	grep -q "^$1 " out.family
}
pid_of()
{
	awk -v who="$1" '$1 == who { print $2 }' out.family
}
# same PID: its text is that of its files. differs PID FILE
same()
{
	"$O/tests/tools/text_same" "$1" >same.out 2>&1
}
differs()
{
	! "$O/tests/tools/text_same" "$1" "$2" >/dev/null
}
off()
{
	"$PERFREC" ctl functions --off '*' >/dev/null 2>err.ctl
}
start_daemon
mkfifo input
preload ./family <input >out.family 2>err.family &
exec 9>input
wait_for 60 there child
wait_for 60 there parent
off || fail "ctl functions: $(cat err.ctl)"
wait_for 60 differs "$(pid_of child)" plug.so
wait_for 60 differs "$(pid_of parent)" big.so
echo >&9
wait_for 60 there grandchild
child_is_gone()
{
	[ ! -d "/proc/$(pid_of child)" ] || grep -q '^State:.Z' "/proc/$(pid_of child)/status"
}
wait_for 60 child_is_gone
grandchild=$(pid_of grandchild)
differs "$grandchild" plug.so || fail 'the grandchild has another text than its parent'
run_ok "$PERFREC" ctl stop
for who in parent grandchild; do
	same "$(pid_of $who)" || fail "the $who: $(cat same.out)"
done
: >stop
exec 9>&-
stop_daemon

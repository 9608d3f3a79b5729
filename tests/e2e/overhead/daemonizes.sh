# SPDX-License-Identifier: Apache-2.0
#
# The process that said hello has ended, and its child runs on, as a service does:
# functions of libraries that the child loads later are connected, counted and
# switched off, and all its text is restored. A grandchild keeps a library that
# the child unloads: its text is restored as well.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
mkdir run
export XDG_RUNTIME_DIR=$PWD/run
build plug.so -shared -fPIC <<'SOURCE'
__attribute__((noinline)) int plug(int i) { return i * 5; }
SOURCE
build other.so -shared -fPIC <<'SOURCE'
__attribute__((noinline)) int other(int i) { return i * 7; }
SOURCE
build service <<'SOURCE'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) static int leaf(int i) { return i * 3; }

static int (*plug)(int);

/* A word on stdin is a step. */
int main(void)
{
	volatile int sum = 0;
	void *library = NULL;
	char line[64], byte;
	int ends[2];

	for (int i = 0; i < 100; i++)
		sum += leaf(i);
	if (pipe(ends) < 0 || fork())
		return 0;
	sum += leaf(1);
	printf("service %d\n", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "load\n")) {
			library = dlopen("./plug.so", RTLD_NOW);
			plug = (int (*)(int))dlsym(library, "plug");
		} else if (!strcmp(line, "unload\n")) {
			dlclose(library);
		} else if (!strcmp(line, "load other\n")) {
			dlopen("./other.so", RTLD_NOW);
		} else if (!strcmp(line, "run\n")) {
			for (int i = 0; i < 1000; i++)
				sum += plug(i) + leaf(i);
		} else if (!strcmp(line, "fork\n") && !fork()) {
			sum += plug(1);
			close(ends[1]);
			printf("child %d\n", (int)getpid());
			fflush(stdout);
			(void)!read(ends[0], &byte, 1);
			return 0;
		}
		puts("done");
		fflush(stdout);
	}
	return 0;
}
SOURCE
start_daemon
mkfifo input
preload ./service <input >out.service 2>err.service &
root=$!
exec 9>input
wait_for 60 grep -q service out.service
service=$(awk '$1 == "service" { print $2 }' out.service)
done_steps=0
steps_are_done()
{
	[ "$(grep -c '^done$' out.service)" -ge $done_steps ]
}
step()
{
	echo "$1" >&9
	done_steps=$((done_steps + 1))
	wait_for 60 steps_are_done
}
same()
{
	"$O/tests/tools/text_same" "$1" >same.out 2>&1
}
differs()
{
	! "$O/tests/tools/text_same" "$1" "$2" >/dev/null
}
list()
{
	run "$PERFREC" ctl functions --json "$@"
	[ $status -eq 0 ]
}
of_plug()
{
	jq -r ".functions[0].functions[] | select(.name == \"plug\") | .$1" out
}
counted()
{
	list --count plug && [ "$(of_plug state)" = counted ]
}
has_calls()
{
	list && [ "$(of_plug calls)" -ge "$1" ]
}
wait $root || fail "the first process: status $?"
step load
step run
wait_for 60 counted
step run
wait_for 60 has_calls 1000
list --off '*' || fail "ctl functions: $(cat err)"
wait_for 60 differs "$service" plug.so
wait_for 60 differs "$service" service

# The library goes in one of two.
step fork
wait_for 60 grep -q child out.service
child=$(awk '$1 == "child" { print $2 }' out.service)
wait_for 60 differs "$child" plug.so
step unload
# The program reports the unloading with its next load. Its child still has the
# library; the new library at that address has its state.
step 'load other'
wait_for 60 differs "$service" other.so
differs "$child" plug.so || fail "the library of the child was let go"
run_ok "$PERFREC" ctl stop service
same "$service" || fail "$(cat same.out)"
same "$child" || fail "$(cat same.out)"
step load
step run
exec 9>&-
ended()
{
	[ ! -e "/proc/$service" ]
}
wait_for 60 ended
stop_daemon

# perfrec record ends with the first process, and lets go of the others.
mkfifo input2
exec 8<>input2
run_ok "$PERFREC" record -q --exclude '*' -o data2 -- ./service <input2
# It may say who it is after its parent, and with that the recording, has ended.
wait_for 60 grep -q service out
service=$(awk '$1 == "service" { print $2 }' out)
same "$service" || fail "$(cat same.out)"
kill "$service"

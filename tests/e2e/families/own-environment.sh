# SPDX-License-Identifier: Apache-2.0
# long: starts programs in many ways
#
# A program that started another one with an environment of its own (env -i,
# clearenv(), an LD_PRELOAD for another library) lost it without a message. The
# started program is recorded, for each form of exec and posix_spawn, from each
# place that may call them, and runs as without perfrec.
. "$TOP/tests/e2e/lib.sh"
prog families/starts

# calls DIR FUNCTION: how often it was called.
calls()
{
	json "$1/summary.json" \
		"[.functions[] | select(.name == \"$2\").calls] | add // 0"
}

./starts >plain.out || fail 'starts'
run_ok "$PERFREC" record -q --cpu=off -o data -- ./starts
expect_no_match err 'cannot be preloaded'
expect_eq 'children that ran' "$(grep -c '^started$' out)" "$(./starts ways)"
expect_eq 'other lines' "$(grep -vc '^started$' out)" 0
expect_eq 'calls in children' "$(calls data started)" "$(./starts ways)"

# The variables of perfrec take no room from the largest possible environment.
./starts largest >plain.out
run "$PERFREC" record -q --cpu=off -o data -- ./starts largest
expect_match out bytes
cmp plain.out out || fail "largest: $(cat plain.out out)"

# Nothing stays mapped in a parent whose vfork() children exec.
run_ok "$PERFREC" record -q --cpu=off -o data -- ./starts maps 20
expect_match err '^0$'

# Some forms of env. PERFREC_DISABLE, or the option, leaves the environment
# unchanged.
build_calls
given()
{
	run_ok "$PERFREC" record -q --cpu=off -o data "$@" 5
	expect_eq "$*: calls" "$(calls data leaf)" 5
}
given -- env -i ./calls
given -- env -u LD_PRELOAD ./calls
given -- env -u PERFREC_SOCKET ./calls
given -- env -i LD_PRELOAD=libm.so.6 ./calls
given -- env -i LD_PRELOAD= ./calls
given -- env -i LD_PRELOAD="$O/libperfrec_preload.so" ./calls
given -- env -i env -i ./calls
given -- env -i sh -c 'unset LD_PRELOAD PERFREC_SOCKET; ./calls 5'
run "$PERFREC" record -q --cpu=off -o data -- env -i A=1 PERFREC_DISABLE=1 env
expect_eq 'an environment that asks for no recording' "$(cat out)" \
	"$(printf 'A=1\nPERFREC_DISABLE=1\n')"
run "$PERFREC" record -q --cpu=off --inherit off -o data -- env -i A=1 env
expect_eq '--inherit off' "$(cat out)" A=1

# A program that defines exec itself, by the next one or by the kernel.
for own in NEXT KERNEL; do
	build own_$own -DOWN_$own <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noinline)) static void begun(void) { }
int execve(const char *path, char *const *argv, char *const *variables)
{
#ifdef OWN_NEXT
	int (*next)(const char *, char *const *, char *const *);
	*(void **)&next = dlsym(RTLD_NEXT, "execve");
	return next(path, argv, variables);
#else
	return syscall(SYS_execve, path, argv, variables);
#endif
}
int main(int argc, char **argv)
{
	char *args[] = { argv[0], "x", NULL }, *none[] = { NULL };
	begun();
	if (argc == 1)
		execve("/proc/self/exe", args, none);
	return argc == 1;
}
SOURCE
	run_ok "$PERFREC" record -q --cpu=off -o data -- ./own_$own
done
expect_eq 'exec by a raw system call' "$(calls data begun)" 1

# AddressSanitizer must not find the library in front of its own.
if echo 'int main(void) { return 0; }' |
	gcc -fsanitize=address -x c -o asan - 2>/dev/null; then
	run_ok "$PERFREC" record -q -o data -- env -i ./asan
	expect_no_match err ASan
fi

# A recording of a recording: perfrec's own programs are in neither.
run_ok "$PERFREC" record -q -o outer -- \
	env "XDG_RUNTIME_DIR=$PWD" "$PERFREC" record -q -o inner -- ./calls 7
expect_eq 'the inner recording' "$(calls inner leaf)" 7
json outer/summary.json '.processes[].name' >names
expect_match names '^perfrec-collect$'
expect_no_match names '^perfrec-(reader|symbolize)$'

# With a daemon, whose socket the new environment does not name.
. "$TOP/tests/e2e/lib/daemon.sh"
start_daemon
preload env -i ./calls 9 >out
wait_for 60 has_summary calls
expect_eq 'with a daemon: calls' "$(calls data/calls-* leaf)" 9
stop_daemon
# Without one, nothing is added.
preload env -i A=1 env >out
expect_eq 'without a collector' "$(cat out)" A=1

# SPDX-License-Identifier: Apache-2.0
#
# The end of a recording of moved functions: a collector is killed, perfrec ctl
# ends it, the program calls exec() or has children; with a daemon as well. The
# program goes on as if nothing had been.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
need gcc

cat >steps.c <<'SOURCE'
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
__attribute__((noinline)) static long fib(long n)
{
	long one, other;
	if (n < 2)
		return n;
	one = fib(n - 1);
	other = fib(n - 2);
	__asm__ volatile("" : "+r"(other));
	return one + other;
}
/* One number for each line. */
int main(void)
{
	char line[16];
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		printf("%ld\n", fib(20));
		if (fork() == 0) {
			printf("%ld\n", fib(10));
			_exit(0);
		}
		wait(NULL);
	}
	return 4;
}
SOURCE
gcc -O2 -o steps steps.c || fail 'cannot compile steps.c'
mkfifo input

# lines N: of output so far.
lines()
{
	[ "$(wc -l <out.steps)" -ge "$1" ]
}
# step N: the program takes one, and has written N lines.
step()
{
	echo >&9
	wait_for 60 lines "$1"
}
# finish: the program ends, after four steps.
finish()
{
	exec 9>&-
	wait $recorder
	expect_eq 'exit status' $? "$1"
	expect_eq 'output' "$(sort -n out.steps | uniq -c | awk '{ print $1, $2 }')" "4 55
4 6765"
}

# The collector is killed while functions are recorded.
rm -f out.steps
"$PERFREC" record -q --patch --alloc=off --cpu=off -o killed -- ./steps <input \
	>out.steps 2>err.steps &
recorder=$!
exec 9>input
wait_for 60 test -e out.steps
step 2
kill -KILL "$(pgrep -P $recorder -x perfrec-collect)"
step 4
step 6
step 8
finish 4

# A daemon: the recording of the program ends, and the program does not.
start_daemon --patch
rm -f out.steps
LD_PRELOAD=$O/libperfrec_preload.so PERFREC_QUIET=1 ./steps <input >out.steps \
	2>err.steps &
recorder=$!
exec 9>input
wait_for 60 test -e out.steps
step 2
run_ok "$PERFREC" ctl --json functions steps
expect_eq 'the function and its state' "$(json out '.functions[].functions[] |
	select(.name == "fib") | .state')" span
run_ok "$PERFREC" ctl functions --off fib steps
step 4
run_ok "$PERFREC" ctl functions --span fib steps
step 6
run_ok "$PERFREC" ctl stop steps
step 8
finish 4
stop_daemon
summary=$(find data -name summary.json)
# fib(20) is 21891 calls and fib(10) 177, in two of the four steps.
expect_eq 'calls of fib' "$(json "$summary" \
	'[.functions[] | select(.name == "fib") | .calls] | add')" $((2 * (21891 + 177)))
"$O/tests/tools/trace_check" "${summary%/*}/trace.pftrace" >checked ||
	fail "$(cat checked)"

# exec() of itself, in a shell and in env.
rm -rf data
run "$PERFREC" record -q --patch --alloc=off --cpu=off -o data -- \
	sh -c 'echo | ./steps; exec env -i ./steps </dev/null'
expect_status 4
expect_eq 'output' "$(sort -n out)" "55
6765"

# A library that comes later, three times. plugin() begins with a call.
cat >plugin.c <<'SOURCE'
__attribute__((noinline)) long twice(long n)
{
	return 2 * n;
}
long plugin(long n)
{
	return twice(n) + 1;
}
SOURCE
cat >host.c <<'SOURCE'
#include <dlfcn.h>
#include <stdio.h>
__attribute__((noinline)) static long call(long (*function)(long))
{
	return function(20) + 1;
}
int main(void)
{
	for (int i = 0; i < 3; i++) {
		void *library = dlopen("./plugin.so", RTLD_NOW);
		long (*function)(long) = (long (*)(long))dlsym(library, "plugin");
		printf("%ld\n", call(function));
		dlclose(library);
	}
	return 0;
}
SOURCE
gcc -O2 -fPIC -shared -o plugin.so plugin.c && gcc -O2 -o host host.c ||
	fail 'cannot compile host.c'
run_ok "$PERFREC" record --patch --alloc=off --cpu=off -o data -- ./host
expect_eq 'output' "$(sort -u out)" 42
expect_eq 'calls' "$(json data/summary.json '[.functions[] | "\(.name) \(.calls)"] |
	sort | join(" ")')" 'call 3 main 1 twice 3'

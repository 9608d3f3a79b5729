# SPDX-License-Identifier: Apache-2.0
# long: gdb takes its time to start
#
# gdb shows all frames of a program whose functions were moved, by their names: in
# the program, in a plugin that came later, and when gdb attaches.
. "$TOP/tests/e2e/lib.sh"
need gcc gdb

cat >plugin.c <<'C'
__attribute__((noipa)) long plugin_leaf(long (*stop)(void))
{
	return stop() + 1;
}
__attribute__((noipa)) long plugin_work(long (*stop)(void))
{
	return plugin_leaf(stop) + 1;
}
C
gcc -O2 -fPIC -shared -o plugin.so plugin.c || fail 'cannot compile plugin.c'
cat >host.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noipa)) long stop(void)
{
	char byte;
	return read(0, &byte, 1) + 1;
}
/* Arguments on the stack, which the thunk copies. */
__attribute__((noipa)) long many(long a, long b, long c, long d, long e, long f, long g,
				 long (*work)(long (*)(void)))
{
	return work(stop) + a + b + c + d + e + f + g;
}
int main(void)
{
	void *plugin = dlopen("./plugin.so", RTLD_NOW);
	printf("%ld\n", many(1, 2, 3, 4, 5, 6, 7,
			     (long (*)(long (*)(void)))dlsym(plugin, "plugin_work")));
	return 0;
}
C
gcc -O2 -o host host.c || fail 'cannot compile host.c'

# frames FILE: the functions of its last backtrace, without thunks and the C library.
frames()
{
	sed -n 's/^#[0-9]* .* in \([a-z_]*\) (.*/\1/p; s/^#[0-9]* \+\([a-z_]*\) (.*/\1/p' "$1" |
		grep -E '^(stop|plugin_leaf|plugin_work|many|main)$' | tr '\n' ' '
}
all='stop plugin_leaf plugin_work many main '

# gdb attaches.
mkfifo input
"$PERFREC" record -q --patch --alloc=off --cpu=off -o data -- ./host <input >out.host 2>err.host &
recorder=$!
exec 9>input
program_waits()
{
	program=$(pgrep -P $recorder -x host) &&
		grep -q '^0 0x0' "/proc/$program/syscall" 2>/dev/null
}
wait_for 60 program_waits
gdb -q -batch -ex 'set debuginfod enabled off' -ex bt -p "$program" >attached 2>&1 ||
	skip 'gdb cannot attach here'
echo >&9
exec 9>&-
wait $recorder
expect_eq 'exit status' $? 0
expect_eq 'output' "$(cat out.host)" 32
grep -q 'ptrace: Operation not permitted' attached && skip 'gdb cannot attach here'
expect_eq 'frames of a process that gdb attached to' "$(frames attached)" "$all"
expect_no_match attached '\?\?'

# The program starts under gdb, which hears of the plugin's thunks.
printf 'x' >byte
run "$PERFREC" record -q --patch --alloc=off --cpu=off -o data -- gdb -q -batch \
	-ex 'set debuginfod enabled off' -ex 'set breakpoint pending on' \
	-ex 'break read if $rdi == 0 && $rdx == 1' -ex 'run <byte' -ex bt -ex continue ./host
expect_eq 'frames of a process that gdb started' "$(frames out)" "$all"
expect_match out '^32$'

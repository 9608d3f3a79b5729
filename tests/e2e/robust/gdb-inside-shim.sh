#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# long: steps through the shim in gdb
# timeout: 600
#
# gdb unwinds to the callers from each instruction of the shim: few of its
# functions had unwind tables. gdb steps through the hooks and all wrappers of
# libc functions, in C and in assembly. Stepping aborts restartable sequences, so
# it also passes their abort handlers and the ways without them.
. "$TOP/tests/e2e/lib.sh"
need gdb
[ "$(uname -m)" = x86_64 ] || skip 'knows the flags of x86-64 only'

# -z now: finish would take what ld.so resolves lazily for its function.
prog robust/steps

# 8 slots, so that gdb does not step through many of them.
run env PERFREC_SLOTS=8 "$PERFREC" record -q -o data \
	gdb -nx -batch -x "$TOP/tests/e2e/lib/gdb_steps.py" ./steps
if ! grep -q '^functions:' out; then
	skip "gdb cannot step here: $(tail -n 1 err)"
fi
expect_no_match out '^wrong:'
for function in __cyg_profile_func_enter __cyg_profile_func_exit \
		put_cell put_cells trap_flag_clear malloc calloc realloc free \
		getcontext makecontext _setjmp longjmp vfork syscall prctl \
		dlopen dlclose
do
	expect_match out "^functions:.* $function( |\$)"
done

# The same of what the thunks of an entry build jump to.
run "$PERFREC" cc --hooks=entry "${CC:-cc}" -O1 -g -Wl,-z,now -o entries \
	"$TOP/tests/progs/robust/steps.c"
[ "$status" -eq 0 ] || skip "no entry builds here: $(cat err)"
run env PERFREC_SLOTS=8 "$PERFREC" record -q -o data-entries \
	gdb -nx -batch -x "$TOP/tests/e2e/lib/gdb_steps.py" ./entries
expect_no_match out '^wrong:'
for function in hook_entry_enter hook_entry_exit; do
	expect_match out "^functions:.* $function( |\$)"
done

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
#
# Functions of an entry build that cannot be recorded are said, with how many,
# why, and what to do: all of a program, or one beside others that are recorded.
. "$TOP/tests/e2e/lib.sh"
need gcc

cat >some.c <<'EOS'
#define OWN __attribute__((noinline))
OWN FLAGS int f_odd(int x)
{
	/* Saved where a function keeps all registers. */
	__asm__ volatile("" : : : "r11");
	return x + 1;
}
OWN int f_even(int x)
{
	__asm__ volatile("");
	return x + 2;
}
int main(void)
{
	int sum = 0;

	for (int i = 0; i < 1000; i++)
		sum += i % 2 ? f_odd(i) : f_even(i);
	return sum == 0;
}
EOS
way_out='Build with perfrec cc --hooks=calls to record them[.]$'

# try SPANS NOTE FLAG...
try()
{
	spans=$1 note=$2
	shift 2
	gcc -O2 -w -DFLAGS= "$@" some.c -o program 2>/dev/null || return 0
	"$PERFREC" cc --hooks=entry gcc -O2 -w -DFLAGS= "$@" some.c \
		-o program || fail "$*"
	rm -rf data
	run_ok "$PERFREC" record -o data -- ./program
	expect_eq "$*: spans" "$(json data/summary.json .totals.spans)" "$spans"
	if [ -z "$note" ]; then
		expect_no_match err 'could not be recorded'
		return 0
	fi
	expect_match err "^  note  *$note $way_out"
	run "$PERFREC" report data
	expect_match out "^  note  *$note $way_out"
}

of='functions of an entry build could not be recorded'
try 1001 '' -O1
try 0 "3 $of: a way out without room for a hook[.]" -fsplit-stack
try 0 "3 $of: a way out without room for a hook[.]" \
	-mfunction-return=thunk-inline
try 0 "3 $of: no call of a hook where it begins[.]" \
	-fpatchable-function-entry=5
# One beside others that are recorded.
try 501 "1 function of an entry build could not be recorded: a value in r11.*" \
	-mgeneral-regs-only \
	'-DFLAGS=__attribute__((no_caller_saved_registers))'

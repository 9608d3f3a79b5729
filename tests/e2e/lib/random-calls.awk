# SPDX-License-Identifier: Apache-2.0
#
# random-calls.awk - writes a program of random functions, in C, or in C++ with
# -v exceptions=1: inlined into each other or not, recursive, in tail calls, left
# by longjmp, or by an exception. Its calls depend on -v seed=N only. At most 4,000
# calls.

function pick(n) { return int(rand() * n) }

# A call of a function behind @i, or, one level of @d up, of any.
function some_call(i)
{
	if (i < count - 1 && pick(4))
		return "f" (i + 1 + pick(count - 1 - i)) "(d)"
	return "(d > 0 ? f" pick(count) "(d - 1) : 0)"
}

function statement(i, kind)
{
	kind = pick(exceptions ? 11 : 8)
	if (kind < 2)
		return "s += " some_call(i) ";"
	if (kind == 2)
		return "for (int n = 0; n < " (2 + pick(2)) "; n++) s += " \
			some_call(i) ";"
	if (kind == 3)
		return "if (chance(2)) s += " some_call(i) ";"
	if (kind == 4)
		return "{ volatile char *a = (char *)alloca(16 + d * 16); " \
			"a[0] = 1; s += " some_call(i) "; }"
	if (kind == 5)
		return "if (target && chance(6)) longjmp(*target, 1);"
	if (kind < 8)
		return "{ jmp_buf env, *volatile old = target; target = &env; " \
			"if (!setjmp(env)) s += " some_call(i) "; " \
			"target = old; s += " some_call(i) "; }"
	if (kind == 8)
		return "if (tries && chance(4)) throw d;"
	return "{ jmp_buf *old = target; target = 0; tries++; " \
		"try { s += " some_call(i) "; } catch (int) { s--; } " \
		"tries--; target = old; s += " some_call(i) "; }"
}

BEGIN {
	srand(seed)
	count = 12
	print "#include <alloca.h>\n#include <setjmp.h>\n#include <stdio.h>"
	print "#define QUIET __attribute__((no_instrument_function))"
	print "static jmp_buf *volatile target;\nstatic int tries, steps;"
	print "static unsigned int random_state = " seed ";"
	print "QUIET __attribute__((noinline)) static int chance(unsigned n)"
	print "{ random_state = random_state * 1103515245 + 12345;"
	print "return (random_state >> 16) % n == 0; }"
	for (i = 0; i < count; i++)
		print "static int f" i "(int d);"
	for (i = count - 1; i >= 0; i--) {
		kind = pick(4)
		printf "%sstatic int f%d(int d)\n{\n\tvolatile int s = d;\n",
			kind == 0 ? "__attribute__((noinline)) " : \
			kind == 1 ? "inline " : "", i
		print "\tif (++steps > 4000) return 1;"
		for (n = 1 + pick(3); n; n--)
			print "\t" statement(i)
		if (pick(2))
			print "\treturn " some_call(i) ";\n}"
		else
			print "\treturn s;\n}"
	}
	print "int main(void)\n{\n\tint s = 0;"
	for (i = 0; i < 6; i++)
		print "\ts += f" i "(6);"
	print "\tprintf(\"%d %d\\n\", s, steps);\n}"
}

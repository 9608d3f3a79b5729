#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# .preinit_array runs before the constructors of all libraries, when the C
# library does not know its environment yet. Calls from there are recorded, also
# those of a program that clears its environment there.
. "$TOP/tests/e2e/lib.sh"
need readelf

cat >program.c <<'SOURCE'
#include <stdlib.h>
static volatile int sum;
__attribute__((noinline)) static void early(int depth)
{
	sum++;
	if (depth)
		early(depth - 1);
}
static void from_preinit(int argc, char **argv, char **envp)
{
	(void)argc;
	(void)argv;
	early(9);
	if (WIPE)
		*envp = NULL;
}
__attribute__((section(".preinit_array"), used)) static void (
	*at)(int, char **, char **) = from_preinit;
__attribute__((constructor)) static void from_constructor(void) { early(4); }
int main(void)
{
	early(0);
	return sum != 16;
}
SOURCE

# recorded WHAT PROGRAM...: calls of early() and from_preinit().
recorded()
{
	what=$1
	shift
	run_ok "$PERFREC" record -q -o data -- "$@"
	expect_eq "$what: stderr" "$(cat err)" ''
	expect_eq "$what: calls" "$(json data/summary.json \
		'[.functions[] | "\(.name) \(.calls)"] | sort | join(", ")')" \
		'early 16, from_constructor 1, from_preinit 1, main 1'
	"$O/tests/tools/trace_check" data/trace.pftrace >check.log ||
		fail "$what: $(cat check.log)"
}

for flags in '-DWIPE=0' '-DWIPE=0 -no-pie' '-DWIPE=1' \
	'-DWIPE=0 -pthread -Wl,-z,now' '-DWIPE=0 -Wl,-z,lazy'; do
	# shellcheck disable=SC2086 # a list of words
	${CC:-gcc} -O1 -g -fno-optimize-sibling-calls -finstrument-functions \
		$flags -o program program.c || fail "cannot compile with $flags"
	run_ok ./program
	recorded "$flags" ./program
done

# The dynamic linker as the command moves the arguments before it starts them.
linker=$(readelf -l program | sed -n 's/.*interpreter: \(.*\)]/\1/p')
recorded 'by the linker' "$linker" --argv0 program ./program one two

# An entry build has no hooks yet: that is said, and only there.
entry()
{
	flags=$2
	# shellcheck disable=SC2086 # a list of words
	"$PERFREC" cc --hooks=entry "$1" -O1 $flags -o entry program.c ||
		fail "$1 $flags"
	run_ok "$PERFREC" record -o data -- ./entry
	json data/summary.json .totals.preinit_starts >told
}
compilers=${CC:-gcc}
command -v clang >/dev/null && compilers="$compilers clang"
for compiler in $compilers; do
	for flags in '-DWIPE=0' '-DWIPE=0 -no-pie' '-DWIPE=0 -fcf-protection'; do
		entry "$compiler" "$flags -fno-optimize-sibling-calls"
		expect_eq "$compiler $flags: preinit_starts" "$(cat told)" 1
		expect_match err 'lost +1 program of an entry build with functions in \.preinit_array'
	done
done
"$PERFREC" cc --hooks=entry "${CC:-gcc}" -O1 -fno-instrument-functions \
	-DWIPE=0 -c -o plain.o program.c || fail 'plain.o'
echo 'int other(void); int other(void) { return 0; }' >other.c
"$PERFREC" cc --hooks=entry "${CC:-gcc}" -O1 plain.o other.c -o entry ||
	fail 'entry with plain.o'
run_ok "$PERFREC" record -o data -- ./entry
expect_eq 'without hooks there: preinit_starts' \
	"$(json data/summary.json .totals.preinit_starts)" 0

# Nothing is recorded, or said, without a collector.
LD_PRELOAD=$O/libperfrec_preload.so PERFREC_QUIET=1 run ./program
expect_status 0
expect_eq 'stderr without a collector' "$(cat err)" ''

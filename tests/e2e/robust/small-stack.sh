# SPDX-License-Identifier: Apache-2.0
#
# A collector that is started with a small stack lives through names that need
# a large one to be demangled, and so does its recording.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

pointers=$(head -c 4000 /dev/zero | tr '\0' P)
functions=$(head -c 3000 /dev/zero | tr '\0' F)
cat >deep.c <<SOURCE
#define DEEP(name, symbol) \\
	void name(void) __asm__(symbol); \\
	__attribute__((noinline)) void name(void) { __asm__ volatile(""); }
DEEP(pointers, "_Z1f${pointers}i")
DEEP(functions, "_Z1f${functions}i")
int main(int argc, char **argv)
{
	(void)argv;
	pointers();
	functions();
	return argc == 1 ? 0 : 1;
}
SOURCE
gcc -finstrument-functions -rdynamic -o deep deep.c || fail 'cannot compile'
for size in 768 256; do
	rm -rf data
	: >collect.log
	(ulimit -s $size; exec "$O/perfrec-collect" -o data --overhead off \
		2>collect.log) &
	collector=$!
	wait_for 60 grep -q 'listening on' collect.log
	preload ./deep || fail "status $?"
	wait_for 60 has_summary deep
	expect_eq 'spans' "$(json data/deep-*/summary.json .totals.spans)" 3
	stop_daemon
done

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A stripped library has a row for each function, not for each instruction;
# the names, where it brings them packed (MiniDebugInfo).
. "$TOP/tests/e2e/lib.sh"
need strip objcopy xz

cat >lib.c <<'SOURCE'
#include <time.h>
/* Long enough that samples fall on many of its instructions. */
__attribute__((noinline)) static unsigned churn(unsigned x)
{
	for (int i = 0; i < 10000; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		x = x * 1664525 + 1013904223;
	}
	return x;
}
unsigned work(void)
{
	struct timespec now;
	unsigned x = 1;
	do {
		x = churn(x);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_nsec < 300000000 && !now.tv_sec);
	return x;
}
SOURCE
# -fno-plt: a sample in a stub of the PLT would be one more row without a name.
${CC:-gcc} -g -O1 -fPIC -fno-plt -shared -o libwhole.so lib.c || fail 'cannot compile lib.c'
strip -o libwork.so libwhole.so
objcopy --strip-debug libwhole.so mini
xz -c mini >mini.xz
printf 'unsigned work(void);\nint main(void) { return !work(); }\n' >host.c
${CC:-gcc} -o host host.c -L. -lwork -Wl,-rpath,"$PWD" || fail 'cannot link'

# rows: names of functions of the library that have samples.
rows()
{
	rm -rf data
	run_ok "$PERFREC" record -q --cpu=999 --alloc=off -o data -- ./host
	run_ok "$PERFREC" report --view cpu --json data
	jq -r '.functions[] | select(.module // "" | test("libwork")) | .name' \
		out | sort -u
}

rows >stripped
expect_match stripped '^work$' '^libwork[.]so[+]0x[0-9a-f]+$'
expect_eq 'rows that have no name' "$(grep -c '[+]0x' stripped)" 1
start=$(nm libwhole.so | sed -n 's/^0*\([0-9a-f]*\) t churn$/\1/p')
expect_match stripped "^libwork[.]so[+]0x$start\$"

objcopy --add-section .gnu_debugdata=mini.xz libwork.so
rows >packed
expect_match packed '^churn$' '^work$'
expect_no_match packed '[+]0x'

# SPDX-License-Identifier: Apache-2.0
#
# Debug sections that are compressed by zstd are read, or said to be so: also in
# a debug file of its own. They were "no DWARF information".
. "$TOP/tests/e2e/lib.sh"

cat >spin.c <<'SOURCE'
volatile unsigned long sink;
int main(void)
{
	for (unsigned long i = 0; i < 100000000; i++)
		sink += i;
	return 0;
}
SOURCE
gcc -O1 -g -Wl,--compress-debug-sections=zstd -o spin spin.c 2>/dev/null ||
	skip 'the linker knows no zstd'
readelf -tW spin | grep -q ZSTD || skip 'the linker compressed nothing'

# check: there are lines, or the reason why not.
check()
{
	rm -rf data
	run_ok "$PERFREC" record -q --alloc=off --cpu 997 -o data -- ./spin
	if json data/summary.json '.notes[]' | grep -q '^no CPU samples'; then
		skip 'perf_event is denied here'
	fi
	cp err warnings
	run_ok "$PERFREC" annotate main data
	grep -q 'sink += i;$' out ||
		expect_match warnings 'no source lines for .*/spin: its debug sections are compressed by zstd, which libdw of this machine cannot read; link with -Wl,--compress-debug-sections=zlib$'
}
check
objcopy --only-keep-debug spin spin.debug &&
	objcopy --strip-debug --add-gnu-debuglink=spin.debug spin ||
	fail 'cannot split the program'
check

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The functions of the kernel below [kernel], where it permits: in the profile, in
# the trace, in exports; and none of its addresses anywhere. With --kernel off, or
# without permission, [kernel] is one row, and the sums are the same.
. "$TOP/tests/e2e/lib.sh"
need gcc jq python3

cat >calls.c <<'SOURCE'
#include <string.h>
#include <sys/mman.h>
#include <time.h>

__attribute__((noinline)) static void touch(void)
{
	char *pages = mmap(NULL, 1 << 22, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages != MAP_FAILED)
		memset(pages, 1, 1 << 22);
	munmap(pages, 1 << 22);
}

int main(void)
{
	while (clock() < CLOCKS_PER_SEC / 2)
		touch();
	return 0;
}
SOURCE
gcc -O1 -fno-builtin -o calls calls.c || fail 'cannot compile calls.c'
for which in on off; do
	run_ok "$PERFREC" record -q --alloc=off --cpu=997,perf --kernel $which \
		-o $which -- ./calls
	! jq -e '.notes | any(test("^no CPU samples"))' $which/summary.json \
		>/dev/null || skip 'perf_event is denied here'
	"$PERFREC" report --view cpu --json --limit 0 $which >$which.json ||
		fail "no view of $which"
	"$O/tests/tools/trace_check" $which/trace.pftrace || fail 'a rule is broken'
	# All of it is in [kernel], named or not; and the sum is the CPU time.
	jq -e '.sum.cpu as $sum | .functions as $all |
		([$all[] | select(.name == "[kernel]") | .total.cpu] | add) as $in |
		([$all[] | .self.cpu] | add) == $sum and $in > $sum / 4 and
		([$all[] | select(.name == "[kernel]" or
			(.module | startswith("[") and . != "[vdso]")) |
			.self.cpu] | add) == $in' \
		$which.json >out.txt || fail "the sums of $which"
done
jq -e '[.functions[] | select(.module | startswith("[kernel"))] == []' \
	off.json >out.txt || fail 'functions of the kernel without --kernel'

# --- names --------------------------------------------------------------------
named()
{
	jq '[.functions[] | select(.module == "[kernel.kallsyms]")] | length' \
		"$1.json"
}
grep -qv '^0000000000000000' /proc/kallsyms || skip 'the kernel shows no addresses'
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 1 ] ||
	[ "$(id -u)" = 0 ] || skip 'the kernel may not be sampled here'
[ "$(named on)" -ge 5 ] || fail "$(named on) functions of the kernel"
# Each is a function of this kernel.
jq -r '.functions[] | select(.module == "[kernel.kallsyms]") | .name' on.json |
	grep -v '^\[unknown\]$' | sort -u >names
awk '{ print $3 }' /proc/kallsyms | sort -u >known
comm -23 names known >others
[ ! -s others ] || fail "no functions of this kernel: $(cat others)"

"$PERFREC" export --to folded --value cpu -o folded on >out.txt ||
	fail 'no folded stacks'
grep -q '\[kernel\];[^;]*_\[k\]' folded || fail 'folded stacks have no _[k]'
grep -v '\[kernel\]' folded | grep '_\[k\]' && fail '_[k] outside of the kernel'
"$PERFREC" export --to callgrind --value cpu -o grind on >out.txt ||
	fail 'no callgrind'
expect_match grind '^c?ob=\([0-9]+\) \[kernel\.kallsyms\]'
"$PERFREC" dump on >dump
jq -se 'map(select(.kernel)) | length > 50 and
	(map(.stack | map(.function) | index("[kernel]") as $at |
		$at != null and .[$at + 1] != null) | any)' dump >out.txt ||
	fail 'the trace has no functions of the kernel'

# --- no addresses ----------------------------------------------------------------
# Those of all functions that were seen, as numbers and as text.
grep -wFf names /proc/kallsyms | cut -d ' ' -f 1 | sort -u | head -n 400 >secrets
[ -s secrets ] || fail 'no secrets to look for'
for file in on/*.pb.gz; do
	gunzip -c "$file"
done >all
cat on/summary.json on/trace.pftrace dump folded grind >>all
grep -aoiFf secrets all && fail 'an address of the kernel in the recording'
python3 - secrets all <<'PYTHON' || fail 'an address of the kernel in the recording'
import sys
data = open(sys.argv[2], "rb").read()
def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])
for line in open(sys.argv[1]):
    address = int(line, 16)
    page = (address >> 16).to_bytes(6, "little")
    if page in data or varint(address)[2:] in data:
        sys.exit(f"{address:x}")
PYTHON

# --- the page -----------------------------------------------------------------
# It finds the stacks of the profile in the trace, so it knows their times.
run_ok "$PERFREC" report --html page.html on
python3 "$TOP/tests/tools/page_read.py" page.html >page.json ||
	fail 'the page is broken'
jq -e '(.values[] | select(.key == "cpu") | .sum) as $sum |
	.unknown_time.cpu * 10 < $sum' page.json >out.txt ||
	fail "CPU time at no known time: $(jq -c .unknown_time page.json)"

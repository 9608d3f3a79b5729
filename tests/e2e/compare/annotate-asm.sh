# SPDX-License-Identifier: Apache-2.0
#
# perfrec annotate --asm: samples stand at the instructions of a hot loop, of PIE,
# non-PIE, stripped and inlined code; the kernel's and replaced code is refused by
# name.

. "$TOP/tests/e2e/lib.sh"

cat >burn.c <<'SOURCE'
#include <stdlib.h>
#include <time.h>
volatile unsigned long sink;
__attribute__((noinline)) unsigned long burn(unsigned long n)
{
	unsigned long x = n + sink;

	for (unsigned long i = 0; i < n; i++)
		x = x / (i | 1) + 0x123456789;
	return x;
}
static inline __attribute__((always_inline)) void inlined(unsigned long n)
{
	while (n--)
		sink = sink * 3;
}
__attribute__((noinline)) void outer(void) { inlined(500000); }
int main(void)
{
	struct timespec used;

	do {
		sink += burn(1000000);
		outer();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while (used.tv_sec < 1 && used.tv_nsec < 400000000);
	return 0;
}
SOURCE
gcc -O1 -g -o pie burn.c || fail 'cannot compile'
gcc -O1 -g -no-pie -o fixed burn.c || fail 'cannot compile'
gcc -O1 -Wl,--build-id=none -o plain burn.c || fail 'cannot compile'
run_ok "$PERFREC" record -q --alloc=off --cpu 997 -o data -- ./pie
if json data/summary.json '.notes[]' | grep -q '^no CPU samples'; then
	skip 'perf_event is denied here'
fi

# hot_div: of the code of burn() in out, most samples stand at the division or
# behind it, and all of them are those of the function.
hot_div()
{
	expect_eq 'the division and the next instruction are hot' "$(jq '.code[0].instructions |
		(map(.text | startswith("div")) | index(true)) as $div |
		(map(.cpu_self_ns) | add) as $all |
		(.[$div].cpu_self_ns + .[$div + 1].cpu_self_ns) * 2 > $all' out)" true
	expect_eq 'the sum of the instructions is that of the code' \
		"$(jq '.code[0] | .cpu_ns == (.instructions | map(.cpu_ns) | add)' out)" true
	# objdump finds the same instructions.
	expect_eq 'instructions' "$(jq -r '.code[0].instructions[] | .bytes' out | tr '\n' ' ')" \
		"$(objdump -d --no-show-raw-insn "$1" | awk '/^[0-9a-f]+ <burn>:$/ { on = 1; next }
			/^$/ { on = 0 } on { print $1 }' | tr -d : | sizes)"
}
sizes()
{
	python3 -c 'import sys
at = [int(line, 16) for line in sys.stdin]
# The last one is a ret.
print(*[b - a for a, b in zip(at, at[1:])], 1, end=" ")'
}
run_ok "$PERFREC" annotate --asm --json burn data
hot_div pie
expect_eq 'the line of the division' \
	"$(jq -r '.code[0].instructions[] | select(.text | startswith("div")).line' out)" 9
expect_eq 'the time is that of the profile' "$(jq '.code | map(.cpu_ns) | add' out)" \
	"$("$PERFREC" annotate --json burn data | jq '[.lines[].cpu_ns] | add')"
# The page has the same.
jq '[.code[].instructions[].cpu_self_ns] | add' out >sum
run_ok "$PERFREC" report --html=page.html data
python3 "$TOP/tests/tools/page_read.py" page.html >page.json || fail 'the page'
expect_eq 'the sum of the instructions on the page' \
	"$(jq '.code[] | select(.function == "burn").cpu' page.json)" "$(cat sum)"
run_ok "$PERFREC" report --html=page.html --no-source data
python3 "$TOP/tests/tools/page_read.py" page.html >page.json || fail 'the page'
expect_eq 'machine code without source' "$(jq -c .code page.json)" '[]'
run_ok "$PERFREC" annotate --asm burn data
expect_match out '^burn  \[pie\]  CPU self .* CPU ' '/pie at 0x[0-9a-f]+$' \
	'burn\.c:9  +x = x / \(i \| 1\)' ' \+0x[0-9a-f]+  div ' ' j[a-z]+ \+0x[0-9a-f]+$' \
	'often the one after the slow one$'
run_ok "$PERFREC" annotate --asm main data
expect_match out '  call burn$'
run_ok "$PERFREC" annotate --asm inlined data
expect_match out '^inlined ' '/pie at 0x[0-9a-f]+: a part of outer$' 'burn\.c:1[56] '

run "$PERFREC" record -q --alloc=off --cpu 997 -o fixed.data -- ./fixed
run_ok "$PERFREC" annotate --asm --json burn fixed.data
hot_div fixed

# A stripped program: its functions have the bounds of the unwind tables.
strip -o stripped pie
run "$PERFREC" record -q --alloc=off --cpu 997 -o stripped.data -- ./stripped
name=$("$PERFREC" report --view cpu --json stripped.data |
	jq -r '[.functions[] | select(.module | endswith("/stripped"))] | max_by(.self.cpu).name')
run_ok "$PERFREC" annotate --asm "$name" stripped.data
expect_match out '  div '

# The cold part of a function stands beside it, and is a function of its own as well.
cat >cold.c <<'SOURCE'
#include <time.h>
volatile unsigned long sink;
__attribute__((cold, noinline)) static void rare(unsigned long n)
{
	sink += n;
}
__attribute__((noinline)) void work(unsigned long n)
{
	if (n > 1) {
		sink = sink / n + 1;
		sink = sink / n + 2;
		sink = sink / n + 3;
		sink = sink / n + 4;
		rare(n);
	}
	sink++;
}
int main(void)
{
	struct timespec used;

	do {
		for (unsigned long i = 1; i < 100000; i++)
			work(i);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while (used.tv_sec < 1 && used.tv_nsec < 400000000);
	return 0;
}
SOURCE
gcc -O2 -freorder-blocks-and-partition -o cold cold.c || fail 'cannot compile'
if nm cold | grep -q ' work\.cold$'; then
	run "$PERFREC" record -q --alloc=off --cpu 997 -o cold.data -- ./cold
	for name in work.cold work; do
		run_ok "$PERFREC" annotate --asm --json "$name" cold.data
		jq '.code[] | select(.function == "work.cold").cpu_self_ns' out >"$name.ns"
	done
	expect_eq 'samples of the cold part, alone and beside its function' \
		"$(cat work.ns)" "$(cat work.cold.ns)"
	[ "$(cat work.ns)" -gt 0 ] || fail 'the cold part has no samples'
	run_ok "$PERFREC" annotate --json work cold.data
	jq '[.lines[].cpu_self_ns] | add' out >lines
	run_ok "$PERFREC" report --view cpu --json --limit 0 cold.data
	expect_eq 'lines have both parts' "$(cat lines)" \
		"$(jq '[.functions[] | select(.name == "work" or .name == "work.cold").self.cpu] | add' out)"
	run_ok "$PERFREC" annotate --asm --json work cold.data
	expect_eq 'the function itself comes with it' \
		"$(jq '.code | map(.function) | index("work") != null' out)" true
fi

# No build-id: the file must be the old one.
run "$PERFREC" record -q --alloc=off --cpu 997 -o plain.data -- ./plain
run_ok "$PERFREC" annotate --asm burn plain.data
expect_match out '  div '
touch plain
run "$PERFREC" annotate --asm burn plain.data
expect_error 1 "no machine code of 'burn': /.*/plain was changed after the recording began, and it has no build-id"

# A file that was replaced, was cut short or is gone.
cp pie kept
gcc -O2 -g -o pie burn.c -DOTHER=1 || fail 'cannot compile'
run "$PERFREC" annotate --asm burn data
expect_error 1 "no machine code of 'burn': /.*/pie is not the file that was recorded: its build-id is [0-9a-f]*, not [0-9a-f]*"
mkfifo fifo
mv fifo pie
run "$PERFREC" annotate --asm burn data
expect_error 1 "no machine code of 'burn': cannot read /.*/pie: "
rm pie
run "$PERFREC" annotate --asm burn data
expect_error 1 "no machine code of 'burn': cannot open /.*/pie: No such file"
mv kept pie
run_ok "$PERFREC" annotate --asm burn data

if "$PERFREC" report --view cpu --json data | jq -e '.functions[] | select(.name == "[kernel]")' >/dev/null; then
	run "$PERFREC" annotate --asm '[kernel]' data
	expect_error 1 "no machine code of '\[kernel\]': it is not code of a file"
fi
run "$PERFREC" annotate --asm brun data
expect_error 1 "did you mean 'burn'"

# SPDX-License-Identifier: Apache-2.0
#
# perfrec annotate: allocations stand at the lines that made them, in code without
# hooks (where they are sampled, so that counts are estimates); with hooks at the
# first line, and that is said. Sources that are not
# there, and paths that are no plain files.

. "$TOP/tests/e2e/lib.sh"

mkdir src
cat >src/lines.c <<'SOURCE'
#include <stdlib.h>
char *volatile keep;
__attribute__((noinline)) void work(void)
{
	keep = malloc(1000);
	keep = malloc(10);
	keep = malloc(10);
}
int main(void)
{
	for (int i = 0; i < 100; i++)
		work();
	return 0;
}
SOURCE
gcc -O1 -g -o plain "$PWD/src/lines.c" || fail 'cannot compile'
gcc -O1 -g -finstrument-functions -o hooks "$PWD/src/lines.c" || fail 'cannot compile'
# Without CPU samples: in some runs one of them fell into work(), on a line that
# allocates nothing, or it put its time in front of the bytes of a line.
run_ok "$PERFREC" record -q --cpu off --alloc sampled:512 -o data ./plain
run_ok "$PERFREC" record -q --cpu off --alloc exact -o hooked ./hooks

run_ok "$PERFREC" annotate work data --json
expect_eq 'lines' "$(jq -r '[.lines[].line - 5] | map(select(. < 0 or . > 2)) | length' out)" 0
expect_eq 'line 5 has most bytes' \
	"$(jq -r '.lines | max_by(.alloc_bytes).line' out)" 5
expect_eq 'all bytes of the heap' "$(jq -r '[.lines[].alloc_bytes] | add' out)" \
	"$("$PERFREC" report --view heap --json data | jq -r .sum.alloc_space)"
expect_eq 'source' "$(json out '.lines[0].source')" '	keep = malloc(1000);'
run "$PERFREC" annotate main data --json
expect_eq 'main allocates at the call' \
	"$(jq -r '.lines[] | select(.alloc_objects > 0).line' out)" 12

run_ok "$PERFREC" annotate work data
expect_match out '^work  \[plain\] .*blocks' \
	'KiB +[0-9]+ +[0-9.]+ KiB +5 +keep = malloc\(1000\);$' '^ +3  __attribute__'
expect_no_match out 'know their function only'
run "$PERFREC" annotate work hooked
expect_match out 'know their function only' '^work  \[hooks\] .*blocks 300' \
	'^ +99\.6 KiB +300 +99\.6 KiB +[34]  '

mv src gone
run_ok "$PERFREC" annotate work data
expect_match out '/src/lines.c: no source here: No such file' 'KiB +[0-9]+ +[0-9.]+ KiB +5 +$'
mkdir src
mkfifo src/lines.c
run_ok "$PERFREC" annotate work data
expect_match out 'no source here'
# A link must not bring another file into the output, or into a page to send.
seq 100 | sed 's/^/secret /' >key
ln -sf ../key src/lines.c
run "$PERFREC" annotate work data
expect_match out 'no source here: Permission denied'
expect_no_match out secret
run_ok "$PERFREC" report --html=page.html data
python3 "$TOP/tests/tools/page_read.py" page.html >page.json || fail 'the page'
expect_no_match page.json secret
rm src/lines.c
printf 'short\n' >src/lines.c
run "$PERFREC" annotate work data
expect_match out 'KiB +[0-9]+ +[0-9.]+ KiB +5 +$'

run "$PERFREC" annotate wrok data
expect_error 1 "did you mean 'work'"
run "$PERFREC" annotate
expect_error 2 'give a function'
run "$PERFREC" annotate --asm data
expect_error 2 'give a function: perfrec annotate FUNC data; perfrec report data lists them'

# A function that was called, without samples and allocations, is no unknown name.
cat >idle.c <<'SOURCE'
#include <stdlib.h>
char *volatile keep;
__attribute__((noinline)) void idle(void) { keep = 0; }
__attribute__((noinline)) void busy(void) { keep = malloc(10); }
int main(void) { busy(); idle(); return 0; }
SOURCE
gcc -O1 -g -finstrument-functions -o idle idle.c || fail 'cannot compile'
run "$PERFREC" record -q --cpu off --alloc exact -o idled ./idle
run "$PERFREC" annotate idle idled
expect_error 1 "no samples and no allocations of 'idle'.*--cpu 999"
run "$PERFREC" annotate buzy idled
expect_error 1 "no function 'buzy' with samples or allocations: did you mean 'busy'"

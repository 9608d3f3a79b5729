# SPDX-License-Identifier: Apache-2.0
#
# perfrec annotate of a source with the line ends and the mark of Windows, and of
# a source that is newer than its program. The lines ended with "?", and no
# message said that the source had changed.
. "$TOP/tests/e2e/lib.sh"

printf '\357\273\277%s\r\n' 'volatile unsigned long sink;' >burn.c
sed 's/$/\r/' >>burn.c <<'SOURCE'
__attribute__((noinline)) void burn(unsigned long n) {
	for (unsigned long i = 0; i < n; i++)
		sink += i;
}
int main(void)
{
	for (int i = 0; i < 40; i++)
		burn(3000000);
	return 0;
}
SOURCE
gcc -O2 -g -o burn burn.c || fail 'cannot compile burn.c'
run_ok "$PERFREC" record -q --alloc=off --cpu 997 -o data -- ./burn
if json data/summary.json '.notes[]' | grep -q '^no CPU samples'; then
	skip 'perf_event is denied here'
fi

run_ok "$PERFREC" annotate burn data
expect_match out '^/.*/burn\.c$' '1  volatile unsigned long sink;$' \
	'  for \(unsigned long i = 0; i < n; i\+\+\)$'
run "$PERFREC" annotate --json burn data
expect_eq 'lines that changed' "$(json out '[.lines[].changed] | any')" false

# changed: the message about burn.c.
changed()
{
	run_ok "$PERFREC" annotate burn data
	expect_match out '^/.*/burn\.c: changed since the program was built, so lines may be others: build it and record again$'
	run "$PERFREC" annotate --json burn data
	expect_eq 'lines that changed' \
		"$(json out '[.lines[] | select(.source).changed] | all')" true
}
# It was changed after the recording; then the program was built anew.
touch -d '+1 hour' burn.c
changed
touch -d '+2 hours' burn
changed
# It was changed after the program was built, and before the recording.
touch -d '-1 hour' burn.c
touch -d '-2 hours' burn
changed

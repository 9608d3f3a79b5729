# SPDX-License-Identifier: Apache-2.0
#
# A trigger with conditions on arguments and results fires for the calls that fulfil
# all of them, and for no others: in a program without hooks and in an entry build,
# for numbers, texts and enumerators, recursive calls, slices of PERFREC_SCOPE, and a
# call that never ends.
. "$TOP/tests/e2e/lib.sh"
need jq gcc

cat >calls.c <<'C'
#include <perfrec.h>
#include <unistd.h>
#define ALONE __attribute__((noipa))
enum color { RED, GREEN };
static volatile long sink;
ALONE long paint(long size, enum color color)
{
	sink += size + color;
	return -size;
}
ALONE long nest(unsigned int depth)
{
	if (depth)
		nest(depth - 1);
	return sink++;
}
ALONE int read_text(const char *text)
{
	return text[0];
}
ALONE void scope(int level)
{
	PERFREC_SCOPE("slice", "level", level);
	sink += level;
}
ALONE void hang(double seconds)
{
	if (seconds > 1)
		hang(seconds - 1);
	else
		pause();
	sink += (long)seconds;
}
int main(int argc, char **argv)
{
	(void)argv;
	for (long i = 0; i < 100; i++)
		paint(i, i % 2 ? GREEN : RED);
	nest(9);
	read_text("one");
	read_text("two");
	for (int i = 0; i < 10; i++)
		scope(i);
	if (argc > 1)
		hang(9.5);
	return 0;
}
C
# fired TRIGGER: how often it has.
fired()
{
	cat data/snapshots/*/why.json 2>/dev/null | jq -s --arg text "$1" \
		'[.[].listed[] | select(.trigger == $text)] | length'
}

for build in plain entry; do
	set -- gcc
	[ $build = plain ] || set -- "$PERFREC" cc --hooks=entry -- gcc
	"$@" -O2 -g -I"$TOP/preload" -o calls calls.c || fail "cannot compile: $build"
	# trigger COUNT TEXT [COUNT TEXT]: they fire so often.
	while read -r count first; do
		run_ok "$PERFREC" record -q --patch --args '*' --args-strings --flight \
			--alloc=off --cpu=off --trigger "$first" -o data -- ./calls
		expect_eq "$build: $first" "$(fired "$first")" "$count"
	done <<-'END'
		3 paint(size >= 97) > 0ns
		2 paint(size >= 97, color = GREEN) > 0ns
		2 paint(size > 4, ret > -7) > 0ns
		0 paint(size > 4, ret > -4) > 0ns
		1 call paint(ret = -50) >= 0ns
		0 paint(missing = 1) > 0ns
		0 paint(size >= 97) > 100s
		4 nest(depth >= 6) > 0ns
		1 read_text(text = t*) > 0ns
		2 slice(level > 7) > 0ns
		2 scope(level > 7) > 0ns
	END
	# Two triggers of one function: the first that fits fires.
	run_ok "$PERFREC" record -q --patch --args '*' --flight --alloc=off --cpu=off \
		--trigger 'paint(size < 2) > 0ns' --trigger 'paint(color = RED, size < 4) > 0ns' \
		-o data -- ./calls
	expect_eq "$build: first" "$(fired 'paint(size < 2) > 0ns')" 2
	expect_eq "$build: second" "$(fired 'paint(color = RED, size < 4) > 0ns')" 1
done

# Without arguments nothing holds, and the message says so.
run_ok "$PERFREC" record --patch --flight --alloc=off --cpu=off \
	--trigger 'paint(size > 0) > 0ns' -o data -- ./calls
expect_eq 'without --args' "$(cat data/snapshots/*/why.json 2>/dev/null | wc -l)" 0
expect_match err "'paint\(size > 0\) > 0ns': no recorded call had the argument 'size'; see --args"

# A call that is still open fires by its arguments, before it ends; the nine calls around
# it do not.
hang='hang(seconds < 0.6) > 1ms'
"$PERFREC" record -q --patch --args '*' --flight --alloc=off --cpu=off \
	--trigger "$hang" --trigger 'hang(seconds > 9.6) > 1ms' -o data -- ./calls x &
recorder=$!
has_snapshot()
{
	[ -e "$(echo data/snapshots/*/why.json)" ]
}
wait_for 60 has_snapshot
pkill -P $recorder -x calls
wait $recorder
expect_eq 'open and ended' "$(fired "$hang")" 2
expect_eq 'another' "$(fired 'hang(seconds > 9.6) > 1ms')" 0

# Nine conditions are too many.
set --
for i in 1 2 3 4 5 6 7 8 9; do
	set -- "$@" --trigger "paint(size = $i) > 1ms"
done
run "$PERFREC" record -q --flight "$@" -o data -- ./calls
expect_status 2
expect_match err 'at most 8 conditions'

# SPDX-License-Identifier: Apache-2.0
#
# perfrec replay shows the arguments of annotations, each kind as a person would
# write it; what would steer a terminal it does not show.
. "$TOP/tests/e2e/lib.sh"
need gcc

cat >shown.c <<'SOURCE'
#include <stdbool.h>
#include <perfrec.h>
int main(void)
{
	PERFREC_SCOPE("shown", "yes", (bool)1, "minus", -5, "plus", 7u, "half",
		      0.5, "text", "a\033[1mb", "where", (void *)0x1f0);
	PERFREC_INSTANT("here", "n", 3);
	return 0;
}
SOURCE
gcc -I"$TOP/preload" -o shown shown.c || fail 'shown.c'
run_ok "$PERFREC" record -q -o data ./shown
run_ok "$PERFREC" replay data
expect_match out 'shown.*\(yes=true, minus=-5, plus=7, half=0\.5, text="a.*b", where=0x1f0\)' \
	'here.*\(n=3\)'
expect_no_match out "$(printf '\033')"
# Names are shortened, unless they are asked for.
run_ok "$PERFREC" replay --full-names data
expect_match out 'shown'

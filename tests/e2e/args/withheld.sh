# SPDX-License-Identifier: Apache-2.0
#
# A call that is not recorded, in a pause or with a full ring, is not looked into: its
# text stays in memory that nobody has touched.
. "$TOP/tests/e2e/lib.sh"
need gcc

cat >withheld.c <<'C'
#define _DEFAULT_SOURCE
#include <perfrec.h>
#include <stdio.h>
#include <sys/mman.h>
__attribute__((noipa)) const char *touch(const char *text)
{
	__asm__ volatile("nop; nop; nop; nop; nop");
	return text;
}
/* Passes a page that nobody has touched. Returns 1 if it is in memory then. */
static int is_read(void)
{
	char *page = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char resident = 0;

	touch(page);
	mincore(page, 4096, &resident);
	return resident & 1;
}
int main(void)
{
	printf("recorded %d\n", is_read());
	perfrec_pause();
	printf("paused %d\n", is_read());
	perfrec_resume();
	fflush(stdout);
	getchar();
	for (int i = 0; i < 100000; i++)
		touch("text");
	printf("full %d\n", is_read());
	return 0;
}
C
gcc -O2 -g -I"$TOP/preload" -o withheld withheld.c || fail 'cannot compile withheld.c'
mkfifo input
"$PERFREC" record -q --patch --args 'touch(str)->str' --args-strings --alloc=off --cpu=off \
	--ring-size 64K --on-full drop -o data -- ./withheld <input >out 2>err &
recorder=$!
exec 9>input
has_paused()
{
	grep -q paused out
}
wait_for 60 has_paused
collector=$("$PERFREC" ctl -o data list --json | jq .collector.pid)
stop_process "$collector"
echo >&9
exec 9>&-
has_filled()
{
	grep -q full out
}
wait_for 60 has_filled
kill -CONT "$collector"
wait $recorder || fail "exit status $?: $(cat err)"
expect_eq 'texts that were read' "$(tr '\n' ' ' <out)" 'recorded 1 paused 0 full 0 '
"$PERFREC" dump data >dumped
expect_eq 'recorded calls without their text' "$(jq -s '
	[.[] | select(.kind == "begin" and .name == "touch" and
		(.arguments | length) == 0)] | length' dumped)" 0
dropped=$(json data/summary.json .totals.dropped_spans)
[ "$dropped" -gt 0 ] || fail 'the ring was never full'

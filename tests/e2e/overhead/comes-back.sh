# SPDX-License-Identifier: Apache-2.0
#
# --overhead: a function that is called all the time is only counted, and is
# recorded again when it has become rare.
. "$TOP/tests/e2e/lib.sh"
build phases <<'SOURCE'
#include <poll.h>
#include <stdio.h>
#include <unistd.h>
static volatile long sum;
__attribute__((noinline)) void tiny(long i) { sum += i; }
__attribute__((noinline)) void chunk(long calls)
{
	for (long i = 0; i < 1000000; i++) {
		sum += i;
		if (i < calls)
			tiny(i);
	}
}
int main(void)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };
	long calls = 1000000;
	char line[16];

	puts("started");
	fflush(stdout);
	for (;;) {
		chunk(calls);
		if (poll(&input, 1, 0) <= 0)
			continue;
		if (read(0, line, sizeof(line)) <= 0)
			return 0;
		calls = 3;
	}
}
SOURCE
mkfifo input
"$PERFREC" record -q --overhead 5% --no-cache --alloc=off --cpu=off -o data -- \
	./phases <input >out.phases 2>err.phases &
recorder=$!
exec 9>input
wait_for 60 test -s out.phases
wait_for 60 function_is tiny counted
echo rare >&9
wait_for 120 function_is tiny span
exec 9>&-
wait $recorder || fail "exit status $?: $(cat err.phases)"
expect_eq 'unmet' "$(json data/summary.json '.totals.overhead_unmet // false')" false

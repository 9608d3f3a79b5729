#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A program sets RLIMIT_AS, as su and sudo do through pam_limits, or locks its
# memory, and then forks: its child needs a slot of its own. perfrec leaves the
# program the room that the limit permits. A limit without effect, such as root's
# limit of locked memory, costs no slots. A tight limit leaves few, and the summary
# says why.
. "$TOP/tests/e2e/lib.sh"

prog robust/limits

./limits -1 late || fail 'no limit can be set'
for limit in -1 512 -2 -3; do
	for when in early late; do
		./limits $limit $when || continue # mlockall() may be forbidden
		run_ok timeout 200 "$PERFREC" record -o data ./limits $limit $when
		expect_eq "spans, $limit, $when" "$(json data/summary.json \
			'.totals | .spans, .unslotted_spans' | tr '\n' ' ')" '3 0 '
	done
done

# No room at all: the thread that sets the limit keeps its slot, or gets one. The
# child has none, and the summary says why.
for when in early late; do
	run_ok timeout 200 "$PERFREC" record -o data ./limits 0 $when
	expect_eq "spans, 0, $when" "$(json data/summary.json \
		'.totals | .spans, .unslotted_spans' | tr '\n' ' ')" '1 1 '
	expect_match err '1 call of threads that have no slot: the program set RLIMIT_AS'
done

# A tight limit of locked memory must cause no other error than ENOMEM, and must
# not take slots without a message.
build locks <<'SOURCE'
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }
__attribute__((no_instrument_function)) int main(void)
{
	struct rlimit limit = { 8 << 20, 8 << 20 };
	int status;

	leaf();
	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setresuid(65534, 65534, 65534))
		return 1;
	errno = 0;
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		puts(strerror(errno));
	else
		printf("locked, errno %d\n", errno);
	if (!fork()) {
		leaf();
		_exit(0);
	}
	wait(&status);
	return status;
}
SOURCE
./locks >expected || exit 0 # only root may become another user
run_ok timeout 200 "$PERFREC" record -q -o data ./locks
expect_match out '^(locked, errno 0|Cannot allocate memory)$'
expect_eq 'spans' "$(json data/summary.json \
	'.totals | .spans, .unslotted_spans' | tr '\n' ' ')" '1 1 '
expect_match err '1 call of threads that have no slot: .*called mlockall\(\)'

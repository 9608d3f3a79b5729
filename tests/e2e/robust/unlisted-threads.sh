# SPDX-License-Identifier: Apache-2.0
#
# More threads than summary.json lists: unlisted threads are counted, and use no
# memory after their end.
# long: starts 66,000 threads
. "$TOP/tests/e2e/lib.sh"

build short -pthread <<'C'
#include <pthread.h>
static void *run(void *nothing) { return nothing; }
int main(void)
{
	pthread_t id;

	for (int i = 0; i < 66000; i++)
		if (pthread_create(&id, 0, run, 0) || pthread_join(id, 0))
			return 1;
	return 0;
}
C
# Slots for 65,536 threads: the collector may be too slow to free any of few.
PERFREC_SLOTS=65536 "$PERFREC" record -q --ring-size 64K -o many -- ./short ||
	fail "status $?"
threads=$(json many/summary.json .totals.threads)
[ "$threads" -gt 65535 ] || fail "only $threads of 66000 threads had a slot"
listed=$(json many/summary.json '[.processes[].threads | length] | add')
# Processes count for the limit as well.
expect_eq 'listed' "$listed" 65535
expect_eq 'unlisted' "$(json many/summary.json .totals.unlisted_threads)" \
	$((threads - listed))
"$PERFREC" report many >report
grep -q "unlisted  *$((threads - listed)) threads have no row" report || fail "$(cat report)"

# SPDX-License-Identifier: Apache-2.0
#
# More threads than summary.json lists: those that are not there are counted,
# and take no memory once they have ended.
. "$TOP/tests/e2e/lib.sh"
need jq

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
PERFREC_SLOTS=1024 "$PERFREC" record -q -o many -- ./short || fail "status $?"
threads=$(json many/summary.json .totals.threads)
# On a busy machine slots come back too late for some, which is counted.
[ "$threads" -gt 65600 ] || skip "only $threads threads had a slot"
listed=$(json many/summary.json '[.processes[].threads | length] | add')
# Processes are listed, too.
expect_eq 'listed' "$listed" 65535
expect_eq 'unlisted' "$(json many/summary.json .totals.unlisted_threads)" \
	$((threads - listed))
"$PERFREC" report many >report
grep -q "unlisted  *$((threads - listed)) threads have no row" report || fail "$(cat report)"

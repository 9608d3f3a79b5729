# SPDX-License-Identifier: Apache-2.0
#
# Threads without a slot cannot count: the summary says how many calls of counted
# functions are missing.
. "$TOP/tests/e2e/lib.sh"

cat >crowd.c <<'SOURCE'
#include <pthread.h>
#define THREADS 8
#define CALLS 1000
static pthread_barrier_t g_barrier;
__attribute__((noinline)) static void leaf(void)
{
	__asm__ volatile("");
}
static void *crowd(void *unused)
{
	for (int i = 0; i < CALLS; i++)
		leaf();
	/* All are there at once. */
	pthread_barrier_wait(&g_barrier);
	return unused;
}
int main(void)
{
	pthread_t thread[THREADS];

	pthread_barrier_init(&g_barrier, 0, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], 0, crowd, 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], 0);
	return 0;
}
SOURCE
"$PERFREC" cc --hooks=entry -- "${CC:-gcc}" -O1 -o crowd crowd.c -pthread ||
	fail 'entry build'
PERFREC_SLOTS=4 "$PERFREC" record -q --no-cache --overhead 5% --count leaf \
	-o data -- ./crowd 2>err || fail "status $?"
counted=$(json data/summary.json \
	'[.functions[] | select(.name == "leaf") | .calls] | add')
missing=$(json data/summary.json .totals.uncounted_calls)
[ "$missing" -gt 0 ] || fail 'nothing is missing'
expect_eq 'calls that are counted, or said to be missing' $((counted + missing)) 8000
"$PERFREC" report data >out
expect_match out "lost +.*calls of counted functions are not in the counts"

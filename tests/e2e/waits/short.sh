# SPDX-License-Identifier: Apache-2.0
#
# Waits of less than a millisecond have objects: some are read, and stand for the
# others of their call. Three threads want one lock whose owner sleeps 100 us.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

perf_permitted || skip 'the kernel tells of no switches'
build short -pthread <<'SOURCE'
#include <pthread.h>
#include <time.h>

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void nap(void)
{
	const struct timespec time = { .tv_nsec = 100000 };

	nanosleep(&time, NULL);
}

__attribute__((noinline)) static void take(void)
{
	pthread_mutex_lock(&g_lock);
}

static void *run(void *context)
{
	for (int i = 0; i < 3000; i++) {
		take();
		nap();
		pthread_mutex_unlock(&g_lock);
		nap();
	}
	return context;
}

int main(void)
{
	pthread_t thread[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, run, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
SOURCE

# The lock has the waits of take(), and sleep those of nap(). A collector that gets
# no CPU reads too few of a thread, whose waits are then unknown: five attempts.
waited()
{
	awk -v object="$1" 'index($0, object) { ns += $1 }
		END { printf "%.0f", ns }' objects
}
blocked()
{
	json data/summary.json ".functions[] | select(.name == \"$1\").blocked_ns"
}
is_read()
{
	[ "$(waited '[mutex short+')" -gt $(($(blocked take) / 4)) ] &&
		[ "$(waited '[sleep]')" -gt $(($(blocked nap) / 4)) ]
}
for try in 1 2 3 4 5; do
	rm -rf data
	run_ok "$PERFREC" record -q -o data -- ./short
	run_ok "$PERFREC" report --json --view wait data
	jq -r '.functions[] | "\(.self.blocked) \(.name)"' out >objects
	! is_read || break
	[ $try -lt 5 ] || fail "of $(blocked take) and $(blocked nap) ns: $(cat objects)"
done
[ "$(json data/summary.json .totals.waits_inferred)" -gt 0 ] ||
	fail 'no wait has the object of another'

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The page of a recording with each kind of data, and more counters than the page
# shows: perfrec report --html aborted because it ran out of columns.
. "$TOP/tests/e2e/lib.sh"

{
	cat <<-'SOURCE'
	#include <perfrec.h>
	#include <pthread.h>
	#include <stdlib.h>
	#include <time.h>
	#include <unistd.h>
	__attribute__((noinline)) static void *allocate(void) { return malloc(5000); }
	__attribute__((noinline)) static void *work(void *arg)
	{
		while (clock() < CLOCKS_PER_SEC / 5)
			;
		usleep(3000);
		return arg;
	}
	SOURCE
	seq 80 | sed 's/.*/PERFREC_COUNTER(g_&, "counter &", PERFREC_COUNTS, 0);/'
	cat <<-'SOURCE'
	int main(void)
	{
		void *kept = allocate();
		pthread_t thread;

		for (int i = 0; i < 10; i++)
			free(allocate());
		if (!kept || pthread_create(&thread, NULL, work, NULL))
			return 1;
	SOURCE
	seq 80 | sed 's/.*/PERFREC_COUNT(\&g_&, &);/'
	cat <<-'SOURCE'
		pthread_join(thread, NULL);
		return 0;
	}
	SOURCE
} >source
build counters -I"$TOP/preload" -pthread <source
"$PERFREC" record -q --alloc exact --cpu 250 -o data ./counters || fail "status $?"
run_ok "$PERFREC" report --html page.html data
sed -n 's/.*id="perfrec-data">\([^<]*\)<.*/\1/p' page.html | base64 -d |
	gzip -d >stream || fail 'no data'
# Behind eight bytes and four that say how long it is.
tail -c +13 stream | tr '\0' '\n' | head -n 1 | grep -ao '"key":"counter\.[0-9]*"' |
	sort -u >counters.found
[ "$(wc -l <counters.found)" -ge 60 ] || fail 'the page has too few counters'

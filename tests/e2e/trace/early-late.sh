#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Calls before perfrec's constructor and after everything's destructors are
# recorded as all others: a library that the program needs starts before the
# preloaded shim does, and ends after it.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/real/compare.sh"
need nm

cat >library.c <<'EOS'
static volatile int sum;
__attribute__((noinline)) static void early(void) { sum++; }
__attribute__((noinline)) static void late(void) { sum++; }
__attribute__((constructor(101))) static void begin(void) { early(); early(); }
__attribute__((destructor(101))) static void end(void) { late(); late(); late(); }
__attribute__((noinline)) void library_call(void) { sum++; }
EOS
${CC:-gcc} -O1 -fPIC -shared -finstrument-functions -o libearly.so library.c ||
	fail "cannot compile library.c"

build program -L. -learly -Wl,-rpath,"$PWD" -pthread <<'EOS'
#include <pthread.h>
#include <stdlib.h>
void library_call(void);
static pthread_key_t key;
__attribute__((noinline)) static void at_exit(void) { library_call(); }
__attribute__((noinline)) static void thread_end(void *p) { (void)p; library_call(); }
static void *thread(void *p)
{
	pthread_setspecific(key, p);
	return p;
}
__attribute__((constructor)) static void start(void) { library_call(); }
__attribute__((destructor)) static void stop(void) { library_call(); }
int main(void)
{
	pthread_t id;

	atexit(at_exit);
	pthread_key_create(&key, thread_end);
	pthread_create(&id, NULL, thread, &id);
	pthread_join(id, NULL);
	library_call();
	return 0;
}
EOS

COUNT_OUT=$PWD/count LD_PRELOAD=$O/tests/progs/libcount_preload.so \
	run "$PERFREC" record -q -o data -- ./program
expect_status 0
compare_counts early-late "$O" data counts count.*[0-9] || fail "see above"
expect_eq early "$(awk '$2 == "early" { print $1 }' counts)" 2
expect_eq late "$(awk '$2 == "late" { print $1 }' counts)" 3
expect_eq library_call "$(awk '$2 == "library_call" { print $1 }' counts)" 5

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# perfrec ctl flush writes the profile of the run so far: of ended threads, and of
# running ones with their open calls. It does not disturb the profile at the end.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/profile.sh"
need protoc

build steps -pthread <<'SOURCE'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#define QUIET __attribute__((no_instrument_function))
__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }
QUIET static void wait_for(const char *did, const char *go)
{
	fclose(fopen(did, "w"));
	while (access(go, F_OK) < 0)
		usleep(1000);
}
__attribute__((noinline)) static void calls(int n)
{
	while (n--)
		leaf();
}
static void *ended(void *context)
{
	calls(100);
	return context;
}
static void *goes_on(void *context)
{
	calls(10);
	wait_for("did.thread", "go.thread");
	return context;
}
int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, ended, NULL);
	pthread_join(thread, NULL);
	pthread_create(&thread, NULL, goes_on, NULL);
	calls(1000);
	wait_for("did.main", "go.main");
	pthread_join(thread, NULL);
	calls(1);
}
SOURCE

# flush: its profile is then in $profile.
flush()
{
	run_ok "$PERFREC" ctl -o data flush
	profile=$(sed -n "s|^$PWD/||p" out | grep 'wall\.2')
	[ -n "$profile" ] || fail "no profile among: $(cat out)"
}
# expect_calls CALLS NAME: in $profile.
expect_calls()
{
	expect_eq "calls of $2 in $profile" "$(profile_functions "$profile" |
		awk -F'\t' -v name="$2" '$3 == name { print $1 }')" "$1"
}

"$PERFREC" record -q -o data ./steps >record.out 2>&1 &
perfrec=$!
wait_for 60 test -e did.main
wait_for 60 test -e did.thread
flush
first=$profile
expect_calls 1 main
expect_calls 3 calls
expect_calls 1110 leaf
expect_calls 1 ended
expect_calls 1 goes_on
touch go.thread
flush
[ "$first" != "$profile" ] || fail 'the second flush wrote the first file'
expect_calls 1110 leaf
expect_calls 1 goes_on
touch go.main
wait $perfrec
expect_eq 'status of perfrec record' $? 0
expect_profile data
expect_match profile.tsv '^1111	[0-9]+	leaf	' '^1	[0-9]+	goes_on	'
for file in data/.wall*; do
	expect_none "$file"
done

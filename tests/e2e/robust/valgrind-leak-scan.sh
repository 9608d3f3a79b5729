#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Tools that walk through a process' memory find little of ours to walk
# through: valgrind's leak check read 16 GiB, and took a minute. What they
# report is as without perfrec: valgrind's leaks with their callers, and dumps
# by gcore.
. "$TOP/tests/e2e/lib.sh"

build leaks -pthread <<'SOURCE'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static void *lose(int bytes)
{
	return malloc(bytes);
}
static void *thread(void *argument)
{
	lose(55);
	return argument;
}
/* KiB of the arena that this process may touch. */
static void say_accessible(const char *who)
{
	unsigned long from, to, bytes = 0;
	char line[512], mode[8];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3 &&
		    strstr(line, "memfd:perfrec ") && mode[0] == 'r')
			bytes += to - from;
	fclose(maps);
	printf("%s %lu\n", who, bytes / 1024);
	fflush(stdout);
}
int main(int argc, char **argv)
{
	char command[64];
	pthread_t t;

	lose(77);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	if (argc < 2)
		return 0;
	say_accessible("parent");
	if (fork() == 0) {
		lose(99);
		say_accessible("child");
		return 0;
	}
	wait(NULL);
	snprintf(command, sizeof(command), "gcore -o %s %d >gcore.out 2>&1",
		 argv[1], (int)getpid());
	return system(command) != 0;
}
SOURCE

# At most 24 MiB are for all threads together, and 4 MiB for each slot: three threads have
# four, as slots 2 and 3 get access together.
run "$PERFREC" record -q -o data ./leaks recorded
if [ "$status" -eq 0 ]; then
	./leaks alone >/dev/null
	ours=$(stat -c %s recorded.*) alone=$(stat -c %s alone.*)
	[ "$ours" -le $((alone + 8388608)) ] ||
		fail "gcore wrote $ours bytes, without perfrec $alone"
else
	grep -q 'not permitted\|not found' gcore.out || fail "gcore: $(cat gcore.out)"
	echo 'gcore cannot look at a process here'
fi
for who in parent child; do
	kib=$(awk -v who=$who '$1 == who { print $2 }' out)
	[ -n "$kib" ] && [ "$kib" -gt 4096 ] ||
		fail "$who: no slot has access: $(cat out)"
	[ "$kib" -le $(((24 + 4 * 4) * 1024)) ] ||
		fail "$who: may touch $kib KiB of the arena"
done
expect_eq 'spans' "$(json data/summary.json .totals.spans)" 7

need valgrind
# stacks FILE: leaks, without addresses and process ids.
stacks()
{
	awk '/definitely lost in/ { on = 1 } /^==[0-9]*== $/ { on = 0 }
		on { sub(/^==[0-9]*== /, ""); gsub(/0x[0-9A-F]*: /, ""); print }' \
		"$1" | sed 's/loss record .*//'
}
run valgrind --leak-check=full ./leaks
expect_status 0
stacks err >expected
grep -q 'by main' expected || skip 'valgrind sees no callers here'
run timeout 60 "$PERFREC" record -q -o data valgrind --leak-check=full ./leaks
expect_status 0
stacks err >got
cmp -s expected got || fail "valgrind's leaks have changed: $(diff expected got)"
expect_eq 'spans under valgrind' "$(json data/summary.json .totals.spans)" 4

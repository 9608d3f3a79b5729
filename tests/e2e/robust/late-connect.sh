#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A collector that takes long to write a program's text holds it for no longer
# than the deadline. An entry build loses the calls until then, and the summary
# says so; a calls build records them, and is held as long. Without --exclude, no
# line speaks of excluded functions.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

# Loaded into the collector, which then writes no text while ./stall exists.
cat >slow.c <<'SOURCE'
#define _GNU_SOURCE
#include <string.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static int is_memory(int fd)
{
	char link[32], path[64] = "";
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	return length > 4 && !strcmp(path + length - 4, "/mem");
}
ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
	while (is_memory(fd) && !access(getenv("STALL"), F_OK))
		usleep(1000);
	return syscall(SYS_pwrite64, fd, from, bytes, at);
}
ssize_t pwrite64(int fd, const void *from, size_t bytes, off_t at)
{
	return pwrite(fd, from, bytes, at);
}
/* The thread that is to connect the functions is LATE seconds late. */
int memfd_create(const char *name, unsigned int flags)
{
	struct timespec late = { .tv_sec = atoi(getenv("LATE")) };

	if (!strcmp(name, "perfrec-text"))
		nanosleep(&late, NULL);
	return (int)syscall(SYS_memfd_create, name, flags);
}
SOURCE
${CC:-gcc} -shared -fPIC -o libslow.so slow.c || fail libslow.so

# ./NAME: its text may be written from its first call on.
cat >calls.c <<'SOURCE'
#include <unistd.h>
static volatile long sum;
__attribute__((noinline)) static void leaf(long i) { sum += i; }
int main(void)
{
	for (long i = 0; i < 10; i++)
		leaf(i);
	unlink("stall");
	return sum != 45;
}
SOURCE
for hooks in entry calls; do
	"$PERFREC" cc --hooks=$hooks "${CC:-gcc}" -O1 -o $hooks calls.c ||
		fail "$hooks"
done

# record PROGRAM OPTION...: in $folder.
record()
{
	program=$1
	shift
	for deadline in 1000 2000 4000; do
		: >stall
		LD_PRELOAD=$PWD/libslow.so STALL=$PWD/stall LATE=0 \
			start_daemon --no-cache "$@"
		PERFREC_DEADLINE_MS=$deadline preload "./$program" ||
			fail "exit status $?"
		stop_daemon
		folder=$(echo data/"$program"-*)
		[ ! -e "$folder/summary.json" ] || break
	done
	run "$PERFREC" report "$folder"
	figures=$(json "$folder/summary.json" '.totals |
		"\(.early_starts) \(.unconnected_starts) \(.spans)"')
}

record entry
expect_eq 'entry build: early, unconnected, spans' "$figures" '0 1 0'
expect_match out 'lost +1 program of an entry build started before its functions were connected'
expect_no_match out 'excluded'

# All of its calls are recorded, by hooks that it has.
record calls --overhead 5%
expect_eq 'calls build: early, unconnected, spans' "$figures" '0 0 11'
expect_no_match out 'early|lost  *1'

record entry --exclude leaf
expect_eq 'with --exclude: early, unconnected, spans' "$figures" '1 1 0'
expect_match out 'early +1 program started before its filters were applied'

# Two seconds, of a deadline of 20: all calls are recorded, or counted.
for hooks in entry calls; do
	LD_PRELOAD=$PWD/libslow.so STALL=$PWD/none LATE=2 \
		start_daemon --no-cache --count leaf
	PERFREC_DEADLINE_MS=20000 preload ./$hooks || fail "exit status $?"
	stop_daemon
	expect_eq "$hooks build, late, but before the deadline: unconnected, spans, counted" \
		"$(json data/$hooks-*/summary.json '.totals |
			"\(.unconnected_starts) \(.spans) \(.counted_calls)"')" \
		'0 1 10'
done

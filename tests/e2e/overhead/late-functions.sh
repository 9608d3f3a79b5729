#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A program that runs while its functions are connected calls one of them in the
# moment in which its sites are off, and goes on or ends then. Nobody knows how often
# it called, so the summary says of which functions calls are missing.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

# Loaded into the collector: it writes nothing while ./stall exists. Once all calls
# of hooks are off, by one byte each, it waits for ./go.
cat >slow.c <<'SOURCE'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
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
	while (is_memory(fd) && !access("stall", F_OK))
		usleep(1000);
	/* The program is no PIE. */
	if (is_memory(fd) && at < 1L << 32 && bytes > 1) {
		close(open("off", O_CREAT | O_WRONLY, 0600));
		while (access("go", F_OK))
			usleep(1000);
	}
	return syscall(SYS_pwrite64, fd, from, bytes, at);
}
ssize_t pwrite64(int fd, const void *from, size_t bytes, off_t at)
{
	return pwrite(fd, from, bytes, at);
}
SOURCE
${CC:-gcc} -shared -fPIC -o libslow.so slow.c || fail libslow.so

# ./late [goes-on]: calls leaf() ten times while it is off, and ends then or at ./end.
cat >late.c <<'SOURCE'
#include <fcntl.h>
#include <unistd.h>
#define QUIET __attribute__((no_instrument_function))
__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }
QUIET static void wait_for(const char *path)
{
	while (access(path, F_OK))
		usleep(1000);
}
QUIET int main(int argc, char **argv)
{
	leaf();
	unlink("stall");
	wait_for("off");
	for (int i = 0; i < 10; i++)
		leaf();
	if (argc == 1)
		return 0;
	close(open("go", O_CREAT | O_WRONLY, 0600));
	wait_for("end");
	leaf();
	return argv[1][0] != 'g';
}
SOURCE
"$PERFREC" cc --hooks=calls "${CC:-gcc}" -O1 -no-pie -o late late.c || fail late

is_counted()
{
	"$PERFREC" ctl functions --json >functions.json &&
		grep -q '"state": *"counted"' functions.json
}
# record PROGRAM [ARGUMENT]
record()
{
	rm -f off go end
	: >stall
	LD_PRELOAD=$PWD/libslow.so start_daemon --no-cache --count leaf
	PERFREC_DEADLINE_MS=5000 preload "$@" &
	program=$!
	[ $# -eq 1 ] || wait_for 60 is_counted
	: >end
	wait $program || fail "exit status $?"
	: >go
	stop_daemon
	folder=$(echo data/late-*)
	figures=$(json "$folder/summary.json" '"\(.totals.late_functions) " +
		(.functions[] | select(.name == "leaf") | "\(.calls) \(.late)")')
	run "$PERFREC" report "$folder"
}
sentence='lost +1 function was connected while the program ran'

# One call before that moment, by a hook, and one after it.
record ./late goes-on
expect_eq 'goes on: late functions, known calls, late' "$figures" '1 2 true'
expect_match out "$sentence"

record ./late
expect_eq 'ends: late functions, known calls, late' "$figures" '1 1 true'
expect_match out "$sentence"

# Held until its functions are connected.
: >off
LD_PRELOAD=$PWD/libslow.so start_daemon --no-cache --count leaf
rm -f stall
: >go
PERFREC_DEADLINE_MS=60000 preload ./late || fail "exit status $?"
stop_daemon
expect_eq 'held: late functions, calls, late' \
	"$(json data/late-*/summary.json '"\(.totals.late_functions) " +
		(.functions[] | select(.name == "leaf") | "\(.calls) \(.late)")')" \
	'0 11 false'

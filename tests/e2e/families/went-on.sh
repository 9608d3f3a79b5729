#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# perfrec record lists who goes on when its command ends: also a program that
# has been started and has not come to its hello, and not a process that is in
# the middle of its end.
. "$TOP/tests/e2e/lib.sh"
need jq
trap ': >go' EXIT

# names WHAT: of those that went on, in one line.
names()
{
	json record/summary.json '[.went_on[].name] | sort | join(" ")'
}

# --- before hello -------------------------------------------------------------
# A library whose constructor waits until ./go is there; the shim's comes later.
cat >wait.c <<'SOURCE'
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void hold(void)
{
	close(open("up", O_WRONLY | O_CREAT, 0600));
	while (access("go", F_OK) < 0)
		usleep(1000);
}
SOURCE
${CC:-gcc} -O1 -fPIC -shared -o libwait.so wait.c || fail 'cannot compile'
build hooks <<'SOURCE'
int main(void) { return 0; }
SOURCE
${CC:-gcc} -O1 -o plain hooks.c || fail 'cannot compile'
cp hooks ended

# before_hello PROGRAM EXPECTED OPTION...: goes on when its command ends.
before_hello()
{
	program=$1 expected=$2
	shift 2
	rm -f up go
	run "$PERFREC" record -q "$@" -o record sh -c "./ended
		LD_PRELOAD=\"\$LD_PRELOAD:./libwait.so\" ./$program &
		while [ ! -e up ]; do sleep 0.01; done"
	expect_status 0
	expect_eq "$program goes on, with $*" "$(names)" "$expected"
	: >go
}
before_hello hooks hooks
before_hello plain plain
before_hello hooks hooks --alloc off --cpu off
# Nobody would have recorded this one.
before_hello plain '' --alloc off --cpu off

# --- in the middle of its end -------------------------------------------------
# The first process of a pid namespace ends once all others in there have. One
# is kept from that: it is traced by a process that does not wait for it, and
# that has nothing to do with the recording.
build ends -D_GNU_SOURCE <<'SOURCE'
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#define QUIET __attribute__((noinline, no_instrument_function))
__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }
QUIET static void wait_file(const char *name)
{
	while (access(name, F_OK) < 0)
		usleep(1000);
}
QUIET static void make_file(const char *name)
{
	close(open(name, O_WRONLY | O_CREAT, 0600));
}
/* "ends trace": traces the process whose number it reads. */
QUIET static int trace(void)
{
	int pid = 0;

	if (scanf("%d", &pid) != 1 || ptrace(PTRACE_SEIZE, pid, 0, 0))
		return 1;
	make_file("traced");
	wait_file("go");
	return 0;
}
/* Whether the kernel has begun to end @pid: PF_EXITING. */
QUIET static int is_ending(int pid)
{
	unsigned int flags = 0;
	char path[64], text[512] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (file) {
		if (fgets(text, sizeof(text), file) && strrchr(text, ')'))
			sscanf(strrchr(text, ')'), ") %*c %*d %*d %*d %*d %*d %u",
			       &flags);
		fclose(file);
	}
	return flags & 4;
}
QUIET static int child_of(int pid)
{
	char path[64];
	FILE *file;
	int child = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	while (!child) {
		file = fopen(path, "r");
		if (!file || fscanf(file, "%d", &child) != 1)
			usleep(1000);
		if (file)
			fclose(file);
	}
	return child;
}
int main(int argc, char **argv)
{
	static char *none[] = { NULL };
	char *tracer[] = { argv[0], "trace", NULL };
	int tube[2], first;

	if (argc > 1)
		return trace();
	if (pipe(tube))
		return 2;
	if (!fork()) {
		dup2(tube[0], 0);
		execve(argv[0], tracer, none);
		_exit(2);
	}
	if (unshare(CLONE_NEWPID))
		return 77;
	first = fork();
	if (!first) {
		if (!fork())
			for (;;)
				pause();
		leaf();
		make_file("called");
		wait_file("traced");
		_exit(0);
	}
	/* The collector shall know of it. */
	wait_file("called");
	if (system("env -i \"$PERFREC\" ctl -o record flush >flush.out"))
		return 3;
	dprintf(tube[1], "%d\n", child_of(first));
	while (!is_ending(first))
		usleep(1000);
	return 0;
}
SOURCE
rm -f go
run "$PERFREC" record -q -o record ./ends
[ "$status" != 77 ] || skip 'pid namespaces may not be made here'
expect_status 0
: >go
expect_eq 'goes on' "$(names)" ''

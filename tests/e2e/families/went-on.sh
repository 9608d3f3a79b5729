#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# perfrec record lists who goes on when its command ends: also a program that
# has been started and has not come to its hello, and not a process that is in
# the middle of its end.
. "$TOP/tests/e2e/lib.sh"
trap ': >go' EXIT

# names WHAT: of the processes that went on, in one line.
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
prog families/ends
rm -f go
run "$PERFREC" record -q -o record ./ends
[ "$status" != 77 ] || skip 'pid namespaces may not be made here'
expect_status 0
: >go
expect_eq 'goes on' "$(names)" ''

# SPDX-License-Identifier: Apache-2.0
#
# perfrec record without its collector, and the collector without perfrec.
. "$TOP/tests/e2e/lib.sh"
need pgrep
# Where the folder of the socket is, whoever records.
export TMPDIR="$PWD"

# ./waits: records a little, says "up", goes on when ./go appears.
build waits <<'SOURCE'
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) static void leaf(void)
{
	usleep(1000);
}
int main(void)
{
	fclose(fopen("up", "w"));
	while (access("go", F_OK) < 0)
		leaf();
	puts("ended");
	return 7;
}
SOURCE

start()
{
	rm -f up go
	: >err
	"$PERFREC" record -o data ./waits >out 2>err &
	perfrec=$!
	wait_for 60 test -e up
	collector=$(pgrep -P $perfrec perfrec-collect) || fail 'no collector'
}
is_gone()
{
	! kill -0 "$1" 2>/dev/null
}

# The collector dies: the program goes on, and perfrec says so.
start
kill -9 "$collector"
wait_for 60 test -s err
touch go
wait $perfrec
expect_eq 'status' $? 7
expect_eq 'output' "$(cat out)" ended
expect_match err 'perfrec-collect was killed by signal 9 .*: the program goes on' \
	"the recording in 'data' is not complete.*perfrec report --repair data"
run "$PERFREC" graph main data
expect_error 1 "'data' is no finished recording: its collector was killed"
# The folder of its socket is gone.
expect_none perfrec-??????

# Such a trace counts as a recording: the next run keeps it as the old one.
start
kill -9 $perfrec
wait_for 60 is_gone "$collector"
expect_eq 'folders' "$(echo data*)" 'data data.old'
[ -s data/summary.json ] || fail 'the collector did not finish'
touch go
wait_for 60 grep -q ended out

# It cannot start.
mkdir nest
ln "$PERFREC" nest/perfrec 2>/dev/null || cp "$PERFREC" nest/perfrec
PATH=/usr/bin:/bin run nest/perfrec record -o new ./waits
expect_error 1 'cannot find perfrec-collect'
printf '#!/bin/sh\nexit 3\n' >nest/perfrec-collect
chmod +x nest/perfrec-collect
cp "$O/libperfrec_preload.so" nest
run nest/perfrec record -o new ./waits
expect_error 1 'perfrec-collect has ended unexpectedly'
expect_none new

# A recording that cannot be made: one line, and nothing has run.
long=$(printf '%0100d' 0)
mkdir "$long"
rm -f up
XDG_RUNTIME_DIR= TMPDIR=$PWD/$long run "$PERFREC" record -o new ./waits
expect_error 1 'socket'
expect_none new up

# A signal ends the collector: perfrec says so before the program has ended.
for signal in TERM INT; do
	start
	kill -$signal "$collector"
	wait_for 60 test -s err
	[ ! -s out ] || fail "with $signal the program has ended first"
	expect_match err "process $$ has sent signal [0-9]+ \(.*\) to perfrec-collect: the recording ends here, and the program goes on unrecorded"
	touch go
	wait $perfrec
	expect_eq "status after $signal" $? 7
	expect_eq "output after $signal" "$(cat out)" ended
done

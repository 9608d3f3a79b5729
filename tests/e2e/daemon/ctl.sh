# SPDX-License-Identifier: Apache-2.0
#
# perfrec ctl: list, pause, resume, flush and stop, with a daemon and with perfrec
# record; and its error messages.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

# ./steps DIR: in three steps, it calls before() 1000 times, during() 5000 and
# after() 200 times, each within step(); makes DIR/did.N after each, and waits
# for DIR/do.N before the next.
build steps <<'SOURCE'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define QUIET __attribute__((no_instrument_function))
__attribute__((noinline)) static void before(void) { __asm__ volatile(""); }
__attribute__((noinline)) static void during(void) { __asm__ volatile("nop"); }
__attribute__((noinline)) static void after(void) { __asm__ volatile("nop;nop"); }
static const char *dir;
QUIET static void did(int n)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/did.%d", dir, n);
	fclose(fopen(path, "w"));
	snprintf(path, sizeof(path), "%s/do.%d", dir, n + 1);
	while (access(path, F_OK) < 0)
		usleep(1000);
}
__attribute__((noinline)) static void step(int n)
{
	static void (*const calls[])(void) = { before, during, after };
	static const int times[] = { 1000, 5000, 200 };

	for (int i = 0; i < times[n]; i++)
		calls[n]();
	did(n);
}
int main(int argc, char **argv)
{
	alarm(600); /* whatever becomes of the test */
	dir = argv[1];
	for (int n = 0; n < 3; n++)
		step(n);
	puts("ended");
	return argc > 2 ? atoi(argv[2]) : 0;
}
SOURCE

ctl()
{
	"$PERFREC" ctl "$@"
}
# start DIR: in $program, after its first step.
start()
{
	rm -rf "$1"
	mkdir "$1"
	LD_PRELOAD=$SHIM ./steps "$1" 7 >"$1/out" &
	program=$!
	wait_for 60 test -e "$1/did.0"
}
# go_on DIR N: let it do step N, and wait until it has.
go_on()
{
	: >"$1/do.$2"
	[ "$2" -eq 3 ] || wait_for 60 test -e "$1/did.$2"
}
# field PID NAME: of that program in the list.
field()
{
	ctl list --json 2>/dev/null | jq -r ".programs[] | select(.pid == $1) | .$2"
}
is()
{
	[ "$(field "$1" "$2")" = "$3" ]
}
calls()
{
	json "$1/summary.json" "[.functions[] | select(.name == \"$2\") |
		.calls] | add // 0"
}

# Nobody there.
run ctl list
expect_error 1 "no perfrec-collect serves '.*/perfrec.sock' .*start one: perfrec-collect -o.*perfrec ctl -o DIR list"
mkdir perfrec.data
ln -s nowhere perfrec.data/control
run ctl list
expect_error 1 "for the perfrec record that records here: perfrec ctl -o perfrec.data list"
rm -r perfrec.data
run ctl -o data list
expect_error 1 "nothing is being recorded into 'data'"
run ctl
expect_error 2 'give a command'
run ctl halt
expect_error 2 "unknown command 'halt': choose list, pause"
run ctl stop one two
expect_error 2 "'two': one target at a time"

# The output of list.
start_daemon
run_ok ctl list
expect_eq 'lines of an empty list' "$(wc -l <out)" 1
start a
a=$program
start b
b=$program
wait_for 60 is "$a" spans 1002
expect_eq 'state' "$(field "$a" state)" recording
expect_eq 'threads' "$(field "$a" threads)" 1
expect_eq 'lost' "$(field "$a" lost)" 0
expect_eq 'folder' "$(field "$a" folder)" "$PWD/data/steps-$a"
expect_eq 'program' "$(field "$a" program)" steps
run ctl list
expect_match out "^ *$a  steps  .*  recording .* 1,002 .*/data/steps-$a\$" \
	"^ *$b  steps "
run ctl pause steps
expect_error 1 "'steps' is more than one: $b, $a \(give the pid of one\)|'steps' is more than one: $a, $b \("
run ctl pause 999999999
expect_error 1 "no program '999999999' is being recorded"

# Paused: spans that start now are not recorded, but counted exactly.
run_ok ctl pause "$a"
expect_match out "^paused $a steps"
expect_eq 'state' "$(field "$a" state)" paused
expect_eq 'state of the other' "$(field "$b" state)" recording
go_on a 1
run_ok ctl resume "steps-$a"
go_on a 2

# Flushed: the trace has all of it, while the program runs.
run_ok ctl flush "$a"
expect_match out "^$PWD/data/steps-$a/trace.pftrace\$" \
	"^$PWD/data/steps-$a/wall\.[0-9T.]*\.pb\.gz\$"
while read -r file; do
	[ -s "$file" ] || fail "flushed: no $file"
done <out
"$O/tests/tools/trace_check" --allow-open --allow-cut --counts \
	"data/steps-$a/trace.pftrace" >counts || fail 'flushed: a rule is broken'
expect_eq 'flushed' "$(sort -n counts | tr '\t\n' '  ')" \
	'1 main 2 step 200 after 1000 before '

# Stopped: the files are whole when ctl returns; the program runs on.
run_ok ctl stop "$b"
[ -s "data/steps-$b/summary.json" ] || fail 'stop: no summary'
expect_eq 'calls when stopped' "$(calls "data/steps-$b" before)" 1000
run ctl stop "$b"
expect_error 1 "no program '$b'"
go_on b 1
go_on b 2
go_on b 3
wait "$b"
expect_eq 'status of a stopped program' $? 7
expect_eq 'its output' "$(cat b/out)" ended

go_on a 3
wait "$a"
expect_eq 'status of a paused program' $? 7
wait_for 60 test -s "data/steps-$a/summary.json"
expect_eq 'before' "$(calls "data/steps-$a" before)" 1000
expect_eq 'during' "$(calls "data/steps-$a" during)" 0
expect_eq 'after' "$(calls "data/steps-$a" after)" 200
# step() of during() also started during the pause.
expect_eq 'paused spans' \
	"$(json "data/steps-$a/summary.json" .totals.paused_spans)" 5001
"$O/tests/tools/trace_check" "data/steps-$a/trace.pftrace" ||
	fail 'paused: a rule is broken'

# Without a target, pause also holds for later programs.
run_ok ctl pause
start a
a=$program
wait_for 60 is "$a" state paused
go_on a 1
run_ok ctl resume
go_on a 2
go_on a 3
wait "$a"
wait_for 60 test -s "data/steps-$a/summary.json"
expect_eq 'paused from the start: before' "$(calls "data/steps-$a" before)" 0
expect_eq 'paused from the start: after' "$(calls "data/steps-$a" after)" 200
expect_eq 'paused from the start: all' \
	"$(json "data/steps-$a/summary.json" '.totals.spans +
		.totals.paused_spans')" 6204

# A program's name steers no terminal: U+202E, U+0085, DEL.
name=$(printf 'st\342\200\256x\302\205y\177')
cp steps "$name"
mkdir named
LD_PRELOAD=$SHIM PERFREC_QUIET=1 "./$name" named &
named=$!
wait_for 60 test -e named/did.0
is_listed()
{
	run ctl list
	grep -q "^ *$named " out
}
wait_for 60 is_listed
expect_match out "^ *$named  st\?x\?y\? "
for step in 1 2 3; do
	: >"named/do.$step"
done
wait "$named"

# The end of the collector: its recordings are whole when ctl returns.
start a
a=$program
run_ok ctl stop
expect_match out "^ended perfrec-collect \(pid $collector\)"
[ -s "data/steps-$a/summary.json" ] || fail 'stop: no summary'
expect_none perfrec.sock perfrec.sock.ctl data/control
wait $collector
expect_eq 'status of the collector' $? 0
collector=
go_on a 1
go_on a 2
go_on a 3
wait "$a"
expect_eq 'status without a collector' $? 7

# perfrec record: its folder leads to its collector.
rm -rf a data
mkdir a
"$PERFREC" record -q -o data ./steps a 7 >a/out 2>err &
perfrec=$!
wait_for 60 test -e a/did.0
run ctl list
expect_error 1 'no perfrec-collect serves'
run_ok ctl -o data pause
go_on a 1
run_ok ctl -o data resume
run_ok ctl -o data flush
expect_match out "^$PWD/data/trace.pftrace\$"
go_on a 2
run_ok ctl -o data stop
go_on a 3
wait $perfrec
expect_eq 'status of perfrec record' $? 7
expect_eq 'record: before' "$(calls data before)" 1000
expect_eq 'record: during' "$(calls data during)" 0
expect_eq 'record: after' "$(calls data after)" 200
expect_none data/control
"$O/tests/tools/trace_check" data/trace.pftrace ||
	fail 'record: a rule is broken'

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Perfetto's importer shows a recording that was paused, of a program with a forked
# child, as it was. A pause is no loss, and no thread sleeps or runs throughout: the
# program works and sleeps by turns meanwhile. No process starts after its own
# slices.
. "$TOP/tests/e2e/lib.sh"

check=$O/tests/tools/trace_check
build rounds <<'SOURCE'
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) void nap(void)
{
	const struct timespec time = { .tv_nsec = 2000000 };

	nanosleep(&time, NULL);
}

/* A byte in @log for each nap. */
static void run(const char *path)
{
	FILE *log = fopen(path, "w");

	while (access("stop", F_OK)) {
		nap();
		putc('.', log);
		fflush(log);
	}
	fclose(log);
}

int main(void)
{
	pid_t child = fork();

	run(child ? "parent.log" : "child.log");
	return child && waitpid(child, NULL, 0) != child;
}
SOURCE

# naps_of both is 50 more than it was.
napped()
{
	for log in parent.log child.log; do
		[ "$(wc -c <$log)" -ge "$(($(cat $log.before) + 50))" ] ||
			return 1
	done
}
nap_more()
{
	for log in parent.log child.log; do
		wc -c <$log >$log.before
	done
	wait_for 60 napped
}
# CLOCK_BOOTTIME in ns, which the kernel says in hundredths of a second; and $1 more.
boottime()
{
	awk -v more="${1:-0}" '{ printf "%.0f\n", ($1 + more) * 1e9 }' /proc/uptime
}

"$PERFREC" record -q --alloc=off -o data -- ./rounds &
recording=$!
wait_for 60 test -s child.log -a -s parent.log
nap_more
"$PERFREC" ctl -o data pause >paused || fail 'perfrec ctl pause'
from=$(boottime 0.01)
nap_more
to=$(boottime)
"$PERFREC" ctl -o data resume >resumed || fail 'perfrec ctl resume'
nap_more
touch stop
wait $recording || fail 'perfrec record'
"$check" --json --importer data/trace.pftrace >lines || fail 'trace_check'

awk -F '\t' '$1 == "process" { n++
	if (!$3 || $3 > $4) { print $5 " starts after its slices"; bad = 1 } }
	END { exit bad || n != 2 }' lines || fail "processes: $(grep process lines)"
expect_eq 'threads without a process' \
	"$(awk -F '\t' '$1 == "thread" && $3 == "-"' lines)" ''

[ "$(tail -n 1 lines | jq .switches)" -gt 0 ] ||
	skip 'the kernel does not tell of switches here'
[ "$(json data/summary.json .totals.lost_switches)" -eq 0 ] ||
	skip 'the kernel lost records, as the machine is too busy'
grep '^loss' lines && fail 'the pause is a loss'
# Twice over: in the pause, and after it.
awk -F '\t' -v from="$from" -v to="$to" '$1 == "state" && $3 <= from &&
	$3 + $4 >= to { print; n++; unknown += $5 == "I" }
	END { exit n != 2 || unknown != 2 }' lines ||
	fail "states over the whole pause, $from to $to"

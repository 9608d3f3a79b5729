# SPDX-License-Identifier: Apache-2.0
#
# A daemon that ends, or is killed, and is started again while programs run:
# they go on unrecorded, and new ones connect to the new one.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

# ./waits DIR: calls leaf() once a millisecond until DIR/go appears.
build waits <<'SOURCE'
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) static void leaf(void)
{
	usleep(1000);
}
int main(int argc, char **argv)
{
	int dir = open(argv[1], O_RDONLY | O_DIRECTORY);

	alarm(600); /* whatever becomes of the test */
	leaf();
	close(openat(dir, "up", O_CREAT | O_WRONLY, 0600));
	while (faccessat(dir, "go", F_OK, 0) < 0)
		leaf();
	puts("ended");
	return argc == 2 ? 7 : 1;
}
SOURCE

# start DIR: in $program, and up.
start()
{
	rm -rf "$1"
	mkdir "$1"
	LD_PRELOAD=$SHIM ./waits "$1" >"$1/out" 2>"$1/err" &
	program=$!
	wait_for 60 test -e "$1/up"
}
# end DIR PID: it ends as if nothing had happened.
end()
{
	: >"$1/go"
	wait "$2"
	expect_eq "$1: status" $? 7
	expect_eq "$1: output" "$(cat "$1/out")" ended
	[ ! -s "$1/err" ] || fail "$1: stderr: $(cat "$1/err")"
}
# again: a new daemon, which keeps what the old one has recorded.
again()
{
	: >collect.log
	"$O/perfrec-collect" -o data 2>collect.log &
	collector=$!
	wait_for 60 grep -q 'listening on' collect.log
}

start_daemon
start first
first=$program
stop_daemon
[ -s "data/waits-$first/summary.json" ] || fail 'no summary at the end'
again
start second
second=$program
expect_eq 'programs' "$("$PERFREC" ctl list --json |
	jq -c '[.programs[].pid]')" "[$second]"

# A killed collector leaves sockets and the link, which the next one takes over.
kill -KILL $collector
wait $collector 2>/dev/null
collector=
for left in perfrec.sock perfrec.sock.ctl; do
	[ -S $left ] || fail "$left is gone"
done
# A process that it has just started may hold the socket for a moment more.
nobody_serves()
{
	run "$PERFREC" ctl list
	grep -q 'no perfrec-collect serves' err
}
wait_for 60 nobody_serves
expect_error 1 'no perfrec-collect serves'
run "$PERFREC" ctl -o data list
expect_error 1 'no perfrec-collect serves'
again
start third
third=$program
expect_eq 'programs' "$("$PERFREC" ctl -o data list --json |
	jq -c '[.programs[].pid]')" "[$third]"
# A second one at the same place is none.
run "$O/perfrec-collect" -o other
expect_status 1
expect_match err 'another perfrec-collect serves'
expect_none other
"$PERFREC" ctl list >/dev/null || fail 'the second one took its socket'

end first "$first"
end second "$second"
end third "$third"
stop_daemon
expect_none perfrec.sock perfrec.sock.ctl data/control data/waits-$second/summary.json
for pid in $first $third; do
	"$O/tests/tools/trace_check" "data/waits-$pid/trace.pftrace" ||
		fail "$pid: a rule is broken"
done
"$O/tests/tools/trace_check" --allow-open --allow-cut \
	"data/waits-$second/trace.pftrace" || fail 'killed: a rule is broken'

# SPDX-License-Identifier: Apache-2.0
#
# A command that reads a recording for more than a second shows its progress on
# the terminal, unless the line would mix with its output. The clock runs fast
# here: each reading of it is a minute later.
. "$TOP/tests/e2e/lib.sh"
need script

cat >clock.c <<'SOURCE'
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *out)
{
	static time_t minutes;

	(void)id;
	*out = (struct timespec){ .tv_sec = 60 * ++minutes };
	return 0;
}
SOURCE
${CC:-gcc} -shared -fPIC -o clock.so clock.c || fail 'cannot compile clock.c'
build_calls
run "$PERFREC" record -q -o a ./calls 100000
run "$PERFREC" record -q -o b ./calls 100000

# on_terminal COMMAND: in a shell whose stdin, stdout and stderr are a terminal;
# what came out of it is ./typescript.
on_terminal()
{
	rm -f typescript
	LD_PRELOAD= TERM=xterm script -qec \
		"LD_PRELOAD=$PWD/clock.so; export LD_PRELOAD; $1" \
		typescript >/dev/null 2>&1 </dev/null ||
		fail "$1: $(cat typescript)"
}
# shows WHAT COMMAND: the line is there, and gone at the end.
shows()
{
	on_terminal "$2"
	expect_match typescript "perfrec: $1: [0-9]+ %"
	tail -n 2 typescript | tr '\r' '\n' | grep -v '^Script done\|^$' |
		tail -n 1 >last
	expect_no_match last "$1"
}
shows_none()
{
	on_terminal "$1"
	expect_no_match typescript ': [0-9]+ %'
}

# perfrec record says that it finishes, if that takes long: here its collector is
# stopped until the line is there.
build waits <<'SOURCE'
#include <unistd.h>
int main(void)
{
	alarm(600);
	while (access("end", F_OK) < 0)
		usleep(1000);
	return 0;
}
SOURCE
LD_PRELOAD= TERM=xterm script -qfec "$PERFREC record -o slow ./waits" slow.typescript \
	>/dev/null 2>&1 </dev/null &
recorder=$!
wait_for 60 test -L slow/control
collector=$("$PERFREC" ctl -o slow list --json | jq .collector.pid)
stop_process "$collector"
touch end
finishing()
{
	grep -q 'perfrec: finishing the recording: [0-9]' slow.typescript
}
wait_for 60 finishing
kill -CONT "$collector"
wait $recorder || fail "perfrec record: $(cat slow.typescript)"
[ -s slow/summary.json ] || fail 'nothing was recorded'

for to in chrome flamechart; do
	shows 'reading the trace' "$PERFREC export --to $to a >out"
	shows 'reading the trace' "$PERFREC export --to $to -o out a"
done
shows 'reading the trace' "$PERFREC replay a >out"
shows 'reading the trace' "$PERFREC dump a >/dev/null"
shows 'reading the trace' "$PERFREC report --html page.html a"
# Its index knows.
rm a/trace.index
shows 'looking for the first call' "$PERFREC replay --from 0s a >out"
shows 'looking for the first call' "$PERFREC report --from 0s a >out"
shows 'reading the trace' "$PERFREC report --thread calls a >out"
shows 'reading the trace' "$PERFREC find leaf a >out"
shows 'looking for the chosen calls' "$PERFREC replay --function leaf a | tail -n 1"
shows 'reading the recordings' "$PERFREC diff a b >out"
shows 'reading the recordings' "$PERFREC aggregate a b"

# A pager behind a pipe owns the terminal, so there is no progress line.
shows_none "$PERFREC replay a"
shows_none "$PERFREC replay a | tail -n 1"
shows_none "$PERFREC dump a >out 2>err"
expect_no_match err '%'

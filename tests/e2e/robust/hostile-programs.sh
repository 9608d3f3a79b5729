# SPDX-License-Identifier: Apache-2.0
# long: plays each kind of hostile program
#
# Programs that lie, scribble, flood or say nothing, beside a good one: each causes
# a clear line in the log, the good one is recorded to the last call, and the
# collector neither grows nor ends.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

seed=${SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
echo "seed $seed"
hostile="timeout 100 $O/tests/attacks/hostile perfrec.sock"
build_calls
build slow <<'SOURCE'
#include <time.h>
__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }
int main(void)
{
	struct timespec pause = { 0, 1000000 };

	for (int i = 0; i < 2000; i++) {
		for (int j = 0; j < 1000; j++)
			leaf();
		nanosleep(&pause, 0);
	}
	return 0;
}
SOURCE

# memory: of the collector, in KiB
memory()
{
	awk '/^VmRSS:/ { print $2 }' /proc/$collector/status
}

# files: that it has open, without those of programs whose code it has read:
# it keeps a limited number of these (PLANS_KEPT).
files()
{
	find /proc/$collector/fd -mindepth 1 ! -lname '/*.so*' \
		! -lname '/memfd:vdso*' ! -lname '*/hostile' \
		! -lname '*/slow' ! -lname '*/calls' | wc -l
}

start_daemon --on-full block
preload ./calls 1000 >out
files=$(files)
preload ./slow &
slow=$!
$hostile scribble 48 "$seed" || fail 'scribble'
memory=$(memory)
$hostile scribble 144 "$((seed + 1000))" || fail 'scribble'
$hostile storm 2000 || fail 'storm'
echo "memory: $memory KiB, then $(memory) KiB"
[ "$(memory)" -lt $((memory + 8192)) ] || fail 'the collector grows'

wait $slow || fail "the good program: status $?"

# More silent connections than are served at once, and nothing else going on:
# they are let go when their time is over, and then the next program is served.
mkfifo hold
before=$(files)
let_go()
{
	[ "$(files)" -le "$before" ]
}
$hostile silent 300 <hold >silent &
silent=$!
exec 5>hold
wait_for 60 grep -q ready silent
wait_for 60 grep -q 'connected and said nothing' collect.log
wait_for 60 let_go
PERFREC_QUIET=0 preload ./calls 1000 >out 2>err
[ ! -s err ] || fail "after silent connections: $(cat err)"
exec 5>&-
wait $silent
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 711 .
	chmod 666 perfrec.sock
	# The build directory may be out of that user's reach.
	cp "$O/tests/attacks/hostile" .
	setpriv --reuid 65534 --clear-groups timeout 100 ./hostile perfrec.sock \
		storm 3 2>other ||
		cat other
	wait_for 60 grep -q 'runs as another user' collect.log
fi
# The last recordings end, and nothing of any stays open.
tries=0
while [ "$(files)" -gt "$files" ]; do
	tries=$((tries + 1))
	[ $tries -lt 400 ] || fail "open files: $files, then $(files)"
	sleep 0.05
done
stop_daemon

expect_eq "spans of the good program" \
	"$(json data/slow-*/summary.json '.totals | .spans, .dropped_spans,
		.broken_rings' | tr '\n' ' ')" '2000001 0 0 '
for trace in data/*/trace.pftrace; do
	"$O/tests/tools/trace_check" "$trace" || fail "$trace is broken"
done
# Each line names the program and the fault; and each program has one.
sed -n "/recording '\|listening/d; s/^perfrec-collect: warning: //p" \
	collect.log >complaints
grep -Ev '^(refused program with pid [0-9]+|recording of .* \(pid [0-9]+, thread -?[0-9]+\) ends|.* \(pid [0-9]+\) was not recorded): [a-z]' \
	complaints && fail 'the lines above are not clear'
sed -n "s/^recording of 'hostile' (pid \([0-9]*\).*/\1/p" complaints | sort |
	uniq -d >twice
[ ! -s twice ] || fail "two lines for one program: $(cat twice)"
grep -q 'ends: its ring is not what a ring can be' complaints ||
	fail 'no recording was ended'

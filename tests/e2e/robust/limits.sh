# SPDX-License-Identifier: Apache-2.0
#
# Programs under tight resource limits are recorded with smaller rings, or
# say in one line that they are not, and do their work in any case.
. "$TOP/tests/e2e/lib.sh"

build_calls
./calls 1000 >expected

# limited recorded|declined LIMIT...: what becomes of a program below it.
limited()
{
	want=$1
	shift
	run timeout 100 "$PERFREC" record -q -o data \
		sh -c "ulimit $*; exec ./calls 1000 7"
	expect_status 7
	cmp -s expected out || fail "ulimit $*: output has changed"
	spans=$(json data/summary.json .totals.spans)
	if [ "$want" = recorded ]; then
		expect_eq "ulimit $*: spans" "$spans" 1002
		[ ! -s err ] || fail "ulimit $*: stderr: $(cat err)"
	else
		expect_eq "ulimit $*: spans" "$spans" 0
		expect_match err '^perfrec: lost 1 of the programs.*: its ulimit|its rings'
		expect_eq "ulimit $*: lines on stderr" "$(wc -l <err)" 1
	fi
	"$O/tests/tools/trace_check" data/trace.pftrace ||
		fail "ulimit $*: a rule is broken"
}

limited declined -f 100
limited declined -v 20000
limited recorded -v 200000
limited recorded -v 3000000
limited declined -n 4
limited recorded -n 6
limited recorded -s 64
limited recorded -l 0
# Without a descriptor to spare nothing can be loaded at all. The program
# must fare as it does without perfrec.
(ulimit -n 3; ./calls 1000 7) >plain 2>&1
expect_eq 'ulimit -n 3, alone' $? 127
run timeout 100 "$PERFREC" record -q -o data \
	sh -c "ulimit -n 3; exec ./calls 1000 7"
expect_status 127
# It lowers its limits when it runs already.
build lowers <<'SOURCE'
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }
int main(void)
{
	struct rlimit none = { 3, 3 }, zero = { 0, 0 };

	closefrom(3);
	setrlimit(RLIMIT_NOFILE, &none);
	setrlimit(RLIMIT_FSIZE, &zero);
	setrlimit(RLIMIT_AS, &zero);
	for (int i = 0; i < 3000000; i++)
		leaf();
	return dup(2) < 0 ? 5 : 6;
}
SOURCE
run timeout 100 "$PERFREC" record -q -o data ./lowers
expect_status 5
expect_eq 'spans of one that lowers its limits' \
	"$(json data/summary.json '.totals | .spans, .dropped_spans' |
		tr '\n' ' ')" '3000001 0 '

# perfrec itself is under ulimit -f (of 512 bytes each, in sh): its files are as
# on a full disk, and its own stderr may be a file that cannot grow. The program
# lifts the limit for itself, or there would be no room for its rings.
for expected in 7 1; do
	run timeout 100 sh -c 'ulimit -S -f 1000; exec "$@"' - \
		"$PERFREC" record -q -o data \
		sh -c 'ulimit -S -f unlimited; exec "$@"' - \
		./calls 300000 $((expected == 1 ? 0 : expected))
	[ "$status" -eq $expected ] || fail "status $status, not $expected"
	expect_eq 'line on ulimit -f' "$(grep -v 'the first was' err)" "perfrec-collect: error: \
cannot write all of trace.pftrace in 'data': File too large (ulimit -f allows \
no more than 500 KiB: raise it, or record less, see --max-size)"
	expect_eq 'spans' "$(json data/summary.json .totals.spans)" 300002
	expect_eq 'not its own limit' \
		"$(json data/summary.json .totals.trace_limited)" false
	"$O/tests/tools/trace_check" data/trace.pftrace ||
		fail 'ulimit -f: a rule is broken'
done
# Its own limit is no trouble, with or without the other.
run_ok timeout 100 sh -c 'ulimit -f 1000000; exec "$@"' - \
	"$PERFREC" record -q --compress=off -o data --max-size 256K \
	./calls 300000
expect_eq 'its own limit' "$(json data/summary.json .totals.trace_limited)" true

(ulimit -f 0; "$PERFREC" record -o none ./calls 10 2>&1 >/dev/null; echo $?) |
	cat >zero
expect_eq 'ulimit -f 0' "$(cat zero)" "perfrec-collect: error: cannot start: \
File too large (ulimit -f allows no more than 0 B: raise it)
1"
echo full >full
run sh -c 'ulimit -f 0; exec "$@" 2>>full' - "$PERFREC" record -o none ./calls
expect_status 1
run sh -c 'ulimit -f 0; exec "$@" 2>>full' - "$PERFREC" record --no-such
expect_status 2
run sh -c 'ulimit -f 0; exec "$@" 2>>full' - "$PERFREC-collect" --no-such
expect_status 2
expect_eq 'a full stderr' "$(cat full)" full

# Without descriptors another folder is no way out.
for files in 4 5 6 7 8 9 10 11 12 13 14 15; do
	run timeout 100 sh -c "ulimit -n $files; exec \"\$@\"" - \
		"$PERFREC" record -q -o few ./calls 10
	[ -s err ] || fail "ulimit -n $files: not a word, status $status"
	expect_no_match err 'open files.*choose another (with|folder)'
	rm -rf few few.old
done

# The signals that perfrec leaves alone or ignores for itself are handed on as
# perfrec got them, ignored or not, blocked or not.
build signals <<'SOURCE'
#include <stdio.h>
#include <string.h>
int main(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];

	while (fgets(line, sizeof(line), status))
		if (!strncmp(line, "SigBlk", 6) || !strncmp(line, "SigIgn", 6))
			fputs(line, stdout);
	return 0;
}
SOURCE
for ignored in '' 'XFSZ' 'PIPE' 'CHLD' 'XFSZ PIPE CHLD HUP INT QUIT TERM'; do
	(for name in $ignored; do trap '' $name; done; exec ./signals) >alone
	(for name in $ignored; do trap '' $name; done
		exec "$PERFREC" record -q -o data ./signals) >recorded
	expect_eq "signals, '$ignored' ignored" "$(cat recorded)" "$(cat alone)"
done

# --max-size: the trace ends, the counts go on.
run timeout 100 "$PERFREC" record -o data --compress=off --max-size 1M \
	./calls 3000000 7
expect_status 7
expect_match err 'max-size reached'
expect_eq 'spans beyond --max-size' "$(json data/summary.json .totals.spans)" \
	3000002
expect_eq 'trace_stopped' "$(json data/summary.json .totals.trace_stopped)" \
	'--max-size reached'
[ "$(stat -c %s data/trace.pftrace)" -le 1048576 ] || fail 'too large'
"$O/tests/tools/trace_check" --allow-open data/trace.pftrace ||
	fail '--max-size: a rule is broken'

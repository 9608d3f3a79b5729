# SPDX-License-Identifier: Apache-2.0
#
# Annotations when things do not go well: categories that are switched off, also
# while it runs, --exclude and --filter, children, programs that are killed,
# rings that are full, a trace that reaches its limit.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

check=$O/tests/tools/trace_check

# compile NAME [FLAG...] <<SOURCE
compile()
{
	target=$1
	shift
	cat >"$target.c"
	"${CC:-gcc}" -g -O1 -I "$TOP/preload" -o "$target" "$target.c" \
		-lpthread "$@" || fail "cannot compile $target.c"
}

# record DIR OPTION... -- COMMAND...
record()
{
	dir=$1
	shift
	run "$PERFREC" record -o "$dir" "$@"
}

# text DIR [OPTION]: of its trace, without places, and what perfrec measures.
text()
{
	"$check" --text ${2:-} "$1/trace.pftrace" >text.out ||
		fail "$1: the trace breaks a rule"
	sed 's/ @[a-z]*\.c:[0-9]*//' text.out |
		awk '/^[^ ]/ { own = /\/ (heap: |RSS)/ } !own'
}

# --- which are recorded

compile chosen <<'SOURCE'
#include <stdlib.h>
#include <perfrec.h>
PERFREC_COUNTER(level, "level", "items", 0);
__attribute__((noinline)) static void function(void)
{
	__asm__ volatile("");
}
int main(void)
{
	PERFREC_SCOPE_IN("net", "connect");
	PERFREC_SCOPE_IN("net.debug", "headers", "never", (abort(), 1));
	PERFREC_SCOPE_IN("db", "query");
	PERFREC_COUNT(&level, 1);
	function();
	return 0;
}
SOURCE
record some --categories 'net*,-net.debug' -- ./chosen
expect_status 0
expect_eq "what --categories leaves" "$(text some)" "main thread
  + connect [net]
  -"

compile both -finstrument-functions <<'SOURCE'
#include <perfrec.h>
__attribute__((noinline)) static void parse(void)
{
	PERFREC_SCOPE("parse");
	PERFREC_INSTANT("moment");
	__asm__ volatile("");
}
int main(void)
{
	PERFREC_SCOPE("all");
	parse();
	return 0;
}
SOURCE
record only --filter parse -- ./both
expect_eq "what --filter leaves" "$(text only)" "main thread
  + all
    + parse
      + parse
        * moment
      -
    -
  -"
record without --exclude @annotation -- ./both
expect_eq "what --exclude leaves" "$(text without)" "main thread
  + main
    + parse
    -
  -"
record named --exclude all --exclude moment -- ./both
expect_eq "functions of an excluded name" "$(json named/summary.json '
	[.functions[] | select(.name == "all")] | length')" 0
expect_eq "what an excluded name leaves" "$(text named | grep -c '\* moment')" 0

# Equal names stay apart.
record apart -- ./both
expect_eq "who is called parse" "$(json apart/summary.json '
	[.functions[] | select(.name == "parse") | .module | split("/") |
	 last] | sort | join(" ")')" "annotation both"

# --- while it runs

compile steps <<'SOURCE'
#include <stdio.h>
#include <unistd.h>
#include <perfrec.h>
int main(int argc, char **argv)
{
	char path[256];

	alarm(600);
	for (int n = 0; n < 3; n++) {
		for (int i = 0; i < 100; i++) {
			PERFREC_SCOPE_IN("a", "in a", "n", n);
			PERFREC_SCOPE_IN("b", "in b", "n", n);
		}
		snprintf(path, sizeof(path), "%s.did%d", argv[1], n);
		fclose(fopen(path, "w"));
		snprintf(path, sizeof(path), "%s.do%d", argv[1], n);
		while (argc == 2 && access(path, F_OK) < 0)
			usleep(1000);
	}
	return 0;
}
SOURCE
start_daemon
preload ./steps it &
program=$!
wait_for 60 test -e it.did0
run_ok "$PERFREC" ctl categories steps '-a'
expect_match out '^told [0-9]+ steps '
touch it.do0
wait_for 60 test -e it.did1
run_ok "$PERFREC" ctl categories 'a,-b'
touch it.do1
wait_for 60 test -e it.did2
touch it.do2
wait $program
run "$PERFREC" ctl categories "$(printf 'a\nb')"
expect_error 2 'categories '.*': give globs .* at most 4091'
run "$PERFREC" ctl categories
expect_error 2 'give a list'
stop_daemon
for step in 0 1 2; do
	for name in a b; do
		grep -c "+ in $name \[$name\].* n=$step\$" - <<-END
			$("$check" --text data/*/trace.pftrace)
		END
	done
done >counts
expect_eq "what was recorded in each step" "$(tr '\n' ' ' <counts)" \
	"100 100 0 100 100 0 "

# --- processes

compile family <<'SOURCE'
#include <sys/wait.h>
#include <unistd.h>
#include <perfrec.h>
PERFREC_TRACK(requests, "requests", NULL, 0);
PERFREC_COUNTER(steps, "steps", "items", PERFREC_INCREMENTAL);
int main(void)
{
	uint64_t made = PERFREC_TRACK_NEW(&requests, "made", 0, 0, "");
	pid_t pid;

	PERFREC_ASYNC_BEGIN(&requests, 1, "request");
	PERFREC_COUNT(&steps, 10);
	pid = fork();
	/* The child's has not begun, its counter starts anew, and it knows
	 * the tracks. */
	PERFREC_ASYNC_END(&requests, 1, "request");
	PERFREC_COUNT(&steps, 1);
	PERFREC_ASYNC_INSTANT(made, "here");
	perfrec_flush();
	if (!pid)
		_exit(0);
	return waitpid(pid, NULL, 0) != pid;
}
SOURCE
record children --on-full=block -- ./family
expect_status 0
text children >children.text
for line in '2 process / requests / made' '2 process / steps in items' \
	'1   + request' '1   = 1$' '1   = 11'; do
	expect_eq "lines of ${line#* }" \
		"$(grep -c "^${line#* }" children.text)" "${line%% *}"
done
expect_eq "orphan" "$(json children/summary.json \
	.totals.orphan_async_ends)" 1

compile killed <<'SOURCE'
#include <signal.h>
#include <perfrec.h>
int main(void)
{
	PERFREC_BEGIN("open slice", "n", 1);
	PERFREC_ASYNC_BEGIN(PERFREC_PROCESS_TRACK, 7, "open async", "n", 2);
	raise(SIGKILL);
	return 0;
}
SOURCE
record gone -- ./killed
expect_status 137
expect_eq "what a killed program leaves" "$(text gone)" "main thread
  + open slice n=1
  -
process / open async
  + open async n=2
  -"

# --- too much

compile much <<'SOURCE'
#include <stdlib.h>
#include <string.h>
#include <perfrec.h>
PERFREC_COUNTER(level, "level", "items", 0);
PERFREC_TRACK(requests, "requests", NULL, 0);
static char text[4000];
int main(int argc, char **argv)
{
	long count = atol(argv[argc - 1]);

	memset(text, 'x', sizeof(text) - 1);
	for (long i = 0; i < count; i++) {
		PERFREC_SCOPE("span", "text", text);
		PERFREC_COUNT(&level, i);
		PERFREC_INSTANT("moment", "text", text);
		PERFREC_ASYNC_BEGIN(&requests, 1 + i % 50, "request");
		if (i >= 25)
			PERFREC_ASYNC_END(&requests, 1 + (i - 25) % 50, "r");
	}
	return 0;
}
SOURCE
record stopped --max-size=300K --on-full=block -- ./much 2000
expect_status 0
"$check" --allow-open stopped/trace.pftrace || fail "a trace that has stopped"
[ "$(wc -c <stopped/trace.pftrace)" -le 307200 ] || fail "it is too large"

PERFREC_RING_KB=64 record full --on-full=drop -- ./much 20000
expect_status 0
"$check" full/trace.pftrace || fail "a trace with losses"
lost=$(json full/summary.json .totals.dropped_annotations)
values=$(text full | grep -c '^  = ')
[ "$values" -le 20000 ] || fail "$values values"
echo "lost $lost annotations, kept $values values"
if [ "$lost" -gt 0 ]; then
	"$check" --text full/trace.pftrace >full.text
	expect_match full.text 'annotations lost'
fi

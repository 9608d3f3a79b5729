#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# --exclude, --filter and --depth leave out the named functions and nothing else: in
# many threads, for functions that are new to the recording, and after a longjmp.
. "$TOP/tests/e2e/lib.sh"
trap ': >go' EXIT

cat >plugin.c <<'EOS'
static volatile int sum;
__attribute__((noinline)) static void plugin_leaf(void) { sum++; }
__attribute__((noinline)) static void plugin_skip(void) { sum++; }
void plugin_run(void);
void plugin_run(void) { plugin_leaf(); plugin_skip(); }
EOS
${CC:-gcc} -O1 -fPIC -shared -finstrument-functions -o plugin.so plugin.c ||
	fail "cannot compile plugin.c"

prog trace/filtered program

# record_counts OPTION...: the counts of a recording, in ./counts.
record_counts()
{
	rm -rf data data.old did go
	"$PERFREC" record -q -o data "$@" -- ./program >out 2>err &
	perfrec=$!
	# A flush ends when the collector has read all records.
	wait_for 60 test -e did
	"$PERFREC" ctl -o data flush >flush.out 2>&1 ||
		fail "$*: flush: $(cat flush.out)"
	touch go
	wait $perfrec || fail "$*: status $?: $(cat err)"
	"$O/tests/tools/trace_check" --counts data/trace.pftrace >counts ||
		fail "$*: the trace breaks a rule"
	json data/summary.json '.functions[] | "\(.calls)\t\(.name)"' |
		sort >summary
	sort counts | cmp -s - summary ||
		fail "$*: summary and trace differ: $(diff counts summary)"
}

# expect_counts "NAME N"...: exactly these.
expect_counts()
{
	awk '{ print $2, $1 }' counts | sort >got
	printf '%s\n' "$@" | sort >expected
	diff expected got || fail "counts differ (< expected, > recorded)"
}

record_counts
expect_counts 'main 1' 'work 4' 'leaf 12000' 'skip_outer 4000' \
	'skip_inner 4000' 'try_jump 4000' 'jump 4000' 'plugin_run 100' \
	'plugin_leaf 100' 'plugin_skip 100'

record_counts --exclude '*skip*'
expect_counts 'main 1' 'work 4' 'leaf 12000' 'try_jump 4000' 'jump 4000' \
	'plugin_run 100' 'plugin_leaf 100'

record_counts --filter '*leaf' --filter main
expect_counts 'main 1' 'leaf 12000' 'plugin_leaf 100'

record_counts --filter '*leaf' --exclude 'plugin*'
expect_counts 'leaf 12000'

record_counts --exclude '@plugin.so'
expect_counts 'main 1' 'work 4' 'leaf 12000' 'skip_outer 4000' \
	'skip_inner 4000' 'try_jump 4000' 'jump 4000'

record_counts --depth 1
expect_counts 'main 1' 'work 4'

record_counts --depth 2
expect_counts 'main 1' 'work 4' 'leaf 4000' 'skip_outer 4000' \
	'try_jump 4000' 'plugin_run 100'

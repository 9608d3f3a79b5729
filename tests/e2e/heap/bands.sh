#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Memory over time by function: counters in the trace whose sum is the counter of
# bytes in use at each of their times, of the process with the most memory.
. "$TOP/tests/e2e/lib.sh"
need gcc jq python3

cat >grow.c <<'SOURCE'
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *blocks[600];
static int count;

__attribute__((noinline)) static void early(void)
{
	blocks[count++] = malloc(20000);
}
__attribute__((noinline)) static void late(void)
{
	blocks[count++] = malloc(90000);
}
__attribute__((noinline)) static void *grow_first(void *unused)
{
	blocks[0] = realloc(blocks[0], 3000000);
	return unused;
}
static void nap(void)
{
	const struct timespec time = { 0, 1000000 };

	nanosleep(&time, NULL);
}
int main(int argc, char **argv)
{
	pthread_t thread;

	for (int i = 0; i < 300; i++, nap()) {
		early();
		if (i > 150)
			late();
	}
	pthread_create(&thread, NULL, grow_first, NULL);
	pthread_join(thread, NULL);
	nap();
	if (fork() == 0) {
		free(blocks[1]);
		_exit(0);
	}
	wait(NULL);
	for (int i = 0; argc > 1 && i < count; i++)
		free(blocks[i]);
	(void)argv;
	return 0;
}
SOURCE
gcc -O1 -fno-builtin -pthread -o grow grow.c &&
	gcc -O1 -fno-builtin -pthread -finstrument-functions -o hooks grow.c ||
	fail "cannot compile grow.c"

# Prints the names of all bands of the recording $1, and fails if they do not add
# up to the bytes in use.
bands() {
	"$PERFREC" dump "$1" >"$1.dump" || fail "cannot dump $1"
	jq -rn 'reduce inputs as $e ({ names: {}, values: {}, at: {} };
		if $e.kind == "track" and $e.type == "counter" then
			.names["\($e.track)"] = $e.name
		elif $e.kind != "counter" then .
		elif .names["\($e.track)"] == "heap: bytes in use" then
			.values["\($e.ns)"] += [$e.value]
		elif .names["\($e.track)"] // "" | startswith("heap: in use by ") then
			.at["\($e.ns)"]["\($e.track)"] = $e.value
		else . end) |
		.values as $use | .names as $names | .at |
		reduce (to_entries | sort_by(.key | tonumber) | .[]) as $p
			({ last: {}, wrong: [], points: 0 };
			.last += $p.value | .points += 1 |
			([.last[]] | add) as $sum |
			if $use[$p.key] | index($sum) then .
			else .wrong += [$p.key, $sum, $use[$p.key]] end) |
		"points \(.points)", "wrong \(.wrong)",
		(.last | keys[] | $names[.])' "$1.dump" >"$1.bands" ||
		fail "cannot add up $1"
	grep -qx 'wrong \[\]' "$1.bands" ||
		fail "$1: the bands are not the bytes in use: $(cat "$1.bands")"
	[ "$(sed -n 's/^points //p' "$1.bands")" -ge 5 ] ||
		fail "$1: $(cat "$1.bands")"
	"$O/tests/tools/trace_check" "$1/trace.pftrace" ||
		fail "$1: a rule is broken"
}

for how in 'exact ./grow' 'sampled ./grow' 'exact ./hooks' 'exact ./hooks free'; do
	name=$(echo "$how" | tr -d ' ./')
	run_ok "$PERFREC" record -q --alloc="${how%% *}" -o "$name" -- \
		${how#* }
	bands "$name"
	expect_match "$name.bands" '^heap: in use by early$' \
		'^heap: in use by late$' '^heap: in use by \[others\]$'
done
# The block that another thread has grown.
expect_match exacthooks.bands '^heap: in use by grow_first$'

# All is freed: the last value of every band is 0. Only hooks are sure to know the
# functions before that: the first stack of a sample is unwound late on a busy machine.
jq -e -n 'reduce inputs as $e ({};
	if $e.name? // "" | test("^heap: in use by (early|late)$") then
		.["\($e.track)"] = -1
	elif $e.kind == "counter" and has("\($e.track)") then
		.["\($e.track)"] = $e.value
	else . end) | length == 2 and all(.[]; . == 0)' exacthooksfree.dump \
	>out.txt || fail "a band has blocks after the last free"

# Perfetto's importer, and the page, want names once: one process has bands.
expect_eq "bands of late" "$(grep -c 'in use by late"' exactgrow.dump)" 1

# --- the page -----------------------------------------------------------------
# The columns add up to the same, and the others are the last one.
for name in exacthooks sampledgrow; do
	run_ok "$PERFREC" report --html page.html "$name"
	python3 "$TOP/tests/tools/page_read.py" page.html >page.json ||
		fail "the page of $name is broken"
	jq -e '.sites | .names[-1] == "[others]" and (.names | index("early")) and
		.count >= 5 and all(.sums[]; .[0] == .[1])' page.json >out.txt ||
		fail "the page of $name has other bands: $(jq -c .sites page.json)"
done

# --- report --json ------------------------------------------------------------
# The last values are those of the trace, and the points are spread over the run.
for name in exactgrow exacthooks exacthooksfree; do
	run_ok "$PERFREC" report --view heap --json "$name"
	jq -r '.over_time[] | "heap: in use by \(.name) \(.points[-1].bytes)"' out |
		sort >json.txt
	jq -rn 'reduce inputs as $e ({};
		if $e.name? // "" | startswith("heap: in use by ") then
			.["\($e.track)"] = { name: $e.name }
		elif $e.kind == "counter" and has("\($e.track)") then
			.["\($e.track)"].value = $e.value
		else . end) | .[] | "\(.name) \(.value)"' "$name.dump" | sort >dump.txt
	expect_eq "memory over time of $name" "$(cat json.txt)" "$(cat dump.txt)"
	jq -e '(.over_time[] | select(.name == "early").points | length >= 5) and
		all(.over_time[].points; length <= 500 and (map(.ns) | . == sort))' \
		out >out.txt ||
		fail "times of $name: $(jq -c .over_time out)"
done

# --- none ---------------------------------------------------------------------
run_ok "$PERFREC" record -q --alloc=off -o off -- ./grow
run_ok "$PERFREC" record -q --alloc=exact --max-size=64M --keep last -o last \
	-- ./grow
for name in off last; do
	"$PERFREC" dump "$name" >"$name.dump" || fail "cannot dump $name"
	if grep 'in use by' "$name.dump"; then
		fail "$name has bands"
	fi
done
run_ok "$PERFREC" report --view heap --json last
expect_eq 'memory over time of last' "$(jq -c .over_time out)" '[]'

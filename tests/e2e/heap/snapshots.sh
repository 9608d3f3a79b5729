#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Heap profiles while a program runs: by `perfrec ctl flush`, with exactly the
# blocks that are in use then, and by --snapshot-interval; and of a program without
# hooks, whose blocks are sampled.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/stacks.sh"
need protoc gcc

# Takes a step when told to, by a file.
cat >steps.c <<'SOURCE'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *kept[4096];
static int keeps;

static void __attribute__((noinline)) step(int blocks, int bytes)
{
	while (blocks-- > 0)
		kept[keeps++] = malloc(bytes);
}
static void come_to(int n)
{
	char name[16];

	snprintf(name, sizeof(name), "did.%d", n);
	close(open(name, O_CREAT | O_WRONLY, 0600));
	snprintf(name, sizeof(name), "go.%d", n);
	while (access(name, F_OK) != 0)
		usleep(2000);
}
int main(void)
{
	step(10, 1000);
	come_to(1);
	step(5, 100);
	free(kept[0]);
	come_to(2);
	return 0;
}
SOURCE
gcc -O1 -g -fno-builtin -finstrument-functions -o steps steps.c ||
	fail "cannot compile steps.c"

"$PERFREC" record -q --alloc=exact --snapshot-interval=100ms -o data \
	./steps >out 2>err &
perfrec=$!

# flushed VALUES: of step() in the profile that a flush makes.
flushed()
{
	run_ok "$PERFREC" ctl -o data flush
	expect_match out "^$PWD/data/heap\.[0-9T.]*\.pb\.gz\$"
	file=$(grep '/heap\.' out)
	[ -s "$file" ] || fail "no $file"
	expect_eq "step() in $file" \
		"$(profile_stacks "$file" | grep ' main;step$')" "$1 main;step"
}
wait_for 60 test -e did.1
flushed '10 10000 10 10000'
touch go.1
wait_for 60 test -e did.2
flushed '15 10500 14 9500'
# Others come by themselves, in their own time.
count()
{
	find data -name 'heap.*T*.pb.gz' | wc -l
}
before=$(count)
more()
{
	[ "$(count)" -gt "$before" ]
}
wait_for 60 more
touch go.2
wait $perfrec
expect_eq 'status' $? 0
profile_stacks data/heap.pb.gz | grep -q '^15 10500 14 9500 main;step$' ||
	fail "heap.pb.gz is not that of the end"

# --- sampled ------------------------------------------------------------------
# With 8 MiB / 4 KiB = 2048 samples each, the estimate is within a tenth, except
# once in many billion runs.
cat >plain.c <<'SOURCE'
#include <stdlib.h>
static void *volatile last;
static void __attribute__((noinline)) keep(void)
{
	last = malloc(1000);
}
static void __attribute__((noinline)) drop(void)
{
	last = malloc(1000);
	free(last);
}
int main(void)
{
	for (int i = 0; i < 30000; i++) {
		keep();
		drop();
	}
	return 0;
}
SOURCE
gcc -O1 -g -fno-builtin -o plain plain.c || fail "cannot compile plain.c"
run_ok "$PERFREC" record -q --alloc=sampled:4K -o sampled -- ./plain
profile_stacks sampled/heap.pb.gz >got
# Stacks may come faster than they can be unwound. Their blocks have their own
# function, with [unknown] for its callers: no block is missing.
if [ "$(json sampled/summary.json .totals.lost_alloc_stacks)" -eq 0 ]; then
	! grep -q '\[unknown\]' got || fail "lost stacks not counted: $(cat got)"
fi
for want in 'keep 3' 'keep 4' 'keep 1' 'drop 1' 'drop 2'; do
	column=${want#* }
	sum=$(awk -v n="$column" -v name=";${want% *}" \
		'substr($0, length($0) - length(name) + 1) == name { s += $n }
		END { printf "%.0f", s }' got)
	[ $((column % 2)) -eq 1 ] || sum=$((sum / 1000))
	if [ "$sum" -lt 27000 ] || [ "$sum" -gt 33000 ]; then
		fail "estimate '$want' is $sum, of 30000: $(cat got)"
	fi
done
gunzip -c sampled/heap.pb.gz | grep -q 'estimates' ||
	fail "heap.pb.gz does not say that it is sampled"
